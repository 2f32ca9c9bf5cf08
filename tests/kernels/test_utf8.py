"""A text's UTF-8, and how far bytes are valid UTF-8, is what Python's codec says."""

import codecs
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.kernels.base.utf8 import encode_by, encode_utf8, has_surrogates, valid_bytes

# A byte of each range that the rules of UTF-8 tell apart.
EDGES = bytes.fromhex("00 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")


def expected(data: bytes) -> int:
    """What the decoder takes before it meets an error or the end."""
    try:
        return codecs.utf_8_decode(data, "strict", False)[1]
    except UnicodeDecodeError as error:
        return error.start


@pytest.mark.parametrize(
    "letter", ["a", "\xf1", "\u65e5", "\U0001f469", "\0", "\x7f\x80\u07ff\u0800"]
)
@pytest.mark.parametrize("n", [0, 1, (1 << 16) - 2, (1 << 16) - 1, 1 << 16, (1 << 16) + 9])
def test_texts_of_every_width_and_length_are_as_the_codec_says(letter: str, n: int) -> None:
    text = (letter + "x" * 7 + letter * 2) * (n // 10) + letter * (n % 10)
    assert encode_utf8(text) == text.encode()
    for place in {0, n // 2, n}:
        broken = text[:place] + "\ud800" + text[place:]
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed") as caught:
            encode_utf8(broken)
        assert caught.value.start == place


def test_every_character_is_valid() -> None:
    text = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000)))).encode()
    assert valid_bytes(text) == len(text)


@pytest.mark.parametrize("code_point", range(0xD800, 0xE000, 0xFF))
def test_surrogates_are_not_valid(code_point: int) -> None:
    assert valid_bytes(b"x" + chr(code_point).encode("utf-8", "surrogatepass") + b"y") == 1


@pytest.mark.parametrize("n_bytes", range(5))
def test_every_sequence_of_edges_is_as_the_decoder_says(n_bytes: int) -> None:
    if n_bytes < 4:
        cases = map(bytes, itertools.product(EDGES, repeat=n_bytes))
    else:
        cases = (bytes((lead, *rest)) for lead in EDGES[18:] for rest in product3())
    for data in cases:
        assert valid_bytes(data) == expected(data), data


def product3() -> "itertools.product[tuple[int, ...]]":
    return itertools.product(EDGES, repeat=3)


@pytest.mark.parametrize("before", ["日本語", "añ日本語 of more", "👩🏽"])
def test_sequences_of_edges_within_a_text_are_as_the_decoder_says(before: str) -> None:
    # Enough around them for vectors; whole characters first, so that these begin.
    for edges in product3():
        for after in (b"", b"\x80", b" and more than a vector of letters"):
            data = before.encode() + bytes(edges) + after
            assert valid_bytes(data) == expected(data), data


def test_pairs_of_bytes_within_a_text_are_as_the_decoder_says() -> None:
    before, after = "日本語 ".encode(), b" and more than a vector of letters"
    for pair in itertools.product(range(256), repeat=2):
        for rest in (b"", b"\x80", b"\xbf\x80"):
            data = before + bytes(pair) + rest + after
            assert valid_bytes(data) == expected(data), data


@pytest.mark.parametrize("seed", range(20))
def test_text_that_is_cut_and_damaged_anywhere(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choice(["a", "word ", "ñ", "日", "👩🏽", "\0"]) for _ in range(40)).encode()
    for end in range(len(text) + 1):
        assert valid_bytes(text[:end]) == expected(text[:end])
        damaged = bytearray(text)
        damaged[end : end + 1] = bytes([rng.randrange(256)])
        assert valid_bytes(bytes(damaged)) == expected(bytes(damaged))


@given(st.binary(max_size=50))
def test_any_bytes(data: bytes) -> None:
    assert valid_bytes(data) == expected(data)


@pytest.mark.parametrize("wide", ["", "é", "\u201c", "\U0001f600"])
def test_every_character_is_encoded(wide: str) -> None:
    for start in (*range(0, 0xD800, 0x100), *range(0xE000, 0x10000, 0x100)):
        text = wide + "".join(map(chr, range(start, start + 0x100)))
        assert encode_utf8(text) == text.encode()


@pytest.mark.parametrize("length", range(20))
def test_what_is_not_ascii_may_stand_anywhere(length: int) -> None:
    for character in "éш\u201c\ufeff\uffff😀":
        for place in range(length + 1):
            text = "a" * place + character + "\x7f" * (length - place)
            assert encode_utf8(text) == text.encode()
            assert encode_utf8(text * 3) == (text * 3).encode()


@pytest.mark.parametrize("surrogate", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
@pytest.mark.parametrize("before", ["", "a" * 8, "é", "\ud7ff\ue000", "😀"])
def test_a_surrogate_is_refused_as_by_the_codec(before: str, surrogate: int) -> None:
    text = before + chr(surrogate) + "abcdefghi"
    with pytest.raises(UnicodeEncodeError) as caught:
        encode_utf8(text)
    assert (caught.value.start, caught.value.reason) == (len(before), "surrogates not allowed")


@given(st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), max_size=60))
def test_any_text_is_encoded(text: str) -> None:
    assert encode_utf8(text) == text.encode()


# ASCII, two bytes, three bytes, and four: runs of each, which vectors take eight at a time.
WIDTHS = [
    "a z\x00\x7f",
    "\x80éяٱ\u07ff",
    "\u0800日\u201c\ud7ff\ue000\uffff",
    "\U00010000😀\U0010ffff",
]


WAYS = pytest.mark.parametrize(("vectors", "room"), [(True, 32), (True, 8), (False, 32)])


@WAYS
@pytest.mark.parametrize("seed", range(300))
def test_runs_of_every_width_at_every_distance(seed: int, vectors: bool, room: int) -> None:
    rng = random.Random(seed)
    widths = rng.sample(WIDTHS, rng.randint(1, 4))
    text = ""
    for _ in range(rng.randint(0, 40)):
        width = rng.choice(widths)
        text += "".join(rng.choice(width) for _ in range(rng.choice([1, 1, 2, 5, 8, 40])))
    assert encode_by(text, vectors, room) == text.encode()
    assert encode_by(text.encode().decode("latin-1"), vectors, room) == (
        text.encode().decode("latin-1").encode()
    )
    place = rng.randint(0, len(text))
    broken = text[:place] + rng.choice("\ud800\udbff\udc00\udfff") + text[place:]
    assert encode_by(broken, vectors, room) is None
    assert has_surrogates(broken)
    assert not has_surrogates(text)


@WAYS
def test_every_character_in_vectors(vectors: bool, room: int) -> None:
    for start in (*range(0, 0xD800, 0x40), *range(0xE000, 0x11000, 0x40)):
        text = "".join(map(chr, range(start, start + 0x40)))
        for some in (text, text + "\U0010ffff" + "a" * 40):
            assert encode_by(some, vectors, room) == some.encode()
            assert not has_surrogates(some)
