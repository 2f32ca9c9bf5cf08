"""What the face takes for a text, a budget and a special token, and what it refuses."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import cutline

enc = cutline.get_encoding("o200k_base")
SINGLE_BYTES = {bytes([byte]): byte for byte in range(256)}


class Odd(str):
    """A str whose methods lie."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: object) -> str:
        return "x"

    def find(self, *arguments: object) -> int:
        return 0

    def isascii(self) -> bool:
        return True

    def encode(self, *arguments: object) -> bytes:
        return b"lies"


@pytest.mark.parametrize("text", ["hello world", "héllo 中文", "<|endoftext|> x", "\ud800"])
@pytest.mark.parametrize("kind", [np.str_, Odd])
def test_a_subclass_counts_as_the_text_it_holds(kind: type[str], text: str) -> None:
    assert enc.encode_ordinary(kind(text)) == enc.encode_ordinary(text)
    assert enc.encode(kind(text), allowed_special="all") == enc.encode(text, allowed_special="all")
    assert enc.encode_to_numpy(kind(text), disallowed_special=()).tolist() == enc.encode_ordinary(
        text
    )
    assert enc.count(kind(text)) == enc.count(text)
    assert enc.count_batch([kind(text)]).tolist() == [enc.count(text)]
    assert enc.encode_ordinary_batch(np.array([text])) == [enc.encode_ordinary(text)]
    if text.isprintable():
        assert enc.split(kind(text), 4) == enc.split(text, 4)
        assert enc.split_at(kind(text), 1) == enc.split_at(text, 1)


@pytest.mark.parametrize("text", [b"abc", "h\u00e9".encode(), bytearray(b"abc"), None, 5, ["a"]])
@pytest.mark.parametrize(
    "call",
    [
        enc.encode,
        enc.encode_ordinary,
        enc.encode_to_numpy,
        enc.count,
        lambda text: enc.fits(text, 5),
        lambda text: enc.count_till_limit(text, 5),
        lambda text: enc.split(text, 5),
        lambda text: enc.split_at(text, 5),
        lambda text: enc.encode_batch(["x", text]),
        lambda text: enc.count_batch(["x", text]),
    ],
)
def test_what_is_no_text_is_refused_by_its_type(call: Callable[[Any], object], text: Any) -> None:
    with pytest.raises(TypeError, match=f"must be (a )?str, got {type(text).__name__}"):
        call(text)


@pytest.mark.parametrize("call", [enc.encode_batch, enc.encode_ordinary_batch, enc.count_batch])
def test_one_text_is_no_batch(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="got one str: put it into a list"):
        call("abc")


def test_a_refused_text_of_a_batch_is_named_by_its_place() -> None:
    with pytest.raises(ValueError, match="disallowed special token") as caught:
        enc.encode_batch(["a", "b", "<|endoftext|>"])
    assert caught.value.__notes__ == ["in the text at place 2 of the batch"]


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, np.uint64])
def test_numpy_integers_are_integers(kind: type[np.integer[Any]]) -> None:
    text = "The quick brown fox. " * 300
    want = enc.split_at(text, 100, 50)
    got = enc.split_at(text, kind(100), kind(50))
    assert (got, type(got)) == (want, int)
    assert enc.split(text, kind(100), kind(3)) == enc.split(text, 100, 3)


def test_budgets_that_are_no_integers_are_refused() -> None:
    for wrong in ("10", 10.0, None):
        with pytest.raises(TypeError):
            enc.split("a b", wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            enc.split_at("a b", 3, wrong)  # type: ignore[arg-type]


def test_vast_limits_are_limits() -> None:
    assert enc.fits("a b", 10**30)
    assert enc.count_till_limit("a b", 2**63) == 2
    for call in (enc.fits, enc.count_till_limit):
        with pytest.raises(ValueError, match="must be 0 or more"):
            call("a", -(10**30))


def test_a_str_of_allowed_special_tokens_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a set or 'all'"):
        enc.encode("a", allowed_special="<|endoftext|>")  # type: ignore[arg-type]


def test_special_token_ids_become_plain_integers() -> None:
    special = {"<s>": np.int64(300)}
    tiny = cutline.Encoding("t", pat_str=None, mergeable_ranks=SINGLE_BYTES, special_tokens=special)
    assert tiny.encode("a<s>", allowed_special="all") == [97, 300]
    assert type(tiny.encode_single_token("<s>")) is int


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ({"<s>": 300.0}, "ids must be integers"),
        ({"<s>": "300"}, "ids must be integers"),
        ({b"<s>": 300}, "is no text"),
        ({1: 300}, "is no text"),
        ({"": 300}, "is no text"),
        ({"\ud800": 300}, "without surrogates"),
        ({"<s>": 97}, "is that of the ordinary token b'a'"),
        ({"<s>": -1}, "ids must be from 0"),
    ],
)
def test_what_is_no_special_token_is_refused(special: Any, message: str) -> None:
    with pytest.raises(cutline.VocabularyError, match=message):
        cutline.Encoding("t", pat_str=None, mergeable_ranks=SINGLE_BYTES, special_tokens=special)


@pytest.mark.parametrize("tokens", [["a"], [1.0], [None], "ab", np.array([1.0])])
def test_what_is_no_token_id_is_refused(tokens: Any) -> None:
    with pytest.raises(TypeError):
        enc.decode(tokens)
    with pytest.raises(TypeError):
        enc.decode_single_token_bytes(1.9)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_a_long_split_can_be_interrupted() -> None:
    class StopError(Exception):
        pass

    def stop(number: int, frame: FrameType | None) -> None:
        raise StopError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(StopError):
            enc.split("-" * 1_000_000, 256, 255)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
