"""Growing texts with added tokens: those that overlap, contain or hide one another."""

import random
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.pipeline import word_slices
from tests.conftest import short_or_long
from tests.grown import check_growth, check_growth_at, settle_at_once
from tests.pipeline.characters import added, make_document
from tests.pipeline.families import build, tokenizers
from tests.pipeline.test_added import NORMALIZERS, make_tokenizer
from tests.words.tokenizers_of import MODELS, tokenizer_of

LETTERS = [" ", " ", "  ", "a", "b", "x", "<", "A", "\n", "e\u0301", "é"]
LOOKING = "lstrip", "rstrip", "single_word"
AddedToken = tokenizers.AddedToken


def random_tokens(rng: random.Random, letters: list[str]) -> list[tuple[str, dict[str, bool]]]:
    """Contents and flags; few letters, so that tokens overlap."""
    some = rng.sample(letters, 4)
    contents = {"".join(rng.choices(some, k=rng.randint(1, 4))).strip() or "<<" for _ in range(5)}
    flags = "special", "normalized"
    return [(one, {flag: rng.random() < 0.3 for flag in flags}) for one in sorted(contents)]


def parts_of(rng: random.Random, contents: list[str], letters: list[str]) -> list[str]:
    return [
        rng.choice(contents) if rng.random() < 0.4 else "".join(rng.choices(letters, k=2))
        for _ in range(rng.randint(5, 25))
    ]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_a_growing_text_of_bpe_is_counted_like_the_whole(
    seed: int, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if at_once:
        settle_at_once(monkeypatch)
    rng = random.Random(seed)
    tokens = random_tokens(rng, LETTERS)
    documents = [added(0, content, **flags) for content, flags in tokens]
    norm = rng.choice(NORMALIZERS)
    oracle = make_tokenizer(documents, prefix=rng.random() < 0.2, norm=norm)
    oracle.encode_special_tokens = True
    encoding = cutline.Encoding.from_tokenizers(oracle)
    contents = [content for content, _ in tokens]
    for _ in range(5):
        check_growth(oracle, encoding, rng, parts_of(rng, contents, LETTERS))


FORMS = tokenizers.normalizers
STRIP = FORMS.Strip()
CHANGING: list[Any] = [
    None, FORMS.NFC(), FORMS.Lowercase(), STRIP, FORMS.Strip(True, False), FORMS.Strip(False, True),
    FORMS.Prepend("x"), FORMS.Replace("a", ""), FORMS.Replace("ab", "x"), FORMS.BertNormalizer(),
    FORMS.Nmt(), FORMS.Sequence([FORMS.NFD(), FORMS.StripAccents()]),
    FORMS.Sequence([FORMS.Replace("b", " "), STRIP]), FORMS.Sequence([STRIP, FORMS.Prepend("x")]),
    FORMS.Sequence([STRIP, FORMS.Replace("b", " ")]),
    FORMS.Sequence([STRIP, FORMS.Replace(" ", "")]), FORMS.Sequence([FORMS.Prepend("x"), STRIP]),
    FORMS.Sequence([FORMS.Replace(tokenizers.Regex(" {2,}"), " "), STRIP]),
]  # fmt: skip


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("seed", range(150))
def test_tokens_that_look_around_and_steps_that_strip(
    seed: int, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if at_once:
        settle_at_once(monkeypatch)
    rng, strips = random.Random(seed), seed % 2 == 0
    flags = "special", "normalized", "single_word", "lstrip", "rstrip"[: 6 * strips]
    some = rng.sample(LETTERS, 5)
    contents = {"".join(rng.choices(some, k=rng.randint(1, 3))) for _ in range(rng.randint(0, 5))}
    if strips:  # where one strips what another one is, `tokenizers` panics
        contents = {one.strip() or "<" for one in contents}
    often = rng.random() / 2
    tokens = [
        added(0, one, **{flag: rng.random() < often for flag in flags if flag})
        for one in sorted(contents)
    ]
    oracle = make_tokenizer(tokens, prefix=rng.random() < 0.2, norm=CHANGING[seed % len(CHANGING)])
    oracle.encode_special_tokens = True
    try:
        encoding = cutline.Encoding.from_tokenizers(oracle)
    except VocabularyError:  # normalizing leaves nothing of a token
        return
    for _ in range(4):
        check_growth(oracle, encoding, rng, parts_of(rng, sorted(contents) or ["ab"], LETTERS))


@short_or_long("n_tokenizers", 4, 12)
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("name", ["bert cased", "bert uncased", "NFKC, Lowercase", "xlm-r", "t5"])
@pytest.mark.parametrize("kind", MODELS)
def test_a_growing_text_of_words_is_counted_like_the_whole(
    kind: str, name: str, at_once: bool, monkeypatch: pytest.MonkeyPatch, n_tokenizers: int
) -> None:
    if at_once:
        settle_at_once(monkeypatch)
    rng = random.Random(f"{kind} {name}")
    for number in range(n_tokenizers):
        oracle = tokenizer_of(kind, name, rng)
        tokens = [(one, flags) for one, flags in random_tokens(rng, LETTERS) if one.strip()]
        for content, flags in tokens:
            looks = {flag: rng.random() < 0.2 for flag in LOOKING[: number % 4]}
            in_normal = {"normalized": flags["normalized"] and number % 2 == 0}
            one = AddedToken(content.strip(), **flags | in_normal | looks)
            if flags["special"]:
                oracle.add_special_tokens([one])
            else:
                oracle.add_tokens([one])
        oracle.encode_special_tokens = True
        try:
            encoding = cutline.Encoding.from_tokenizers(oracle)
        except VocabularyError:  # normalizing makes two of them the same
            continue
        contents = [content for content, _ in tokens]
        for _ in range(4):
            check_growth(oracle, encoding, rng, parts_of(rng, contents, LETTERS))


SPECIAL_HIDES = [added(0, "<a<x>b>", special=True), added(0, "<x>"), added(0, "b>b")]


def test_a_special_token_that_is_cut_hides_what_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    settle_at_once(monkeypatch)
    oracle = make_tokenizer([{**one, "normalized": False} for one in SPECIAL_HIDES])
    oracle.encode_special_tokens = True
    encoding = cutline.Encoding.from_tokenizers(oracle)
    rng = random.Random(1)
    for _ in range(20):
        text = "".join(rng.choices(["<a<x>b>", "<x>", "b", "b>b", "a"], k=12))
        check_growth(oracle, encoding, rng, [*text])


@pytest.mark.parametrize("name", ["bert cased", "bert uncased", "NFKC, Lowercase", "xlm-r", "t5"])
@pytest.mark.parametrize("kind", MODELS)
def test_cuts_of_words_among_added_tokens_are_the_greatest_that_fit(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_at_once(monkeypatch)
    monkeypatch.setattr(word_slices, "_SHORT", 2)
    rng = random.Random(f"{kind} {name}")
    for number in range(4):
        oracle = tokenizer_of(kind, name, rng)
        contents = sorted({"".join(rng.choices("ab<x", k=rng.randint(1, 4))) for _ in range(3)})
        for content in contents:
            looks = {flag: rng.random() < 0.2 for flag in LOOKING[: number % 4]}
            oracle.add_tokens([AddedToken(content, normalized=rng.random() < 0.5, **looks)])
        encoding = cutline.Encoding.from_tokenizers(oracle)
        for letters in ([*contents, "a"], [*contents, "a", "b", " "], [*"ab<x", "e\u0301"]):
            text = "".join(rng.choices(letters, k=rng.randint(8, 30)))
            counter, start = encoding.intervals(text), rng.randrange(len(text) // 2)
            ends = range(start, len(text) + 1)
            counts = [len(oracle.encode(text[start:end]).ids) for end in ends]
            for budget in range(0, max(counts) + 1, 2):
                best = start + max(at for at, count in enumerate(counts) if count <= budget)
                assert counter.split_at(start, budget) == best, (text, start, budget)


def test_tokens_hidden_at_the_end_of_what_stands_for_a_long_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle_at_once(monkeypatch)
    rng = random.Random(2)
    for hiding, hidden in (("xaaab", "xa"), ("aab", "aa"), ("bbaab", "aab")):
        oracle = tokenizer_of("WordPiece", "bert cased", rng)
        oracle.add_special_tokens([AddedToken(hiding, normalized=False)])
        oracle.add_tokens([AddedToken(hidden, normalized=False)])
        oracle.encode_special_tokens = True
        encoding = cutline.Encoding.from_tokenizers(oracle)
        for _ in range(20):
            parts = rng.choices([*hiding, "b", "bbb", hiding], k=60)
            check_growth_at(oracle, encoding, rng, parts, at_end=False)


def _settled(one: Any) -> int:
    place: int = one._settled[-1][0]
    return place


TOKEN = "<think>"


@pytest.mark.parametrize("text", ["a" * 1_500, "的一是不了人我在" * 190, TOKEN * 210, "a  " * 500])
@pytest.mark.parametrize(
    "name", ["qwen 2.5", "gpt neox, olmo", "stripped", "as bert normalizes", *MODELS[:2]]
)
@pytest.mark.parametrize(
    "flags",
    [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True}],
    ids=" ".join,
)
def test_all_but_the_end_is_settled(name: str, text: str, flags: dict[str, bool]) -> None:
    words = name in MODELS
    if words and "single_word" in flags:
        pytest.skip("counted from safe split points")
    oracle = tokenizer_of(name, "bert cased", random.Random(1)) if words else build(name)
    oracle.add_tokens([AddedToken(TOKEN, **{"normalized": False} | flags)])
    encoding = cutline.Encoding.from_tokenizers(oracle)
    one, other = encoding.appender(), encoding.prepender()
    for length, character in enumerate(text, 1):
        one.append(character)
        count = one.count
        assert length - _settled(one) < 100
        assert length % 300 or count == encoding.count(text[:length])
        if not words:
            other.prepend(text[-length])
            count = other.count
            assert length - _settled(other) < 100
            assert length % 300 or count == encoding.count(text[-length:])


def test_a_text_that_is_cut_inside_what_may_be_a_token_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle_at_once(monkeypatch)
    oracle = make_tokenizer([added(0, "<x>"), added(0, "aab")])
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for text in ("ba<xaaaaaaaaaa", "aa<x<x<x<aaxxxxxxxx"):
        for length in range(len(text)):
            one: Any = encoding.appender()
            for character in text:
                one.append(character)
                assert one.count
            assert _settled(one) > length or length > 5
            one.truncate(length)
            for character in "x>aab":
                one.append(character)
                assert one.count == len(oracle.encode(one.text, add_special_tokens=False).ids)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("name", ["xlm-r", "t5", "deberta", "metaspace, strip at the end"])
@pytest.mark.parametrize(
    "written", [["<  "], [" ", "<\n"], ["<x>"], ["<x>", "x"], ["<x>", "  "]], ids=ascii
)
def test_white_space_before_a_token_is_stripped_or_one_itself(
    written: list[str], name: str, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if at_once:
        settle_at_once(monkeypatch)
    rng = random.Random(f"{written} {name}")
    for flags in ({}, {"rstrip": True}, {"single_word": True}):
        if "rstrip" in flags and any(one.strip() != one for one in written):
            continue  # where one strips what another one is, `tokenizers` panics
        oracle = tokenizer_of("Unigram", name, rng)
        normalized = rng.random() < 0.5
        tokens = [AddedToken(one, lstrip=True, normalized=normalized, **flags) for one in written]
        oracle.add_tokens(tokens)
        try:
            encoding = cutline.Encoding.from_tokenizers(oracle)
        except VocabularyError:  # normalizing leaves nothing of a token
            continue
        for length in (1, 2):
            parts = rng.choices([*written, " ", "  ", "a", "ab", "\n"], k=40 * length)
            check_growth(oracle, encoding, rng, parts)


LED = ("added after the first", "seamless", "masks of all texts")


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"rstrip": True}], ids=str)
@pytest.mark.parametrize("name", [*LED, "metaspace first", "t5, first", "NFC, metaspace first"])
def test_texts_grow_where_only_their_start_is_led(
    name: str, flags: dict[str, bool], at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if at_once:
        settle_at_once(monkeypatch)
    rng = random.Random(f"{name} {flags}")
    is_bpe = name in LED
    for kind in ("BPE",) if is_bpe else MODELS:
        oracle = (
            tokenizers.Tokenizer.from_str(make_document(name))
            if is_bpe
            else tokenizer_of(kind, name, rng)
        )
        oracle.add_tokens([AddedToken("<y>", normalized=False, **flags), "xa"])
        oracle.encode_special_tokens = True
        encoding = cutline.Encoding.from_tokenizers(oracle)
        for pool in (
            ["<y>", "a"],
            ["<y>", " ", "\n", "a"],
            ["<y>", "xa", "\u65e5", "e\u0301", " "],
        ):
            check_growth(oracle, encoding, rng, rng.choices(pool, k=60))


@pytest.mark.parametrize("part", ["<y>", "ab", "<y>  ", "e\u0301"])
@pytest.mark.parametrize("name", ["seamless", "added after the first", "metaspace first"])
def test_all_but_the_end_is_settled_where_only_the_start_is_led(name: str, part: str) -> None:
    is_bpe = name in LED
    document = make_document(name) if is_bpe else ""
    oracle = (
        tokenizers.Tokenizer.from_str(document)
        if is_bpe
        else tokenizer_of("Unigram", name, random.Random(1))
    )
    oracle.add_tokens([AddedToken("<y>", normalized=False)])
    one: Any = cutline.Encoding.from_tokenizers(oracle).appender()
    for length, character in enumerate(part * (900 // len(part)), 1):
        one.append(character)
        count = one.count
        assert length - _settled(one) < 100
        assert length % 300 or count == len(oracle.encode(one.text, add_special_tokens=False).ids)
