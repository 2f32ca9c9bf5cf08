"""Kernels whose starts are far apart, against encoding slices and those that have all starts."""

import random
from array import array
from functools import partial
from pathlib import Path

import pytest

import cutline.chunking  # noqa: F401 (loads the tables of breaks)
from cutline.kernels.breaks.word_breaks import cut_words_at_breaks
from cutline.kernels.words.intervals import WordIntervals
from cutline.pipeline.entangled import EntangledParts
from tests.conftest import short_or_long
from tests.words.test_encoding import CASES, random_text
from tests.words.test_runs import text_of, words_of
from tests.words.tokenizers_of import both

LEVELS = ([1], [0, 1], [0, 1, 2, 3], [2], [3], [0, 1, 2, 3, 4], [0, 1, 5], [])


def some_text(rng: random.Random, words: list[str]) -> str:
    """A text of several runs, some of them long, with line ends and entangled characters."""
    made = [text_of(rng, words)]
    for _ in range(rng.randint(0, 6)):
        made.append(rng.choice((random_text(rng, 30), rng.choice(words) * rng.randint(1, 30))))
        made.append(rng.choice(("\n", "\n\n", " ", ". ", "\u3002", "", "\t", "\u200b ")))
        made.append(rng.choice((made[0], text_of(rng, words), random_text(rng, 9))))
    return "".join(made[rng.choice((0, 1)) :])


@short_or_long("n_texts", 2, 200)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_slices_and_cuts_are_those_of_all_starts(
    kind: str, name: str, n_texts: int, tmp_path: Path
) -> None:
    rng = random.Random(f"{kind}{name}")
    _, encoding = both(kind, name, rng, tmp_path)
    pipeline, words = encoding._pipeline, words_of(rng)
    kernel = pipeline.kernel  # type: ignore[union-attr]
    for _ in range(n_texts):
        text = some_text(rng, words)
        if pipeline.added.may_be_in(text):  # type: ignore[union-attr]
            continue
        parts = partial(EntangledParts, pipeline, text)
        dense = WordIntervals(kernel, text, parts)
        for gap in (rng.choice((1, 2, 5)), rng.choice((8, 16, 32))):
            for _ in range(2):  # with runs that were not met, and that were
                sparse = WordIntervals(kernel, text, parts, gap=gap)
                assert sparse.total == dense.total, ascii(text)
            for _ in range(8):
                start, end = sorted(rng.choices(range(len(text) + 1), k=2))
                expected = encoding.count(text[start:end])
                assert sparse.count(start, end) == expected, (ascii(text), start, end)
                n = rng.choice((0, 1, 3, expected, 40))
                assert sparse.split_at(start, n) == dense.split_at(start, n), ascii(text)
            for n in (rng.choice((1, 2, 7)), rng.choice((20, 64, 150))):
                assert sparse.cut_all(n) == dense.cut_all(n)
                found = [
                    cut_words_at_breaks(one, 0, 0, len(text), n, fill, kinds)
                    for fill in (rng.choice((0.0, 0.25, 0.9)),)
                    for kinds in (array("i", rng.choice(LEVELS)),)
                    for one in (sparse, dense)
                ]
                assert found[0][1] == found[1][1], ascii(text)
                assert found[0][0].tolist() == found[1][0].tolist(), ascii(text)


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_long_texts_of_one_kind(kind: str, tmp_path: Path) -> None:
    name = "xlm-r" if kind == "Unigram" else "bert uncased"
    _, encoding = both(kind, name, random.Random(1), tmp_path)
    pipeline = encoding._pipeline
    kernel = pipeline.kernel  # type: ignore[union-attr]
    for text in (
        "a" * 9_000,
        "\n" * 9_000,
        "a\n" * 5_000,
        "\u4e16" * 3_000 + " b" * 999,
        " " * 999,
        "a b c " * 70 + "d" * 3_000 + " e f" * 90,  # far apart after short words
    ):
        parts = partial(EntangledParts, pipeline, text)
        dense, sparse = (WordIntervals(kernel, text, parts, gap=gap) for gap in (0, 32))
        for n in (1, 64, 256):
            assert sparse.cut_all(n) == dense.cut_all(n)
        for start in (0, 1, 500, len(text) - 3):
            assert sparse.count(start, len(text)) == encoding.count(text[start:])


@pytest.mark.parametrize("gap", [0, 32])
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_starts_before_and_after_long_words_are_found(kind: str, gap: int, tmp_path: Path) -> None:
    """Words without starts inside are passed by ranks: a scan of each took time with its square."""
    rng = random.Random(1)
    _, encoding = both(kind, "xlm-r" if kind == "Unigram" else "bert uncased", rng, tmp_path)
    pipeline = encoding._pipeline
    kernel = pipeline.kernel  # type: ignore[union-attr]
    for _ in range(12):
        lengths = rng.choices([0, 1, 63, 64, 65, 511, 512, 575, 576, 577, 640, 2_000, 5_000], k=4)
        text = " b ".join("a" * length for length in lengths)
        intervals = WordIntervals(kernel, text, partial(EntangledParts, pipeline, text), gap=gap)
        following = -1
        for at in range(len(text), -1, -1):
            found = intervals.start_from(at)
            assert found in (at, following), (lengths, at)
            following = found
        for _ in range(60):
            start, end = sorted(rng.choices(range(len(text) + 1), k=2))
            assert intervals.count(start, end) == encoding.count(text[start:end]), (lengths, start)
    n = 2_000_000  # with scans, Unigram takes minutes for some times as many
    assert encoding.split("a" * n, 256, 32)[-1].end_index == n
