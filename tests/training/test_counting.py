"""`count_pieces` gives what the oracle cuts, whatever the blocks, threads and documents."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.errors import PatternError, PatternFallbackWarning, SurrogateError
from cutline.kernels.scan.scan import scan_pieces
from cutline.kernels.train.piece_counter import Guess, Tally
from cutline.tables import build_scan_tables
from cutline.training import counters, counting, sources
from cutline.training import counts as counts_module
from cutline.training.counting import count_pieces
from cutline.training.progress import Progress
from cutline.vocabulary.openai import CL100K_PAT_STR, O200K_PAT_STR, R50K_PAT_STR
from tests.oracles import real_tiktoken
from tests.pretokenize.oracles import texts_split_otherwise
from tests.texts import NAMED_TEXTS, SURROGATE_TEXTS, random_texts, run_length_text

Rows = dict[bytes, int]

PACKAGED_PATTERNS = {
    "r50k_base": R50K_PAT_STR,
    "cl100k_base": CL100K_PAT_STR,
    "o200k_base": O200K_PAT_STR,
}
# Scans that meet late, in step only or never, look far, and leave gaps; None: one piece for all.
PATTERNS: tuple[str | None, ...] = (
    None,
    O200K_PAT_STR,
    r"ab*c|\w",
    r"(?:aa)*b|a",
    r"a{1,70}|b+",
    r"a+(?!\S)|\w| +",
    r"x\w+|\w+!|[\s\S]",
    r"\S+|\s+(?!\S)|\s",
    r"b+",
)
ALPHABET = "aab bcx!1é<>"
SPECIALS: tuple[tuple[str, ...], ...] = ((), ("aa",), ("ab", "abb", "b b", "<a>"), ("é", "1é", "<"))


class Blocks:
    """A document that comes in blocks of so many characters."""

    text = None

    def __init__(self, name: str, text: str, characters: int) -> None:
        self.name = name
        self._text = text
        self._characters = characters

    def blocks(self) -> Iterator[bytes]:
        for start in range(0, len(self._text), self._characters):
            yield self._text[start : start + self._characters].encode()


class Documents(list[Blocks]):
    """A source of such documents."""

    bytes_read = None


def in_blocks(monkeypatch: pytest.MonkeyPatch, characters: int) -> None:
    """Let every text of a source come in blocks."""

    def open_in_blocks(source: Iterable[str], column: str | None) -> Documents:
        return Documents(
            Blocks(f"item {number}", text, characters) for number, text in enumerate(source, 1)
        )

    monkeypatch.setattr(counting, "open_source", open_in_blocks)


def wanted(texts: Iterable[str], pat_str: str | None, specials: Sequence[str] = ()) -> Rows:
    """Pieces by the `regex` module, special tokens cut out by one of their own."""
    pattern = regex.compile(r"(?s:.+)" if pat_str is None else pat_str)
    longest_first = sorted(specials, key=len, reverse=True)
    special = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
    found: Counter[str] = Counter()
    for text in texts:
        for stretch in special.split(text):
            found.update(match[0] for match in pattern.finditer(stretch))
    return {piece.encode(): count for piece, count in found.items()}


def letters(seed: int, n_texts: int, length: int = 300) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(ALPHABET, k=rng.randrange(length))) for _ in range(n_texts)]


@pytest.mark.parametrize("name", PACKAGED_PATTERNS)
def test_pieces_are_those_that_tiktoken_encodes(name: str) -> None:
    texts = [*NAMED_TEXTS.values(), *random_texts(41, 300)]
    counts = count_pieces(iter(texts), pat_str=PACKAGED_PATTERNS[name])
    encode_piece = real_tiktoken(name)._encode_single_piece
    encode = real_tiktoken(name).encode_ordinary
    assert counts.total == sum(dict(counts).values())
    # Pieces encoded one by one give as many tokens as the texts do, of every kind.
    apart: Counter[int] = Counter()
    for piece, count in counts:
        for token in encode_piece(piece):
            apart[token] += count
    assert apart == Counter(token for text in texts for token in encode(text))


@pytest.mark.parametrize("name", PACKAGED_PATTERNS)
def test_a_corpus_is_counted_as_tiktoken_cuts_it(corpus: str, name: str, tmp_path: Path) -> None:
    pat_str, text = PACKAGED_PATTERNS[name], corpus[:150_000]
    path = tmp_path / "corpus.txt"
    path.write_text(text, encoding="utf-8", newline="")
    utf8 = text.encode()
    starts, ends, _ = scan_pieces(build_scan_tables(pat_str), utf8)
    pieces = [utf8[start:end] for start, end in zip(starts, ends, strict=True)]
    spans = list(pairwise(accumulate((len(piece.decode()) for piece in pieces), initial=0)))
    assert texts_split_otherwise(pat_str, [text], [spans]) == []
    assert dict(count_pieces(path, pat_str=pat_str)) == Counter(pieces)


@pytest.mark.parametrize("num_threads", [2, 3])
def test_a_whole_corpus_is_counted_alike_by_threads(corpus: str, num_threads: int) -> None:
    one = count_pieces(iter([corpus]), num_threads=1)
    assert count_pieces(iter([corpus]), num_threads=num_threads) == one
    assert sum(len(piece) * count for piece, count in one) == len(corpus.encode())


@pytest.mark.parametrize("characters", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize("num_threads", [1, 2, 3, 5])
def test_blocks_and_threads_change_nothing(
    monkeypatch: pytest.MonkeyPatch, characters: int, num_threads: int
) -> None:
    monkeypatch.setattr(counters, "THREAD_BYTES", 5)
    monkeypatch.setattr(counters, "SHORT_BYTES", 2)
    monkeypatch.setattr(counters, "SEAM_BYTES", 1 + characters % 4)
    monkeypatch.setattr(counts_module, "_THREAD_PIECES", 1)
    in_blocks(monkeypatch, characters)
    texts = [*letters(characters, 6), "1" * 900, "a" * 901 + "b", "x" + "a" * 700]
    for place, pat_str in enumerate(PATTERNS):
        specials = SPECIALS[place % len(SPECIALS)]
        counts = count_pieces(
            iter(texts), pat_str=pat_str, special_tokens=specials, num_threads=num_threads
        )
        assert (pat_str, dict(counts)) == (pat_str, wanted(texts, pat_str, specials))


@settings(max_examples=150)
@given(
    texts=st.lists(st.text(st.sampled_from(ALPHABET), max_size=40), min_size=1, max_size=5),
    pat_str=st.sampled_from(PATTERNS),
    specials=st.sampled_from(SPECIALS),
    characters=st.integers(1, 12),
    num_threads=st.integers(1, 3),
    thread_bytes=st.sampled_from([1, 4, 1_000]),
    waiting_tasks=st.sampled_from([0, 1, 5]),
    seam_bytes=st.sampled_from([0, 1, 3, 10, 1_000]),
)
def test_any_texts_in_any_blocks(
    texts: list[str],
    pat_str: str | None,
    specials: tuple[str, ...],
    characters: int,
    num_threads: int,
    thread_bytes: int,
    waiting_tasks: int,
    seam_bytes: int,
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(counters, "THREAD_BYTES", thread_bytes)
        monkeypatch.setattr(counters, "WAITING_TASKS", waiting_tasks)
        monkeypatch.setattr(counters, "SEAM_BYTES", seam_bytes)
        in_blocks(monkeypatch, characters)
        counts = count_pieces(
            iter(texts), pat_str=pat_str, special_tokens=specials, num_threads=num_threads
        )
    assert dict(counts) == wanted(texts, pat_str, specials)


@pytest.mark.parametrize("num_threads", [1, 3])
def test_many_short_documents_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch, num_threads: int
) -> None:
    monkeypatch.setattr(counters, "BATCH_BYTES", 5_000)
    monkeypatch.setattr(counters, "THREAD_BYTES", 100)
    texts = letters(8, 3_000, 30)
    counts = count_pieces(iter(texts), pat_str=r"\w+|[^\w]", num_threads=num_threads)
    assert dict(counts) == wanted(texts, r"\w+|[^\w]")


def test_the_order_of_documents_changes_nothing() -> None:
    texts = list(random_texts(5, 200))
    counts = count_pieces(iter(texts))
    random.Random(1).shuffle(texts)
    assert count_pieces(iter(texts)) == counts
    half = len(texts) // 2
    assert count_pieces(iter(texts[:half])) + count_pieces(iter(texts[half:])) == counts


@pytest.mark.parametrize("pat_str", [None, O200K_PAT_STR, r"(?:ab)+c|[abc]"])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_giant_piece_in_small_blocks_takes_linear_time(
    monkeypatch: pytest.MonkeyPatch, pat_str: str | None, num_threads: int
) -> None:
    in_blocks(monkeypatch, 1_000)
    monkeypatch.setattr(counters, "THREAD_BYTES", 1_000)
    scanned = guessed = 0

    class Noted(Tally):
        def add(self, data: bytes, start: int, stop: int, end: int, final: bool) -> int:
            nonlocal scanned
            scanned += end - start
            return super().add(data, start, stop, end, final)

        def guess(self, data: bytes, start: int, stop: int, end: int, final: bool) -> Guess:
            nonlocal guessed
            guessed += end - start
            return super().guess(data, start, stop, end, final)

    monkeypatch.setattr(counters, "Tally", Noted)
    text = "ab" * 500_000 + "c"
    counts = count_pieces(iter([text]), pat_str=pat_str, num_threads=num_threads)
    assert dict(counts) == {text.encode(): 1}
    assert scanned < 4 * len(text)
    # Nothing is to be guessed inside of a piece that goes on and on.
    assert guessed < len(text) / 20


@pytest.mark.parametrize("num_threads", [1, 2, 4])
@pytest.mark.parametrize("end", ["", "!", " b", "é c"])
def test_what_was_guessed_inside_of_a_long_piece_does_not_count(
    monkeypatch: pytest.MonkeyPatch, num_threads: int, end: str
) -> None:
    # From inside, each letter of it is a piece, more than a guess only notes.
    in_blocks(monkeypatch, 1_000)
    monkeypatch.setattr(counters, "THREAD_BYTES", 1_000)
    monkeypatch.setattr(counters, "SHORT_BYTES", 2)
    for n in (500, 1_990, 2_000, 9_500):
        text = "ab x" + "a" * n + end
        counts = count_pieces(iter([text, text]), pat_str=r"x\w+|[\s\S]", num_threads=num_threads)
        assert dict(counts) == wanted([text, text], r"x\w+|[\s\S]")


def test_special_tokens_are_remembered_and_cut_across_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "to be<|end|>or<|end|><|endoftext|>not<|end" * 3
    specials = ("<|end|>", "<|endoftext|>", "<|endof")
    for characters in range(1, 60):
        in_blocks(monkeypatch, characters)
        counts = count_pieces(iter([text]), special_tokens=specials)
        assert counts.special_tokens == specials
        assert dict(counts) == wanted([text], O200K_PAT_STR, specials)


def test_counts_know_their_pattern() -> None:
    assert count_pieces(iter(["a"])).pat_str == O200K_PAT_STR
    assert count_pieces(iter(["a b"]), pat_str=None).pat_str is None
    assert count_pieces(iter(["a b"]), pat_str=None).most_common() == [(b"a b", 1)]


# Patterns that no automaton is generated for

FALLBACK = r"(?<=a)b+|\w\b|[^\w]"


def test_a_fallback_pattern_counts_the_same_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["aabb éb!", "", "bab", *letters(2, 30)]
    for characters in (1, 3, 1_000):
        in_blocks(monkeypatch, characters)
        with pytest.warns(PatternFallbackWarning, match="runs on the `regex` module") as caught:
            counts = count_pieces(iter(texts), pat_str=FALLBACK, special_tokens=["1é"])
        assert caught[0].filename == __file__
        assert dict(counts) == wanted(texts, FALLBACK, ["1é"])


@pytest.mark.parametrize(
    ("pat_str", "error", "message"),
    [
        ("", PatternError, "an empty split pattern matches no text; pass None to split nothing"),
        ("(", PatternError, "pattern"),
        (r"(a)\1", PatternError, "pattern"),
        (b"a", TypeError, "pat_str must be a str or None, got bytes"),
    ],
)
def test_bad_patterns_are_refused(pat_str: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        count_pieces(iter(["a"]), pat_str=pat_str)


# Errors and interruption


@pytest.mark.parametrize("text", SURROGATE_TEXTS.values())
def test_surrogates_are_named_with_document_and_place(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    text = "é" * 20 + text
    place = next(at for at, character in enumerate(text) if "\ud800" <= character < "\ue000")
    message = f"item 2 has a surrogate code point, {text[place]!r}, at offset {place};"
    specials = ["éé"], []
    for special_tokens in specials:
        for block_characters in (3, 1 << 20):
            monkeypatch.setattr(sources, "BLOCK_BYTES", block_characters)
            with pytest.raises(SurrogateError, match=re.escape(message)):
                count_pieces(iter(["a", text]), special_tokens=special_tokens)


@pytest.mark.parametrize("num_threads", [0, -1])
def test_fewer_threads_than_one_are_refused(num_threads: int) -> None:
    with pytest.raises(ValueError, match=f"num_threads must be 1 or more, got {num_threads}"):
        count_pieces(iter(["a"]), num_threads=num_threads)


def test_bad_special_tokens_are_refused_before_anything_is_read() -> None:
    with pytest.raises(TypeError, match="special_tokens must be several, got one str"):
        count_pieces("no such file", special_tokens="<end>")


def test_progress_is_told_from_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(counters, "SHORT_BYTES", 0)
    told: list[Progress] = []
    callers: set[int] = set()

    def progress(step: Progress) -> None:
        told.append(step)
        callers.add(threading.get_ident())

    texts = ["zwei Wörter"] * 10
    counts = count_pieces(iter(texts), progress=progress, num_threads=2)
    assert len(told) >= 10
    assert callers == {threading.get_ident()}
    assert [step.bytes_read for step in told] == sorted(step.bytes_read for step in told)
    assert told[-1] == Progress("count", bytes_read=120, pieces=counts.total)


def test_an_exception_from_progress_ends_the_threads() -> None:
    def progress(step: Progress) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        count_pieces(iter(["a " * 200_000] * 5), progress=progress, num_threads=3)
    assert threading.active_count() == before


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to send")
@pytest.mark.parametrize("num_threads", [1, 2])
def test_ctrl_c_interrupts_and_leaves_nothing_behind(num_threads: int) -> None:
    program = (
        "import itertools, signal\n"
        "from cutline.training.counting import count_pieces\n"
        # What a shell starts in the background ignores the signal, and so do its children.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "texts = itertools.repeat('to be or not to be ' * 10_000)\n"
        "try:\n"
        f"    count_pieces(texts, num_threads={num_threads},\n"
        "        progress=lambda step: print('counting', flush=True))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "counting\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "interrupted"
    assert process.returncode == 0


def test_runs_of_any_length_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "THREAD_BYTES", 700)
    rng = random.Random(12)
    texts = [run_length_text(rng, 20_000) for _ in range(4)]
    for pat_str in PATTERNS:
        in_blocks(monkeypatch, 5_000)
        one = count_pieces(iter(texts), pat_str=pat_str, num_threads=1)
        assert count_pieces(iter(texts), pat_str=pat_str, num_threads=4) == one


def test_any_number_of_threads_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = counters.Tally

    def tally(tables: Any) -> Any:
        made.append(tables)
        return real(tables)

    monkeypatch.setattr(counters, "Tally", tally)
    counts = count_pieces(iter(["ab ab"]), num_threads=2**40)
    assert dict(counts.items()) == {b"ab": 1, b" ab": 1}
    assert len(made) <= max(64, os.cpu_count() or 1)
