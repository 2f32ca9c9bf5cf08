"""Shortened texts keep their budgets and their structure, whatever the text."""

import contextlib
import csv
import io
import json
import random
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

import cutline
from cutline import BudgetError, get_encoding, shorten
from cutline.errors import UnparsedWarning
from tests.conftest import needs_code
from tests.texts import NAMED_TEXTS, SURROGATE_TEXTS

ENCODING = get_encoding("o200k_base")
KINDS = ["auto", "text", "json", "jsonl", "csv", "log", "markdown"]


def check(text: str, max_tokens: int, kind: str) -> cutline.Shortened | None:
    """Check what holds for every text; None if not even the marker fits."""
    try:
        short = shorten(text, max_tokens, kind=kind)
    except BudgetError:
        assert max_tokens < ENCODING.count("…") < ENCODING.count(text) + 1
        return None
    assert short.token_count == ENCODING.count(short.text) <= max_tokens
    ends = [0, *(place for span in short.kept for place in span)]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)
    if ENCODING.count(text) <= max_tokens:
        assert short.text == text
    elif short.kind == "text":
        assert all(text[start:end] in short.text for start, end in short.kept)
    return short


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=60,
)


@settings(max_examples=150)
@given(values, st.integers(0, 60), st.sampled_from([None, 2]))
def test_json_stays_json(value: object, max_tokens: int, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    short = check(text, max_tokens, "json")
    if short is not None and short.kind == "json":
        found = json.loads(short.text)
        assert type(found) is type(value) or isinstance(found, str)


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(["INFO a b c", "  at x.py", "ERROR no", "", "é" * 30, "{", '"a,b"'])),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 40),
    st.sampled_from(KINDS),
)
def test_any_lines_keep_the_budget(
    lines: list[str], line_end: str, max_tokens: int, kind: str
) -> None:
    check(line_end.join(lines), max_tokens, kind)


@pytest.mark.parametrize("kind", [*KINDS, "python"])
def test_hard_texts(kind: str) -> None:
    for text in NAMED_TEXTS.values():
        for max_tokens in (0, 1, 7):
            check(text[:3000] * 2, max_tokens, kind)
    for text in SURROGATE_TEXTS.values():
        with contextlib.suppress(cutline.SurrogateError):  # unless they are left out
            short = shorten(text * 9, 3, kind=kind)
            assert short.token_count == ENCODING.count(short.text) <= 3


def test_a_table_keeps_its_header_and_its_columns() -> None:
    rng, out = random.Random(1), io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["id", "name", "note"])
    for number in range(500):
        writer.writerow([number, f"name {number}", 'two\nlines, "quoted"' * rng.randint(0, 3)])
    for max_tokens in (40, 90, 300):
        short = check(out.getvalue(), max_tokens, "csv")
        assert short is not None
        assert short.kind == "csv"
        rows = [*csv.reader(io.StringIO(short.text, newline=""))]
        assert rows[0] == ["id", "name", "note"]
        assert {len(row) for row in rows} == {3}


@pytest.mark.parametrize("header", ["a\rb,c\n", "a" * 200_000 + ",c\n", 'a"\r",\0c\n', ",\n"])
def test_a_header_that_csv_refuses_is_counted(header: str) -> None:
    for kind in ("csv", "auto"):
        short = check(header + "1,2\n" * 99, 20, kind)
        assert short is not None


def test_a_log_keeps_its_errors() -> None:
    lines = [f"2026-11-23 10:00:00 INFO step {number} is done" for number in range(3000)]
    lines[1500] = "2026-11-23 10:00:00 ERROR disk full"
    short = check("\n".join(lines), 200, "auto")
    assert short is not None
    assert (short.kind, lines[1500] in short.text, lines[0] in short.text) == ("log", True, True)


@needs_code
def test_code_keeps_its_definitions() -> None:
    text = "".join(f"def f{number}(a):\n    b = a\n    return b\n\n\n" for number in range(9))
    short = check(text, 90, "python")
    assert short is not None
    assert all(f"def f{number}(a):" in short.text for number in range(9))


@pytest.mark.parametrize("kind", ["text", "log", "jsonl", "csv", "markdown", "python"])
def test_what_says_how_much_is_missing_does_not_take_all_the_room(kind: str) -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 50
    lines = "".join(f"{number}, {number + 1}, {number + 2}\n" for number in range(100))
    for source in (text, lines):
        for max_tokens in range(3, 16):
            assert shorten(source, max_tokens, kind=kind).kept, (source, max_tokens)


@pytest.mark.parametrize("text", ['{"a": [1, 2', "[" * 100_000, "NaN nonsense " * 99])
def test_what_is_not_json_is_shortened_as_text(text: str) -> None:
    short = check(text, 5, "json")
    assert short is not None
    assert short.kind == "text"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('id,note\n1,"two\nlines"\n2,"x, y"\n3,z\n', "csv"),
        ("a;b\n1;2\n3;4\n", "csv"),
        ("a\tb\n1\t2\n3\t4\n", "tsv"),
        ("One, two.\nThree four five, six.\nSeven.\nA, b, c.\n", "text"),
        ("# a\n# b\n# c\nkey=1\n\n# d\n# e\nother=2\n", "text"),
        ("#!/bin/sh\n# says x\necho x\n", "text"),
        ("#!/bin/sh\n# A script.\nset -e\n\n# Clean\nrm -rf build\n", "text"),
        ("# Copyright 2026\n\nimport os\n\n\ndef f():\n    return 1\n", "text"),
        ("# settings\n\n[project]\nname = 'x'\n\n# more\n\n[more]\n", "text"),
        ("# build\n\nall: x\n\tgcc x.c\n\n# clean\n\nclean:\n\trm x\n", "text"),
        ("# settings\n\na: 1\nb:\n  - c\n\n# more\n\nd: 2\n", "text"),
        ("# Title\n\ntext\n", "markdown"),
        ("# cutline\n\n- one\n- two\n\n## Use\n\nImport it, then call it.\n", "markdown"),
        ("intro\n\n## A\n\ntext\n\n## B\n\nmore\n", "markdown"),
        ("see\n```\nx\n```\n", "markdown"),
        ('{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("[1]", "json"),
        ("\x1b[32m2026-05-01 12:00:00\x1b[0m up\n" * 3, "log"),
        ("app \x1b[1;34mINFO\x1b[0m up\n" * 3, "log"),
    ],
)
def test_kinds_are_guessed(text: str, kind: str) -> None:
    assert shorten(text, 999).kind == kind


def test_any_token_counter_counts() -> None:
    letters = models.BPE({chr(code): code for code in range(32, 127)} | {"…": 0}, [])
    wrapped = cutline.wrap(Tokenizer(letters), name="letters")
    short = shorten(json.dumps(list(range(1000))), 50, encoding=wrapped)
    assert short.token_count == len(short.text) <= 50
    assert isinstance(json.loads(short.text), list)


@pytest.mark.parametrize("has_parser", [pytest.param(True, marks=needs_code), False])
@pytest.mark.parametrize("kind", ["jsn", "", "pyton", "data/csv", "notebook", "transcript"])
def test_an_unknown_kind_is_refused_with_and_without_parsers(
    kind: str, has_parser: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_parser:
        monkeypatch.setattr("cutline.shortening.kinds.code_languages", missing)
    with pytest.raises(ValueError, match="kind must be one of 'auto', "):
        shorten("a", 1, kind=kind)


def missing() -> NoReturn:
    raise ImportError("no parser")


@pytest.mark.parametrize("kind", ["python", "Py", "html", "C++"])
def test_a_language_without_a_parser_is_shortened_as_text(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutline.shortening.kinds.code_languages", missing)
    with pytest.warns(UnparsedWarning, match="code is shortened as text: no parser") as caught:
        assert shorten("a b c d", 3, kind=kind).kind == "text"
    assert [warning.filename for warning in caught] == [__file__]


def test_kinds_are_read_in_any_case() -> None:
    assert [shorten("[1]", 3, kind=kind).kind for kind in ("JSON", "Auto")] == ["json", "json"]
    with pytest.raises(TypeError, match="kind must be a str, got NoneType"):
        shorten("a", 1, kind=None)  # type: ignore[arg-type]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        shorten("a", -1)
