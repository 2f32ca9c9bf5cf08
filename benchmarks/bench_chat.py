"""Measure what one more message costs: `Conversation` beside counting the whole history again.

A history of 10, 100 or 1,000 messages of 50 tokens, or of 1,000 messages that have a million
tokens, gets one short message, whose count is asked for, and is cut back again, on the clock, too.
`Conversation` writes it in ChatML, and in a template that looks back for the last user's message.
Before the timing its count is held against tiktoken's tokens of the whole rendered text.

The others count what their users count, whole each time; their counts are estimates, so that there
is nothing to compare: tiktoken as in OpenAI's cookbook, LangChain's way (each message as a line of
text), and `litellm.token_counter`.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.harness import Measurement, Run, best_seconds
from benchmarks.peers import SUBJECT

OPERATION = "append a message, count"

_STEPS = 50  # appends of ours in a round; of the others one
_HISTORIES = {"10": (10, 50), "100": (100, 50), "1,000": (1000, 50), "1M tokens": (1000, 1000)}
_TOKENS = ("<|im_start|>", "<|im_end|>")
_LOOKING_BACK = """{%- set ns = namespace(last=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for m in messages -%}
    {{- '<|im_start|>' + m.role + '\\n' -}}
    {%- if loop.index0 > ns.last and m.thinking -%}{{- '<think>' + m.thinking -}}{%- endif -%}
    {{- m.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"""

Message = dict[str, str]


def run_chat(run: Run) -> list[Measurement]:
    """Mean µs a message."""
    source = next(iter(run.corpora.of_size(8_000_000).values()))
    results: list[Measurement] = []
    for size, (n_messages, n_tokens) in _HISTORIES.items():
        history = _history(source, n_messages, n_tokens)
        results += _measure(run, size, history)
    return results


def _history(source: str, n_messages: int, n_tokens: int) -> list[Message]:
    """Messages of user and assistant in turn; a token of prose has four to five characters."""
    width = n_tokens * 9 // 2
    starts = (index * width % max(len(source) - width, 1) for index in range(n_messages))
    return [
        {"role": ("user", "assistant")[index % 2], "content": source[start : start + width]}
        for index, start in enumerate(starts)
    ]


def _measure(run: Run, size: str, history: list[Message]) -> list[Measurement]:
    more = {"role": "user", "content": "Clamp the parts, and wipe off what runs out."}
    results = []
    for name, template in ("ChatML", None), ("a look back", _LOOKING_BACK):
        conversation = _conversation(run, template, history)

        def step(_: int, conversation: Any = conversation) -> None:
            n_messages = len(history)
            for _ in range(_STEPS):
                conversation.append(more)
                _ = conversation.count
                conversation.truncate(n_messages)

        seconds = best_seconds({SUBJECT: step}, lambda n: n, run.rounds, run.seconds_per_cell)
        value = seconds[SUBJECT] * 1e6 / _STEPS
        results.append(Measurement(OPERATION, name, size, SUBJECT, value, "µs"))
    others = {name: make(run) for name, make in _OTHERS.items()}
    whole = [*history, more]
    calls = {name: count for name, count in others.items() if count is not None}
    times = best_seconds(calls, lambda _: whole, 3, run.seconds_per_cell)
    results += [
        Measurement(OPERATION, "ChatML", size, name, seconds * 1e6, "µs", "an estimate")
        for name, seconds in times.items()
    ]
    return results


def _conversation(run: Run, template: str | None, history: list[Message]) -> Any:
    """Make a conversation, and check it against tiktoken."""
    import tiktoken

    import cutline
    from cutline.chat import chatml

    theirs = tiktoken.get_encoding(run.encoding)
    special = dict(zip(_TOKENS, (theirs.n_vocab + 1, theirs.n_vocab + 2), strict=True))
    encoding = cutline.Encoding.from_vocabulary(
        "chat",
        pat_str=theirs._pat_str,
        vocabulary=run.cutline._vocabulary,
        special_tokens=special,
    )
    oracle = tiktoken.Encoding(
        "chat",
        pat_str=theirs._pat_str,
        mergeable_ranks=theirs._mergeable_ranks,
        special_tokens=special,
    )
    chat = chatml(encoding) if template is None else cutline.ChatTemplate(template, encoding)
    conversation = cutline.Conversation(chat, history)
    rendered = chat.render(conversation.messages)
    if conversation.count != len(oracle.encode(rendered, allowed_special="all")):
        raise SystemExit("the count of a conversation differs from tiktoken's")
    return conversation


# The others


Count = Callable[[list[Message]], int]


def _cookbook(run: Run) -> Count | None:
    import tiktoken

    encoding = tiktoken.get_encoding(run.encoding)

    def count(messages: list[Message]) -> int:
        texts = (text for message in messages for text in message.values())
        return 3 + 3 * len(messages) + sum(len(encoding.encode(text)) for text in texts)

    return count


def _langchain(run: Run) -> Count | None:
    try:
        from langchain_core.messages import convert_to_messages, get_buffer_string
    except ImportError:
        return None
    import tiktoken

    encoding = tiktoken.get_encoding(run.encoding)

    def count(messages: list[Message]) -> int:
        lines = (get_buffer_string([message]) for message in convert_to_messages(messages))
        return sum(len(encoding.encode(line)) for line in lines)

    return count


def _litellm(run: Run) -> Count | None:
    try:
        from litellm import token_counter
    except ImportError:
        return None
    model = "gpt-4o" if run.encoding == "o200k_base" else "gpt-4"

    def count(messages: list[Message]) -> int:
        return int(token_counter(model=model, messages=messages))

    return count


_OTHERS: dict[str, Callable[[Run], Count | None]] = {
    "tiktoken, cookbook": _cookbook,
    "tiktoken, LangChain's way": _langchain,
    "litellm": _litellm,
}
