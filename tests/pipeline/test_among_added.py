"""Counts and chunks of texts whose added tokens are all that changes them, by kernels."""

import random
from array import array
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import cutline
from cutline import TokenChunker
from cutline.counting import few_slices
from cutline.counting.cutting import split_by_counting
from cutline.kernels.breaks.added_breaks import AddedSums
from cutline.kernels.breaks.breaks import CHARACTER
from cutline.kernels.breaks.few_breaks import cut_few_at_breaks
from cutline.kernels.encode.among_added import AmongAdded
from cutline.pipeline.known_counter import AddedCounter
from tests.conftest import short_or_long
from tests.words.test_overlaps import OnlyCounts, check_breaks, check_tokens, outcome

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
families = pytest.importorskip("tests.pipeline.families")
characters = pytest.importorskip("tests.pipeline.characters")

# Tokens that are parts of others, also where only the end of these is left, and one character.
NESTED = ("abc", "ab", "b", "bcd", "cd e", "the the", "the")
TOKENS: dict[str, Sequence[str]] = {
    "blanks": [" " * n for n in range(2, 9)],
    "nested": NESTED,
    "long": ["<|" + "a" * 60 + "|>", "<|", "|>", "\n\n", "é", "日本"],
    "many": [f"<{n}>" for n in range(80)] + list(NESTED),
}
PARTS = [
    *("the ", "them ", "a", "b", "c", "d", "ab", "abc", "bcd e", " ", "  ", "     ", "\n", "\n\n"),
    *("The theme of them all. ", "they (say) ends.\n", "é", "日本語", "<7>", "<|", "a" * 60, "|>"),
]


# Tokenizers that find them in texts as they are; in normalized ones; and a model over characters.
BASES = ["gpt 2", "gpt neox, olmo", "gemma"]


def made(name: str, base: str) -> Any:
    """Make a tokenizer with these tokens, all of which are found in one pass."""
    if base == "gemma":
        found = tokenizers.Tokenizer.from_str(characters.make_document(base))
    else:
        found = families.build(base)
    normalized = base == "gpt neox, olmo"
    found.add_tokens([tokenizers.AddedToken(text, normalized=normalized) for text in TOKENS[name]])
    return found


def some_text(rng: random.Random) -> str:
    return "".join(rng.choices(PARTS, k=rng.randint(0, 60)))


def expected(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


@short_or_long("n_texts", 40, 1_000)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", TOKENS)
def test_ids_and_spans_are_those_of_tokenizers(name: str, base: str, n_texts: int) -> None:
    rng, tokenizer = random.Random(f"ids{name}"), made(name, base)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    pipeline, by_kernel = encoding._pipeline, 0
    assert pipeline is not None
    for _ in range(n_texts):
        text = "".join(some_text(rng) for _ in range(rng.choice((1, 1, 8))))
        found = tokenizer.encode(text, add_special_tokens=False)
        ids, spans = encoding.encode_with_offsets(text)
        assert (ids, list(map(tuple, spans.tolist()))) == (found.ids, found.offsets), text
        assert encoding.encode(text) == encoding.encode_ordinary(text) == found.ids
        assert encoding.encode_to_numpy(text).tolist() == found.ids
        by_kernel += pipeline.encode_among_added(encoding, text, aligns=False) is not None
    assert by_kernel > n_texts // 2
    surrogate = text + " the" * 80 + "\ud800"
    repaired = surrogate.replace("\ud800", "\ufffd")
    assert encoding.encode_ordinary(surrogate) == encoding.encode_ordinary(repaired)


@short_or_long("n_texts", 30, 2_000)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", TOKENS)
def test_chunks_are_those_found_by_counting(
    name: str, base: str, n_texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_slices, "LEAST_TOKENS", 1)
    monkeypatch.setattr(few_slices, "SHARE", 1e9)
    rng, tokenizer = random.Random(name), made(name, base)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    n_known = n_quick = 0
    for _ in range(n_texts):
        text = some_text(rng)
        counter = encoding.intervals(text)
        n_known += isinstance(counter, AddedCounter) and counter._sums_for(9) is not None
        n_quick += check_breaks(rng, encoding, text)
        check_tokens(rng, encoding, text)
        for chunk in TokenChunker(encoding, 9)(text):
            assert chunk.token_count == expected(tokenizer, chunk.text), ascii(chunk.text)
    assert n_known > n_texts / 4
    assert n_quick > 3


@short_or_long("n_texts", 200, 10_000)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", TOKENS)
def test_counts_are_those_of_tokenizers(name: str, base: str, n_texts: int) -> None:
    rng, tokenizer = random.Random(name), made(name, base)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    pipeline, n_counted = encoding._pipeline, 0
    assert pipeline is not None
    for _ in range(n_texts):
        text = some_text(rng)
        added = pipeline.among_added(encoding, text)
        assert encoding.count(text) == expected(tokenizer, text), ascii(text)
        if added is not None:
            assert added.count() == expected(tokenizer, text), ascii(text)
            n_counted += 1
    assert n_counted > n_texts / 2


@short_or_long("n_texts", 40, 2_000)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", TOKENS)
def test_slices_are_counted_as_texts(name: str, base: str, n_texts: int) -> None:
    rng, tokenizer = random.Random(f"{name}{base}"), made(name, base)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for _ in range(n_texts):
        text = some_text(rng)
        counter = encoding.intervals(text)
        for _ in range(10):
            start, end = sorted(rng.randint(0, len(text)) for _ in range(2))
            found = counter.count(start, end)
            assert found == expected(tokenizer, text[start:end]), ascii((text, start, end))


@pytest.mark.parametrize(
    "flags", [{"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"special": True}]
)
def test_tokens_that_look_around_them_are_left_to_others(
    flags: dict[str, bool],
) -> None:
    tokenizer = made("blanks", "gpt neox, olmo")
    tokenizer.encode_special_tokens = True
    token = tokenizers.AddedToken("them", normalized=True, **flags)
    (tokenizer.add_special_tokens if "special" in flags else tokenizer.add_tokens)([token])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding._pipeline is not None
    if "rstrip" not in flags:  # which might strip what begins another token
        assert encoding._pipeline.among_added(encoding, "of  a") is not None
    rng = random.Random(1)
    for text in ("  of them all", *(some_text(rng) for _ in range(100))):
        if "them" in text:
            assert encoding._pipeline.among_added(encoding, text) is None
        assert encoding.count(text) == expected(tokenizer, text)
        check_tokens(rng, encoding, text)


@pytest.mark.parametrize("flags", [{"lstrip": True}, {"single_word": True}, {"special": True}])
def test_a_token_that_begins_with_another_that_may_not_count(flags: dict[str, bool]) -> None:
    # What is left of the longer one costs nothing: `a`s that go on with `x`, or stripped blanks.
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocab = {letter: number for number, letter in enumerate([*alphabet, "xa", "xaa"])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [("x", "a"), ("xa", "a")]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    (tokenizer.add_special_tokens if "special" in flags else tokenizer.add_tokens)(
        [tokenizers.AddedToken("aa", normalized=False, **flags)]
    )
    tokenizer.add_tokens([tokenizers.AddedToken("aaab", normalized=False)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in ("zzxaaab zz " * 900, "zz-- \t \taaab zz " * 600):
        counts = partial(OnlyCounts, encoding)
        for size in range(1000, 1012):
            slow = outcome(split_by_counting, counts, text, size, 0, None)
            assert outcome(encoding.split, text, size) == slow, size


def test_texts_that_a_step_changes_are_left_to_others() -> None:
    tokenizer = made("blanks", "gpt neox, olmo")
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding._pipeline is not None
    text = "e\u0301  e\u0301 "
    assert encoding._pipeline.among_added(encoding, text) is None
    assert encoding.count(text) == expected(tokenizer, text)


def test_surrogates_are_counted_as_elsewhere() -> None:
    encoding = cutline.Encoding.from_tokenizers(made("blanks", "gpt 2"))
    text = "  a\ud83d\ude00  b" * 60
    assert encoding.count(text) == encoding.count(text.replace("\ud83d\ude00", "\U0001f600"))


def test_an_error_in_what_counts_alone_is_raised() -> None:
    encoding = cutline.get_encoding("gpt2")
    text = "word " * 30 + "<abcd>" + " word" * 60

    def count(text: str) -> int:
        raise KeyboardInterrupt(text)

    spans = np.array([[150, 156]])
    added = AmongAdded(encoding, text, spans, 2, 6)
    assert added.count() == encoding.count(text[:150]) + 1 + encoding.count(text[156:])
    points = np.array([at for at in range(1, len(text)) if text[at] == " "])
    sums = AddedSums(encoding, text, 1e9, added, points, count)
    assert sums.are_known
    with pytest.raises(KeyboardInterrupt, match="<abc"):
        # The token does not fit; what is left of it may.
        cut_few_at_breaks(
            sums, 0, 0, len(text), encoding.count(text[:150]), 0.0, array("i", [CHARACTER])
        )
