"""Texts with ordinary added tokens, of models that encode words: whole, in slices, and cut.

What `tokenizers` makes of each slice is the oracle.
"""

import pickle
import random
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pytest

import cutline
from cutline.pipeline.token_search import TokenSearch
from cutline.pipeline.word_slices import TokenCounter, WordCounter
from tests.conftest import short_or_long
from tests.words.test_encoding import CASES, random_text
from tests.words.test_overlaps import check_breaks, check_tokens
from tests.words.tokenizers_of import ids_of, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
AddedToken = tokenizers.AddedToken

TOKENS = (
    "<x>", "<Y>", "<b c>", "[e\u0301]", "\u00c9!", "\u4e16", "$$", "<\ufb01>", "\u2581q", "a=", "|",
    "<e\u0302>", "Ab", "\u0130", "#\u1100\u1161", "<z> ", " w", "\U0001f600.", "\u0301", "(c)",
    "b A", "c)(", "new york", "york", "k  l",
)  # fmt: skip
BESIDE = ("", "", " ", "  ", "a", "e", "\u0301", "\u200b", "\n", "\u0338", "\u1161", ">", "<", ".")


def some_tokens(rng: random.Random) -> list[Any]:
    texts = rng.sample(TOKENS, rng.choice((1, 1, 2, 3, 5)))
    odd, strips = rng.random() < 0.15, rng.random() < 0.3
    return [
        AddedToken(
            text,
            normalized=rng.random() < 0.6,
            single_word=odd and rng.random() < 0.3,
            lstrip=strips and rng.random() < 0.7,
            rstrip=strips and rng.random() < 0.7,
        )
        for text in texts
    ]


def text_with(rng: random.Random, tokens: list[Any], n: int) -> str:
    parts = []
    for _ in range(rng.randint(1, n)):
        token = rng.choice(tokens).content
        ways = (token, token, token.upper(), token.lower(), token[:-1], token[1:])
        plain = rng.choice(("abc", "e d ", "a.", " ", "5"))
        written = random_text(rng, 4) if rng.random() < 0.4 else plain
        parts += [rng.choice(ways), rng.choice(BESIDE), written, rng.choice(BESIDE)]
    return "".join(rng.sample(parts, len(parts)))


def with_tokens(
    kind: str, name: str, rng: random.Random
) -> Iterator[tuple[Any, list[Any], cutline.Encoding]]:
    """Yield tokenizers with added tokens, these tokens, and encodings, unless they are refused."""
    for _ in range(3):
        tokenizer, tokens = tokenizer_of(kind, name, rng), some_tokens(rng)
        tokenizer.add_tokens(tokens)
        try:
            encoding = cutline.Encoding.from_tokenizers(tokenizer)
        except cutline.CutlineError:
            continue
        yield tokenizer, tokens, encoding


def check_slices(
    tokenizer: Any, encoding: cutline.Encoding, text: str, budgets: tuple[int, ...]
) -> None:
    """Compare the counts of all slices, and all cuts from places with which no slice panics."""
    counter, unknown = encoding.intervals(text), set[int]()
    counts: dict[tuple[int, int], int] = {}
    for start, end in combinations(range(len(text) + 1), 2):
        if (ids := ids_of(tokenizer, text[start:end])) is None:
            unknown.add(start)
            continue
        counts[start, end] = len(ids)
        assert counter.count(start, end) == len(ids), (text, start, end)
    for start, n in product(set(range(len(text))) - unknown, budgets):
        ends = range(len(text), start, -1)
        fits = next((end for end in ends if counts[start, end] <= n), start)
        assert counter.split_at(start, n) == fits, (text, start, n)
        if start == 0:
            assert encoding.split_at(text, n) == fits, (text, n)


@short_or_long("n_texts", 1, 6)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_texts_and_slices(kind: str, name: str, n_texts: int) -> None:
    rng = random.Random(f"tokens {kind} {name}")
    for tokenizer, tokens, encoding in with_tokens(kind, name, rng):
        for _ in range(n_texts):
            text = text_with(rng, tokens, 3)[:24]
            if (ids := ids_of(tokenizer, text)) is None:
                continue
            assert encoding.encode_ordinary(text) == ids, (tokens, text)
            assert encoding.count(text) == len(ids), (tokens, text)
            check_slices(tokenizer, encoding, text, (0, 1, 2, 3, 5, 8))


@short_or_long("n_texts", 1, 6)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_kernels_cut_as_counts_of_slices_do(kind: str, name: str, n_texts: int) -> None:
    rng = random.Random(f"cuts {kind} {name}")
    for _, tokens, encoding in with_tokens(kind, name, rng):
        for _ in range(n_texts):
            text = text_with(rng, tokens, 12)
            check_tokens(rng, encoding, text)
            if isinstance(encoding.intervals(text), WordCounter):
                check_breaks(rng, encoding, text)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(("kind", "name"), [("WordPiece", "NFC, bert"), ("Unigram", "xlm-r")])
def test_tokens_that_stand_alone_are_left_to_kernels(
    kind: str, name: str, normalized: bool
) -> None:
    tokenizer = tokenizer_of(kind, name, random.Random(3))
    tokens = ("<my_token>", "<b-c>", "\u00c9!")
    tokenizer.add_tokens([AddedToken(one, normalized=normalized) for one in tokens])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert type(encoding.intervals("abc <my token> d")) is WordCounter
    texts = ["ab<my_token>\u00c9! c", "<b-c>"]
    # Of a letter with its mark, one of these could be made.
    texts += [] if normalized else ["e\u0301a <b-c> ee\u0301"]
    for text in texts:
        assert type(encoding.intervals(text)) is TokenCounter, text
    if name == "NFC, bert":  # the mark changes the token
        is_known = type(encoding.intervals("a <b-c>\u0338 b")) is TokenCounter
        assert is_known is not normalized


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("strips", [False, True])
@pytest.mark.parametrize("name", ["NFC, bert", "precompiled, bert"])
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_tokens_that_overlap_are_left_to_kernels(
    kind: str, name: str, strips: bool, normalized: bool
) -> None:
    """Of two names of several words, one nearly always ends with the letter that begins another."""
    tokenizer = tokenizer_of(kind, name, random.Random(3))
    flags = {"normalized": normalized, "lstrip": strips, "rstrip": strips}
    texts = ("new york", "the moon", "york city", "c++", "bc")
    tokenizer.add_tokens([AddedToken(one, **flags) for one in texts])
    tokenizer.add_tokens([AddedToken("moon b", special=True, normalized=False)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    # A no-break space and a mark after it are mapped as one, unless the token takes the space.
    is_known = normalized or not strips or name == "NFC, bert"
    text = " ab new york  a the moon\tc++d the moo york  citynew york "
    for overlapping in ("", "new york city", "the moonew york", "bc++", "the moon b"):
        counter = encoding.intervals(text + overlapping)
        # A special one is no token here, but hides one that it overlaps.
        assert (type(counter) is TokenCounter) is (is_known and overlapping != "the moon b")


def test_places_of_tokens_have_what_they_strip() -> None:
    tokenizer = tokenizer_of("WordPiece", "bert cased", random.Random(3))
    tokenizer.add_tokens([AddedToken("new york", normalized=False, lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("b  c", normalized=True, rstrip=True)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in ("a  new york \n b", " new york new yorkb  c  ", "a b  c\u00a0ab\u0085new york"):
        want = tokenizer.encode(text, add_special_tokens=False)
        for written in (encoding, pickle.loads(pickle.dumps(encoding))):
            ids, spans = written.encode_with_offsets(text)
            assert (ids, [*map(tuple, spans.tolist())]) == (want.ids, want.offsets), text


@short_or_long("n_texts", 200, 20_000)
def test_search_for_texts_that_may_overlap(n_texts: int) -> None:
    rng = random.Random(8)
    for _ in range(n_texts):
        texts = {"".join(rng.choices("abc d", k=rng.choice((1, 2, 2, 3)))) for _ in range(3)}
        search = TokenSearch({one: AddedToken(one) for one in texts}, ())
        text = "".join(rng.choices("abc defghi", k=rng.randint(0, 12)))
        places = [(at, at + len(one)) for one in texts for at in starts_of(one, text)]
        rows = search.find(text, overlapping=True)
        assert rows is not None
        assert [row[:2] for row in rows] == sorted(places), (texts, text)
        assert all(text[start:end] == token.content for start, end, token in rows)


def starts_of(one: str, text: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(one, at)]


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_a_window_does_not_end_inside_a_token(kind: str, normalized: bool) -> None:
    """`Encoding.split_at` reads 8 characters a token, and 256 more, at first."""
    tokenizer = tokenizer_of(kind, "bert cased", random.Random(3))
    tokenizer.add_tokens([AddedToken("<my_token>", normalized=normalized)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for before in range(256, 290):
        text = " " * before + "<my_token> a b c d e" * 3
        for n in (1, 2, 3):
            ends = range(len(text), 0, -1)
            longest = next(end for end in ends if encoding.count(text[:end]) <= n)
            assert encoding.split_at(text, n) == longest


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(
    "name", ["xlm-r", "rembert", "t5", "deberta, of transformers 5", "bert cased"]
)
def test_a_window_does_not_end_in_the_blanks_of_a_token(name: str, normalized: bool) -> None:
    """In normalized text a token with a blank is there, too, where a text has many blanks."""
    tokenizer = tokenizer_of("Unigram", name, random.Random(3))
    tokenizer.add_tokens([AddedToken("new york", normalized=normalized)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for before, n_blanks in product(("", " ", "a b ", " " * 20), (1, 2, 255, 300, 700)):
        text = before + "new" + " " * n_blanks + "york a b c new york"
        counts = [
            len(tokenizer.encode(text[:end], add_special_tokens=False).ids)
            for end in range(len(text) + 1)
        ]
        assert encoding.count(text) == counts[-1]
        for n in range(5):
            longest = max(end for end, tokens in enumerate(counts) if tokens <= n)
            assert encoding.split_at(text, n) == longest, (before, n_blanks, n)


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_longer_texts_in_blocks_of_other_characters(kind: str) -> None:
    """Images are made when a text first has a character of their block."""
    tokenizer = tokenizer_of(kind, "NFKC, Lowercase", random.Random(3))
    tokenizer.add_tokens(["<\u0431\u0435\u0433>", "\u4e16\u754c"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    parts = (
        "\u0411\u0415\u0413 <\u0411\u0415\u0413>",
        "\u4e16 \u4e16\u754c",
        "\uff1c\u0431\u0435\u0433>",
        "\ue000 \U0001f600",
    )
    for text in (*parts, " abc ".join(parts) * 200):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert encoding.count(text) == encoding.intervals(text).count(0, len(text)) == len(ids)
        assert encoding.encode_ordinary(text) == ids


def test_surrogates_that_make_a_token() -> None:
    tokenizer = tokenizer_of("WordPiece", "bert cased", random.Random(3))
    tokenizer.add_tokens(["<\U0001f600>"])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding.count("a <\ud83d\ude00> b") == encoding.count("a <\U0001f600> b")
