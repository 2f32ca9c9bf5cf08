"""Decoding as a stream: grouped in any way, it gives what decoding everything at once gives."""

import copy
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutline
from cutline.errors import UnknownTokenError
from tests.oracles import DISTINCT
from tests.texts import FAMILY, NAMED_TEXTS

ERRORS = ("strict", "replace", "ignore", "backslashreplace", "surrogateescape", "surrogatepass")
# Beginnings and ends of characters of every width, surrogates, what UTF-8 never has.
BYTES = (0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xE4, 0xED, 0xF0, 0xF4, 0xFF)


def outcome(name: str, groups: list[list[int]], errors: str) -> str:
    """What a stream makes of ids in groups, or the name of the error."""
    stream = cutline.get_encoding(name).decode_stream(errors)
    try:
        return "".join(stream.feed(group) for group in groups) + stream.finish()
    except UnicodeDecodeError as error:
        return type(error).__name__


def at_once(name: str, tokens: list[int], errors: str) -> str:
    try:
        return cutline.get_encoding(name).decode(tokens, errors)
    except UnicodeDecodeError as error:
        return type(error).__name__


def grouped(rng: random.Random, tokens: list[int]) -> Iterator[list[int]]:
    """The same ids in groups of any size, empty ones among them."""
    done = 0
    while done < len(tokens):
        size = rng.choice((0, 1, 1, 2, 5))
        yield tokens[done : done + size]
        done += size


@pytest.mark.parametrize("name", DISTINCT)
def test_a_stream_gives_the_text_back(name: str) -> None:
    ours, rng = cutline.get_encoding(name), random.Random(1)
    for text in NAMED_TEXTS.values():
        tokens = ours.encode_ordinary(text)
        for groups in ([[token] for token in tokens], [tokens], list(grouped(rng, tokens))):
            assert outcome(name, groups, "strict") == text


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("name", DISTINCT)
def test_any_ids_in_any_groups_decode_as_at_once(name: str, errors: str) -> None:
    ours, rng = cutline.get_encoding(name), random.Random(2)
    ids = [ours.encode_single_token(bytes([byte])) for byte in BYTES]
    ids += [*ours._special_tokens.values(), *ours.encode_ordinary(FAMILY)]
    for _ in range(1_000):
        tokens = rng.choices(ids, k=rng.randint(0, 12))
        want = at_once(name, tokens, errors)
        assert outcome(name, [[token] for token in tokens], errors) == want
        assert outcome(name, list(grouped(rng, tokens)), errors) == want


@given(data=st.binary(max_size=12), errors=st.sampled_from(ERRORS))
def test_bytes_that_are_no_text_decode_as_at_once(data: bytes, errors: str) -> None:
    ours = cutline.get_encoding("r50k_base")
    tokens = [ours.encode_single_token(bytes([byte])) for byte in data]
    want = at_once("r50k_base", tokens, errors)
    assert outcome("r50k_base", [[token] for token in tokens], errors) == want


def test_an_incomplete_character_waits_and_comes_once_it_is_whole() -> None:
    ours = cutline.get_encoding("o200k_base")
    text = f"{FAMILY} 𓀀 中"
    stream, seen = ours.decode_stream(), ""
    for token in ours.encode_ordinary(text):
        seen += stream.feed(token)
        assert text.startswith(seen)
    assert (seen, stream.finish()) == (text, "")


def test_finish_replaces_what_stays_incomplete_and_starts_anew() -> None:
    ours = cutline.get_encoding("gpt2")
    stream = ours.decode_stream()
    assert stream.feed(ours.encode("😀")[:1]) == ""
    assert stream.finish() == "\ufffd"
    assert stream.finish() == ""
    assert stream.feed(ours.encode("again")) + stream.finish() == "again"


def test_strict_streams_refuse_what_is_no_text_and_stay_as_they_were() -> None:
    ours = cutline.get_encoding("gpt2")
    stream = ours.decode_stream(errors="strict")
    first, rest = ours.encode("😀")[:1], ours.encode("😀")[1:]
    assert stream.feed(first) == ""
    with pytest.raises(UnicodeDecodeError):
        stream.feed(ours.encode_single_token(b"\xff"))
    with pytest.raises(UnicodeDecodeError):
        stream.finish()
    assert stream.feed(rest) == "😀"


def test_after_an_incomplete_end_a_strict_stream_has_to_be_given_up() -> None:
    ours = cutline.get_encoding("gpt2")
    stream = ours.decode_stream(errors="strict")
    assert stream.feed(ours.encode("😀")[:1]) == ""
    for _ in range(2):
        with pytest.raises(UnicodeDecodeError):
            stream.finish()
    assert ours.decode_stream(errors="strict").finish() == ""


def test_a_stream_shows_how_much_it_holds_back() -> None:
    gpt2 = cutline.get_encoding("gpt2")
    stream = gpt2.decode_stream()
    stream.feed(gpt2.encode("𓀀")[:2])
    assert repr(stream) == "<DecodeStream: 2 bytes held back>"


def test_an_error_handler_that_nobody_knows_is_refused_at_once() -> None:
    with pytest.raises(LookupError, match="nope"):
        cutline.get_encoding("gpt2").decode_stream(errors="nope")


def test_an_encoding_alone_makes_no_stream() -> None:
    with pytest.raises(TypeError, match=r"get_encoding\(\.\.\.\)\.decode_stream\(\)"):
        cutline.DecodeStream(cutline.get_encoding("gpt2"))  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [10_000_000, [0, 10_000_000], [10_000_000, 0]])
def test_unknown_ids_are_refused_and_change_nothing(bad: int | list[int]) -> None:
    ours = cutline.get_encoding("gpt2")
    stream = ours.decode_stream()
    first, *rest = ours.encode("😀")
    assert stream.feed(first) == ""
    with pytest.raises(UnknownTokenError, match="10000000"):
        stream.feed(bad)
    assert stream.feed(rest) == "😀"


def test_special_tokens_are_decoded_too() -> None:
    ours = cutline.get_encoding("o200k_base")
    tokens = ours.encode("a<|endoftext|>b", allowed_special="all")
    stream = ours.decode_stream()
    assert [stream.feed(token) for token in tokens] == ["a", "<|endoftext|>", "b"]


def test_ids_come_one_by_one_or_in_anything_that_holds_them() -> None:
    ours = cutline.get_encoding("o200k_base")
    for ids in (24912, np.int64(24912), np.array(24912), [24912], (24912,), {24912}):
        assert ours.decode_stream().feed(ids) == "hello"  # type: ignore[arg-type]
    array = ours.encode_to_numpy("hello world")
    assert ours.decode_stream().feed(array) == "hello world"  # type: ignore[arg-type]
    assert ours.decode_stream().feed(token for token in array.tolist()) == "hello world"
    for bad in (None, 1.5, "1"):
        with pytest.raises(TypeError):
            ours.decode_stream().feed(bad)  # type: ignore[arg-type]


def test_a_copy_is_independent_and_has_what_is_held_back() -> None:
    enc = cutline.get_encoding("gpt2")
    first, *rest = enc.encode("😀")
    for copied in copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)):
        stream = enc.decode_stream()
        assert stream.feed(first) == ""
        twin = copied(stream)
        assert twin.feed(rest) == "😀"
        assert stream.feed(rest) == "😀"
        assert (twin.finish(), stream.finish()) == ("", "")


@pytest.mark.parametrize("wrong", [np.array([[1, 2]]), np.array([1.5])])
def test_arrays_that_are_no_list_of_ids_are_named(wrong: Any) -> None:
    enc = cutline.get_encoding("gpt2")
    for decode in enc.decode_stream().feed, enc.decode:
        with pytest.raises(TypeError, match=r"which are integers, got (ndarray: |\S+ at place 0$)"):
            decode(wrong)
