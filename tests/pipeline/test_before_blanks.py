"""Cuts before blanks that normalizers replace or strip: both sides keep their tokens."""

import json
import random
from base64 import b64encode
from functools import cache
from typing import Any

import pytest

import cutline
from cutline.errors import CutlineError
from tests.pipeline.characters import BLANK, RUNS, make_document, metaspace, tokenizers
from tests.words.charsmaps import charsmap
from tests.words.configurations import SMALL_MAP


def mapped(**changes: str) -> dict[str, Any]:
    """A map with some changes, by names of characters."""
    names = {
        "arabic_sign": "\u0600", "blank_and_mark": " \u0301", "a": "a", "comma": ",", "b": "b",
        "o_and_mark": "o\u0301", "mark": "\u0301", "blank": " ", "line_feed": "\n",
        "consonant": "\u0915",
    }  # fmt: skip
    found = SMALL_MAP | {names[name]: made for name, made in changes.items()}
    return {
        "type": "Precompiled",
        "precompiled_charsmap": b64encode(charsmap(found)).decode(),
    }


def replaced(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}
STRIPS = {"type": "Strip", "strip_left": True, "strip_right": True}
WHITE = {"type": "Replace", "pattern": {"Regex": r"\s{2,}"}, "content": " "}
LONG = RUNS | {"content": BLANK}
NOTHING = RUNS | {"content": ""}
FORMS = [{"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD")]
NORMALIZERS: dict[str, list[dict[str, Any]]] = {
    "map, runs": [mapped(), RUNS],
    "map, strip, runs": [mapped(), STRIP, LONG],
    "strip, map, runs": [STRIP, mapped(), RUNS],
    "both ends": [mapped(), STRIPS, RUNS],
    "runs vanish": [mapped(), NOTHING],
    "white space": [FORMS[0], WHITE, STRIP],
    "nmt": [{"type": "Nmt"}, FORMS[2], RUNS],
    "signs lead": [mapped(arabic_sign=" "), RUNS],
    "a blank and a mark": [mapped(blank_and_mark="z"), RUNS],
    "a blank is a letter": [mapped(blank="a"), RUNS],
    "a letter vanishes": [mapped(a=""), RUNS],
    "a letter ends in a blank": [mapped(a="b "), RUNS],
    "a mark is lost": [mapped(comma=" "), STRIP, LONG],
    "a sign of several": [FORMS[1], mapped(o_and_mark=" "), RUNS],
    "texts with blanks": [mapped(), replaced("a b", "c"), RUNS],
    "texts with signs": [mapped(), replaced(",a", ""), replaced("\u0301,", " "), RUNS],
    "a blank begins a text": [mapped(), replaced(" b", "c"), RUNS],
    "a blank is a letter for a while": [replaced(" ", "a"), FORMS[0], replaced("a", " "), RUNS],
    "what is composed vanishes": [FORMS[0], replaced("é", ""), RUNS],
    "strip, runs": [STRIP, RUNS],
    "stripped, not as a whole": [mapped(a="b "), STRIP],
    "a mark after written blanks": [FORMS[2], LONG, mapped(), RUNS],
    "a line feed is a letter": [mapped(line_feed="z"), RUNS],
    "a long cluster": [replaced("o", "\u0915\u0301"), mapped(consonant="z", mark=" "), RUNS],
    "letters change": [replaced("b", "c"), RUNS],
    "written blanks alone": [replaced("b", "!"), LONG],
    "written blanks": [LONG, replaced(BLANK + "a", "c"), RUNS],
    "accents": [FORMS[1], {"type": "StripAccents"}, {"type": "Lowercase"}, RUNS],
    **{f"{form['type']}, map": [form, mapped(), RUNS, STRIP] for form in FORMS},
    **{f"map, {form['type']}": [mapped(), form, RUNS] for form in FORMS},
}
# Which must be read as a whole.
TEXTS = [
    "\u0915\u094do b",
    "x \u00b4 b",
    "  e\u0301 b",
    "a\r\n b",
    "b d e",
    "b  a",
    " \u0600a b",
    "ab a",
    "e \u0301",
]
ALPHABET = [
    *"abeo,.AZ", " ", "  ", "\t", "\n", "\x85", "\u00a0", "\u200b", "\u3000", BLANK, "the", "日",
    "é", "\u0301", "\u0302", "\u0338", "\u0600", "\u00ae", "\x01", "\u0915", "\u094d", "\u1100",
    "\u1161", "\uac00", "\u00a9", "\u200d", "\u2603", "\ufb01", "\u0627\u0653", "\ufdfa", "😀",
]  # fmt: skip


@cache
def pair(name: str, over: str) -> tuple[cutline.Encoding, Any]:
    document = json.loads(make_document("words apart"))
    document["normalizer"] = {"type": "Sequence", "normalizers": NORMALIZERS[name]}
    if over == "unknown":
        document["model"] |= {"byte_fallback": False, "unk_token": "<unk>"}
    elif over == "never":
        document["pre_tokenizer"] = metaspace("never", True)
    elif over != "bytes":
        letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        pieces = tokenizers.Regex(" ?[^ ]+| " if over == "added" else "c |[^c ]+| [^ ]*|c")
        pre = tokenizers.pre_tokenizers
        vocab = {
            one: number for number, one in enumerate([*letters, "cĠ", "Ġa", "!âĸ", "!â", "âĸ"])
        }
        merges = [("c", "Ġ"), ("Ġ", "a"), ("â", "ĸ"), ("!", "âĸ")]
        made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges))
        to_bytes = pre.ByteLevel(add_prefix_space=False, use_regex=False)
        made.pre_tokenizer = pre.Sequence([pre.Split(pieces, "isolated"), to_bytes])
        document = json.loads(made.to_str()) | {"normalizer": document["normalizer"]}
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    if over == "added":
        tokenizer.add_tokens([tokenizers.AddedToken("c d", normalized=True)])
    return cutline.Encoding.from_tokenizers(tokenizer), tokenizer


@pytest.mark.parametrize("over", ["bytes", "unknown", "never", "letters of bytes", "added"])
@pytest.mark.parametrize("name", NORMALIZERS)
def test_both_sides_of_a_point_before_a_blank_are_encoded_apart(name: str, over: str) -> None:
    try:
        encoding, tokenizer = pair(name, over)
    except CutlineError:
        pytest.skip("such a tokenizer is refused")
    assert encoding._pipeline is not None
    safe_points = encoding._pipeline.safe_points
    chooser = random.Random(f"{name}{over}")

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return found

    for number in range(1200):
        text = "".join(chooser.choices([*ALPHABET, *" " * 9], k=chooser.randint(2, 12)))
        text = TEXTS[number] if number < len(TEXTS) else text
        for place in range(1, len(text)):
            if text[place] == " " and safe_points.holds_at(text, place):
                assert ids(text) == ids(text[:place]) + ids(text[place:]), ascii(text)


@pytest.mark.parametrize("name", ["map, runs", "map, strip, runs", "white space", "nmt"])
def test_words_are_points(name: str) -> None:
    encoding, _ = pair(name, "bytes")
    assert encoding._pipeline is not None
    assert encoding._pipeline.safe_points.all_of("The theme of them").tolist() == [3, 9, 12]
