"""The longest prefix that fits, in windows as short as can be: all ends are tried."""

import random

import pytest

import cutline
from cutline.counting import windows
from tests.conftest import short_or_long
from tests.vocabularies import SCANS, encoding_of, random_ranks

LETTERS = ["a", "b", "c", " ", "\n", "é", "日"]


@short_or_long("n_texts", 20, 3_000)
@pytest.mark.parametrize("least", [1, 2, 7])
@pytest.mark.parametrize("pat_str", SCANS)
def test_windows_do_not_change_a_cut(
    pat_str: str | None, least: int, n_texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "_LEAST", least)
    monkeypatch.setattr(windows, "_CHARACTERS_OF_A_TOKEN", 0)
    rng = random.Random(f"{pat_str} {least}")
    for _ in range(n_texts):
        encoding = encoding_of(random_ranks(rng, b"abc"), pat_str)
        letters = rng.sample(LETTERS, rng.randint(1, len(LETTERS)))
        text = "".join(rng.choices(letters, k=rng.randint(0, 40)))
        start, n = rng.randint(0, len(text)), rng.randint(0, 12)
        counts = [encoding.count(text[start:end]) for end in range(start, len(text) + 1)]
        expected = max(start + at for at, tokens in enumerate(counts) if tokens <= n)
        assert encoding.split_at(text, n, start) == expected
        assert encoding.intervals(text).split_at(start, n) == expected


@short_or_long("n_texts", 12, 600)
@pytest.mark.parametrize(
    "pat_str", [r"\S+", r"b+", r"\p{L}+", r"[ab]+(?!\S)|c", r"a+c|[^a ]+", None]
)
def test_long_pieces_of_patterns_that_leave_out_characters(
    pat_str: str | None, n_texts: int
) -> None:
    rng = random.Random(pat_str)
    for _ in range(n_texts):
        encoding = encoding_of(random_ranks(rng, b"abc"), pat_str)
        letters = rng.choices(["a", "b", "c", "ab", "é", "日"], k=3) * 40 + [" ", "\n"]
        text = "".join(rng.choices(letters, k=400))
        start, n = rng.randint(0, 20), rng.randint(1, 9)
        counts = [encoding.count(text[start:end]) for end in range(start, len(text) + 1)]
        expected = max(start + at for at, tokens in enumerate(counts) if tokens <= n)
        assert encoding.split_at(text, n, start) == expected
        assert encoding.intervals(text).split_at(start, n) == expected
        at = 0
        for chunk in encoding.split(text[:150], n + 3):
            assert (chunk.start_index, chunk.end_index) == (
                at,
                encoding.split_at(text[:150], n + 3, at),
            )
            at = chunk.end_index


def test_what_follows_is_not_read_though_a_pattern_has_gaps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths: list[int] = []
    utf8_of = windows.utf8_of

    def noted(text: str, offset: int) -> str | bytes:
        lengths.append(len(text))
        return utf8_of(text, offset)

    monkeypatch.setattr(windows, "utf8_of", noted)
    words = cutline.Encoding(
        "words", pat_str=r"\w+", mergeable_ranks={bytes([b]): b for b in range(256)},
        special_tokens={},
    )  # fmt: skip
    text = "one two, three " * 10_000
    counter = words.intervals(text)
    for start in range(0, len(text), 5_000):
        assert words.split_at(text, 11, start) == counter.split_at(start, 11)
    assert sum(lengths) < 2 * 30 * 400


def test_a_surrogate_behind_what_is_read_is_no_error() -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = "one two three " * 20 + "\ud800"
    assert encoding.split_at(text, 3) == len("one two three")
    with pytest.raises(cutline.SurrogateError, match="at offset 280"):
        encoding.split_at(text, 100)
