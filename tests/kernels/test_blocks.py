"""Long texts that are not ASCII are encoded block by block as they are as a whole.

Of two ways to the same tokens, that of UTF-8 given as such has the whole text before it.
"""

import random
from collections.abc import Iterator

import numpy as np
import pytest

import cutline
from tests.conftest import short_or_long
from tests.oracles import DISTINCT, real_tiktoken
from tests.texts import run_length_text

BLOCK = 1 << 18  # bytes, as in the kernel
STEP = 1 << 13  # characters written at a time
CHUNK = 32_640  # bytes scanned at a time
WIDE = {"one byte": "é", "two bytes": "日", "four bytes": "😀"}
SPECIAL = "<|endoftext|>"


def whole(encoding: cutline.Encoding, text: str) -> list[int]:
    utf8 = np.frombuffer(text.encode(), dtype=np.uint8)
    tokens, _ = encoding._encode_column(utf8, np.array([0, len(utf8)]))
    return tokens.tolist()


def assert_as_a_whole(encoding: cutline.Encoding, text: str) -> None:
    want = whole(encoding, text)
    got = encoding.encode_to_numpy(text, disallowed_special=()).tolist()
    if got != want:
        at = next((at for at, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), -1)
        start = len(encoding.decode(want[:at]))
        pytest.fail(f"at token {at}, {text[start - 20 : start + 20]!r}")
    assert encoding.count(text) == len(want)


def looking_ahead(rng: random.Random, n: int) -> str:
    """What the scanner looks far ahead for, and what it takes long to join, among words."""
    parts = ["é日😀"]
    n_done = 0
    while n_done < n:
        run = rng.choice((1, 2, 7, 60, 700, 9_000, 30_000)) * rng.randint(1, 3)
        unit = rng.choice((" ", " ", "\n ", "a", "é", "日", "'l", "1", "words and ", "日本 語"))
        part = rng.choice(("", "\n", "x'l")) + unit * (run // len(unit) + 1) + rng.choice("\nxL.日")
        words = "It's the rest: 12345 mots, été 日本語を。\n   end " * rng.randint(0, 1_500)
        parts += [part, words]
        n_done += len(part) + len(words)
    return "".join(parts)


def long_texts(n_texts: int) -> Iterator[str]:
    rng = random.Random(301)
    for _ in range(n_texts):
        yield looking_ahead(rng, rng.randint(BLOCK // 4, 3 * BLOCK))
        yield "é" + run_length_text(rng, rng.randint(BLOCK // 2, BLOCK))


@pytest.mark.parametrize("name", DISTINCT)
@short_or_long("n_texts", 15, 400)
def test_blocks_give_the_tokens_of_the_whole_text(name: str, n_texts: int) -> None:
    encoding = cutline.get_encoding(name)
    for text in long_texts(n_texts):
        assert_as_a_whole(encoding, text)


def test_blocks_give_the_tokens_of_tiktoken() -> None:
    encoding, oracle = cutline.get_encoding("o200k_base"), real_tiktoken("o200k_base")
    for text in long_texts(3):
        assert encoding.encode_ordinary(text) == oracle.encode_ordinary(text)


@pytest.mark.parametrize("wide", WIDE.values(), ids=WIDE)
def test_every_length_around_a_block(wide: str) -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = wide + "It's 12345 words\n   and so on. " * (BLOCK // 20)
    of_wide = text.replace("words", 3 * wide)
    for n in (BLOCK // 4, BLOCK // 3, BLOCK // 2, BLOCK - STEP, BLOCK, BLOCK + 2 * CHUNK):
        for more in range(-6, 7):
            assert_as_a_whole(encoding, text[: n + more])
            assert_as_a_whole(encoding, of_wide[: n + more])


def test_what_is_looked_ahead_at_around_every_place_of_a_block() -> None:
    encoding = cutline.get_encoding("o200k_base")
    for unit in ("\n" + " " * 70 + "x", "\n    \n  a'l", "12 a" + " " * 9 + "\n"):
        for more in range(len(unit)):
            assert_as_a_whole(encoding, "日" + "a" * more + unit * (2 * BLOCK // len(unit)))


@pytest.mark.parametrize("n_blanks", [CHUNK - 9, 2 * CHUNK - 9, 2 * CHUNK + 99, BLOCK, 2 * BLOCK])
def test_a_piece_looks_beyond_a_block(n_blanks: int) -> None:
    encoding = cutline.get_encoding("o200k_base")
    for before in range(BLOCK - 3 * CHUNK, BLOCK, 9_001):
        for last in "\nx":
            text = "日" + "ab, " * (before // 4) + "\n" + " " * n_blanks + last + " cd" * CHUNK
            assert_as_a_whole(encoding, text)


@pytest.mark.parametrize("place", [0, STEP - 1, STEP, BLOCK // 2, BLOCK, 2 * BLOCK, 3 * BLOCK])
def test_surrogates_are_replaced_in_any_block(place: int) -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = "été, " * (3 * BLOCK // 5 + 1)
    for surrogates, become in (("\ud83d", "\ufffd"), ("\ud83d\ude00", "😀")):
        want = whole(encoding, text[:place] + become + text[place:])
        assert encoding.encode_ordinary(text[:place] + surrogates + text[place:]) == want
        assert encoding.count(text[:place] + surrogates + text[place:]) == len(want)


def test_a_limit_is_met_in_any_block() -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = "été 日本, it's " * (BLOCK // 8)
    n = encoding.count(text)
    for limit in (0, 1, 300, n // 3, n // 2, n - 1):
        assert encoding.count_till_limit(text, limit) is None
    assert [encoding.count_till_limit(text, limit) for limit in (n, n + 1)] == [n, n]


@pytest.mark.parametrize("wide", ["", *WIDE.values()], ids=["ascii", *WIDE])
def test_special_tokens_are_found_at_every_place(wide: str) -> None:
    encoding, rng = cutline.get_encoding("o200k_base"), random.Random(302)
    base = wide + "It's 12345 words\n   and so on. " * (BLOCK // 16)
    edges = (STEP, CHUNK, 2 * CHUNK, BLOCK - 4 * STEP, BLOCK, len(base))
    places = [edge + more for edge in edges for more in range(-14, 2)]
    for place in (*places, *rng.choices(range(len(base)), k=20)):
        text = base[:place] + SPECIAL + base[place:]
        with pytest.raises(cutline.SpecialTokenError, match="endoftext"):
            encoding.encode_to_numpy(text)
    with pytest.raises(cutline.SpecialTokenError, match="endoftext"):
        encoding.encode(text)


@pytest.mark.parametrize("wide", ["", *WIDE.values()], ids=["ascii", *WIDE])
def test_what_special_tokens_begin_with_is_ordinary_text(wide: str) -> None:
    encoding = cutline.get_encoding("o200k_base")
    for text in ("<|end ", "<", "|", "< |", "<|"):
        long = wide + "a <| b" + "It's 12345 words\n " * (BLOCK // 16) + text
        assert encoding.encode(long) == whole(encoding, long)
        assert encoding.encode_to_numpy(long).tolist() == whole(encoding, long)


def test_an_encoding_goes_on_after_it_refused_a_text() -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = "It's 12345 words\n " * (BLOCK // 16)
    for _ in range(3):
        with pytest.raises(cutline.SpecialTokenError):
            encoding.encode(text + SPECIAL)
        assert encoding.encode(text) == whole(encoding, text)
        assert encoding.encode_ordinary(text + SPECIAL) == whole(encoding, text + SPECIAL)


def test_special_tokens_are_found_in_a_subclass_of_str() -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = type("Text", (str,), {})("It's 12345 words\n " * (BLOCK // 16) + SPECIAL)
    for encode in (encoding.encode, encoding.encode_to_numpy):
        with pytest.raises(cutline.SpecialTokenError, match="endoftext"):
            encode(text)


@pytest.mark.filterwarnings("ignore::cutline.PatternFallbackWarning")
def test_special_tokens_are_found_where_no_piece_is() -> None:
    encoding = cutline.Encoding(
        "x", pat_str="(?<=a)b+", mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={SPECIAL: 256},
    )  # fmt: skip
    assert encoding.encode("cé" * STEP) == []
    for encode in (encoding.encode, encoding.encode_to_numpy):
        with pytest.raises(cutline.SpecialTokenError, match="endoftext"):
            encode("cé" * STEP + SPECIAL)
