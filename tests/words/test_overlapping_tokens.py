"""Added tokens whose texts overlap: whatever slice of a text has, `tokenizers` is the oracle."""

import random
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

import cutline
from cutline.pipeline import standing
from cutline.pipeline.word_slices import TokenCounter, WordCounter
from tests.conftest import short_or_long
from tests.words.configurations import CONFIGURATIONS
from tests.words.test_overlaps import check_breaks, check_tokens
from tests.words.test_token_search import check_slices
from tests.words.tokenizers_of import tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
AddedToken = tokenizers.AddedToken

BESIDE = ("x", "ab", "c", " ", "  ", "\u00e9", "e\u0301", "xyz ", ".")


def drawn(kind: str, seed: int) -> Iterator[tuple[Any, cutline.Encoding, str]]:
    """Yield texts full of tokens of few letters, unless the tokenizer is refused."""
    rng = random.Random(f"{kind} {seed}")
    tokenizer = tokenizer_of(kind, rng.choice(list(CONFIGURATIONS)), rng)
    letters = rng.choice(("ab", "abc", "ab ", "ab\u00e9", "a b", "a  b", "ab\n"))
    texts = {"".join(rng.choices(letters, k=rng.choice((1, 2, 2, 3, 4, 5)))) for _ in range(4)}
    texts = {one for one in texts if one.strip()}
    strips, mixed, normalized = rng.random() < 0.3, rng.random() < 0.15, rng.random() < 0.5
    tokenizer.add_tokens(
        [
            AddedToken(
                one,
                normalized=rng.random() < 0.5 if mixed else normalized,
                lstrip=strips and rng.random() < 0.5,
                rstrip=strips and rng.random() < 0.5,
                special=rng.random() < 0.1,
            )
            for one in sorted(texts)
        ]
    )
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
    except cutline.CutlineError:
        return
    tokenizer.encode_special_tokens = True
    parts = (*texts, *texts, *BESIDE)
    for _ in range(4):
        yield tokenizer, encoding, "".join(rng.choices(parts, k=rng.randint(1, 9)))[:22]


@short_or_long("n_tokenizers", 40, 2000)
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_slices_and_cuts(kind: str, n_tokenizers: int) -> None:
    n_known = 0
    for seed in range(n_tokenizers):
        for tokenizer, encoding, text in drawn(kind, seed):
            counter = encoding.intervals(text)
            n_known += type(counter) is TokenCounter
            check_slices(tokenizer, encoding, text, (0, 1, 2, 3, 4, 6, 9))
            rng = random.Random(seed)
            check_tokens(rng, encoding, text)
            if isinstance(counter, WordCounter):
                check_breaks(rng, encoding, text)
    assert n_known > n_tokenizers


def test_an_end_in_a_group_may_fit_where_its_token_does_not() -> None:
    """Two tokens become one as the text goes on, and then one token is several words."""
    pieces = ["<unk>", *"xyabcdz", "xya"]
    model = tokenizers.models.Unigram([(one, -1.0) for one in pieces], 0)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.add_tokens(["ab c dz", "b c d"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "xyab c dz"
    assert tokenizer.encode(text).tokens == ["x", "y", "ab c dz"]
    assert tokenizer.encode(text[:8]).tokens == ["xya", "b c d"]
    counter = encoding.intervals(text)
    assert type(counter) is TokenCounter
    assert counter.split_at(0, 2) == encoding.split_at(text, 2) == 8


@pytest.mark.parametrize("most", ["_MOST", "_LONGEST"])
def test_large_groups_are_left_to_what_tries_all_ends(
    most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = tokenizer_of("WordPiece", "bert cased", random.Random(3))
    tokenizer.add_tokens(["aba", "bab"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "c aba abab c"
    assert type(encoding.intervals(text)) is TokenCounter
    monkeypatch.setattr(standing, most, 1)
    counter = encoding.intervals(text)
    assert type(counter) is not TokenCounter
    for start, end in combinations(range(len(text) + 1), 2):
        assert counter.count(start, end) == len(tokenizer.encode(text[start:end]).ids)


def test_a_text_that_is_one_group() -> None:
    tokenizer = tokenizer_of("WordPiece", "bert cased", random.Random(3))
    tokenizer.add_tokens(["aa", "aaa"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "a" * 3000
    want = len(tokenizer.encode(text).ids)
    assert encoding.count(text) == encoding.intervals(text).count(0, len(text)) == want
    chunks = encoding.split(text, 100)
    assert "".join(chunk.text for chunk in chunks) == text
    assert max(chunk.token_count for chunk in chunks) == 100
