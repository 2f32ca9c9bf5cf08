"""Chunkers as values: equal if they were made alike, and shown as they were made."""

import inspect
import pickle
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
import regex

import cutline
from cutline import chunking
from cutline.chunking.chunkers import TextOptions
from cutline.chunking.levels import LineLevel, PatternLevel

NAMES = vars(cutline) | {name: getattr(cutline, name) for name in cutline.__all__}
NAMES |= {"re": re, "regex": regex}

MAKERS: dict[str, Callable[..., cutline.Chunker]] = {
    "token": cutline.TokenChunker,
    "text": cutline.TextChunker,
    "markdown": cutline.MarkdownChunker,
    "code": lambda *given, **options: cutline.CodeChunker("python", *given, **options),
    "data": lambda *given, **options: cutline.DataChunker("csv", *given, **options),
}
# What an option can be other than by default, and how it is shown.
OPTIONS: dict[str, Any] = {
    "chunk_overlap": 7,
    "strip": True,
    "min_fill": 0.75,
    "balance": True,
    "stable": True,
    "template": cutline.Template("{title} > {text}").fill(title="'a'\n"),
    "also_fits": {"gpt2": 99, "bytes": 400},
    "never_across": "page",
    "line_numbers": True,
}
TEXT_OPTIONS: dict[str, Any] = {
    "boundary": "character",
    "lines": "join",
    "levels": (re.compile(r"(?i)a\b"), regex.compile(r"\p{L}", regex.V1), "sentence"),
}


def ours(kind: str) -> dict[str, Any]:
    isolated = {"isolated": True} if kind in ("markdown", "code") else {}
    return OPTIONS | ({"boundary": "grapheme"} if kind == "token" else TEXT_OPTIONS | isolated)


CASES = [(kind, name, value) for kind in MAKERS for name, value in ours(kind).items()]


def test_all_chunkers_are_tested_here() -> None:
    named = {getattr(chunking, name) for name in chunking.__all__ if name.endswith("Chunker")}
    of_others = {cutline.Chunker, cutline.HierarchicalChunker}
    assert named == {type(make("gpt2")) for make in MAKERS.values()} | of_others
    for make in MAKERS.values():
        assert isinstance(make("gpt2"), cutline.Chunker)


@pytest.mark.parametrize("kind", MAKERS)
def test_every_option_is_tested_here(kind: str) -> None:
    explicit = [*inspect.signature(type(MAKERS[kind]("gpt2")).__init__).parameters]
    known = {*explicit, *TextOptions.__annotations__} if kind != "token" else {*explicit}
    first = {"self", "language", "data_format", "encoding", "chunk_size", "options"}
    assert known - first == {*ours(kind), "count_text"}


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_one_option_makes_the_difference_and_is_shown(kind: str, name: str, value: Any) -> None:
    make = MAKERS[kind]
    plain, other, twin = make("gpt2", 90), make("gpt2", 90, **{name: value}), None
    twin = make("gpt2", 90, **{name: value})
    assert plain != other
    assert (other, hash(other), repr(other)) == (twin, hash(twin), repr(twin))
    assert repr(plain).endswith("'gpt2', chunk_size=90)")
    assert f"{name}=" in repr(other)
    assert repr(other).count("=") == repr(plain).count("=") + repr({name: value}).count("=") + 1


@pytest.mark.parametrize("options", [{}, {"stable": True}, ..., {"chunk_size": 2**70}])
@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_shown_makes_it_again(kind: str, options: Any) -> None:
    made = MAKERS[kind](
        cutline.get_encoding("cl100k_base"), **(ours(kind) if options is ... else options)
    )
    again = eval(repr(made), dict(NAMES))
    assert (type(again), again, hash(again), repr(again)) == (
        type(made),
        made,
        hash(made),
        repr(made),
    )
    restored = pickle.loads(pickle.dumps(made))
    assert (restored, hash(restored)) == (made, hash(made))
    assert {made: 1}[again] == 1


@pytest.mark.parametrize("kind", MAKERS)
def test_options_that_say_what_holds_anyway_make_no_difference(kind: str) -> None:
    plain = MAKERS[kind]("gpt2")
    options = {name: value for name, value in plain._options().items() if name in ours(kind)}
    assert len(options) == len(ours(kind))
    said = MAKERS[kind](cutline.get_encoding("gpt2"), 512, **options)
    assert (said, repr(said)) == (plain, repr(plain))


def test_classes_and_first_arguments_make_a_difference() -> None:
    made: list[Any] = [make("gpt2") for make in MAKERS.values()]
    made += [
        cutline.CodeChunker("java", "gpt2"),
        cutline.DataChunker("tsv", "gpt2"),
        *(cutline.HierarchicalChunker(make("gpt2"), (9, 4)) for make in MAKERS.values()),
        cutline.HierarchicalChunker("gpt2", (9, 5)),
    ]
    assert len({*made}) == len(made) == len({*map(repr, made)})
    assert all(one != repr(one) for one in made)
    assert repr(made[5]) == "CodeChunker('java', 'gpt2', chunk_size=512)"
    for one in made:
        assert eval(repr(one), dict(NAMES)) == one


def test_encodings_are_compared_by_name_and_tokens() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}

    def of(name: str, more: dict[bytes, int]) -> cutline.Encoding:
        return cutline.Encoding(name, pat_str=None, mergeable_ranks=ranks | more, special_tokens={})

    tiny = cutline.TextChunker(of("tiny", {b"ab": 256}))
    assert tiny == cutline.TextChunker(of("tiny", {b"ab": 256}))
    assert hash(tiny) == hash(cutline.TextChunker(of("tiny", {b"ab": 256})))
    assert tiny != cutline.TextChunker(of("other", {b"ab": 256}))
    assert tiny != cutline.TextChunker(of("tiny", {b"ac": 256}))
    assert repr(tiny) == "TextChunker(<Encoding 'tiny'>, chunk_size=512)"
    # One that only has the name of a packaged encoding is not shown as that.
    assert repr(cutline.TextChunker(of("gpt2", {}))).startswith("TextChunker(<Encoding 'gpt2'>")
    assert cutline.TextChunker(of("gpt2", {})) != cutline.TextChunker("gpt2")

    def limited(*limits: tuple[Any, int]) -> cutline.Chunker:
        return cutline.TextChunker("gpt2", also_fits=dict(limits))

    assert limited((of("a", {}), 9), ("bytes", 8)) == limited(("bytes", 8), (of("a", {}), 9))
    assert limited((of("a", {}), 9)) != limited((of("a", {}), 8))
    assert limited((of("a", {}), 9)) != limited((of("a", {b"ab": 256}), 9))


def test_functions_and_objects_are_compared_as_they_compare() -> None:
    def first(text: str) -> Sequence[int]:
        return [1]

    def second(text: str) -> Sequence[int]:
        return [1]

    by = {function: cutline.TextChunker("gpt2", levels=[function]) for function in (first, second)}
    assert by[first] == cutline.TextChunker("gpt2", levels=[first]) != by[second]
    assert f"levels=({first!r},)" in repr(by[first])
    counted = [cutline.TokenChunker("gpt2", count_text=count) for count in (len, len, hash)]  # type: ignore[arg-type]
    assert counted[0] == counted[1] != counted[2]
    named = PatternLevel("semicolon", re.compile(";"))
    assert cutline.TextChunker("gpt2", levels=[named]) == cutline.TextChunker(
        "gpt2", levels=[PatternLevel("semicolon", re.compile(";"))]
    )
    assert cutline.TextChunker("gpt2", levels=[named]) != cutline.TextChunker(
        "gpt2", levels=[re.compile(";")]
    )
    kept = cutline.TextChunker("gpt2", levels=[LineLevel("keep")])
    assert kept != cutline.TextChunker("gpt2", levels=["line"])
    assert "levels=('line',)" not in repr(kept)


def test_what_a_subclass_adds_counts() -> None:
    class Mine(cutline.TextChunker):
        def __init__(self, extra: int) -> None:
            super().__init__("gpt2")
            self.extra = extra

    assert Mine(1) == Mine(1) != Mine(2)
    assert Mine(1) != cutline.TextChunker("gpt2")
    assert cutline.TextChunker("gpt2") != Mine(1)


def test_a_copy_with_another_template_is_as_one_made_with_it() -> None:
    template = cutline.Template("passage: {text}")
    made = cutline.MarkdownChunker("gpt2", 64, template=template)
    assert cutline.MarkdownChunker("gpt2", 64).with_template(template) == made
    assert made.with_template(None) == cutline.MarkdownChunker("gpt2", 64)
    assert made._apart() == cutline.MarkdownChunker("gpt2", 64, template=template, isolated=True)


@pytest.mark.parametrize("name", ["strip", "balance", "stable", "line_numbers", "isolated"])
def test_a_switch_is_a_bool(name: str) -> None:
    """A "false" of a file of settings would be true."""
    for value, same in ((np.True_, True), (1, True), (0, False)):
        chunker = cutline.MarkdownChunker("o200k_base", 12, **{name: value})
        assert repr(chunker) == repr(cutline.MarkdownChunker("o200k_base", 12, **{name: same}))
    for wrong in ("no", "false", "", None, 2, []):
        with pytest.raises(TypeError, match=f"{name} must be True or False, got "):
            cutline.MarkdownChunker("o200k_base", 12, **{name: wrong})


def test_options_of_other_types_are_shown_as_they_are_written() -> None:
    kinds = StrEnum("kinds", ["keep", "character"])
    options: dict[str, Any] = {"lines": kinds.keep, "boundary": kinds.character}
    chunker = cutline.TextChunker("o200k_base", 12, min_fill=np.float32(0.75), **options)
    assert repr(chunker).endswith("boundary='character', min_fill=0.75, lines='keep')")
    assert eval(repr(chunker), NAMES) == chunker


def test_levels_that_are_none_are_told_so() -> None:
    with pytest.raises(TypeError, match="levels must be several, in a list, got None"):
        cutline.TextChunker("o200k_base", 12, levels=None)  # type: ignore[arg-type]


def test_an_unknown_option_is_refused_by_its_name() -> None:
    for make in MAKERS.values():
        with pytest.raises(TypeError, match="unexpected keyword argument 'overlap'"):
            make("gpt2", overlap=3)
