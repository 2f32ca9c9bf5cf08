"""BPE whose tokens say that they end a word, as CLIP's do, against `tokenizers`."""

import json
import random
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.normalizing import SPACE
from tests.pipeline.families import CLIP, GPT2, SUFFIX, build, sequence, split, tokenizers

pre = tokenizers.pre_tokenizers
LETTERS = sorted(pre.ByteLevel.alphabet())


def made(merges: list[tuple[str, str]], suffix: str = SUFFIX) -> Any:
    """A tokenizer of these merges, for words of letters and signs."""
    tokens = [*LETTERS, *(letter + suffix for letter in LETTERS)]
    tokens += dict.fromkeys(map("".join, merges))
    vocab = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    model = tokenizers.models.BPE(vocab=vocab, merges=merges, end_of_word_suffix=suffix)
    tokenizer = tokenizers.Tokenizer(model)
    to_bytes = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre.Sequence([pre.BertPreTokenizer(), to_bytes])
    return tokenizer


def ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


def drawn_merges(
    chooser: random.Random, n: int, inner: list[str], last: list[str], longest: int = 9
) -> list[tuple[str, str]]:
    """Up to n merges of these tokens, and of those that they make, which are added to them."""
    merges: list[tuple[str, str]] = []
    for _ in range(n):
        pair = chooser.choice(inner), chooser.choice([*inner, *last])
        if pair not in merges and len("".join(pair)) <= longest:
            merges.append(pair)
            (last if pair[1] in last else inner).append("".join(pair))
    return merges


@pytest.mark.parametrize("seed", range(150))
def test_random_merges_are_equal_or_refused(seed: int) -> None:
    chooser = random.Random(seed)
    suffix = chooser.choice((SUFFIX, SUFFIX, "@", "日", "é", "\U0001f600x"))
    inner, last = ["a", "b", "<", "Ġ"][: 3 + seed % 2], [f"{one}{suffix}" for one in "ab>"]
    merges = drawn_merges(chooser, chooser.randint(1, 10), inner, last)
    tokenizer = made(merges, suffix)
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
    except VocabularyError:
        return
    for _ in range(40):
        text = "".join(chooser.choices("aaabb<> ,é", k=chooser.randint(1, 12)))
        counter, n = encoding.intervals(text), len(text)
        assert encoding.encode_ordinary(text) == ids(tokenizer, text), (merges, text)
        for start, end in combinations(range(n + 1), 2):
            assert counter.count(start, end) == len(ids(tokenizer, text[start:end]))
        fitting = [end for end in range(n + 1) if len(ids(tokenizer, text[:end])) <= 2]
        assert counter.split_at(0, 2) == fitting[-1]


def test_some_random_merges_are_read() -> None:
    tokenizer = made([("a", "b"), ("ab", f"a{SUFFIX}"), ("a", f"b{SUFFIX}")])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding.count("aba") == 1
    assert encoding.count("abab") == 2
    assert encoding.intervals("aba").count(0, 2) == 1
    assert encoding.decode(encoding.encode("aba, ab")) == "aba , ab"
    assert encoding.decode_single_token_bytes(tokenizer.token_to_id(f"aba{SUFFIX}")) == b"aba "


def test_white_space_of_all_kinds_separates_words() -> None:
    """Replacing runs of it by a blank is left out, for it changes nothing."""
    tokenizer = build("clip")
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert len(encoding._spec.normalizer) == 2
    others = "\x1c\x1f\u180e\u200b\ufeff\u2060"
    for one in [*SPACE, *others]:
        for text in (
            f"the{one}in",
            f"{one}{one} a{one}\u0301",
            f"E\u0301{one}{one}",
            f"\u00a8{one}",
        ):
            found = tokenizer.encode(text, add_special_tokens=False)
            tokens, _ = encoding.encode_with_offsets(text, disallowed_special=())
            assert tokens == encoding.encode_ordinary(text) == found.ids


@pytest.mark.parametrize("trims", [False, True])
def test_offsets_are_those_of_tokenizers(trims: bool) -> None:
    for name in ("clip", "clip, bert's words"):
        tokenizer = tokenizers.Tokenizer.from_str(build(name).to_str())
        tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=trims)
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
        for text in ("The theme, on  the\n\n日本 é's", "a<s> <|endoftext|>on the", " x ", ""):
            found = tokenizer.encode(text, add_special_tokens=False)
            tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
            assert tokens == found.ids
            assert [*map(tuple, spans.tolist())] == found.offsets


def test_text_that_is_matched_as_a_whole_is_split_again() -> None:
    """Signs after it are a word of their own, and signs before it hide it."""
    tokenizer = build("clip, of transformers 5")
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    parts = ("<|startoftext|>", "<|ENDOFTEXT|>", "<|", "|>", "!", "a", " ", "1", "'s", "endoftext")
    tokenizer.encode_special_tokens = True
    for text in map("".join, product(parts, repeat=4)):
        assert encoding.encode_ordinary(text) == ids(tokenizer, text), text
    assert encoding.count("<|startoftext|>!!") > encoding.count("<|startoftext|>")


def test_words_that_only_the_last_splitting_joins_are_cut_where_the_first_one_does() -> None:
    """A word of two digits is one token, and a digit inside a longer one would be two."""
    ends = [f"§{SUFFIX}", f"à¥§{SUFFIX}", f"§à¥§{SUFFIX}"]
    tokenizer = made([("à", "¥"), ("à¥", ends[0]), ("§", ends[1]), ("à¥", ends[2])])
    two_by_two = split(r"<x>|\p{N}{1,2}|[\p{L}]+", "removed", invert=True)
    tokenizer.pre_tokenizer = sequence(two_by_two, GPT2)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert len(encoding._spec.splittings) == 2
    assert encoding.split_at("१" * 400, 50) == 100


def test_splittings_of_which_none_drops_blanks_are_refused() -> None:
    tokenizer = made([("a", "b")])
    tokenizer.pre_tokenizer = sequence(split(CLIP), GPT2)
    with pytest.raises(VocabularyError, match="words can have blanks"):
        cutline.Encoding.from_tokenizers(tokenizer)


@pytest.mark.parametrize("name", ["clip", "clip, of transformers 5"])
def test_hostile_texts(name: str) -> None:
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for unit in ("a", "a ", " ", "!", "e\u0301", "1", "'s", "日本"):
        text = unit * 5000
        assert encoding.count(text) == len(ids(tokenizer, text))
        end = encoding.split_at(text, 77)
        assert len(ids(tokenizer, text[:end])) <= 77
        assert end == len(text) or len(ids(tokenizer, text[: end + 1])) > 77


def test_lone_surrogates_are_replaced() -> None:
    encoding = cutline.Encoding.from_tokenizers(build("clip"))
    assert encoding.encode_ordinary("a\ud800b") == encoding.encode_ordinary("a\ufffdb")
    assert encoding.encode_ordinary("\ud83c\udf89") == encoding.encode_ordinary("🎉")


Change = Callable[[dict[str, Any]], object]
REFUSED: dict[str, tuple[Change, str]] = {
    "a last letter is missing": (
        lambda model: model["vocab"].pop(f"z{SUFFIX}"), f"no token 'z{SUFFIX}'",
    ),
    "whole words": (lambda model: model.update(ignore_merges=True), "with ignore_merges"),
    "an end that letters make": (
        lambda model: (
            model["vocab"].update({"</": 900, "</w": 901, SUFFIX: 902}),
            model["merges"].extend([["<", "/"], ["</", "w"], ["</w", ">"]]),
        ),
        "does not tell it from letters",
    ),
    "the suffix as a token": (
        lambda model: model["vocab"].update({SUFFIX: 900}), "written like one with the suffix",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_equivalent_is_refused_with_a_way_out(name: str) -> None:
    document = json.loads(made([("a", "b")]).to_str())
    change, message = REFUSED[name]
    change(document["model"])
    with pytest.raises(VocabularyError, match=message) as caught:
        cutline.Encoding.from_tokenizers(tokenizers.Tokenizer.from_str(json.dumps(document)))
    assert "cutline.wrap(tokenizer)" in str(caught.value)
