"""Decoding, single tokens and raw bytes against tiktoken."""

import array
import random
import sys
import warnings
from collections import deque
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
import pytest

import cutline
from cutline.errors import UnknownTokenError
from tests.oracles import DISTINCT, PACKAGED, real_tiktoken, textbook_merge
from tests.texts import NAMED_TEXTS, random_texts
from tests.threads import at_once

UNKNOWN_ID = 10_000_000


def random_tokens(name: str, seed: int, n_lists: int) -> list[list[int]]:
    """Lists of valid ids in random order: most of them are not valid UTF-8."""
    rng = random.Random(seed)
    real = real_tiktoken(name)
    ids = [*real._mergeable_ranks.values(), *real._special_tokens.values()]
    low = [i for i in ids if i < 400]
    return [
        rng.choices(rng.choice((ids, low)), k=rng.choice((0, 1, 2, 5, 40))) for _ in range(n_lists)
    ]


def random_bytes(seed: int, n_strings: int) -> list[bytes]:
    """Bytes that are valid, cut, mixed up or not UTF-8 at all."""
    rng = random.Random(seed)
    made = [b"", b"\xff", b"\x80\x80", b"abc\xff\xfe \xe4\xb8", "中".encode()[:2], b"\xc0\xaf"]
    for text in random_texts(seed, n_strings):
        data = text.encode()
        start, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
        made += [data, data[start:end], data[start:] + data[:end]]
        made.append(rng.randbytes(rng.randint(0, 20)) + data[:end] + rng.randbytes(2))
    return made


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The result, or the name of the UnicodeDecodeError."""
    try:
        return call(*args, **options)
    except UnicodeDecodeError as error:
        return type(error).__name__


@pytest.mark.parametrize("name", PACKAGED)
def test_decode_gives_the_text_back(name: str) -> None:
    ours = cutline.get_encoding(name)
    for text in [*NAMED_TEXTS.values(), *random_texts(1, 500)]:
        tokens = ours.encode_ordinary(text)
        assert ours.decode(tokens) == text
        assert ours.decode(tokens, errors="strict") == text
        assert ours.decode_bytes(tokens) == text.encode()
        assert b"".join(ours.decode_tokens_bytes(tokens)) == text.encode()


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore", "backslashreplace"])
@pytest.mark.parametrize("name", DISTINCT)
def test_any_ids_decode_as_in_tiktoken(name: str, errors: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    for tokens in random_tokens(name, 2, 400):
        assert ours.decode_bytes(tokens) == real.decode_bytes(tokens)
        got = outcome(ours.decode, tokens, errors=errors)
        assert got == outcome(real.decode, tokens, errors=errors)


@pytest.mark.parametrize("name", DISTINCT)
def test_decode_replaces_errors_unless_told_otherwise(name: str) -> None:
    ours = cutline.get_encoding(name)
    tokens = ours.encode_ordinary("🧑🏿‍🤝‍🧑🏻")[:1]
    assert ours.decode(tokens) == ours.decode_bytes(tokens).decode("utf-8", "replace")
    with pytest.raises(UnicodeDecodeError):
        ours.decode([ours.encode_single_token(b"\xff")], errors="strict")


@pytest.mark.parametrize("name", PACKAGED)
def test_decode_with_offsets_equals_tiktokens(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    for text in [*NAMED_TEXTS.values(), *random_texts(3, 200)]:
        tokens = real.encode(text, allowed_special="all")
        assert ours.decode_with_offsets(tokens) == real.decode_with_offsets(tokens)
    for tokens in random_tokens(name, 4, 200):
        got = outcome(ours.decode_with_offsets, tokens)
        assert got == outcome(real.decode_with_offsets, tokens)


@pytest.mark.parametrize("name", PACKAGED)
def test_every_token_decodes_and_encodes_as_in_tiktoken(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    tokens = sorted(real._mergeable_ranks.values())
    assert ours.decode_tokens_bytes(tokens) == real.decode_tokens_bytes(tokens)
    sample = random.Random(5).sample(tokens, 3_000)
    for token in sample:
        value = ours.decode_single_token_bytes(token)
        assert value == real.decode_single_token_bytes(token)
        assert ours.encode_single_token(value) == token
        assert ours._encode_single_piece(value) == [token]


@pytest.mark.parametrize("name", PACKAGED)
def test_token_byte_values_equal_tiktokens(name: str) -> None:
    assert cutline.get_encoding(name).token_byte_values() == real_tiktoken(name).token_byte_values()


@pytest.mark.parametrize("name", PACKAGED)
def test_unknown_ids_raise_key_error(name: str) -> None:
    ours = cutline.get_encoding(name)
    for token in (UNKNOWN_ID, ours.max_token_value + 1, 2**32 - 1):
        with pytest.raises(KeyError, match=str(token)):
            ours.decode([0, 1, token])
        with pytest.raises(KeyError, match=str(token)):
            ours.decode_bytes([token])
        with pytest.raises(KeyError, match=str(token)):
            ours.decode_single_token_bytes(token)
        with pytest.raises(KeyError, match=str(token)):
            ours.decode_tokens_bytes([0, token])
        with pytest.raises(KeyError, match=str(token)):
            ours.decode_with_offsets([0, token])


@pytest.mark.parametrize("token", [-1, -(2**31), 2**32, 2**32 + 5, 2**64, 2**64 + 5, -(2**70)])
def test_ids_outside_uint32_are_refused_by_name(token: int) -> None:
    ours = cutline.get_encoding("o200k_base")
    message = rf"^token ids must be from 0 to 2\*\*32 - 1, got {token}$"
    stream = ours.decode_stream()
    for call in (
        ours.decode,
        ours.decode_bytes,
        ours.decode_tokens_bytes,
        ours.decode_with_offsets,
        stream.feed,
    ):
        with pytest.raises(UnknownTokenError, match=message):
            call([5, token])
    for call_one in (ours.decode_single_token_bytes, stream.feed):
        with pytest.raises(UnknownTokenError, match=message):
            call_one(token)


@pytest.mark.parametrize(
    ("kind", "token"),
    [(np.int8, -1), (np.int64, -(2**40)), (np.int64, 2**32), (np.uint64, 2**64 - 1)],
)
def test_ids_outside_uint32_are_refused_in_arrays(kind: Any, token: int) -> None:
    ours = cutline.get_encoding("o200k_base")
    with pytest.raises(UnknownTokenError, match=f"got {token}$"):
        ours.decode(np.array([5, token, 6], dtype=kind))  # type: ignore[arg-type]


def test_ids_in_a_gap_of_the_vocabulary_raise_key_error() -> None:
    p50k, cl100k = cutline.get_encoding("p50k_base"), cutline.get_encoding("cl100k_base")
    assert p50k.decode([50256]) == "<|endoftext|>"
    with pytest.raises(KeyError, match="100256"):
        cl100k.decode([100256])
    with pytest.raises(KeyError, match="100261"):
        cl100k.decode([100261])


@pytest.mark.parametrize("kind", [list, tuple, np.uint32, np.int64])
def test_ids_may_come_in_lists_tuples_and_arrays(kind: Any) -> None:
    ours = cutline.get_encoding("o200k_base")
    text = "Ids in any kind of sequence: 中文 😀"
    ids = ours.encode_ordinary(text)
    tokens = kind(ids) if kind in (list, tuple) else np.array(ids, dtype=kind)
    assert ours.decode(tokens) == text
    assert ours.decode_bytes(tokens) == text.encode()
    assert ours.decode_with_offsets(tokens) == ours.decode_with_offsets(ids)
    assert ours.decode_bytes(ours.encode_to_numpy(text)) == text.encode()


ARRAYS: dict[str, Callable[[list[int]], Any]] = {
    "deque": deque,
    "generator": iter,
    "range": lambda ids: range(ids[0], ids[-1] + 1),
    "array": lambda ids: array.array("Q", ids),
    "array of int16": lambda ids: array.array("h", [token % 200 for token in ids]),
    "memoryview": lambda ids: memoryview(array.array("I", ids)),
    "bytes": lambda ids: bytes(token % 256 for token in ids),
    "every second": lambda ids: np.array(ids)[::2],
    "backwards": lambda ids: np.array(ids, dtype=np.int32)[::-1],
    "of the other byte order": lambda ids: np.array(ids, dtype=np.dtype(np.int64).newbyteorder()),
    "read-only": lambda ids: np.frombuffer(np.array(ids, dtype=np.uint32).tobytes(), np.uint32),
    "numpy ints": lambda ids: list(np.array(ids, dtype=np.uint16)),
    "bools": lambda ids: [True, False, *ids],
    "objects": lambda ids: np.array(ids, dtype=object),
    "a subclass": lambda ids: type("Ids", (list,), {})(ids),
    "one that lies": lambda ids: type("Ids", (list,), {"__iter__": lambda _: iter([1])})(ids),
    "__index__": lambda ids: [type("Id", (), {"__index__": lambda _, at=at: at})() for at in ids],
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_ids_decode_alike_in_whatever_they_come(kind: str) -> None:
    ours = cutline.get_encoding("o200k_base")
    ids = sorted({token for token in ours.encode_ordinary("Ids: 中文 😀 ÿ ж") if token < 1 << 15})
    plain = list(map(int, map(index, ARRAYS[kind](ids))))
    assert ours.decode_bytes(ARRAYS[kind](ids)) == b"".join(ours.decode_tokens_bytes(plain))
    assert ours.decode(ARRAYS[kind](ids)) == ours.decode_bytes(plain).decode(errors="replace")
    assert ours.decode_tokens_bytes(ARRAYS[kind](ids)) == ours.decode_tokens_bytes(plain)


@pytest.mark.parametrize("kind", ARRAYS)
def test_special_tokens_are_skipped_in_whatever_they_come(kind: str) -> None:
    ours = cutline.Encoding(
        "x", pat_str=None, mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={"<a>": 300, "<b>": 999, "<c>": 1 << 14},
    )  # fmt: skip
    plain = ARRAYS[kind]([65, 999, 66, 300, 300, 67]) if kind != "range" else range(97, 100)
    kept = [token for token in map(int, map(index, plain)) if not ours.is_special_token(token)]
    again = ARRAYS[kind]([65, 999, 66, 300, 300, 67]) if kind != "range" else plain
    assert ours.decode(again, skip_special_tokens=True) == ours.decode(kept)


def test_special_tokens_are_skipped_in_batches_and_streams_too() -> None:
    ours = cutline.get_encoding("gpt2")
    end = ours.eot_token
    batch = [[end, *ours.encode("a b")], [], [end], [*ours.encode("é😀"), end, end]]
    assert ours.decode_batch(batch, skip_special_tokens=True) == ["a b", "", "", "é😀"]
    assert ours.decode_batch(batch)[2] == ours.decode([end]) == "<|endoftext|>"
    for ids, text in zip(batch, ["a b", "", "", "é😀"], strict=True):
        stream = ours.decode_stream(skip_special_tokens=True)
        assert "".join([*map(stream.feed, ids), stream.feed(ids[:0]), stream.finish()]) == text


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize(
    "tokens",
    [
        ["5"], [5.0], [None], np.array([5.0]), np.array([199_999.0]), np.array([[5]]),
        memoryview(b"5").cast("c"), "5",
    ],
)  # fmt: skip
def test_what_is_no_id_is_refused(tokens: Any, skips: bool) -> None:
    ours = cutline.get_encoding("o200k_base")
    with pytest.raises(TypeError, match="tokens must be an iterable of token ids"):
        ours.decode(tokens, skip_special_tokens=skips)
    for call in (ours.decode, ours.decode_bytes, ours.decode_tokens_bytes):
        with pytest.raises(TypeError):
            call(tokens)


def test_a_list_that_changes_while_it_is_read_is_no_danger() -> None:
    ours = cutline.get_encoding("o200k_base")

    class Emptying:
        def __index__(self) -> int:
            tokens.clear()
            return 5

    tokens: list[Any] = [1, 2, Emptying(), 3]
    with pytest.raises(RuntimeError, match="became shorter"):
        ours.decode(tokens)


def tokens_of(characters: str, seed: int) -> cutline.Encoding:
    """An encoding of whole, cut and joined characters, its ids spread and mixed."""
    rng = random.Random(seed)
    utf8 = characters.encode()
    found = {bytes([byte]) for byte in range(256)}
    for _ in range(600):
        start = rng.randrange(len(utf8))
        found.add(utf8[start : start + rng.choice((1, 2, 3, 4, 6, 9, 15, 16, 17, 18, 40, 200))])
        text = "".join(rng.choices(characters, k=rng.choice((1, 2, 15, 16, 17, 33))))
        found.add(text.encode())
    tokens = sorted(found - {b""})
    rng.shuffle(tokens)
    ids = rng.sample(range(256 * len(tokens)), len(tokens)) if seed % 2 else range(len(tokens))
    ranks = dict(zip(tokens, sorted(ids), strict=True))
    special = {"<|é中😀|>": 1 << 28, "<|" + "a" * 300 + "|>": (1 << 31) + 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cutline.Encoding("x", pat_str=None, mergeable_ranks=ranks, special_tokens=special)


SCRIPTS = {
    "ascii": "the quick brown fox ",
    "latin": "déjà vu, ÿ\x80 ",
    "two bytes": "привет мир, ok ",
    "three bytes": "中文字符漢字かなカナ。\ud7ff\ue000\uffff ",
    "four bytes": "a😀é中\U0010ffff\U00010000",
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("script", SCRIPTS)
def test_text_of_any_tokens_is_that_of_their_bytes(script: str, seed: int) -> None:
    enc = tokens_of(SCRIPTS[script] * 30, seed)
    by_id = {enc.encode_single_token(token): token for token in enc.token_byte_values()}
    by_id |= {i: text.encode() for text, i in enc._special_tokens.items()}
    rng = random.Random(seed)
    ids, whole = list(by_id), []
    for token, written in by_id.items():
        try:
            written.decode()
            whole.append(token)
        except UnicodeDecodeError:
            pass
    for length in (0, 1, 2, 3, 17, 60, 400, 1_100):  # from 1,024 on without the GIL
        for choice in (ids, whole):
            tokens = rng.choices(choice, k=length)
            check_text(enc, tokens, by_id)
        text = "".join(rng.choices(SCRIPTS[script], k=length))
        for _ in range(5):
            check_text(enc, cut_anywhere(text.encode(), by_id, rng), by_id)


def cut_anywhere(utf8: bytes, by_id: dict[int, bytes], rng: random.Random) -> list[int]:
    """Any tokens whose bytes are these: most are not those that encoding gives."""
    by_token = {token: i for i, token in by_id.items()}
    tokens, at = [], 0
    while at < len(utf8):
        ends = [end for end in range(at + 1, at + 41) if utf8[at:end] in by_token]
        end = min(rng.choice(ends), len(utf8))
        tokens.append(by_token[utf8[at:end]])
        at = end
    return tokens


def check_text(enc: cutline.Encoding, tokens: list[int], by_id: dict[int, bytes]) -> None:
    joined = b"".join(by_id[token] for token in tokens)
    assert enc.decode_bytes(tokens) == joined
    assert enc.decode_tokens_bytes(tokens) == [by_id[token] for token in tokens]
    for errors in ("replace", "strict", "backslashreplace"):
        got = outcome(enc.decode, tokens, errors=errors)
        assert got == outcome(joined.decode, "utf-8", errors)
        assert outcome(enc.decode, np.array(tokens), errors=errors) == got
    try:
        text = joined.decode()
    except UnicodeDecodeError:
        return
    assert enc.decode(tokens) == text
    # Equal strs have equal widths; those of one character are shared, and may hold UTF-8.
    assert len(text) < 2 or sys.getsizeof(enc.decode(tokens)) == sys.getsizeof(joined.decode())
    starts, at = [], 0
    for token in tokens:
        starts.append(len(joined[:at].decode(errors="ignore")))
        at += len(by_id[token])
    assert enc.decode_with_offsets(tokens) == (text, starts)


def test_threads_may_decode_at_once_when_tables_are_yet_to_be_made() -> None:
    texts = ["plain", "déjà", "привет", "中文", "😀", "\ufffd", "a中", ""]
    for seed in range(5):
        enc = tokens_of("".join(SCRIPTS.values()) * 5, seed)
        tokens = [enc.encode_ordinary(text) for text in texts]
        assert at_once(lambda n: enc.decode(tokens[n]), len(texts)) == texts  # noqa: B023


def test_nothing_decodes_to_nothing() -> None:
    ours = cutline.get_encoding("o200k_base")
    assert ours.decode([]) == ""
    assert ours.decode_bytes([]) == b""
    assert ours.decode_tokens_bytes([]) == []
    assert ours.decode_with_offsets([]) == ("", [])
    assert ours.decode_batch([]) == []
    assert ours.decode(np.array([], dtype=np.uint32)) == ""


@pytest.mark.parametrize("num_threads", [1, 8])
def test_decode_batches_equal_single_calls(num_threads: int) -> None:
    ours = cutline.get_encoding("cl100k_base")
    batch = random_tokens("cl100k_base", 6, 100)
    for errors in ("replace", "ignore"):
        want = [ours.decode(tokens, errors=errors) for tokens in batch]
        assert ours.decode_batch(batch, errors=errors, num_threads=num_threads) == want
    assert ours.decode_bytes_batch(batch, num_threads=num_threads) == list(
        map(ours.decode_bytes, batch)
    )


@pytest.mark.parametrize("text", ["", "zzzzzzzzzz", b"\xff\xfe", "<|nope|>", "hello world, hello"])
def test_text_that_is_no_token_raises_key_error(text: str | bytes) -> None:
    for name in PACKAGED:
        with pytest.raises(KeyError):
            cutline.get_encoding(name).encode_single_token(text)


@pytest.mark.parametrize("name", DISTINCT)
def test_raw_bytes_encode_as_in_tiktoken(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    for data in random_bytes(7, 250):
        got = ours._encode_bytes(data)
        assert (data, got) == (data, real._encode_bytes(data))
        assert ours.decode_bytes(got) == data


@pytest.mark.parametrize("name", DISTINCT)
def test_single_pieces_are_merged_whole(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    assert ours._encode_single_piece("") == []
    for data in random_bytes(8, 120):
        if not data:
            continue
        got = ours._encode_single_piece(data)
        assert (data, got) == (data, real._encode_single_piece(data))
        if len(data) < 60:
            assert got == textbook_merge(real._mergeable_ranks, data)
    for text in ("hello world", "a" * 2_000, "  two  words  ", "日本語 text\n\n"):
        assert ours._encode_single_piece(text) == real._encode_single_piece(text)
