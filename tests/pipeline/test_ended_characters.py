"""BPE over characters whose tokens say that they end a word (GPT-1), against `tokenizers`."""

import json
import pickle
import random
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from tests.pipeline.ended_characters import KINDS, trained
from tests.pipeline.families import SUFFIX, tokenizers, training_texts

pre = tokenizers.pre_tokenizers

PARTS = [
    "the", "theme", "in", "café", "日本語", "é", "\u0301", "Z", "x", "☃", "\ue000", "\ue001",
    "\u2581", ".", "...", "don't", "12", "\U0001f600", " ", " ", " ", "  ", "\n", "<unk>", "<s>",
    SUFFIX, "İ", "\u3000",
]  # fmt: skip


def ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


def without_special(tokenizer: Any, text: str) -> int:
    tokenizer.encode_special_tokens = True
    count = len(ids(tokenizer, text))
    tokenizer.encode_special_tokens = False
    return count


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_ids_slices_and_cuts_are_those_of_tokenizers(kind: str, seed: int) -> None:
    tokenizer = trained(kind, seed)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    chooser, samples = random.Random(seed), training_texts()
    for _ in range(200):
        sample = chooser.choice(samples)
        at = chooser.randrange(len(sample) + 1)
        text = "".join([*chooser.choices(PARTS, k=chooser.randint(0, 8)), sample[at : at + 30]])
        assert encoding.encode(text, allowed_special="all") == ids(tokenizer, text), text
        counter, n = encoding.intervals(text), len(text)
        start = chooser.randint(0, n)
        ends = range(start, min(n, start + 9) + 1)
        counts = [without_special(tokenizer, text[start:end]) for end in ends]
        assert encoding.count(text) == without_special(tokenizer, text)
        assert [counter.count(start, end) for end in ends] == counts, text
        budget = chooser.randint(0, 5)
        cut = counter.split_at(start, budget)
        assert without_special(tokenizer, text[start:cut]) <= budget
        later = range(cut + 1, min(n, cut + 12) + 1)
        assert all(without_special(tokenizer, text[start:end]) > budget for end in later), text


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("subwords")])
def test_tokens_decode_as_in_tokenizers_but_for_no_blank_at_the_end(kind: str) -> None:
    tokenizer = trained(kind, 1)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    chooser, last = random.Random(kind), tokenizer.get_vocab_size() - 1
    for _ in range(300):
        tokens = [chooser.randint(0, last) for _ in range(chooser.randint(0, 6))]
        if chooser.random() < 0.5:
            tokens = ids(tokenizer, "".join(chooser.choices(PARTS, k=5)))
        written = tokenizer.decode(tokens, skip_special_tokens=False)
        assert encoding.decode(tokens) == encoding.decode(iter(tokens)) == written
        assert encoding.decode_bytes(tokens) == written.encode()
        assert encoding.decode_with_offsets(tokens)[0] == written
        assert encoding.decode(tokens, skip_special_tokens=True) == tokenizer.decode(tokens)
        stream = encoding.decode_stream()
        for _ in range(2):
            assert "".join([*map(stream.feed, tokens), stream.finish()]) == written
        at = chooser.randint(0, len(tokens))
        parts = [stream.feed(tokens[:at]), stream.feed([]), stream.feed(tokens[at:])]
        assert "".join([*parts, stream.finish()]) == written


class Id:
    """An id that equals no integer, as those of Arrow and of torch."""

    def __init__(self, token: int) -> None:
        self.token = token

    def __index__(self) -> int:
        return self.token


def test_no_blank_at_the_end_whatever_the_ids_are() -> None:
    tokenizer = made([("a", f"b{SUFFIX}")], ["a", f"b{SUFFIX}"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    tokens: Any = [Id(3), Id(3)]
    assert encoding.decode(tokens) == "ab ab"
    stream = encoding.decode_stream()
    assert [*map(stream.feed, tokens), stream.feed(tokens), stream.finish()] == [
        "ab", " ab", " ab ab", "",
    ]  # fmt: skip


def test_offsets_of_decoded_tokens_are_where_words_begin() -> None:
    tokenizer = made([("a", f"b{SUFFIX}")], ["a", f"b{SUFFIX}"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding.decode_with_offsets([3, 3, 1, 2]) == ("ab ab ab", [0, 3, 6, 7])


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_counted_and_appended_texts_too(kind: str, corpus: str) -> None:
    tokenizer, text = trained(kind, 3), corpus[:8_000]
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    chunks = cutline.TextChunker(encoding, 64)(text)
    assert "".join(chunk.text for chunk in chunks) == text
    for chunk in chunks:
        assert without_special(tokenizer, chunk.text) == chunk.token_count <= 64
    appender = encoding.appender()
    for start in range(0, 600, 7):
        appender.append(text[start : start + 7])
        assert appender.count == without_special(tokenizer, text[: start + 7])


def made(merges: list[tuple[str, str]], symbols: list[str], **options: Any) -> Any:
    """A tokenizer of these merges and symbols, for words between blanks."""
    tokens = dict.fromkeys(["<unk>", *symbols, *map("".join, merges)])
    settings = {"end_of_word_suffix": SUFFIX, "unk_token": "<unk>"} | options
    vocab = {token: number for number, token in enumerate(tokens)}
    model = tokenizers.models.BPE(vocab=vocab, merges=merges, **settings)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre.WhitespaceSplit()
    return tokenizer


def random_merges(chooser: random.Random) -> tuple[list[tuple[str, str]], list[str]]:
    """Choose symbols, some of them only inside or only at the end of words, and merges."""
    letters = "abé語<"
    inner = [one for one in letters if chooser.random() < 0.7] or ["a"]
    last = [one + SUFFIX for one in letters if chooser.random() < 0.7] or [f"b{SUFFIX}"]
    symbols, merges = [*inner, *last], list[tuple[str, str]]()
    for _ in range(chooser.randint(1, 10)):
        pair = chooser.choice(inner), chooser.choice([*inner, *last])
        if pair not in merges and len("".join(pair)) < 10:
            merges.append(pair)
            (last if pair[1].endswith(SUFFIX) else inner).append("".join(pair))
    chooser.shuffle(symbols)
    return merges, symbols


def test_random_merges_are_equal_or_refused() -> None:
    n_read = 0
    for seed in range(100):
        chooser = random.Random(seed)
        tokenizer = made(*random_merges(chooser))
        try:
            encoding = cutline.Encoding.from_tokenizers(tokenizer)
        except VocabularyError:
            continue
        n_read += 1
        for _ in range(25):
            text = "".join(chooser.choices("aaabbé語<> x\u2581", k=chooser.randint(1, 10)))
            counter, n = encoding.intervals(text), len(text)
            found = tokenizer.encode(text, add_special_tokens=False)
            tokens, spans = encoding.encode_with_offsets(text)
            assert tokens == encoding.encode_ordinary(text) == found.ids, (seed, text)
            assert [*map(tuple, spans.tolist())] == found.offsets, (seed, text)
            for start, end in combinations(range(n + 1), 2):
                assert counter.count(start, end) == len(ids(tokenizer, text[start:end]))
            fitting = [end for end in range(n + 1) if len(ids(tokenizer, text[:end])) <= 2]
            assert counter.split_at(0, 2) == fitting[-1]
    assert n_read > 30


def test_a_letter_may_be_a_token_inside_or_at_the_end_of_words_only() -> None:
    tokenizer = made([("a", f"b{SUFFIX}")], ["a", f"b{SUFFIX}"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert [encoding.encode(text) for text in ("ab", "a", "ba", "b b")] == [
        [3], [0], [0, 0], [2, 2],
    ]  # fmt: skip
    assert encoding.decode([3, 2, 1, 0]) == "ab b a<unk>"
    assert encoding.n_vocab == 4


def test_hostile_texts() -> None:
    tokenizer = trained("words", 1)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for unit in ("a", "a ", " ", "!", "e\u0301", "\U0001f600", "the", "日本", "\ue000 "):
        text = unit * 3000
        assert encoding.count(text) == len(ids(tokenizer, text))
        end = encoding.split_at(text, 77)
        assert len(ids(tokenizer, text[:end])) <= 77
        assert end == len(text) or len(ids(tokenizer, text[: end + 1])) > 77


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_saved_and_pickled(kind: str, tmp_path: Path) -> None:
    tokenizer = trained(kind, 2)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    encoding.save(tmp_path / "x.cutline")
    encoding.save(tmp_path / "tokenizer.json")
    text = "the theme, 日本 ☃x <s>Z"
    same = [cutline.load(tmp_path / "x.cutline"), pickle.loads(pickle.dumps(encoding))]
    for again in same:
        assert again.content_hash == encoding.content_hash
    for again in (*same, cutline.load(tmp_path / "tokenizer.json")):
        assert again.encode_ordinary(text) == encoding.encode_ordinary(text)
    read = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert ids(read, text) == ids(tokenizer, text)
    assert read.decode(ids(read, text)) == tokenizer.decode(ids(tokenizer, text))


Change = Callable[[dict[str, Any]], object]
REFUSED: dict[str, tuple[Change, str]] = {
    "whole words": (lambda file: file["model"].update(ignore_merges=True), "with ignore_merges"),
    "bytes": (lambda file: file["model"].update(byte_fallback=True), "neither byte_fallback"),
    "fused": (lambda file: file["model"].update(fuse_unk=True), "nor fuse_unk"),
    "nothing unknown": (
        lambda file: file["model"].update(unk_token=None), "there is no unknown token",
    ),
    "words with blanks": (
        lambda file: file.update(pre_tokenizer=None), "a blank is written for it here, but words",
    ),
    "blanks as marks": (
        lambda file: file["model"]["vocab"].update({"\u2581": 900}), r"a token has U\+2581",
    ),
    "an end that letters make": (
        lambda file: (
            file["model"]["vocab"].update({"<": 901, "/w>": 902, SUFFIX: 903}),
            file["model"]["merges"].append(["<", "/w>"]),
        ),
        "does not tell it from letters",
    ),
    "runs": (
        lambda file: (
            file["model"]["vocab"].update({"=": 900, "==": 901, "===": 902}),
            file["model"]["merges"].extend([["==", "="], ["=", "="]]),
        ),
        "runs of '=' merge before all else",
    ),
    "another decoder": (
        lambda file: file.update(decoder={"type": "BPEDecoder", "suffix": "@"}), "decoder is",
    ),
    "subwords": (
        lambda file: file["model"].update(continuing_subword_prefix="##"),
        "continuing_subword_prefix is",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_equivalent_is_refused_with_a_way_out(name: str, tmp_path: Path) -> None:
    document = json.loads(made([("a", f"b{SUFFIX}")], ["a", f"b{SUFFIX}"]).to_str())
    change, message = REFUSED[name]
    change(document)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(VocabularyError, match=message) as caught:
        cutline.load(tmp_path / "tokenizer.json")
    assert "cutline.wrap(tokenizer)" in str(caught.value)
