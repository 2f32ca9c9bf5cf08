"""Every slice of a text is counted, and cut, as if it were encoded on its own.

Input: subject, kind of text and pattern, repeats, budget, start (a byte each), then the text
as UTF-8, or its letters where the subject's tokens use few.
"""

import random
from functools import lru_cache

import numpy as np

import cutline
from cutline import reference
from cutline.counting.intervals import IntervalCounter
from fuzz.subjects import MAX_CHARACTERS, REPEATS, Subject, reference_tokens, subject
from tests.oracles import Renumbered

MAX_TEXT = 600
MAX_CUT = 48  # characters that the naive search for a cut is given
MAX_SLICES = 100
# Scans that look far, meet late or never, and leave gaps; the first stands for the subject's own.
PATTERNS = ("", r"ab*c|\w", r"a*b|a", r"(?:aa)*b|a|\s", r"a{1,70}|b+", r"a+(?!\S)|\S|\s+", r"b+")


def run(data: bytes) -> None:
    if len(data) < 6:
        return
    chosen = repatterned(data[0], data[1] // 2 % len(PATTERNS))
    kind = data[1] % 2 * 2  # never with surrogates
    text = (chosen.text(kind, data[5:]) * REPEATS[data[2] % len(REPEATS)])[:MAX_TEXT]
    spans = spans_of(len(text), data[4])
    counts = [chosen.count(text[start:end]) for start, end in spans]
    places = [len(text[:place].encode()) for place in range(len(text) + 1)]
    byte_spans = [(places[start], places[end]) for start, end in spans]
    counter = chosen.ours.intervals(text)
    by_bytes = chosen.ours.intervals(text, byte_offsets=True)
    assert counter.total == chosen.count(text)
    check_counts(counter, spans, counts)
    check_counts(by_bytes, byte_spans, counts)
    # Trees are grown for pieces that were encoded again and again.
    assert counter.count_many(np.tile(spans, (20, 1))).tolist() == counts * 20
    check_reference(chosen, text, byte_spans, counts)
    start, n = data[4] % (len(text) + 1), data[3] % 24
    end = counter.split_at(start, n)
    assert by_bytes.split_at(places[start], n) == places[end]
    check_cut(chosen, text, start, n, end)


@lru_cache(maxsize=600)
def repatterned(number: int, pattern: int) -> Subject:
    """Take the subject; where its tokens use few letters, with another pattern."""
    chosen, pat_str = subject(number), PATTERNS[pattern]
    if not chosen.letters or not pat_str:
        return chosen
    vocabulary = chosen.ours._vocabulary
    ours = cutline.Encoding.from_vocabulary(
        f"{number}", pat_str=pat_str, vocabulary=vocabulary, special_tokens={}
    )
    return Subject(ours, Renumbered(vocabulary, pat_str), chosen.letters, MAX_CHARACTERS)


def spans_of(length: int, seed: int) -> list[tuple[int, int]]:
    """All slices of a short text; of a longer one some, more of them short than long."""
    if length * length < 2 * MAX_SLICES:
        return [(start, end) for start in range(length + 1) for end in range(start, length + 1)]
    rng = random.Random(seed)
    starts = [rng.randrange(length + 1) for _ in range(MAX_SLICES)]
    return [(start, min(length, start + int(length ** rng.random()))) for start in starts]


def check_counts(counter: IntervalCounter, spans: list[tuple[int, int]], counts: list[int]) -> None:
    assert counter.count_many(spans).tolist() == counts
    for (start, end), count in zip(spans[::7], counts[::7], strict=True):
        assert counter.count(start, end) == count


def check_reference(
    chosen: Subject, text: str, byte_spans: list[tuple[int, int]], counts: list[int]
) -> None:
    """Without a pattern, a text is one piece, which the reference counts too."""
    if chosen.ours._pat_str is None:
        counter = reference.IntervalCounter(reference_tokens(chosen.ours), text.encode())
        assert [counter.count(*span) for span in byte_spans] == counts


def check_cut(chosen: Subject, text: str, start: int, n: int, end: int) -> None:
    """Compare with the encoding's cut and, in what is short, with the greatest of all ends."""
    assert end == chosen.ours.split_at(text, n, start)
    assert end == start or chosen.count(text[start:end]) <= n
    window = text[start : start + MAX_CUT]
    want = max(cut for cut in range(len(window) + 1) if chosen.count(window[:cut]) <= n)
    assert chosen.ours.intervals(window).split_at(0, n) == want
    assert end - start >= want
