"""Added tokens of all flags that overlap one another, against `tokenizers`."""

import json
import random
from itertools import combinations
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.pipeline import slice_counter
from cutline.pipeline.added import AddedFinder
from cutline.spec import AddedToken
from tests.pipeline import families
from tests.pipeline.characters import added, make_document
from tests.pipeline.families import build, tokenizers

normalizers, pre = tokenizers.normalizers, tokenizers.pre_tokenizers
FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")
PARTS = [" ", " ", "  ", "a", "b", "x", "<", "A", "\n", "e\u0301", "é"]
LETTERS = [*PARTS, "   ", "\u3000", "B"]
NORMALIZERS = [
    None, None, None, normalizers.NFC(), normalizers.Lowercase(), normalizers.Replace("b", " "),
    normalizers.Prepend("x"), normalizers.Strip(),
]  # fmt: skip


def make_tokenizer(tokens: list[dict[str, Any]], *, prefix: bool = False, norm: Any = None) -> Any:
    """Make a tokenizer over bytes with a few merges and these added tokens."""
    vocab = {letter: number for number, letter in enumerate(sorted(pre.ByteLevel.alphabet()))}
    merges = [("Ġ", "Ġ"), ("a", "b"), ("Ġ", "a"), ("ĠĠ", "ĠĠ"), ("x", "x")]
    vocab |= {left + right: len(vocab) + place for place, (left, right) in enumerate(merges)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    if norm is not None:
        tokenizer.normalizer = norm
    document = json.loads(tokenizer.to_str())
    first = len(vocab)
    document["added_tokens"] = [
        {**token, "id": vocab.get(token["content"], first + place)}
        for place, token in enumerate(tokens)
    ]
    return tokenizers.Tokenizer.from_str(json.dumps(document))


def random_tokenizer(chooser: random.Random) -> Any:
    contents = {"".join(chooser.choices(PARTS, k=chooser.randint(1, 3))) for _ in range(6)}
    tokens = [
        added(0, content, **{flag: chooser.random() < 0.35 for flag in FLAGS})
        for content in sorted(contents)[: chooser.randint(1, 6)]
    ]
    norm = chooser.choice(NORMALIZERS)
    return make_tokenizer(tokens, prefix=chooser.random() < 0.3, norm=norm)


def texts_of(chooser: random.Random, n: int) -> list[str]:
    return ["".join(chooser.choices(LETTERS, k=chooser.randint(0, 10))) for _ in range(n)]


def ids_of(tokenizer: Any, text: str, *, special: bool) -> list[int] | None:
    """Return the ids; None where `tokenizers` panics, as the span of a token is reversed."""
    tokenizer.encode_special_tokens = not special
    try:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    except BaseException as error:  # its panics are no exceptions
        if "bad split" not in str(error):
            raise
        return None
    return found


@pytest.mark.parametrize("seed", range(150))
def test_tokens_that_overlap_are_found_as_tokenizers_finds_them(seed: int) -> None:
    chooser = random.Random(seed)
    tokenizer = random_tokenizer(chooser)
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
    except VocabularyError:  # normalizing leaves nothing of a token
        return
    texts = texts_of(chooser, 40)
    assert encoding.encode_batch(texts, allowed_special="all") == [
        encoding.encode(text, allowed_special="all") for text in texts
    ]
    for text in texts:
        expected = ids_of(tokenizer, text, special=True)
        assert expected in (None, encoding.encode(text, allowed_special="all")), text
        ordinary = ids_of(tokenizer, text, special=False)
        found = encoding.encode_ordinary(text)
        assert ordinary in (None, found), text
        assert encoding.count(text) == len(found)
        tokens, spans = encoding.encode_with_offsets(text, disallowed_special=())
        assert tokens == found
        assert all(0 <= start <= end <= len(text) for start, end in spans.tolist())
    for text in texts_of(chooser, 3):
        n, counter = len(text), encoding.intervals(text)
        for start in range(n + 1):
            counts = [encoding.count(text[start:end]) for end in range(start, n + 1)]
            assert [counter.count(start, end) for end in range(start, n + 1)] == counts
            for budget in (0, 1, 2, 5):
                fitting = [at for at, count in enumerate(counts) if count <= budget]
                assert counter.split_at(start, budget) == start + max(fitting), (text, start)
                assert encoding.split_at(text, budget, start) == start + max(fitting)


OVERLAPPING: dict[str, tuple[list[dict[str, Any]], str, list[str]]] = {
    # A token in blanks that the one before has taken: these count again from its end on.
    "blanks after rstrip": (
        [added(0, "<m>", rstrip=True), added(0, "  ")],
        "<m>   x",
        ["<m>   ", "  ", "Ġ", "x"],
    ),
    "nothing is left of a token": (
        [added(0, "  ", lstrip=True, rstrip=True)],
        "     a",
        ["     ", "a"],
    ),
    "lstrip ends where rstrip did": (
        [added(0, "<m>", rstrip=True), added(0, " x", lstrip=True)],
        "<m>  x",
        ["<m>  ", "x"],
    ),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_white_space(name: str) -> None:
    tokens, text, expected = OVERLAPPING[name]
    tokenizer = make_tokenizer(tokens)
    found = tokenizer.encode(text, add_special_tokens=False)
    assert found.tokens == expected
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding.encode_ordinary(text) == found.ids
    assert list(map(tuple, encoding.encode_with_offsets(text)[1].tolist())) == found.offsets


def test_a_token_that_tokenizers_panics_at_is_left_out() -> None:
    tokens = [added(0, "<m>", rstrip=True), added(0, " ", lstrip=True)]
    tokenizer = make_tokenizer(tokens)
    text = "<m>   x"
    assert ids_of(tokenizer, text, special=True) is None
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    tokens_found, spans = encoding.encode_with_offsets(text)
    assert all(start < end for start, end in spans.tolist())
    assert encoding.decode(tokens_found).startswith("<m>")


BASES = (
    "gpt 2", "qwen 2.5", "accents removed", "prefix space", "blanks as letters", "deepseek coder",
    "clip", "led by a mark", "stripped",
)  # fmt: skip


def with_random_tokens(rng: random.Random, base: str) -> Any:
    """A tokenizer with added tokens that overlap, strip, hide others, or look at words."""
    tokenizer = build(base)
    for _ in range(rng.randint(1, 5)):
        text = "".join(rng.choices("ab " if rng.random() < 0.3 else "ab", k=rng.randint(1, 5)))
        token = tokenizers.AddedToken(
            text,
            special=rng.random() < 0.15,
            normalized=rng.random() < 0.3 and base != "blanks as letters",
            lstrip=rng.random() < 0.2,
            rstrip=rng.random() < 0.2,
            single_word=rng.random() < 0.15,
        )
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("tries", [1, 16])
@pytest.mark.parametrize("seed", range(8))
def test_cuts_among_added_tokens_are_the_greatest_that_fit(
    base: str, seed: int, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_counter, "_SHORT", 3)
    monkeypatch.setattr(slice_counter, "_TRIES", tries)
    rng = random.Random(f"{base} {seed}")
    try:
        encoding = cutline.Encoding.from_tokenizers(with_random_tokens(rng, base))
    except VocabularyError:
        return
    for letters in ("ab", "abc", "ab ", "abc \u0301e"):
        text = "".join(rng.choices(letters, k=rng.randint(8, 50)))
        start = rng.choice([0, rng.randrange(len(text))])
        counts = [encoding.count(text[start:end]) for end in range(start, len(text) + 1)]
        counter = encoding.intervals(text)
        for budget in {0, 1, 2, *rng.choices(range(len(text) // 2), k=3)}:
            best = start + max(at for at, count in enumerate(counts) if count <= budget)
            assert counter.split_at(start, budget) == best, (text, start, budget)


def test_a_text_begins_anew_after_white_space_that_a_token_strips() -> None:
    document = json.loads(make_document("words apart, no prefix"))
    document["normalizer"] = {"type": "Prepend", "prepend": "a"}
    document["added_tokens"] = []
    vocab = {text: place for place, text in enumerate(["<unk>", "\u2581", *"abc\n", "bc"])}
    document["model"] |= {"vocab": vocab, "merges": [["b", "c"]], "byte_fallback": False}
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    tokenizer.add_tokens([tokenizers.AddedToken("<x>", rstrip=True, normalized=False)])
    text = "a<x>\nb c<x>\n\nb" * 2
    counter = cutline.Encoding.from_tokenizers(tokenizer).intervals(text)
    for start, end in combinations(range(len(text) + 1), 2):
        want = ids_of(tokenizer, text[start:end], special=False)
        assert want is None or counter.count(start, end) == len(want), text[start:end]


def test_what_a_normalizer_puts_before_a_single_word_is_looked_at() -> None:
    tokens = [added(0, "ab", single_word=True, normalized=True)]
    tokenizer = make_tokenizer(tokens, norm=normalizers.Prepend(" "))  # it is found as " ab"
    for text in ("x ab", "x ab b", "= ab x"):
        counter = cutline.Encoding.from_tokenizers(tokenizer).intervals(text)
        for start, end in combinations(range(len(text) + 1), 2):
            want = ids_of(tokenizer, text[start:end], special=False)
            assert want is None or counter.count(start, end) == len(want), text[start:end]


@pytest.mark.parametrize("normalized", [False, True])
def test_a_single_word_that_is_a_part_of_one_counts_in_no_longer_slice(normalized: bool) -> None:
    tokenizer = build("qwen 2.5")
    flags = {"single_word": True, "normalized": normalized}
    tokenizer.add_tokens(families.added("caf\u00e9", "ab", **flags))
    for text in ("cafe\u03011 cafe\u0301 1cafe\u0301", "ab1 ab! 1ab ab ab=\u0338ab"):
        counter = cutline.Encoding.from_tokenizers(tokenizer).intervals(text)
        for start, end in combinations(range(len(text) + 1), 2):
            want = ids_of(tokenizer, text[start:end], special=False)
            assert want is not None
            assert counter.count(start, end) == len(want), text[start:end]


def test_the_longest_of_few_tokens_is_found() -> None:
    rng = random.Random(7)
    for _ in range(300):
        texts = {
            "".join(rng.choices("ab .|\n", k=rng.randint(1, 6))) for _ in range(rng.randint(1, 12))
        }
        finder = AddedFinder({text: AddedToken(text, 0) for text in texts})
        text = "".join(rng.choices("ab .|\n", k=60))
        found = [(start, text[start:end]) for start, end, token in finder.cut(text, bool) if token]
        place, expected = 0, []
        while place < len(text):
            longest = max(
                (one for one in texts if text.startswith(one, place)), key=len, default=""
            )
            expected += [(place, longest)] * bool(longest)
            place += len(longest) or 1
        assert found == expected, (texts, text)
