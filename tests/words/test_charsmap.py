"""sentencepiece's character map, as sentencepiece applies it."""

import random
import re
import struct
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.kernels.words.char_map import CharMap
from cutline.normalizing import Form, Lower, Replace, Step, Strip, StripBlanks, Traced, normalize
from cutline.pipeline.before_blanks import blank_begins, solid_end
from cutline.pipeline.tokens_of_slices import slices_may_have
from cutline.words.beginnings import BeginsAnew
from cutline.words.char_rules import CharRules
from cutline.words.charsmap import CharsMap
from cutline.words.neighbours import LEFT, RIGHT
from cutline.words.splitting import Metaspace, WhitespaceSplit
from cutline.words.steps import ByCharacter, Collapse
from tests.words.charsmaps import charsmap
from tests.words.configurations import BERT, META, norm
from tests.words.test_growing_form import check_growth
from tests.words.test_prefixes import POOLS, check_prefixes
from tests.words.tokenizers_of import tokenizer_of

LETTERS = "abc ꙁé日😀"
RULES = {
    "e\u0301": "\u00e9", "\u1100\u1161": "\uac00", "\u1100\u1161\u11a8": "\uac01", "\ufb01": "fi",
    "\u0344": "\u0308\u0301", "\u00ae": "", "\u0302": "", "ab": "x", "abc": "y ", "bb": "",
    "`": "``", "\u00a0": " ", "\t": " ", "\u0327\u0301\u0301\u0301": "!", "\uac00\u0301": "\uac00",
}  # fmt: skip
MAP = CharsMap(charsmap(RULES))
SYMBOLS = CharsMap(charsmap(RULES), ("abcd", "`'", "\ufb01", "a", "<x>", "\u2581b"))
MAPS: dict[str, tuple[Step, ...]] = {
    "a map": (MAP,),
    "symbols": (SYMBOLS,),
    "some symbols": (CharsMap(charsmap(RULES), ("abcd", "bbb", "`'")),),
    "a map, a text": (MAP, Replace("xx", "q"), Lower()),
    "a map, forms": (MAP, Form("NFKC"), Lower(), Form("NFD"), ByCharacter("accents")),
    "a form, symbols": (Form("NFD"), SYMBOLS, Replace("x", "ab"), Replace("``", "'")),
    "runs, stripped": (MAP, Collapse(" "), StripBlanks(True, False), StripBlanks(False, True)),
}


def found_at(
    text: str, start: int, keys: Mapping[str, str], symbols: tuple[str, ...]
) -> tuple[str, str]:
    """Return what is taken at a place, and what becomes of it: the rule, in a few lines."""
    for texts, made_of in ((symbols, str), (keys, keys.get)):
        found = [one for one in texts if text.startswith(one, start)]
        if found:
            longest = max(found, key=len)
            return longest, made_of(longest) or ""
    return text[start], text[start]


def expected(
    text: str, keys: Mapping[str, str], symbols: tuple[str, ...]
) -> tuple[str, list[list[int]]]:
    """Return a text as it is mapped, and the span that each character comes from."""
    made, spans, at = "", list[list[int]](), 0
    while at < len(text):
        taken, value = found_at(text, at, keys, symbols)
        made += value
        spans += [[at, at + len(taken)]] * len(value)
        at += len(taken)
    return made, spans


def slices_of(text: str) -> list[str]:
    n = len(text)
    return [text[start:end] for start in range(n) for end in range(start + 1, n + 1)]


@pytest.mark.parametrize("seed", range(60))
def test_the_longest_key_is_taken_and_symbols_before_keys(seed: int) -> None:
    rng = random.Random(seed)

    def some(most: int) -> str:
        return "".join(rng.choices(LETTERS, k=rng.randint(1, most)))

    keys = {some(4): "".join(rng.choices(LETTERS, k=rng.randint(0, 3))) for _ in range(9)}
    symbols = tuple({some(5) for _ in range(seed % 4)})
    step = CharsMap(charsmap(keys), symbols)
    assert step.longest == max(map(len, [*keys, *symbols]))
    assert step.removes == ("" in keys.values())
    cut_apart = 0
    for _ in range(60):
        text = some(12)
        made, spans = expected(text, keys, symbols)
        assert step.apply(text) == made, (keys, symbols, text)
        traced = step.trace(Traced.of(text))
        assert (traced.text, traced.spans.tolist()) == (made, spans), text
        if step.keeps_slices(text):
            assert all(step.apply(one) == one for one in slices_of(text))
        if step.acts_alone(text):
            assert all(step.apply(one) == "".join(map(step.apply, one)) for one in slices_of(text))
        assert {step.apply(one) for one in text} <= step.values(text)
        assert set(step.values(text)) >= {
            keys[one] for one in keys if set(one) <= set(text) and step.apply(one) == keys[one]
        }
        for place, one in enumerate(text):
            before, rest = text[:place], text[place:]
            together = step.apply(before) + step.apply(rest)
            if place and (step.begins(one) or not step.joins(text[place - 1], one)):
                cut_apart += 1
                assert together == made, (keys, symbols, text, place)
            if place and not step.goes_on(text[place - 1]):
                assert together == made
            if step.keeps(one):
                assert together == made
                assert step.apply(rest).startswith(one)
    assert cut_apart > 10


@pytest.mark.parametrize("name", MAPS)
def test_prefixes_and_growing_texts_become_what_they_do(name: str) -> None:
    steps, pools = (
        MAPS[name],
        (*POOLS, "abcd `'\ufb01<x>\u2581b", "\u0327\u0301a", "abcd", "\xae\u0302abx"),
    )
    for pool in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tests.words.test_prefixes.POOLS", pools[-4:] if pool else pools)
            patch.setattr("tests.words.test_growing_form.POOLS", pools[-4:] if pool else pools)
            n_rests, n_settled, n_characters = check_prefixes(steps, random.Random(name), 400)
            assert n_rests < n_characters / 2
            assert n_settled > n_characters / 4
            for at_end in (False, True):
                check_growth(steps, random.Random(name), 300, at_end=at_end)


@pytest.mark.parametrize("name", MAPS)
def test_texts_are_cut_where_characters_begin_anew(name: str) -> None:
    steps = tuple(step for step in MAPS[name] if not isinstance(step, StripBlanks))
    anew, rng, n = BeginsAnew.inside(steps), random.Random(name), 0
    for _ in range(2000):
        text = "".join(
            rng.choices("abc`'e\u0301 \u1100\u1161\u0302\xae<x\ufb01", k=rng.randint(2, 8))
        )
        for place in anew.places(text):
            apart = normalize(text[:place], steps), normalize(text[place:], steps)
            n += 1
            assert "".join(apart) == normalize(text, steps) or Collapse(" ") in steps, ascii(text)
    assert n > 1000 or name == "a map, forms"  # of which any may compose with what follows


def test_characters_whose_images_do_not_interact_are_changed_alone() -> None:
    rng = random.Random(3)
    for steps in ((MAP,), (SYMBOLS,), (MAP, Lower())):
        rules = CharRules(steps, (WhitespaceSplit(),), None)
        entangled, n = CharMap(rules.characters, rules.maker), 0
        for _ in range(3000):
            text = "".join(rng.choices("abc`'ex\u0301\u1100\u1161\u0302\xae<\ufb01", k=3))
            if not entangled.is_entangled(text):
                n += 1
                assert normalize(text, steps) == "".join(normalize(one, steps) for one in text)
        assert 300 < n < 2800


def counted(oracle: Any, text: str, symbols: tuple[str, ...], *, strips: bool) -> list[int]:
    """Encode a text with `tokenizers` that is mapped already."""
    made, _ = expected(text, RULES, symbols)
    if strips:
        made = re.sub(" +", " ", made).rstrip(" ")
    ids: list[int] = oracle.encode(made, add_special_tokens=False).ids
    return ids


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram", "Unigram with bytes"])
@pytest.mark.parametrize("symbols", [(), SYMBOLS.symbols], ids=["no symbols", "symbols"])
def test_words_slices_and_cuts_of_texts_are_those_of_mapped_ones(
    kind: str, symbols: tuple[str, ...]
) -> None:
    strips = kind != "WordPiece"
    oracle = tokenizer_of(kind, "deberta" if strips else "NFC, bert", random.Random(5))
    oracle.normalizer = norm.Sequence([])
    oracle.pre_tokenizer = META if strips else BERT
    spec = cutline.Encoding.from_tokenizers(oracle)._spec
    steps: tuple[Step, ...] = (CharsMap(charsmap(RULES), symbols),)
    if strips:
        steps = (*steps, Collapse(" "), StripBlanks(False, True))
    encoding = cutline.Encoding.from_spec(spec._replace(normalizer=steps))
    rng = random.Random(f"{kind}{symbols}")
    pool = [
        *"abcde `'\t\xa0 \xae\u0301\u0302\u0327\u0344\ufb01\uac00",
        "\u1100\u1161",
        "abcd",
        "<x>",
        "x\x85",
    ]
    for _ in range(60):
        text = "".join(rng.choices(pool, k=rng.randint(0, 12)))
        tokens = counted(oracle, text, symbols, strips=strips)
        assert encoding.encode_ordinary(text) == encoding.encode_with_offsets(text)[0] == tokens
        counter, grown = encoding.intervals(text), encoding.appender()
        for start in range(0, len(text), 2):
            ends = range(start, len(text) + 1)
            counts = [len(counted(oracle, text[start:end], symbols, strips=strips)) for end in ends]
            assert [counter.count(start, end) for end in ends] == counts, ascii(text)
            for n in (1, 3, 6):
                fitting = start + max(at for at, count in enumerate(counts) if count <= n)
                assert counter.split_at(start, n) == fitting, (ascii(text), start, n)
                assert encoding.split_at(text, n, start) == fitting
            grown.append(text[start : start + 2])
            whole = counted(oracle, text[: start + 2], symbols, strips=strips)
            assert grown.count == len(whole), ascii(text)
            assert encoding.prepender(text[start:]).count == counts[-1]


def test_what_decides_about_a_blank() -> None:
    assert blank_begins((MAP, Collapse(" "), StripBlanks(False, True)))
    assert not blank_begins((CharsMap(charsmap({" a": "b"})), Collapse(" ")))
    assert not blank_begins((CharsMap(charsmap({" ": "b"})), Collapse(" ")))
    assert solid_end("e", (MAP, Collapse(" "))) == "e"
    assert solid_end("\ufb01", (MAP, Collapse(" "))) == "i"
    assert solid_end("b", (MAP, Collapse(" "))) == ""  # "ab" and "bb" end in it
    assert solid_end(">", (SYMBOLS, Collapse(" "))) == ">"  # after "<x" it is what it is alone
    assert solid_end("\u0302", (SYMBOLS, Collapse(" "))) == ""
    assert solid_end("'", (CharsMap(charsmap({"'": "a"}), ("`'",)), Collapse(" "))) == ""
    assert solid_end("`", (CharsMap(charsmap({"` ": ""})), Collapse(" "))) == ""


def test_white_space_that_is_not_stripped_interacts_with_nothing() -> None:
    for strip, flags in ((StripBlanks(False, True), 0), (Strip(False, True), LEFT | RIGHT)):
        rules = CharRules((MAP, Collapse(" "), strip), (Metaspace("never", True, "\u2581"),), None)
        assert rules.strips_end
        assert rules.images(0)[0x85].flags == flags


def test_slices_may_have_what_keys_of_their_characters_write() -> None:
    for text, token in (
        ("a b", "x"),
        ("abc", "x"),
        ("b b", "x"),
        ("ab", "\u00e9"),
        ("be\u0301", "\u00e9"),
    ):
        made = normalize(text, (MAP, Lower()))
        may = slices_may_have([token], (MAP, Lower()), text, made)
        assert may or not any(token in normalize(one, (MAP, Lower())) for one in slices_of(text))
    assert slices_may_have(["x"], (MAP, Lower()), "abc", "y ")
    assert not slices_may_have(["if"], (MAP, Lower()), "\ufb01 \ufb01", "fi fi")
    assert not slices_may_have(["x"], (MAP, Lower()), "\u0301\u1100\u1161\u11a8", "\u0301\uac01")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0\0\0\0", struct.pack("<I", 8) + bytes(4), charsmap({"a": "b"})[:-2] + b"\xff\0",
        charsmap({"\u0100": "b"}).replace(struct.pack("<B", 0x80), b"\x41"),
    ],
)  # fmt: skip
def test_damaged_maps_are_refused(data: bytes) -> None:
    with pytest.raises(VocabularyError, match="map is damaged"):
        CharsMap(data)


def units_of(data: bytes) -> list[int]:
    (size,) = struct.unpack_from("<I", data)
    return list(struct.unpack_from(f"<{size // 4}I", data, 4))


def with_units(units: list[int], strings: bytes) -> bytes:
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + strings


def test_a_trie_that_leads_back_is_refused() -> None:
    units = units_of(charsmap({"ab": "c"}))
    root = units[0] >> 10
    (second,) = (place for place, unit in enumerate(units) if unit & 0x800000FF == ord("b"))
    looped = [*units]
    looped[second] = (second ^ root) << 10 | ord("b")  # after which the first letter comes again
    with pytest.raises(VocabularyError, match="leads back"):
        CharsMap(with_units(looped, b"c\0"))


@pytest.mark.parametrize(
    "key",
    [
        b"\xc3", b"\xc3a", b"\x80", b"\xff", b"\xe0\x80\x80", b"\xc1\x81", b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80", b"a\xc3\xa9\xa9", b"\xf8\x88\x80\x80\x80",
    ],
)  # fmt: skip
def test_keys_that_are_not_utf8_are_refused(key: bytes) -> None:
    with pytest.raises(VocabularyError, match="a key is not UTF-8"):
        CharsMap(charsmap({key: "b", "\u00e9\u65e5\U0001f600": "c"}))


def test_a_map_with_bytes_changed_anywhere_is_refused_or_maps() -> None:
    rng, refused = random.Random(2), 0
    whole = charsmap({"ab": "x", "abc": "y", "\u00e9\u65e5": "q", "\U0001f600a": ""})
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 3, 20))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            step = CharsMap(bytes(data))
        except VocabularyError:
            refused += 1
            continue
        text = "abc\u00e9\u65e5 \U0001f600ab"
        step.apply(text).encode()
        is_cut, _ = step.cuts(text)
        edges = np.flatnonzero(is_cut)
        parts = (text[start:end] for start, end in pairwise(edges.tolist()))
        assert "".join(map(step.apply, parts)) == step.apply(text)
    assert 50 < refused < 350


def test_a_symbol_without_text_is_refused() -> None:
    with pytest.raises(VocabularyError, match="has no text"):
        CharsMap(charsmap({"a": "b"}), ("",))


def test_equal_steps_are_equal_and_say_all_that_they_do() -> None:
    assert CharsMap(MAP.charsmap) == MAP != SYMBOLS
    assert eval(repr(SYMBOLS)) == SYMBOLS
