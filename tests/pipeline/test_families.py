"""Tokenizers of every family: what cutline makes of them against the real package."""

import copy
import json
import pickle
import random
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.counting.cutting import split_by_counting
from cutline.errors import BudgetError
from cutline.pipeline import safe_points, slice_counter
from cutline.pipeline.slice_counter import SliceCounter
from tests.conftest import short_or_long
from tests.pipeline.families import (
    BYTES,
    FAMILIES,
    build,
    is_affixed,
    sequence,
    shuffled_ids,
    texts_with,
    tokenizers,
)
from tests.texts import NAMED_TEXTS

DATA = Path(__file__).parents[1] / "wrapping" / "data"
NAMES = sorted(FAMILIES)
CHANGING = [name for name in NAMES if name in (
    "prefix space", "qwen 2.5", "gpt neox, olmo", "modernbert", "decomposed", "compatible",
    "lower case", "stripped", "replaced", "led by a mark", "single words", "deepseek v3", "clip",
    "clip, bert's words", "clip, of transformers 5", "as bert splits", "fixed lengths of digits",
    "deepseek coder", "subwords", "scripts apart",
    "deepseek llm", "looks behind", "digits from the right", "groups split again", "text merged",
    "words removed", "falcon", "words led by blanks", "blanks as letters", "letters of letters",
    "letters of letters, not split", "letters of letters, in lower case",
)]  # fmt: skip

FUZZ_PARTS = [
    "e\u0301",
    "  ",
    "\n    ",
    "<tool_call>",
    "[MASK]",
    " [MASK]",
    "1234",
    "中",
    "!?",
    " a",
]


def ids_of(tokenizer: Any, text: str, *, special: bool = True) -> list[int]:
    """What the package gives without templates; special tokens found, or ordinary text."""
    tokenizer.encode_special_tokens = not special
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def count_of(tokenizer: Any, text: str) -> int:
    return len(ids_of(tokenizer, text, special=False))


def assert_same(tokenizer: Any, encoding: cutline.Encoding, text: str) -> None:
    utf8 = text.encode("utf-8", "replace")
    assert encoding._count_utf8(utf8) == encoding.count(utf8.decode())
    found = ids_of(tokenizer, text)
    assert encoding.encode(text, allowed_special="all") == found
    assert encoding.encode_to_numpy(text, allowed_special="all").tolist() == found
    ordinary = ids_of(tokenizer, text, special=False)
    assert encoding.encode_ordinary(text) == ordinary
    assert encoding.encode(text, disallowed_special=()) == ordinary
    assert encoding.count(text) == len(ordinary)
    assert encoding.fits(text, len(ordinary))
    assert not ordinary or not encoding.fits(text, len(ordinary) - 1)


@short_or_long("n_texts", 50, 150)
@pytest.mark.parametrize("name", NAMES)
def test_ids_and_counts_are_those_of_tokenizers(name: str, tmp_path: Path, n_texts: int) -> None:
    tokenizer = build(name)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    encoding = cutline.load(tmp_path)
    texts = [*NAMED_TEXTS.values(), *texts_with(tokenizer, 3, n_texts)]
    for text in texts:
        assert_same(tokenizer, encoding, text)
    ordinary = [ids_of(tokenizer, text, special=False) for text in texts]
    assert encoding.encode_ordinary_batch(texts) == ordinary
    assert encoding.count_batch(texts).tolist() == list(map(len, ordinary))
    assert encoding.encode_batch(texts, allowed_special="all") == [
        ids_of(tokenizer, text) for text in texts
    ]


@pytest.mark.parametrize(
    ("name", "dropped"),
    [
        ("words led by blanks", ". ``"),
        ("words led by blanks, not split again", " \n "),
        ("clip", " "),
    ],
)
def test_what_is_in_no_piece_fits_any_budget(name: str, dropped: str) -> None:
    counter = cutline.Encoding.from_tokenizers(build(name)).intervals(f"a{dropped}")
    n = len(counter)
    assert [counter.split_at(start, 0) for start in range(n + 1)] == [0, *[n] * n]
    assert counter.split_at(0, 1) == n


def test_digits_go_on_after_bytes_that_are_numbers_to_bytelevel() -> None:
    """The last byte of the first three letters is one, and tokens of it and digits are trained."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = sequence(BYTES, tokenizers.pre_tokenizers.Digits())
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    texts = ["".join(random.Random(n).choices("в²н1aа", k=40)) for n in range(40)]
    tokenizer.train_from_iterator(texts, trainer)
    assert {"²1", "½11"} <= tokenizer.get_vocab().keys()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in map("".join, product("в²н1aа", repeat=5)):
        assert encoding.encode_ordinary(text) == ids_of(tokenizer, text), text


@pytest.mark.parametrize("name", NAMES)
def test_merges_in_another_order_than_ids_are_exact(name: str) -> None:
    tokenizer = shuffled_ids(build(name), 5)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert not encoding._vocabulary.merges_by_id
    for text in [*NAMED_TEXTS.values(), *texts_with(tokenizer, 13, 40)]:
        assert_same(tokenizer, encoding, text)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if name not in ("single words", "falcon")
        and "in bytes" not in name
        and not is_affixed(name)
    ],
)
def test_merges_can_be_ignored(name: str) -> None:
    tokenizer = build(name, ignore_merges=True)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in texts_with(tokenizer, 17, 60):
        assert_same(tokenizer, encoding, text)


def test_added_tokens_do_occur_in_what_is_compared() -> None:
    for name in ("qwen 2.5", "gpt neox, olmo", "modernbert", "single words", "lower case"):
        encoding = cutline.Encoding.from_tokenizers(build(name))
        special = set(encoding.encode("".join(encoding.special_tokens_set), allowed_special="all"))
        added = set(encoding.added_tokens.values()) - special
        found = {
            t for text in texts_with(build(name), 3, 150) for t in encoding.encode_ordinary(text)
        }
        assert len(found & added) >= min(2, len(added)), name


@pytest.mark.parametrize("least_gap", [1, 24])
@pytest.mark.parametrize("name", CHANGING)
def test_slices_and_cuts_of_changed_texts_are_exact(
    name: str, least_gap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_points, "_LEAST_GAP", least_gap)
    monkeypatch.setattr(slice_counter, "_SHORT", 0)
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    numbers = random.Random(19)
    changed = 0
    for text in [*texts_with(tokenizer, 23, 12), " ".join(texts_with(tokenizer, 29, 6))[:120]]:
        counter = encoding.intervals(text)
        changed += isinstance(counter, SliceCounter)
        spans = [sorted(numbers.choices(range(len(text) + 1), k=2)) for _ in range(12)]
        expected = [count_of(tokenizer, text[start:end]) for start, end in spans]
        assert counter.count_many(spans).tolist() == expected
        start, n = numbers.randint(0, len(text)), numbers.randint(0, 9)
        fitting = (
            end for end in range(len(text), start - 1, -1)
            if count_of(tokenizer, text[start:end]) <= n
        )  # fmt: skip
        assert counter.split_at(start, n) == encoding.split_at(text, n, start) == next(fitting)
    assert changed > 5


@pytest.mark.parametrize(
    "name",
    [
        "deepseek coder", "deepseek llm", "falcon", "groups split again", "looks behind",
        "scripts apart", "text merged", "words removed",
    ],
)  # fmt: skip
def test_cuts_of_long_runs_of_texts_split_several_times_are_exact(name: str) -> None:
    """Where there are no safe split points, a kernel counts prefixes: `prefix_counts`."""
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    chooser = random.Random(name)
    units = [
        ".",
        " ",
        "1",
        "日",
        "日A",
        " .",
        "1a",
        "é",
        "²",
        "_",
        "the",
        "\n",
        "\r\n",
        "$",
        "．",
        "б",
    ]
    for _ in range(8):
        runs = [unit * chooser.choice([1, 3, 40, 150]) for unit in chooser.choices(units, k=4)]
        text = "".join(runs)[:400]
        counts = [count_of(tokenizer, text[:end]) for end in range(len(text) + 1)]
        counter = cutline.IntervalCounter(encoding, text)
        for n in (0, 1, 3, 20, 60):
            fitting = max(end for end, count in enumerate(counts) if count <= n)
            assert counter.split_at(0, n) == encoding.split_at(text, n) == fitting, (text, n)


RUNS = {
    "accented letters": "e\u0301" * 90,
    "blanks": " " * 200,
    "letters": "a" * 180,
    "ligatures": "ﬁ" * 150,
    "letters with two marks": "x\u0323\u0302" * 60,
    "blanks around letters": " " * 60 + "a" * 60 + " " * 60,
    "marks on one letter": "e" + "\u0301" * 180,
    "marks out of order": "e" + "\u0301\u0323" * 90,
    "marks, then letters": "\u0301\u0327\u0323" * 40 + "abc" * 20,
    "vowel signs that join": "\u0995" + "\u09c7\u09be" * 60,
    "parts of hangul": "\u1112\u1161\u11ab" * 50,
}


@pytest.mark.parametrize(
    "name",
    [
        "gpt neox, olmo", "compatible", "decomposed", "prefix space", "stripped", "qwen 2.5",
        "clip", "letters of letters", "letters of letters, not split",
    ],
)  # fmt: skip
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_cuts_of_runs_without_borders_are_the_greatest(name: str, run: str) -> None:
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    counts = [count_of(tokenizer, run[:end]) for end in range(len(run) + 1)]
    for n in (0, 1, 2, 3, 7, 30):
        greatest = max(end for end, count in enumerate(counts) if count <= n)
        assert encoding.split_at(run, n) == encoding.intervals(run).split_at(0, n) == greatest


@pytest.mark.parametrize("name", NAMES)
def test_chunks_count_what_tokenizers_counts(name: str) -> None:
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "\n\n".join([*texts_with(tokenizer, 31, 8), NAMED_TEXTS["hindi"], NAMED_TEXTS["python"]])
    for chunker in (
        cutline.TokenChunker(encoding, 40),
        cutline.TokenChunker(encoding, 40, 8, boundary="grapheme"),
        cutline.TextChunker(encoding, 50, 10, strip=True),
    ):
        chunks = chunker(text)
        for chunk in chunks:
            assert text[chunk.start_index : chunk.end_index] == chunk.text
            assert chunk.token_count == count_of(tokenizer, chunk.text) <= chunker.chunk_size
        if not chunker.chunk_overlap:
            assert "".join(chunk.text for chunk in chunks) == text
        parts = [text[at : at + 50] for at in range(0, len(text), 50)]
        assert list(chunker.iter_chunks(parts)) == chunks


@pytest.mark.parametrize("overlap", [0, 5])
def test_both_ways_to_split_give_the_same_chunks(overlap: int) -> None:
    encoding = cutline.Encoding.from_tokenizers(build("qwen 2.5"))
    assert encoding._pipeline is not None
    assert encoding._changes_texts
    for text in NAMED_TEXTS.values():
        if not encoding._changes(text):
            by_kernel = encoding.split(text, 20, overlap)
            for count_slices in (
                encoding.intervals, partial(SliceCounter, encoding._pipeline, encoding)
            ):  # fmt: skip
                assert split_by_counting(count_slices, text, 20, overlap, None) == by_kernel


@pytest.mark.parametrize("name", CHANGING)
def test_growing_texts_are_counted_as_a_whole(name: str) -> None:
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    numbers = random.Random(37)
    for text in texts_with(tokenizer, 41, 6):
        appender, prepender = encoding.appender(), encoding.prepender()
        for _ in range(12):
            start, end = sorted(numbers.choices(range(len(text) + 1), k=2))
            part = text[start:end]
            limit = numbers.randint(0, 12)
            fits = count_of(tokenizer, appender.text + part) <= limit
            assert appender.fits(part, limit) == fits
            fits = count_of(tokenizer, part + prepender.text) <= limit
            assert prepender.fits(part, limit) == fits
            appender.append(part)
            prepender.prepend(part)
            if numbers.random() < 0.4:
                appender.truncate(numbers.randint(0, appender.text_length))
                prepender.truncate(numbers.randint(0, prepender.text_length))
            assert appender.count == count_of(tokenizer, appender.text)
            assert prepender.count == count_of(tokenizer, prepender.text)


@pytest.mark.parametrize("name", NAMES)
def test_loaded_encodings_copy_and_pickle(name: str) -> None:
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    again = pickle.loads(pickle.dumps(encoding))
    assert type(again) is type(encoding)
    assert again.content_hash == encoding.content_hash
    assert copy.deepcopy(encoding) is encoding
    for text in texts_with(tokenizer, 43, 5):
        assert_same(tokenizer, again, text)
        ids = encoding.encode(text, allowed_special="all")
        assert again.decode(ids) == encoding.decode(ids)


def test_content_hashes_tell_all_facts_apart() -> None:
    """Of one vocabulary: what is added to it, looked for and changed decides on tokens as well."""
    document = json.loads(build("not split").to_str())
    token = document["added_tokens"][0]
    documents = [document]
    for change in (
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"type": "NFKC"}},
        {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}},
        {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "c"}},
        {"normalizer": {"type": "Prepend", "prepend": "a"}},
        {"pre_tokenizer": {**document["pre_tokenizer"], "add_prefix_space": True}},
        *({"added_tokens": [{**token, flag: True}]} for flag in ("lstrip", "rstrip")),
        {"added_tokens": [{**token, "special": False}]},
        {"added_tokens": [{**token, "content": "<t>"}]},
        {"added_tokens": []},
    ):
        documents.append({**document, **change})
    made = [
        cutline.Encoding.from_tokenizers(tokenizers.Tokenizer.from_str(json.dumps(one)))
        for one in documents
    ]
    assert len({encoding.content_hash for encoding in made}) == len(documents)
    hashes = [cutline.Encoding.from_tokenizers(build(name)).content_hash for name in NAMES]
    assert len(set(hashes)) == len(NAMES)
    # Written by cutline into pipelines of others: it is to stay the same.
    assert cutline.load(DATA / "normalized.json").content_hash == (
        "e60882399388b32e45a60639d9ef6ecd6ac7a365d709ebe2affa8d0981eea7d9"
    )


@settings(max_examples=60)
@given(
    name=st.sampled_from(
        ["qwen 2.5", "modernbert", "deepseek v3", "prefix space", "clip", "letters of letters"]
    ),
    parts=st.lists(st.one_of(st.text(max_size=8), st.sampled_from(FUZZ_PARTS)), max_size=8),
    budget=st.integers(1, 12),
)
def test_any_text_has_the_tokens_and_cuts_of_tokenizers(
    name: str, parts: list[str], budget: int
) -> None:
    tokenizer, text = build(name), "".join(parts)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert_same(tokenizer, encoding, text)
    end = encoding.split_at(text, budget)
    assert count_of(tokenizer, text[:end]) <= budget or end == 0
    for longer in range(end + 1, len(text) + 1):
        assert count_of(tokenizer, text[:longer]) > budget


@pytest.mark.parametrize("name", ["decomposed", "compatible, decomposed", "compatible", "qwen 2.5"])
def test_what_a_character_takes_is_said_truly(name: str) -> None:
    """A normal form can make 18 characters of one."""
    enc = cutline.Encoding.from_tokenizers(build(name))
    for character in "\ufdfa", "한", "é":
        least = enc.count(character)
        assert "".join(chunk.text for chunk in enc.split(character * 2, least)) == character * 2
        for cut in (enc.split, lambda text, size: cutline.TextChunker(enc, size)(text)):
            if least > 1:
                with pytest.raises(BudgetError, match=f"it takes a chunk_size of {least}$"):
                    cut(character, least - 1)
