"""What encodings take for a batch and a special token, and what they refuse.

Texts, offsets and budgets: tests/counting/test_contract.py.
"""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import cutline

enc = cutline.get_encoding("o200k_base")
SINGLE_BYTES = {bytes([byte]): byte for byte in range(256)}


@pytest.mark.parametrize("call", [enc.encode_batch, enc.encode_ordinary_batch, enc.count_batch])
def test_one_text_is_no_batch(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="got one str: put it into a list"):
        call("abc")
    assert enc.encode_ordinary_batch(np.array(["a b"])) == [enc.encode_ordinary("a b")]  # type: ignore[arg-type]


def test_a_refused_text_of_a_batch_is_named_by_its_place() -> None:
    with pytest.raises(ValueError, match="disallowed special token") as caught:
        enc.encode_batch(["a", "b", "<|endoftext|>"])
    assert caught.value.__notes__ == ["in the text at place 2 of the batch"]


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
        ({"<s>": 2**32}, "ids must be from 0"),
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
