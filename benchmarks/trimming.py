"""Sessions replayed within a token budget: `python -m benchmarks.trimming`.

Before each answer of a session, all messages up to there are trimmed, and the request is compared
with the one before. Columns:

cached   the share of all tokens sent that a cache of the requests' beginnings has: the messages at
         the start that are those of the request before
new      tokens that it has not, in the mean of the requests
fill     how full the budget is in the mean, of the requests after the first that did not fit
moved    of 100 requests, how many do not begin with all of the request before
over     requests over budget
torn     requests with a result without its call, or a call without its result
no user  requests that do not begin with a user's message after the instructions
lost     requests without the last message
ms       per request, by the clock

All counts are ChatML's. LangChain's `trim_messages` counts by them, too; litellm's by its own
estimate. Peers that are not installed are left out.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from benchmarks import corpora
from benchmarks.chat_sessions import SESSIONS, Session
from cutline import BudgetError, trim
from cutline.chat.by_name import chat_format_of

Trim = Callable[[Session], Session]


class Row(NamedTuple):
    """What came of a session."""

    cached: float
    new: float
    fill: float
    moved: float
    over: int
    torn: int
    no_user: int
    lost: int
    ms: float


def replay(session: Session, trimmed: Trim, count: Callable[[Session], int], budget: int) -> Row:
    """Replay a session."""
    before: Session = []
    sent = cached = moved = over = torn = no_user = lost = n_requests = 0
    fills, seconds = [], 0.0
    for end, answer in enumerate(session):
        if answer["role"] != "assistant":
            continue
        history = session[:end]
        started = time.perf_counter()
        left = trimmed(history)
        seconds += time.perf_counter() - started
        shared = _shared(before, left)
        n_requests += 1
        tokens = count(left)
        sent += tokens
        cached += count(left[:shared]) - count([])
        moved += shared < len(before)
        if count(history) > budget:
            fills.append(tokens / budget)
        over += tokens > budget
        torn += not _is_whole(left)
        roles = [m["role"] for m in left if m["role"] != "system"]
        no_user += roles[:1] != ["user"]
        lost += left[-1:] != history[-1:]
        before = left
    return Row(
        100 * cached / max(sent, 1), (sent - cached) / n_requests,
        100 * sum(fills) / max(len(fills), 1), 100 * moved / n_requests,
        over, torn, no_user, lost, 1000 * seconds / n_requests,
    )  # fmt: skip


def _shared(before: Session, after: Session) -> int:
    """Return how many messages at the start are the same."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _is_whole(messages: Session) -> bool:
    """Return whether each call has its results, and each result its call."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return False
        waiting |= {call["id"] for call in message.get("tool_calls") or ()}
    return not waiting


def contenders(budget: int, unit: Any, encoding: str) -> Iterator[tuple[str, Trim]]:
    """Yield what trims, by name."""
    chat_format = chat_format_of("chatml", encoding)

    def cutline(low_water: float | None) -> Trim:
        return lambda messages: cast(
            "Session",
            trim(messages, budget, chat_format, unit=unit, low_water=low_water).messages,
        )

    yield "cutline", cutline(None)
    for low_water in (0.75, 0.5, 0.25):
        yield f"cutline, low_water={low_water}", cutline(low_water)
    yield from _langchain(budget, chat_format)
    yield from _litellm(budget)


def _langchain(budget: int, chat_format: Any) -> Iterator[tuple[str, Trim]]:
    try:
        from langchain_core.messages import (
            convert_to_messages,
            convert_to_openai_messages,
            trim_messages,
        )

        from cutline.integrations.langchain import message_counter
    except ImportError:
        return
    counter = message_counter(chat_format)

    def start_on(*kinds: str) -> Trim:
        return lambda messages: convert_to_openai_messages(
            trim_messages(
                convert_to_messages(messages),
                max_tokens=budget,
                token_counter=counter,
                strategy="last",
                include_system=True,
                start_on=kinds,
                end_on=("human", "tool"),
            )
        )

    yield "langchain, start_on human", start_on("human")
    yield "langchain, human or ai", start_on("human", "ai")


def _litellm(budget: int) -> Iterator[tuple[str, Trim]]:
    try:
        from litellm.utils import trim_messages  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    yield "litellm", lambda messages: trim_messages(messages, model="gpt-4o", max_tokens=budget)


def main() -> None:
    """Print a table for each session and budget."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trimming",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--corpora", type=Path, help="folder with the three corpus files")
    parser.add_argument("--encoding", default="o200k_base")
    parser.add_argument("--budget", type=int, action="append", help="of a request (8000, 32000)")
    parser.add_argument("--session", choices=SESSIONS, action="append", help="(all)")
    parser.add_argument("--only", help="what trims: those that begin so")
    options = parser.parse_args()
    texts = corpora.load(options.corpora, 2_000_000).texts
    for name in options.session or SESSIONS:
        make, unit = SESSIONS[name]
        session = make(texts)
        count = chat_format_of("chatml", options.encoding).count
        for budget in options.budget or (8000, 32000):
            print(
                f"\n{name}: {len(session)} messages, {count(session):,} tokens; budget {budget:,}"
            )
            print(" " * 26, *(f"{field:>7}" for field in Row._fields))
            for who, trimmed in contenders(budget, unit, options.encoding):
                if options.only is None or who.startswith(options.only):
                    try:
                        row = replay(session, trimmed, count, budget)
                    except BudgetError as error:
                        print(f"{who:26} {error}")
                        continue
                    cells = (f"{n:7.1f}" if isinstance(n, float) else f"{n:7}" for n in row)
                    print(f"{who:26}", *cells, flush=True)


if __name__ == "__main__":
    main()
