"""`cutline messages`: conversations in JSON, counted or trimmed to a token budget."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from cutline.cli.commands import Named, command, run
from cutline.cli.decoding import InputError, TextReader, reads_text
from cutline.cli.failure import message_of
from cutline.cli.inputs import shown_name
from cutline.cli.options import encoding_choice, input_output
from cutline.errors import BudgetError

if TYPE_CHECKING:
    from cutline import Encoding, Trimmed
    from cutline.chat.protocols import ChatFormat

_SHOWN_CHARACTERS: Final = 50


@dataclass(frozen=True)
class Conversation:
    """A conversation of a file.

    Attributes:
        given: what the file has: an array of messages, or an object with them and with tools.
        line: its line in a file of JSON Lines; 0: the file is one conversation.
    """

    given: Any
    line: int = 0

    @property
    def messages(self) -> list[Any]:
        """The messages.

        Raises:
            InputError: there is no array of them.
        """
        found = self.given.get("messages") if isinstance(self.given, dict) else self.given
        if not isinstance(found, list):
            raise InputError(
                f"{self._place}a conversation is an array of messages, or an object with "
                f"'messages' and perhaps 'tools', got {json.dumps(self.given)[:100]}"
            )
        return found

    @property
    def tools(self) -> list[Any]:
        """The schemas of the tools."""
        return (self.given.get("tools") if isinstance(self.given, dict) else None) or []

    def with_messages(self, messages: Sequence[Any]) -> Any:
        """Return what the file has, with other messages."""
        return {**self.given, "messages": messages} if isinstance(self.given, dict) else messages

    def checked(self, work: Callable[[], Any]) -> Any:
        """Do work on the conversation.

        Raises:
            InputError: it is none, or does not fit.
        """
        from cutline.chat.turns import check_messages

        try:
            check_messages(self.messages)
            return work()
        except InputError:
            raise
        except (BudgetError, TypeError, ValueError) as error:
            raise InputError(f"{self._place}{error}") from error

    @property
    def _place(self) -> str:
        return f"line {self.line}: " if self.line else ""


@command(
    "cutline messages chat.json",
    "cutline messages --max-tokens 8000 --reserve 1000 chat.json > trimmed.json",
    "cutline messages -n 32000 --unit step --low-water 0.5 --report agent.jsonl > sent.jsonl",
)
@click.option(
    "--max-tokens",
    "-n",
    metavar="TOKENS",
    type=click.IntRange(min=0),
    help="Trim each conversation to so many tokens, and write it as JSON.  [default: count]",
)
@click.option(
    "--reserve",
    metavar="TOKENS",
    type=click.IntRange(min=0),
    default=0,
    help="How many of these are kept for the answer.",
)
@click.option(
    "--unit",
    type=click.Choice(["turn", "step"]),
    default="turn",
    help="What goes at once, the oldest first: a user's message with all that follows up to the "
    "next one, or an assistant's message with the results of its calls.",
)
@click.option(
    "--low-water",
    metavar="SHARE",
    type=click.FloatRange(min=0, max=1, max_open=True),
    help="Leave only this share of the room in use when messages go, so that the next requests "
    "begin in the same way.",
)
@click.option(
    "--report",
    "reports",
    is_flag=True,
    help="Write to standard error what went, and why.",
)
@click.option(
    "--chat",
    "chat_name",
    metavar="FORMAT",
    default="chatml",
    help="How the model's requests are written: chatml, harmony, openai:MODEL (an estimate), a "
    "model's folder or chat template, or plain for the contents alone.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    help="Counts as a table, or as JSON Lines.  [default: table]",
)
@encoding_choice
@reads_text
@input_output
def messages(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    max_tokens: int | None,
    reserve: int,
    unit: Any,
    low_water: float | None,
    reports: bool,
    chat_name: str,
    form: str | None,
) -> None:
    """Count the tokens of conversations, or trim them to a budget.

    Each FILE is JSON: an array of messages, as OpenAI's API has them, or an object
    with "messages" and "tools"; or JSON Lines with such a conversation in each
    line. What is trimmed keeps its form.

    The count of a message is what it adds to the request that ended before it. The
    first one has the tools and what begins the answer, too, unless there is a line
    "around" for them.
    """
    from cutline.chat.by_name import chat_format_of

    if max_tokens is not None and form is not None:
        raise click.UsageError("--format is for counts; with --max-tokens, JSON is written")
    _need_no_encoding(chat_name)
    try:
        chat_format = chat_format_of(chat_name, encoding)
    except (ValueError, KeyError, ImportError) as error:
        raise click.BadParameter(message_of(error), param_hint="--chat") from error

    if max_tokens is None:
        run(
            files,
            output,
            work=lambda _, content: [
                _counts(chat_format, one) for one in _conversations(reader.text(content))
            ],
            write=_json_lines if form == "json" else _table,
        )
        return

    def trimmed(one: Conversation) -> "tuple[Conversation, Trimmed]":
        from cutline.chat.trimming import trim

        return one, one.checked(
            lambda: trim(
                one.messages,
                max_tokens,
                chat_format,
                tools=one.tools,
                reserve=reserve,
                unit=unit,
                low_water=low_water,
            )
        )

    run(
        files,
        output,
        work=lambda _, content: [*map(trimmed, _conversations(reader.text(content)))],
        write=lambda results: _trimmed_json(results, reports=reports),
    )


def _need_no_encoding(chat_name: str) -> None:
    """Refuse an encoding for a format that has its own.

    Raises:
        click.UsageError: one was given.
    """
    if chat_name in ("chatml", "plain") or Path(chat_name).is_file():
        return
    source = click.get_current_context().get_parameter_source
    if ParameterSource.COMMANDLINE in (source("encoding_name"), source("model")):
        raise click.UsageError(
            f"--chat {chat_name} has an encoding of its own: leave out --encoding and --model"
        )


def _conversations(text: str) -> list[Conversation]:
    """Read a file.

    Raises:
        InputError: it is neither JSON nor JSON Lines.
    """
    text = text.removeprefix("\ufeff")
    try:
        return [Conversation(json.loads(text))]
    except RecursionError as error:
        raise InputError("the JSON is nested too deeply") from error
    except ValueError as error:
        lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2 or lines[0][1].strip() in ("[", "{"):
            raise InputError(f"no JSON: {error}") from error
    return [_conversation(line, i) for i, line in lines]


def _conversation(line: str, number: int) -> Conversation:
    """Read a line of JSON Lines.

    Raises:
        InputError: it is no JSON.
    """
    try:
        return Conversation(json.loads(line), number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number}: no JSON: {error}") from error


def _counts(chat_format: "ChatFormat", one: Conversation) -> dict[str, Any]:
    """Count a conversation: in all, and each message if the format can."""
    total = one.checked(lambda: chat_format.count(one.messages, tools=one.tools))
    counts = _counts_of_each(chat_format, one)
    return {
        "token_count": total,
        "messages": [
            {"role": message["role"], "token_count": count, "text": _shown(message)}
            for message, count in zip(one.messages, counts, strict=True)
        ],
    }


def _counts_of_each(chat_format: "ChatFormat", one: Conversation) -> Sequence[int | None]:
    """Count each message; None: the format refuses what ends before the conversation does."""
    from cutline import Conversation as Growing
    from cutline.errors import ChatError

    if (of_each := getattr(chat_format, "message_counts", None)) is not None:
        counts: list[int] = of_each(one.messages)
        return counts
    try:
        return Growing(chat_format, one.messages, one.tools).message_counts()
    except ChatError:
        return [None] * len(one.messages)


def _shown(message: Any) -> str:
    """Return the beginning of a message, in one line."""
    content = message.get("content") or message.get("tool_calls") or ""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = " ".join(map(str, filter(None, texts))) or json.dumps(content, ensure_ascii=False)
    text = " ".join(str(content)[: 4 * _SHOWN_CHARACTERS].split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _json_lines(results: Named[list[dict[str, Any]]]) -> Iterator[str]:
    for file, conversations in results:
        for number, one in enumerate(conversations):
            counts = [{**message} for message in one["messages"]]
            for message in counts:
                del message["text"]
            row = {"file": file, "index": number, "token_count": one["token_count"]}
            yield _json_line({**row, "messages": counts})


def _table(results: Named[list[dict[str, Any]]]) -> Iterator[str]:
    for file, conversations in results:
        for number, one in enumerate(conversations):
            name = shown_name(file)
            yield f"{name}\n" if len(conversations) == 1 else f"{name}, {number}\n"
            for place, message in enumerate(one["messages"]):
                count = "" if message["token_count"] is None else message["token_count"]
                role, text = shown_name(message["role"]), shown_name(message["text"])
                yield f"{place:>5}  {role:<9} {count:>8}  {text}".rstrip() + "\n"
            known = [message["token_count"] or 0 for message in one["messages"]]
            if any(known) and (rest := one["token_count"] - sum(known)):
                yield f"{'':>5}  {'around':<9} {rest:>8}  tools, and what begins the answer\n"
            yield f"{'':>5}  {'in all':<9} {one['token_count']:>8}\n"


def _trimmed_json(
    results: "Iterable[tuple[str, list[tuple[Conversation, Trimmed]]]]", *, reports: bool
) -> Iterator[str]:
    for file, conversations in results:
        for one, trimmed in conversations:
            if reports:
                place = f", line {one.line}" if one.line else ""
                for line in trimmed.report().splitlines():
                    click.echo(f"{shown_name(file)}{place}: {line}", err=True)
            yield _json_line(one.with_messages(trimmed.messages))


def _json_line(value: Any) -> str:
    from cutline.cli.rows import json_of

    return json_of(value) + "\n"
