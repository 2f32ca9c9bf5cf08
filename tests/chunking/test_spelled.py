"""Chunks by models over characters, by a kernel, compared with those found by counting slices."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

import cutline
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.counting import few_slices
from cutline.pipeline.spelled import SpelledCounter
from tests.conftest import short_or_long
from tests.pipeline.characters import BLANK, CONFIGURATIONS, make_document
from tests.pipeline.test_run_counts import BY_RUNS, text_of, words_of
from tests.words.test_overlaps import check_breaks, check_tokens, outcome

tokenizers = pytest.importorskip("tokenizers", reason="trains the models")

PARTS = [
    "The theme of them all. ",
    "they (say) ends.\n",
    "\n\n",
    " ",
    "   ",
    "日本語の ",
    "日本",
    BLANK,
]
UNKNOWN = ["Ω", "žž ", "😀", "\U000e0100", "\x00", "한국"]


def loaded(name: str, folder: Path) -> cutline.Encoding:
    path = folder / "tokenizer.json"
    path.write_text(make_document(name), encoding="utf-8")
    return cutline.load(path)


@short_or_long("n_texts", 25, 1_500)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_chunks_are_those_found_by_counting(name: str, n_texts: int, tmp_path: Path) -> None:
    rng, encoding = random.Random(name), loaded(name, tmp_path)
    n_quick = n_spelled = 0
    for _ in range(n_texts):
        parts = [*PARTS, *rng.choice((UNKNOWN, UNKNOWN[:1], ()))]
        text = "".join(rng.choices(parts, k=rng.randint(0, 40)))
        n_spelled += isinstance(encoding.intervals(text), SpelledCounter)
        n_quick += check_breaks(rng, encoding, text)
        check_tokens(rng, encoding, text)
    assert n_quick >= n_spelled / 4


@short_or_long("n_texts", 12, 1_000)
@pytest.mark.parametrize("name", BY_RUNS)
def test_chunks_by_runs_are_those_found_by_counting(
    name: str, n_texts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_slices, "LEAST_TOKENS", 1)
    monkeypatch.setattr(few_slices, "SHARE", 1e9)
    rng, encoding = random.Random(name), loaded(name, tmp_path)
    n_by_runs = n_quick = 0
    for _ in range(n_texts):
        text = "".join(text_of(rng, words_of(rng)) for _ in range(rng.randint(1, 4)))
        counter = encoding.intervals(text)
        n_by_runs += isinstance(counter, SpelledCounter) and counter._sums_for(9) is not None
        n_quick += check_breaks(rng, encoding, text)
        check_tokens(rng, encoding, text)
    assert n_quick >= n_by_runs / 4
    # Others have added tokens in most texts, or change few of them.
    assert n_by_runs > n_texts / 2 or name not in ("llama 2", "mistral", "runs and a prefix")


def test_long_runs_are_counted_otherwise(tmp_path: Path) -> None:
    encoding = loaded("llama 2", tmp_path)
    for n in (*range(1016, 1032), 5_000):
        for text in ("the " * 90 + "a" * n + " b" * 90, " a" * 200 + " " + "a" * n, "a" * n):
            counter = encoding.intervals(text)
            assert isinstance(counter, SpelledCounter)
            # A start is at most some runs before the long one.
            assert (counter._sums_for(9_999) is None) == (n > 1024) or 1000 < n <= 1024, n
            chunks = cutline.TextChunker(encoding, 64).chunk(text)
            assert "".join(chunk.text for chunk in chunks) == text
            assert all(encoding.count(one.text) == one.token_count <= 64 for one in chunks)


@pytest.mark.parametrize("name", ["runs and a prefix", "llama 2"])
def test_lines_end_runs_where_no_token_goes_on(name: str, tmp_path: Path) -> None:
    encoding = loaded(name, tmp_path)
    for line in ("日本" * 40 + "\n", "the" * 30 + "\n\n", "日本" * 40 + "\r\n", "Ω" * 90 + "\n"):
        counter = encoding.intervals(line * 40)
        assert isinstance(counter, SpelledCounter)
        # A token of the last one has a line feed and a letter.
        assert (counter._sums_for(9_999) is not None) == (name != "llama 2" or "Ω" in line)


@pytest.mark.parametrize("name", ["runs and a prefix", "llama 2"])
def test_new_lines_after_known_ones_are_counted_apart(name: str, tmp_path: Path) -> None:
    """What was met is not written again: what is new must not be joined across it."""
    encoding, rng = loaded(name, tmp_path), random.Random(name)
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    chunker = cutline.TextChunker(encoding, 512)
    words = ["th", "e", "em", "them", "日", "本", "日本", "t\u0301", "\u0301e", "Ω", "\ue000"]
    ends = ["\n", "\n\n", "\r\n"]
    lines = [f"{word}{end}" for word in words for end in ends]
    # Where blanks are many, lines do not end runs.
    chunker.chunk("".join(f" {line}{'本' * 30}\n" for line in lines) * 9)
    for _ in range(40):
        new = ["".join(rng.choices(words, k=rng.randint(5, 20))) for _ in range(90)]
        known = rng.choices([f" {line}" for line in lines], k=90)
        parts = [*new, *known]
        parts[::2], parts[1::2] = new, known
        text = "".join(parts)
        counter = encoding.intervals(text)
        assert isinstance(counter, SpelledCounter)
        assert counter._sums_for(512) is not None
        for chunk in chunker.chunk(text):
            ids = tokenizer.encode(chunk.text, add_special_tokens=False).ids
            assert chunk.token_count == len(ids), ascii(chunk.text)


@pytest.mark.parametrize("name", ["runs and a prefix", "llama 2", "mistral"])
def test_parts_met_before_are_told_apart(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same characters have a token more where a text begins with them."""
    monkeypatch.setattr(few_slices, "LEAST_TOKENS", 1)
    monkeypatch.setattr(few_slices, "SHARE", 1e9)
    rng, encoding = random.Random(name), loaded(name, tmp_path)
    n_by_runs = 0
    for _ in range(60):
        lines = ["".join(rng.choices("日本語の", k=rng.randint(30, 45))) + "\n" for _ in range(2)]
        words = [*lines, " the theme of them all, they say, ends there.", "them all they, "]
        text = "".join(rng.choices(words if rng.random() < 0.5 else lines, k=30))
        text += rng.choice(["", "é", "😀"])
        sums = encoding.intervals(text)
        n_by_runs += isinstance(sums, SpelledCounter) and sums._sums_for(9) is not None
        for size in rng.sample(range(20, 200), 6) * 2:
            for chunk in cutline.TextChunker(encoding, size, min_fill=rng.random())(text):
                assert chunk.token_count == encoding.count(chunk.text) <= size
    assert n_by_runs > 30


@pytest.mark.parametrize("name", ["llama 2", "mistral", "gemma", "runs and a prefix"])
def test_long_words_are_left_to_another_search(name: str, tmp_path: Path) -> None:
    encoding = loaded(name, tmp_path)
    for text in ("the" * 2_000, "a b " * 50 + "日本" * 900 + " c" * 90, "Ω" * 3_000 + " the" * 90):
        chunker = cutline.TextChunker(encoding, 100, 30)
        finder = ChunkFinder(text, encoding.intervals(text), chunker._rules, encoding=encoding)
        finder._plain = None
        slow = outcome(ChunkStream(chunker._rules).chunks, finder, 0, len(text), final=True)
        assert outcome(chunker.chunk, text) == slow


def test_splitting_needs_no_chunker(tmp_path: Path) -> None:
    """In a process that has imported none, whose tables of breaks are not there."""
    loaded("llama 2", tmp_path)
    program = (
        "import sys, cutline; encoding = cutline.load(sys.argv[1])\n"
        "text = 'The theme of them. ' * 90 + 'a' * 2_000\n"
        "for size, overlap in ((5, 0), (100, 0), (100, 9)):\n"
        "    chunks = encoding.split(text, size, overlap)\n"
        "    assert all(encoding.count(one.text) == one.token_count <= size for one in chunks)\n"
        "    assert chunks[-1].end_index == len(text)\n"
        "assert 'cutline.chunking' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "tokenizer.json"], check=True)
