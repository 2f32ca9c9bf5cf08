"""One long text in threads: the tokens of the whole, whatever the text and the tokenizer.

Parts of a few characters here, so that every kind of place is cut at.
"""

import random
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import cutline
from cutline.pipeline import parts
from tests.conftest import short_or_long
from tests.oracles import real_tiktoken
from tests.pipeline.families import FAMILIES, build, texts_with
from tests.texts import NAMED_TEXTS, random_texts
from tests.vocabularies import SCANS, TOY_TOKENS, encoding_of, with_bytes

SURROGATES = {
    "a pair at every place": "\ud83d\ude00" * 40,
    "pairs and words": "one \ud83d\ude00two\ud83d \ude00 three," * 9,
    "alone": " \udc00a\ud800 .\ud800" * 20,
}
# Safe split points nowhere, everywhere, and long after the place that is good for a cut.
TEXTS = {
    **NAMED_TEXTS,
    **SURROGATES,
    "one letter": "a" * 500,
    "blanks": " " * 500,
    "newlines and blanks": ("\n" + " " * 50) * 9 + "z",
    "digits": "1" * 500,
    "han without marks": "中" * 300,
    "emoji": "😀👍🏽🏴‍☠️" * 60,
    "contractions": "'s" * 200,
    "special tokens": "<|endoftext|>" * 40,
    "special tokens in words": "a <|endoftext|>b<|endofprompt|> <|endof" * 12,
    "a point after a long word": "word " * 10 + "x" * 300 + " word" * 10,
}


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Make parts small; tells how many cuts were made."""
    made = 0
    cut_after = parts._cut_after

    def counted(*arguments: object) -> int | None:
        nonlocal made
        cut = cut_after(*arguments)  # type: ignore[arg-type]
        made += cut is not None
        return cut

    monkeypatch.setattr(parts, "_PART", 7)
    monkeypatch.setattr(parts, "_SEARCHED", 5)
    monkeypatch.setattr(parts, "_cut_after", counted)
    return lambda: made


def assert_same(encoding: cutline.Encoding, text: str) -> None:
    ordinary = encoding.encode_ordinary(text)
    assert encoding.encode_ordinary(text, num_threads=3) == ordinary
    assert encoding.count(text, num_threads=2) == len(ordinary)
    utf8 = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    assert encoding._count_utf8(utf8, num_threads=2) == len(ordinary)
    for allowed in (frozenset[str](), "all", {*sorted(encoding.special_tokens_set)[:1]}):
        tokens = encoding.encode(text, allowed_special=allowed, disallowed_special=())
        assert tokens == encoding.encode(
            text, allowed_special=allowed, disallowed_special=(), num_threads=2
        )
        found = encoding.encode_to_numpy(
            text, allowed_special=allowed, disallowed_special=(), num_threads=2
        )
        assert found.dtype == np.uint32
        assert found.tolist() == tokens


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_tokens_are_those_of_tiktoken(name: str, cuts: Callable[[], int]) -> None:
    encoding, oracle = cutline.get_encoding(name), real_tiktoken(name)
    for text in [*TEXTS.values(), *random_texts(97, 200)]:
        assert encoding.encode(text, allowed_special="all", num_threads=2) == oracle.encode(
            text, allowed_special="all"
        )
        assert_same(encoding, text)
    assert cuts() > 1000


@pytest.mark.parametrize("pat_str", SCANS, ids=str)
def test_no_pattern_is_cut_where_it_might_not_split(
    pat_str: str | None, cuts: Callable[[], int]
) -> None:
    rng = random.Random(101)
    for name, tokens in TOY_TOKENS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the pattern leaves gaps
            encoding = encoding_of(with_bytes(tokens), pat_str)
        for alphabet in ("ab", "abc", "abc ", "a \n", "ab中 é"):
            for _ in range(4):
                assert_same(encoding, "".join(rng.choices(alphabet, k=rng.randint(14, 90))))
        assert_same(encoding, NAMED_TEXTS["chinese"])
        assert name
    if pat_str is None:
        assert cuts() == 0


@short_or_long("n_texts", 30, 80)
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_tokens_of_every_family_are_those_of_one_thread(
    name: str, cuts: Callable[[], int], n_texts: int
) -> None:
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    mixed = [*texts_with(tokenizer, 103, n_texts), *NAMED_TEXTS.values()]
    drawn = [mixed[start : start + 20] for start in range(0, len(mixed), 20)]
    for text in [*SURROGATES.values(), *map(" ".join, drawn), *map("".join, drawn)]:
        assert_same(encoding, text)
    # What is not split by one automaton, or not at all, takes one thread.
    several = bool(encoding._spec.splittings) or encoding._spec.pat_str is None
    assert cuts() > 100 or several or name in ("a delimiter", "fixed lengths")


def test_a_pattern_that_runs_on_the_regex_module_takes_one_thread(cuts: Callable[[], int]) -> None:
    with pytest.warns(cutline.PatternFallbackWarning):
        encoding = encoding_of(with_bytes(()), r"(?<=a)b|.|\n")
    for text in TEXTS.values():
        assert_same(encoding, text)
    assert cuts() == 0


def test_parts_of_the_usual_size(corpus: str) -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = corpus[: 5 * parts._PART] + "x" * (3 * parts._PART) + corpus[: 2 * parts._PART]
    tokens = encoding.encode_to_numpy(text, disallowed_special=())
    found = encoding.encode_to_numpy(text, disallowed_special=(), num_threads=4)
    assert np.array_equal(found, tokens)
    assert encoding.count(text, num_threads=2) == len(tokens)
    assert encoding.encode_ordinary(text, num_threads=2) == tokens.tolist()


def test_a_text_without_points_is_searched_little(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = cutline.get_encoding("o200k_base")
    points = encoding._points
    searched = 0
    first = points.first

    def counted(text: str, begin: int) -> int | None:
        nonlocal searched
        searched += len(text)
        return first(text, begin)

    monkeypatch.setattr(points, "first", counted)
    text = "a" * (8 * parts._PART)
    assert parts.map_parts(lambda part, _: len(part), text, points, 2) == [len(text)]
    assert searched == 7 * (parts._SEARCHED + parts._REACH)


@pytest.mark.parametrize("num_threads", [0, -1])
def test_no_threads_are_refused(num_threads: int) -> None:
    encoding = cutline.get_encoding("o200k_base")
    for text in ("", "short", "long " * (1 << 19)):
        for call in (encoding.count, encoding.encode, encoding.encode_ordinary,
                     encoding.encode_to_numpy):  # fmt: skip
            with pytest.raises(
                ValueError, match=f"num_threads must be 1 or more, got {num_threads}"
            ):
                call(text, num_threads=num_threads)


def test_disallowed_special_tokens_are_refused_wherever_they_are(cuts: Callable[[], int]) -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = "word " * 50 + "<|endoftext|>"
    for call in (encoding.encode, encoding.encode_to_numpy):
        with pytest.raises(cutline.SpecialTokenError):
            call(text, num_threads=2)


def test_what_is_no_str_is_refused() -> None:
    encoding = cutline.get_encoding("o200k_base")
    for call in (encoding.count, encoding.encode_ordinary):
        with pytest.raises(TypeError, match="text must be a str, got bytes"):
            call(b"text", num_threads=2)  # type: ignore[operator]


class Shouted(str):
    """A str that pretends to be another one."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, key: object) -> str:
        return "!"


def test_what_a_subclass_overrides_does_not_count(cuts: Callable[[], int]) -> None:
    encoding, text = cutline.get_encoding("o200k_base"), "some words, and more. " * 20
    assert encoding.count(Shouted(text), num_threads=2) == encoding.count(text)
    assert encoding.encode(Shouted(text), num_threads=2) == encoding.encode(text)
    assert cuts() > 20


def test_what_is_before_a_part_decides_with_it() -> None:
    asked = []

    class Points:
        def first(self, text: str, begin: int) -> int:
            asked.append((text[: begin + 1], begin))
            return begin + 2

    text = "é中" * parts._PART
    for whole in (text, text.encode()):
        lengths = parts.map_parts(lambda part, _: len(part), whole, Points(), 1)  # type: ignore[arg-type]
        assert sum(lengths) == len(whole)
        assert len(lengths) == len(whole) // parts._PART
    assert {len(before) for before, _ in asked} == {parts._REACH}
