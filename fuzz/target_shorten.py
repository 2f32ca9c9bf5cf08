"""Shortened tool output is within its budget, and what was JSON is JSON.

Input: kind, budget, form (a byte each), then the text as for `documents`, or where the form is odd
and the kind one of JSON's, choices that make a value.
"""

import json

import cutline
from cutline.errors import BudgetError
from cutline.shortening import KINDS
from fuzz.grammar import PARTS, Choices, json_value, spelled
from tests.oracles import counter

ENCODING = "o200k_base"
ALL_KINDS = (*KINDS, "python")
MAX_CHARACTERS = 4_000


def run(data: bytes) -> None:
    if len(data) < 4:
        return
    kind, max_tokens, form = ALL_KINDS[data[0] % len(ALL_KINDS)], data[1], data[2]
    if form & 1 and kind in ("json", "jsonl", "auto"):
        choices = Choices(data[3:])
        values = [json_value(choices) for _ in range(1 + form // 2 % 5 * (kind == "jsonl"))]
        indent = 2 if form & 32 and kind != "jsonl" else None
        text = "\n".join(json.dumps(v, ensure_ascii=bool(form & 64), indent=indent) for v in values)
    else:
        text = spelled(kind if kind in PARTS else "markdown", data[3:])[:MAX_CHARACTERS]
    check_shortened(text, max_tokens, kind, ("…", "", "[... cut]", '"')[form // 2 % 4])


def check_shortened(text: str, max_tokens: int, kind: str, marker: str) -> None:
    count = counter(ENCODING)
    try:
        short = cutline.shorten(text, max_tokens, kind=kind, encoding=ENCODING, marker=marker)
    except BudgetError:
        assert count(marker) > max_tokens < count(text)
        return
    assert short.token_count == count(short.text) <= max_tokens
    ends = [0, *(place for span in short.kept for place in span)]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)
    assert all(text[start:end] in short.text for start, end in short.kept if short.kind == "text")
    if count(text) <= max_tokens:
        assert short.text == text
    elif short.kind == "json":
        assert isinstance(json.loads(short.text), (type(json.loads(text)), str))
    elif short.kind == "jsonl" and are_json(text):
        assert are_json(short.text)


def are_json(text: str) -> bool:
    """Return whether each line that is not empty is JSON."""
    try:
        [*map(json.loads, filter(str.strip, text.splitlines()))]
    except (ValueError, RecursionError):
        return False
    return True
