"""BPE whose tokens say that they do not begin a word, against `tokenizers`."""

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
from tests.pipeline.families import PREFIX, build, shuffled_ids, texts_with, tokenizers

pre = tokenizers.pre_tokenizers
LETTERS = sorted(pre.ByteLevel.alphabet())


def made(merges: list[tuple[str, str]], prefix: str = PREFIX, **options: Any) -> Any:
    """A tokenizer of these merges, for words of letters and signs."""
    tokens = [*LETTERS, *(prefix + letter for letter in LETTERS)]
    tokens += [left + right[len(prefix) :] for left, right in merges]
    vocab = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    model = tokenizers.models.BPE(
        vocab=vocab, merges=merges, continuing_subword_prefix=prefix, **options
    )
    tokenizer = tokenizers.Tokenizer(model)
    to_bytes = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre.Sequence([pre.WhitespaceSplit(), to_bytes])
    return tokenizer


def ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


def drawn_merges(
    chooser: random.Random, n: int, first: list[str], inner: list[str], prefix: str
) -> list[tuple[str, str]]:
    """Up to n merges of these tokens, and of those that they make, which are added to them."""
    merges: list[tuple[str, str]] = []
    for _ in range(n):
        left, right = chooser.choice([*first, *inner]), chooser.choice(inner)
        whole = left + right[len(prefix) :]
        if (left, right) not in merges and len(whole) < 10:
            merges.append((left, right))
            (inner if left in inner else first).append(whole)
    return merges


def saved_and_read(encoding: cutline.Encoding, folder: Path) -> Any:
    """Save and read it in all ways; return the tokenizer of the `tokenizer.json`."""
    encoding.save(folder / "x.cutline")
    encoding.save(folder / "tokenizer.json")
    for other in (
        pickle.loads(pickle.dumps(encoding)),
        cutline.load(folder / "x.cutline"),
        cutline.load(folder / "tokenizer.json"),
    ):
        assert other.content_hash == encoding.content_hash
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.mark.parametrize("prefix", [PREFIX, "@", "ab"])
@pytest.mark.parametrize("seed", range(60))
def test_random_merges_are_equal_or_refused(seed: int, prefix: str, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    first, inner = ["a", "b", "#", "Ã"], [prefix + one for one in "ab#©"]
    merges = drawn_merges(chooser, chooser.randint(1, 10), first, inner, prefix)
    tokenizer = shuffled_ids(made(merges, prefix), seed)
    if seed % 3 == 0 and prefix == PREFIX:
        tokenizer.add_tokens(["aba", "b b", tokenizers.AddedToken("é", single_word=True)])
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
    except VocabularyError:
        return
    again = saved_and_read(encoding, tmp_path)
    for _ in range(40):
        text = "".join(chooser.choices("aaabb## ,é日", k=chooser.randint(1, 12)))
        counter, n = encoding.intervals(text), len(text)
        expected = ids(tokenizer, text)
        assert encoding.encode_ordinary(text) == expected == ids(again, text), (merges, text)
        for start, end in combinations(range(n + 1), 2):
            assert counter.count(start, end) == len(ids(tokenizer, text[start:end]))
        fitting = [end for end in range(n + 1) if len(ids(tokenizer, text[:end])) <= 2]
        assert counter.split_at(0, 2) == encoding.split_at(text, 2) == fitting[-1]


@pytest.mark.parametrize("seed", range(120))
def test_random_merges_over_characters_are_equal_or_refused(seed: int, tmp_path: Path) -> None:
    """Any character may be unknown at the start of a word, inside it, or in both places."""
    chooser = random.Random(seed)
    first, inner = (chooser.sample("ab#é日", chooser.randint(1, 5)) for _ in range(2))
    first, inner = [*first], [PREFIX + one for one in inner]
    merges = drawn_merges(chooser, chooser.randint(0, 10), first, inner, PREFIX)
    tokens = dict.fromkeys(["<unk>", *first, *inner, *chooser.choices(["<s>", "xy", "##xy"], k=2)])
    vocab = {token: number for number, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            vocab=vocab, merges=merges, continuing_subword_prefix=PREFIX, unk_token="<unk>"
        )
    )
    tokenizer.pre_tokenizer = pre.WhitespaceSplit()
    tokenizer.add_special_tokens(["<unk>", "<s>"])
    if seed % 3 == 0:
        tokenizer.add_tokens(["aba", "b b", "☃", tokenizers.AddedToken("é", single_word=True)])
    tokenizer = shuffled_ids(tokenizer, seed)
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
    except VocabularyError:
        return
    again = saved_and_read(encoding, tmp_path)
    for _ in range(30):
        parts = [*"aaabb##é日☃ \ue000\u2581", "<unk>", "xy", "aba", " "]
        text = "".join(chooser.choices(parts, k=chooser.randint(1, 9)))
        expected = ids(tokenizer, text)
        assert encoding.encode(text, allowed_special="all") == expected == ids(again, text), text
        if "<unk>" not in text:
            counter, n = encoding.intervals(text), len(text)
            counts = [len(ids(tokenizer, text[:end])) for end in range(n + 1)]
            assert [counter.count(0, end) for end in range(n + 1)] == counts
            fitting = [end for end in range(n + 1) if counts[end] <= 2]
            assert counter.split_at(0, 2) == encoding.split_at(text, 2) == fitting[-1]


def test_most_random_merges_over_characters_are_read() -> None:
    vocab = {"<unk>": 5, "a": 0, "##b": 1, "##c": 2, "ab": 3, "##cb": 4}
    model = tokenizers.models.BPE(
        vocab=vocab, merges=[("a", "##b"), ("##c", "##b")], continuing_subword_prefix=PREFIX,
        unk_token="<unk>",
    )  # fmt: skip
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre.WhitespaceSplit()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding.encode("abcb ba") == ids(tokenizer, "abcb ba") == [3, 4, 5, 5]
    assert encoding.decode([3, 4]) == "abcb"
    _, spans = encoding.encode_with_offsets("abcb ab")
    assert spans.tolist() == [[0, 2], [2, 4], [5, 7]]


def test_some_random_merges_are_read() -> None:
    tokenizer = made([("a", "##b"), ("ab", "##a"), ("##a", "##b")])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding.count("aba") == 1
    assert encoding.count("abab") == 2
    assert encoding.intervals("bab").count(1, 3) == 1
    assert encoding.encode("bab") == [tokenizer.token_to_id(one) for one in ("b", "##ab")]
    assert encoding.decode(encoding.encode("aba, ab")) == " aba, ab"
    assert encoding.decode_single_token_bytes(tokenizer.token_to_id("aba")) == b" aba"
    assert encoding.decode_single_token_bytes(tokenizer.token_to_id("##ab")) == b"ab"


@pytest.mark.parametrize("trims", [False, True])
def test_offsets_are_those_of_tokenizers(trims: bool) -> None:
    for name in ("subwords", "subwords of words alone"):
        tokenizer = tokenizers.Tokenizer.from_str(build(name).to_str())
        tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=trims)
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
        for text in ["The theme, on  the\n\n日本 é's", "a<s> [CLS]on the", " x ", "", "don't 12"]:
            found = tokenizer.encode(text, add_special_tokens=False)
            tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
            assert tokens == found.ids
            assert [*map(tuple, spans.tolist())] == found.offsets


def test_growing_texts_and_long_words() -> None:
    tokenizer = build("subwords")
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in texts_with(tokenizer, 5):
        grown, led = encoding.appender(text[:3]), cutline.Prepender(encoding, text[3:])
        grown.append(text[3:])
        led.prepend(text[:3])
        assert grown.count == led.count == encoding.count(text) == len(grown.tokens())
    for unit in ("a", "a ", "!", "e\u0301", "1", "日本"):
        text = unit * 5000
        assert encoding.count(text) == len(ids(tokenizer, text))
        end = encoding.split_at(text, 77)
        assert len(ids(tokenizer, text[:end])) <= 77
        assert end == len(text) or len(ids(tokenizer, text[: end + 1])) > 77


Change = Callable[[dict[str, Any]], object]
REFUSED: dict[str, tuple[Change, str]] = {
    "a first letter is missing": (lambda model: model["vocab"].pop("z"), "no token 'z'"),
    "an inner letter is missing": (lambda model: model["vocab"].pop("##z"), "no token '##z'"),
    "whole words": (lambda model: model.update(ignore_merges=True), "with ignore_merges"),
    "a start that letters make": (
        lambda model: (model["vocab"].update({"##": 900}), model["merges"].append(["#", "###"])),
        "does not tell it from letters",
    ),
    "the prefix as a token": (
        lambda model: model["vocab"].update({"##": 900}), "a token is the prefix alone",
    ),
    "a first token inside": (
        lambda model: (model["vocab"].update({"cd": 900}), model["merges"].append(["c", "d"])),
        "does not tell it from letters",
    ),
    "tokens alike": (
        lambda model: model["vocab"].update({"##Ġab": 900}), "two tokens would be written alike",
    ),
    "two affixes": (
        lambda model: model.update(end_of_word_suffix="</w>"), "there is a suffix",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_equivalent_is_refused_with_a_way_out(name: str, tmp_path: Path) -> None:
    document = json.loads(made([("a", "##b")]).to_str())
    change, message = REFUSED[name]
    change(document["model"])
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(VocabularyError, match=message) as caught:
        cutline.load(tmp_path)
    assert "cutline.wrap(tokenizer)" in str(caught.value)
