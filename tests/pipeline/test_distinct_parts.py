"""The parts of a text that differ, against a dict of them."""

import random
import signal

import numpy as np
import pytest

from cutline.kernels.encode.distinct_parts import distinct_parts
from tests.alarms import StopError, alarm


def check(text: str, spans: list[tuple[int, int]]) -> None:
    rows = np.array(spans, dtype=np.int64).reshape(-1, 2)
    parts = [text[start:end] for start, end in spans]
    numbers = {part: number for number, part in enumerate(dict.fromkeys(parts))}
    for given in (rows, rows.T.copy().T):  # side by side, and apart
        firsts, found = map(np.asarray, distinct_parts(text, given))
        assert firsts.tolist() == [parts.index(part) for part in numbers]
        assert found.tolist() == [numbers[part] for part in parts]


@pytest.mark.parametrize("letters", ["ab", "aé\x00", "ab日本\x00", "a日😀\U00010000"])
def test_equal_parts_have_one_number(letters: str) -> None:
    rng = random.Random(letters)
    for _ in range(200):
        text = "".join(rng.choices(letters, k=rng.randint(1, 400)))
        spans = []
        for _ in range(rng.randint(0, 60)):
            start = rng.randrange(len(text))
            longest = rng.choice((1, 2, 9, 40, 255))
            spans.append((start, min(len(text), start + rng.randint(1, longest))))
        check(text, spans)


def test_more_parts_than_a_table_begins_with() -> None:
    rng = random.Random(2)
    text = "".join(rng.choices("abcdefgh 日", k=3_000))
    check(text, [(at, min(len(text), at + rng.randint(3, 9))) for at in range(len(text))])


def test_no_parts() -> None:
    check("", [])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_a_long_call_can_be_interrupted() -> None:
    text = "".join(random.Random(3).choices("abcdefgh", k=4_000_000))
    starts = np.arange(len(text) - 20)
    spans = np.array([starts, starts + 20]).T
    after = iter(["the call was done"])
    with alarm():
        # `zip` goes from one to the next without Python's own look for signals.
        begun = map(signal.setitimer, [signal.ITIMER_REAL], [0.002])
        steps = zip(begun, map(distinct_parts, [text], [spans]), after, strict=True)
        with pytest.raises(StopError):
            next(steps)
    assert [*after] == ["the call was done"]
