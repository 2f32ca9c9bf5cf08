"""Runs, slices and chunks of texts that a normalizer changes, by images, against `tokenizers`."""

import json
import random
from base64 import b64encode
from functools import cache
from typing import Any

import numpy as np
import pytest

import cutline
from cutline import TextChunker
from cutline.counting import few_slices
from cutline.kernels.words.run_images import ImageRules
from cutline.normalizing import Traced, trace
from cutline.pipeline.part_normalizer import PartNormalizer
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.run_counter import EntangledCounter, ImageCounter
from cutline.pipeline.run_rules import run_rules
from tests.conftest import short_or_long
from tests.pipeline.characters import (
    BLANK,
    CONFIGURATIONS,
    ENDS,
    REPLACE,
    RUNS,
    make_document,
    metaspace,
    tokenizers,
)
from tests.pipeline.families import FAMILIES, build
from tests.pipeline.test_run_counts import number, text_of, words_of
from tests.words.charsmaps import charsmap

BLANKS = "\t\n\r\u3000\u200b\ufeff"
WIDE_MAP = {
    **dict.fromkeys(BLANKS, " "), "\x01": "", "\x02": "", "\ufb03": "ffi", "\u3392": "MHz",
    "\ufdfa": "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647", "\u00b4": " \u0301", "\u00bd": "1/2",
    "e\u0301": "\u00e9", "\uff21": "A", "\uff76": "\u30ab", "\uff76\uff9e": "\u30ac", "\u00a8": "",
}  # fmt: skip
"""Like sentencepiece's own map: white space becomes blanks, controls vanish, others are several."""
WIDE = {
    "type": "Precompiled",
    "precompiled_charsmap": b64encode(charsmap(WIDE_MAP)).decode(),
}
LEADING = {
    "type": "Precompiled",
    "precompiled_charsmap": b64encode(charsmap(WIDE_MAP | {"\u0600": "<"})).decode(),
}
"""The same, and the blank after a sign that leads a cluster is lost with it."""
STRIP_RIGHT = {"type": "Strip", "strip_left": False, "strip_right": True}
MAPPED: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any] | None]] = {
    "collapsed": ("words apart", [WIDE, RUNS], metaspace("always", True)),
    "stripped": ("words apart", [WIDE, STRIP_RIGHT, RUNS], metaspace("always", True)),
    "collapsed, no prefix": ("words apart", [WIDE, RUNS], metaspace("never", True)),
    "not collapsed": ("words apart", [WIDE], metaspace("always", True)),
    "unknown, stripped": (
        "unknown and a prefix",
        [WIDE, STRIP_RIGHT, RUNS | {"content": BLANK}],
        metaspace("first", True),
    ),
    "unknown, blanks that are written": (
        "unknown, one by one",
        [{"type": "NFKC"}, {"type": "Lowercase"}, REPLACE],
        None,
    ),
    "a leading sign": ("words apart", [LEADING, RUNS], metaspace("always", True)),
    "an added token": ("added after the first", [WIDE, RUNS], metaspace("always", True)),
}
BY_IMAGES = ["nllb", "nllb, as converted", "seamless", "lower case, composed"]
PARTS = [
    "e\u0301", "\u0301", "\u200b", "\u3000", "\t", "\r\n", "\r", "\u0085", "\ufb03", "\u3392",
    "\uff76\uff9e", "\uff21", "\u1100\u1161\u11a8", "\u0600", "\U0001f469\u200d\U0001f467",
    "\u00a0", "\ufdfa", BLANK, "\u00b4", "\ufffd", "\u00ad", "\ufeff", "\u0344", "=\u0338",
    "\U0001d165", "\uac00\u11a8", "\U0010fffe", "\ue000", "\ue001", "\u0e33", "\u00a8", "\0",
    "\u0915\u094d\u0937", "\x01", "\x02", "\u0130", "\u00bd", "\u2603", "\u65e5\u672c", "<x>",
]  # fmt: skip


@cache
def pair(name: str) -> tuple[cutline.Encoding, Any]:
    """Return an encoding and its tokenizer: of this file, of characters, or of families."""
    if name in MAPPED:
        base, steps, splitter = MAPPED[name]
        document = json.loads(make_document(base))
        document["normalizer"] = {"type": "Sequence", "normalizers": steps}
        document["pre_tokenizer"] = splitter
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    elif name in CONFIGURATIONS:
        tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
    else:
        tokenizer = build(name)
    tokenizer.encode_special_tokens = True
    return cutline.Encoding.from_tokenizers(tokenizer, name), tokenizer


def are_by_images(name: str) -> bool:
    return isinstance(run_rules(pair(name)[0]._make_spec()), ImageRules)


BYTE_LEVEL = ["compatible", "qwen 2.5", "precompiled", "as nmt normalizes", "prefix space"]
ALL = [*MAPPED, *BY_IMAGES, *BYTE_LEVEL]


def hostile(rng: random.Random) -> str:
    """Make a text of words, or of parts that a normalizer changes, with blanks of all kinds."""
    if rng.random() < 0.4:
        words = words_of(rng)
        words += ["".join(rng.choices([*PARTS, "a", "b"], k=rng.randint(1, 5))) for _ in range(9)]
        return text_of(rng, words)
    pool = [*rng.sample(PARTS, 5), "a", "the", " ", *rng.sample([" ", "\n", "\t", "\u200b"], 2)]
    return "".join(rng.choices(pool, k=rng.choice((5, 40, 300, 600))))


def test_which_tokenizers_are_counted_by_images() -> None:
    assert all(map(are_by_images, MAPPED))
    # Those that strip blanks, and no other white space, are not.
    spelled_out = (
        name
        for name, options in CONFIGURATIONS.items()
        if options.get("fallback") is False and ENDS not in options.get("normalizer", ())
    )
    expected = {*BY_IMAGES, *spelled_out}
    assert {name for name in CONFIGURATIONS if are_by_images(name)} == expected
    found = [name for name in FAMILIES if are_by_images(name)]
    assert set(found) >= {"qwen 2.5", "compatible", "precompiled"}


@pytest.mark.parametrize("name", ALL)
def test_counts_and_ids_are_those_of_tokenizers(name: str) -> None:
    rng = random.Random(name)
    encoding, tokenizer = pair(name)
    for _ in range(90):
        text = hostile(rng)
        expected = tokenizer.encode(text, add_special_tokens=False).ids
        assert encoding.encode_ordinary(text) == expected, ascii(text)
        # New, met before, and in characters of another width.
        assert encoding.count(text) == len(expected), ascii(text)
        assert encoding.count(text) == len(expected), ascii(text)
        wider = f"{text} \U0001f600"
        assert encoding.count(wider) == number(tokenizer, wider), ascii(wider)


@pytest.mark.parametrize("name", ALL)
def test_characters_come_from_what_steps_trace(name: str) -> None:
    rng = random.Random(f"spans{name}")
    pipeline = pair(name)[0]._pipeline
    assert pipeline is not None
    assert pipeline.images is not None
    equal = 0
    for _ in range(120):
        text = hostile(rng)
        found = pipeline.images.aligned(text)
        assert found is not None
        expected = trace(Traced.of(text), pipeline.steps_for(inside=False))
        assert found.text == pipeline.images.changed(text) == expected.text, ascii(text)
        places = np.arange(len(found.text))
        spans = found.spans_of(np.stack([places, places + 1], axis=1))
        equal += spans.tolist() == expected.spans.tolist()
        # A step traces marks with their letter, which may become what it becomes without them.
        assert (expected.spans[:, 0] <= spans[:, 0]).all(), ascii(text)
        assert (spans[:, 1] <= expected.spans[:, 1]).all(), ascii(text)
        assert (spans[:, 0] < spans[:, 1]).all()
    assert equal > 60


@pytest.mark.parametrize("name", ["qwen 2.5", "compatible", "nllb"])
def test_surrogates_beside_marks_are_replaced(name: str) -> None:
    encoding, _ = pair(name)
    for text in (
        "a e\u0301\ud800 b",
        "\udc00e\u0301",
        "\u1112\u1161\u11ab \ud83d\ude00e\u0301",
        "\ud800",
    ):
        repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        expected = encoding.encode_ordinary(repaired)
        assert encoding.encode_ordinary(text) == expected
        assert encoding.encode_to_numpy(text).tolist() == expected
        assert encoding.count(text) == len(expected)
        assert encoding.encode_batch([text, text]) == [expected] * 2
        with pytest.raises(cutline.SurrogateError):
            encoding.encode_with_offsets(text)


@pytest.mark.parametrize("name", ALL)
def test_slices_are_counted_like_texts(name: str) -> None:
    rng = random.Random(f"slices{name}")
    encoding, tokenizer = pair(name)
    for _ in range(40):
        text = hostile(rng)
        counter = encoding.intervals(text)
        rows = [sorted(rng.choices(range(len(text) + 1), k=2)) for _ in range(12)]
        expected = [number(tokenizer, text[start:end]) for start, end in rows]
        assert [counter.count(start, end) for start, end in rows] == expected, ascii(text)
        assert counter.count_many(rows).tolist() == expected, ascii(text)


@pytest.mark.parametrize("name", ALL)
def test_cuts_are_the_longest_that_fit(name: str) -> None:
    rng = random.Random(f"cuts{name}")
    encoding, tokenizer = pair(name)
    for _ in range(20):
        text = hostile(rng)[:200]
        counter, start, n = (
            encoding.intervals(text),
            rng.randrange(len(text)),
            rng.choice((0, 1, 4, 9, 30)),
        )
        fitting = [
            end
            for end in range(start + 1, len(text) + 1)
            if number(tokenizer, text[start:end]) <= n
        ]
        expected = max(fitting, default=start)
        assert counter.split_at(start, n) == expected, (ascii(text), start, n)
        assert encoding.split_at(text, n, start) == expected, (ascii(text), start, n)


@short_or_long("n_texts", 4, 12)
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_chunks_have_the_tokens_of_their_texts(
    name: str, few: bool, monkeypatch: pytest.MonkeyPatch, n_texts: int
) -> None:
    if few:  # also where so many slices are asked for that all are counted
        monkeypatch.setattr(few_slices, "LEAST_TOKENS", 1)
        monkeypatch.setattr(few_slices, "SHARE", 1e9)
    rng = random.Random(f"chunks{name}")
    encoding, tokenizer = pair(name)
    for _ in range(n_texts):
        text = " ".join(hostile(rng) for _ in range(rng.choice((1, 3, 9))))
        n, overlap = rng.choice((64, 64, 80)), rng.choice((0, 0, 9))
        if few:
            n, overlap = rng.choice((26, 32, 64)), 0
        chunks = encoding.split(text, n, overlap)
        for chunk in [*chunks, *TextChunker(encoding, n, overlap).chunk(text)]:
            assert chunk.token_count == number(tokenizer, chunk.text) <= n, ascii(text)
        for chunk in chunks:
            end = chunk.end_index
            for longer in range(end + 1, min(len(text), end + 9) + 1):
                assert number(tokenizer, text[chunk.start_index : longer]) > n, ascii(text)


def test_texts_without_entangled_characters_are_changed_once() -> None:
    encoding, _ = pair("stripped")
    assert isinstance(encoding.intervals("the \ufb03 \u3392\n\n b"), ImageCounter)
    assert isinstance(encoding.intervals("the e\u0301 b"), EntangledCounter)


def test_a_blank_is_lost_with_the_sign_before_it() -> None:
    encoding, tokenizer = pair("a leading sign")
    differ = 0
    for word in (
        "the",
        "them",
        "abe",
        "(they",
        "\u65e5\u672c",
        "zq",
        "\u00e9",
        "1",
        "1.",
        "say",
        "end",
    ):
        text = f"{word}\u0600 {word} " * 90
        assert encoding.count(text) == number(tokenizer, text), word
        differ += number(tokenizer, f"<{word}") != number(tokenizer, f"< {word}")
    assert differ > 3


def test_surrogates_count_as_replacement_characters() -> None:
    for name in MAPPED:
        encoding, tokenizer = pair(name)
        for text in ("a\ud800b " * 90, "the\n" * 90 + "\udc00", "\ud83c\udf89 " * 90):
            plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            assert encoding.count(text) == number(tokenizer, plain)


def test_errors_in_what_normalizes_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding, _ = pair("collapsed")
    encoding = cutline.Encoding.from_spec(encoding._make_spec())

    def fail(*_: object, **__: object) -> str:
        raise MemoryError("no more")

    assert encoding._pipeline is not None
    assert encoding._pipeline.run_rules is not None
    monkeypatch.setattr("cutline.pipeline.part_normalizer.normalize", fail)
    with pytest.raises(MemoryError, match="no more"):
        encoding.count("the e\u0301 b " * 90)


def test_an_added_token_is_found_among_images() -> None:
    encoding, tokenizer = pair("an added token")
    for text in ("a <x>\n\tb", "the\u3000<x>" * 90, f"{'the ' * 90}<x>\u200b"):
        assert encoding.count(text) == number(tokenizer, text)
        assert encoding.encode_ordinary(text) == tokenizer.encode(text).ids


@pytest.mark.parametrize("name", ["qwen 2.5", "compatible", "precompiled"])
def test_few_parts_are_normalized_for_the_end_of_a_chunk(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what may fit, only the last run is normalized again for each end, if it is not known."""
    text = "some cafe\u0301 and de\u0301ja\u0300 vu in ha\u0306u\u0323 bi\u0300nh, a\u0301 " * 200
    encoding, tokenizer = pair(name)
    normal, parts = PartNormalizer.__call__, list[str]()

    def noted(self: PartNormalizer, part: str, at_end: bool) -> bytes:
        parts.append(part)
        return normal(self, part, at_end)

    count, counted = Pipeline._count_pieces, list[str]()

    def noted_count(self: Pipeline, encoder: Any, part: str, *, at_start: bool) -> int:
        counted.append(part)
        return count(self, encoder, part, at_start=at_start)

    monkeypatch.setattr(PartNormalizer, "__call__", noted)
    monkeypatch.setattr(Pipeline, "_count_pieces", noted_count)
    chunks = TextChunker(encoding, 64).chunk(text)
    assert all(chunk.token_count == number(tokenizer, chunk.text) <= 64 for chunk in chunks)
    n_entangled = text.count(" ") - text.count("some") - text.count("and") - text.count("in")
    assert len(parts) + len(counted) < n_entangled + 24 * len(chunks)
    assert max(map(len, (*parts[n_entangled:], *counted)), default=0) < 30


@pytest.mark.parametrize("name", [*MAPPED, "precompiled"])
def test_cuts_after_runs_that_vanish_for_a_mark(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sign that is removed with its mark nothing is left between two blanks."""
    monkeypatch.setattr(few_slices, "LEAST_TOKENS", 1)
    monkeypatch.setattr(few_slices, "SHARE", 1e9)
    encoding, tokenizer = pair(name)
    rng = random.Random(name)
    for _ in range(60):
        parts = ["\u00a8\u0301", "\u00ae\u0301", "e\u0301", "the", "a", "\u00a8"]
        text = " ".join(rng.choices(parts, weights=[4, 4, 4, 1, 1, 1], k=60))
        n = rng.randint(8, 20)
        for chunk in encoding.split(text, n):
            assert chunk.token_count == number(tokenizer, chunk.text) <= n, ascii(text)
            for longer in range(chunk.end_index + 1, min(len(text), chunk.end_index + 9) + 1):
                assert number(tokenizer, text[chunk.start_index : longer]) > n, ascii(text)
