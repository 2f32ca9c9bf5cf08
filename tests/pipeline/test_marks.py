"""Cuts among many marks, jamo and added tokens: by their definition, and in linear time."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

import cutline
from tests.conftest import short_or_long
from tests.pipeline import characters
from tests.pipeline.families import build
from tests.words.tokenizers_of import tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
norm = tokenizers.normalizers
pre = tokenizers.pre_tokenizers

MARKS = "\u0301\u0323\u0302\u0315\u0334\u0345\u0344\u0340\u0327\u094d\u3099\u302e\u05b0\u1dfb\u1ac0"
OTHERS = "\u1100\u1161\u11a8\uac00\u09c7\u09be\uff9e"
ADDED = [
    tokenizers.AddedToken("<x>", normalized=False, special=False),
    tokenizers.AddedToken("<y>", normalized=True, special=False),
]


def words_with_tokens(kind: str, name: str, added: list[Any]) -> Any:
    made = tokenizer_of(kind, name, random.Random(f"{kind} {name}"))
    made.add_tokens(added)
    return made


KINDS: dict[str, Callable[[], Any]] = {
    **{
        name: lambda name=name: build(name)
        for name in ("command-r", "decomposed", "compatible", "as bert normalizes")
    },
    "over characters": lambda: tokenizers.Tokenizer.from_str(
        characters.make_document("lower case, composed")
    ),
    **{
        f"{kind}, {name}, {len(added)}": lambda kind=kind, name=name, added=added: (
            words_with_tokens(kind, name, added)
        )
        for kind in ("WordPiece", "Unigram", "Unigram with bytes")
        for name in (
            *("NFC, bert", "NFKC, Lowercase", "deberta", "xlm-r"),
            *("albert", "rembert", "several replaced", "classes replaced"),
            *("deberta, of transformers 5", "metaspace, strip at the end"),
            *("stripped, with white space in words", "NFC, metaspace first"),
        )
        for added in ([], ADDED)
    },
}


def random_text(rng: random.Random, n: int) -> str:
    marks = rng.sample(MARKS + OTHERS, rng.choice((1, 2, 4, 12)))
    text = ""
    while len(text) < n:
        text += rng.choice(("a", "e ", " ", "\u00e9", "=", "<x>", "<y>", "\ufdfa", "\u1100"))
        text += "".join(rng.choices(marks, k=rng.choice((0, 0, 2, 50, n))))
    return text[:n]


def by_definition(tokenizer: Any, text: str, start: int) -> list[int]:
    """The tokens of each slice from a start on."""
    slices = [text[start:end] for end in range(start, len(text) + 1)]
    found = tokenizer.encode_batch(slices, add_special_tokens=False)
    return [len(one.ids) for one in found]


@short_or_long("n_texts", 5, 15)
@pytest.mark.parametrize("kind", KINDS)
def test_cuts_are_the_greatest_ends_that_fit(kind: str, n_texts: int) -> None:
    tokenizer = KINDS[kind]()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    rng = random.Random(kind)
    for _ in range(n_texts):
        text = random_text(rng, rng.choice((40, 150)))
        start = rng.choice((0, rng.randrange(len(text))))
        counts = by_definition(tokenizer, text, start)
        counter = encoding.intervals(text)
        ends = range(start, len(text) + 1)
        assert [counter.count(start, end) for end in ends] == counts, ascii(text)
        for n in (0, 1, 2, rng.randint(0, max(counts)), rng.randint(0, max(counts))):
            best = start + max(at for at, count in enumerate(counts) if count <= n)
            assert counter.split_at(start, n) == best, (ascii(text), start, n)
            assert encoding.split_at(text, n, start) == best, (ascii(text), start, n)


HOSTILE = {
    "one mark": lambda n: "a" + "\u0301" * n,
    "two marks": lambda n: "a" + "\u0301\u0323" * (n // 2),
    "many marks": lambda n: "e" + "".join(random.Random(1).choices(MARKS, k=n)),
    "letters with many": lambda n: ("e" + "\u0301\u0323" * 30) * (n // 61),
    "jamo": lambda n: "\u1100" + "\u1161" * n,
    "several characters each": lambda n: "\ufdfa" * (n // 8),
    "added tokens": lambda n: "<x>" * (n // 3),
    "added tokens and marks": lambda n: "<x>e\u0301<y>" * (n // 8),
    "one letter after an added token": lambda n: "<x>" + "a" * n,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["command-r", "compatible", "Unigram with bytes, NFC, bert, 2"])
def test_hostile_texts_are_cut_in_linear_time(kind: str, name: str) -> None:
    """Trying all ends, one by one, of half of these takes minutes."""
    encoding = cutline.Encoding.from_tokenizers(KINDS[kind]())
    text = HOSTILE[name](10_000)
    started = time.process_time()
    chunks = encoding.split(text, 64)
    assert "".join(chunk.text for chunk in chunks) == text
    counter = encoding.intervals(text)
    for n in (1_000, counter.total - 1):
        end = encoding.split_at(text, n)
        assert counter.count(0, end) <= n
        assert end == len(text) or counter.count(0, end + 1) > n
    assert time.process_time() - started < 60  # seconds; it takes some 3


def test_what_composes_later_is_seen_at_safe_split_points() -> None:
    """`=` is a word of its own, and with a mark after it becomes a part of one."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.normalizer = norm.NFC()
    apart = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre.Sequence([pre.BertPreTokenizer(), apart])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["x\u2260y a\u2260b x\u2260 \u2260y"] * 20, trainer)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    rng = random.Random(1)
    for _ in range(100):
        text = "".join(rng.choices("xyab=\u0338", k=8))
        counter = encoding.intervals(text)
        for start in range(len(text) + 1):
            counts = by_definition(tokenizer, text, start)
            ends = range(start, len(text) + 1)
            assert [counter.count(start, end) for end in ends] == counts, ascii(text)


@pytest.mark.parametrize("after", ["\u0338", "\U0001d165\u0338"])
@pytest.mark.parametrize("n", [1, 3])
def test_a_cut_at_the_end_of_a_window_sees_what_composes_after_it(n: int, after: str) -> None:
    vocab = {"[UNK]": 0, "a": 1, "##a": 2, "=": 3, "\u2260": 4}
    model = tokenizers.models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=1_000)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = norm.NFC()
    tokenizer.pre_tokenizer = pre.BertPreTokenizer()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for length in range(8 * n + 253, 8 * n + 258):  # around the first window
        text = "a" * length + "=" + after
        counts = by_definition(tokenizer, text, 0)
        best = max(at for at, count in enumerate(counts) if count <= n)
        assert encoding.split_at(text, n) == best == encoding.intervals(text).split_at(0, n)
        assert encoding.encode_ordinary(text) == tokenizer.encode(text).ids


@pytest.mark.parametrize("kind", ["command-r", "scripts apart", "over characters"])
def test_an_added_token_that_a_step_first_makes_covers_all_its_characters(kind: str) -> None:
    tokenizer = build(kind) if kind == "scripts apart" else KINDS[kind]()
    if kind == "scripts apart":
        tokenizer.normalizer = norm.NFC()
    tokenizer.add_tokens([tokenizers.AddedToken("[E\u0301]", normalized=True)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for before in ("", "E\u0301]", "\u0301"):
        text = before + "[E\u0301]" * 60
        counts = by_definition(tokenizer, text, 0)
        for n in (1, 5, 20, 40):
            best = max(at for at, count in enumerate(counts) if count <= n)
            assert encoding.split_at(text, n) == best == encoding.intervals(text).split_at(0, n)


def test_marks_that_come_later_may_be_sorted_between_others() -> None:
    """The last three make three long tokens of what was 300."""
    places = "\u0334\u0327\u031b\u0323\u0301\u0315\u035c"  # in the order of their classes
    level = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    written = {one: level.pre_tokenize_str(one)[0][0] for one in places}
    merges = [(text[0], text[1]) for text in written.values()]
    for before, one, after in (places[:3], places[2:5], places[4:]):
        token = written[one]
        for left, right in 50 * [("", written[after])] + 50 * [(written[before], "")]:
            merges.append((left or token, right or token))
            token = left + token + right
    tokens = [*sorted(pre.ByteLevel.alphabet()), *dict.fromkeys(map("".join, merges))]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    oracle = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    oracle.normalizer, oracle.pre_tokenizer = norm.NFD(), level
    encoding = cutline.Encoding.from_tokenizers(oracle)
    first, then, later, last = places[::2]
    text = "a" + 50 * first + 100 * then + 100 * later + 50 * last + places[1::2]
    assert len(oracle.encode(text).ids) == 4
    assert encoding.split_at(text, 4) == len(text)
    assert encoding.intervals(text).split_at(0, 4) == len(text)
    assert encoding.split_at(text[:-1], 4) == 4
