"""Added tokens of WordPiece and Unigram that hide others, or are found in changed text."""

import json
import random
from itertools import combinations
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.pipeline import parts
from cutline.pipeline.words import WordPipeline
from tests.conftest import short_or_long
from tests.grown import settle_at_once
from tests.words.tokenizers_of import ids_of, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
AddedToken = tokenizers.AddedToken

CASES: dict[str, tuple[str, list[Any], str]] = {
    "a special one hides another": (
        "nothing, Whitespace",
        [AddedToken("  ", special=True, normalized=False), AddedToken(" ", normalized=False)],
        "ab  a \n b   a" * 4,
    ),
    "blanks that are made of others": (
        "bert cased",
        [AddedToken("  ", normalized=True, single_word=True, rstrip=True)],
        "c\r\n\u4e16\r\n a\t\t" * 5,
    ),
    "blanks that are made of two characters": (
        "precompiled, Whitespace",
        [AddedToken("\n", normalized=True)],
        "a" + "\r\n" * 20,
    ),
    "letters that are made of others": (
        "bert uncased",
        [AddedToken("a b", normalized=True), AddedToken("\u00e9 c", normalized=True)],
        "A B A b\u00c9 C a B" * 4,
    ),
    "what is stripped after one that another one is in": (
        "deberta",
        [AddedToken("x", normalized=True), AddedToken("<x>", normalized=False)],
        "! !!\u200babx!x!<x>   x\u200bab<x>!!x    \u200bab!x<x>!!<x>" * 2,
    ),
    "single words, and parts of words": (
        "bert cased",
        [AddedToken("ab", normalized=False, single_word=True), AddedToken("1x", normalized=False)],
        "ab ab abc 1xab ab1x ab! xab\u00e9 ab" * 2,
    ),
    "single words after one that another word is in": (
        "xlm-r",
        [AddedToken("ab", normalized=True, single_word=True), AddedToken("1x", normalized=False)],
        "1xab-c ab-c 1xab\u4e16 " * 2,
    ),
    "single words that are changed": (
        "NFKC, Lowercase",
        [AddedToken("ab", single_word=True), AddedToken("-b", single_word=True)],
        "AB \uff21b a\u200bb ab-b -b\u0301 -b ab" * 2,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_slices_are_counted_as_texts(kind: str, case: str) -> None:
    name, tokens, text = CASES[case]
    tokenizer = tokenizer_of(kind, name, random.Random(3))
    tokenizer.add_special_tokens([one for one in tokens if one.special])
    tokenizer.add_tokens([one for one in tokens if not one.special])
    tokenizer.encode_special_tokens = True
    counter = cutline.Encoding.from_tokenizers(tokenizer).intervals(text)
    for start, end in combinations(range(len(text) + 1), 2):
        want = tokenizer.encode(text[start:end], add_special_tokens=False).ids
        assert counter.count(start, end) == len(want), text[start:end]


@pytest.mark.parametrize("way", ["append", "prepend"])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_texts_of_single_words_grow(kind: str, normalized: bool, way: str) -> None:
    tokenizer = tokenizer_of(kind, "bert cased", random.Random(3))
    words = (AddedToken(one, normalized=normalized, single_word=True) for one in ("ab", "-b"))
    tokenizer.add_tokens([*words, AddedToken("1x", normalized=False)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for unit in ("ab ", "abab", "ab-b", "1xab ", "ab1x", "ab\u0301 -b "):
        text, grown = unit * 60, ""
        growing = encoding.appender() if way == "append" else encoding.prepender()
        for at in range(0, len(text), 2):
            if way == "append":
                growing.append(text[at : at + 2])
                grown = text[: at + 2]
            else:
                growing.prepend(text[len(text) - at - 2 : len(text) - at])
                grown = text[len(text) - at - 2 :]
            assert growing.count == len(tokenizer.encode(grown, add_special_tokens=False).ids)


@pytest.mark.parametrize("unit", ["ab ", "ab", "abc ", "<x><x>"])
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_chunks_count_each_character_a_few_times(
    kind: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is counted, and not how long it takes: each slice from scratch, as it grows."""
    tokenizer = tokenizer_of(kind, "t5", random.Random(3))
    single = AddedToken("ab", normalized=False, single_word=True)
    tokenizer.add_tokens([AddedToken("<x>") if "x" in unit else single])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    counted: list[int] = []
    for name in ("_count_pieces", "count_section"):
        monkeypatch.setattr(WordPipeline, name, _noting(getattr(WordPipeline, name), counted))
    text = unit * (6_000 // len(unit))
    encoding.split(text, 64)
    assert sum(counted) <= 8 * len(text)


def _noting(count: Any, lengths: list[int]) -> Any:
    def noted(self: WordPipeline, encoder: Any, text: str, **options: Any) -> int:
        lengths.append(len(text))
        found: int = count(self, encoder, text, **options)
        return found

    return noted


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_tokens_that_overlap_after_a_long_word(kind: str) -> None:
    """Where the first one of a group does not fit, which a long word without starts precedes."""
    if kind == "WordPiece":
        vocabulary = {"[UNK]": 0, "a": 1, "##a": 2, "b": 3, "##b": 4}
        model = tokenizers.models.WordPiece(
            vocabulary, unk_token="[UNK]", max_input_chars_per_word=100_000
        )
        pre: Any = tokenizers.pre_tokenizers.BertPreTokenizer()
    else:
        scores = [("<unk>", -30.0), ("\u2581", -2.0), ("a", -2.0), ("aa", -3.5), ("b", -2.0)]
        model = tokenizers.models.Unigram(scores, 0, False)
        pre = tokenizers.pre_tokenizers.Metaspace()
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre
    tokenizer.add_tokens([AddedToken(one, normalized=False) for one in ("b York", "York bb")])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    # The oracle takes minutes for the long word, each two letters of which have as many tokens.
    more, more_tokens = 4_990, {"WordPiece": 4_990, "Unigram": 2_495}[kind]
    short = "b " * 10 + "a" * 10 + " b York bb b " + "b " * 5
    text = short[:20] + "a" * more + short[20:]
    counter = encoding.intervals(text)
    for start in (0, 5):
        ends = range(24, len(short) + 1)
        counts = [len(ids_of(tokenizer, short[start:end]) or ()) for end in ends]
        for n in range(counts[0], counts[-1] + 1):
            longest = max(end for end, count in zip(ends, counts, strict=True) if count <= n) + more
            assert counter.split_at(start, n + more_tokens) == longest
            assert encoding.split_at(text[start:], n + more_tokens) == longest - start
            chunks = cutline.TextChunker(encoding, n + more_tokens)(text[start:])
            assert "".join(chunk.text for chunk in chunks) == text[start:]
            assert all(chunk.token_count <= n + more_tokens for chunk in chunks)


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_a_long_text_is_not_cut_inside_a_special_token(kind: str) -> None:
    tokenizer = tokenizer_of(kind, "bert cased", random.Random(3))
    tokenizer.add_special_tokens(["[a b]", AddedToken("<mask>", lstrip=True, normalized=False)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for unit in ("[a b]", "ab   <mask>"):
        text = unit * (1_700_000 // len(unit))
        tokens = encoding.encode(text, allowed_special="all")
        assert encoding.encode(text, allowed_special="all", num_threads=3) == tokens


SPARSE = {"[UNK]": 0, "a": 10, "b": 3}


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([(10, "a"), (11, "<x>")], r"has id 11, but `tokenizers` would give it 3 or 11"),
        ([(10, "a"), (3, "<x>")], r"has id 3, but `tokenizers` would give it 3 or 11"),
        ([(3, "<x>")], "has id 3, as `tokenizers` gives it, which is that of a token"),
    ],
)
def test_ids_that_versions_give_otherwise_or_twice_are_refused(
    tokens: list[tuple[int, str]], message: str, tmp_path: Any
) -> None:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(SPARSE, "[UNK]"))
    document = json.loads(made.to_str())
    flags = dict.fromkeys(("special", "normalized", "lstrip", "rstrip", "single_word"), False)
    document["added_tokens"] = [{"id": one, "content": text, **flags} for one, text in tokens]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(VocabularyError, match=message):
        cutline.load(path)


@pytest.mark.parametrize("way", ["append", "prepend"])
def test_marks_that_come_later_change_what_is_there(way: str) -> None:
    # An equals sign is a word of its own, but not with the mark that strikes it.
    tokens = ["[UNK]", "a", "b", "=", "a\u2260", "##\u2260", "##="]
    model = tokenizers.models.WordPiece({text: n for n, text in enumerate(tokens)})
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.NFC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for n in range(40):
        parts = "b " * n + "a=", "\u0338" + " b" * n
        want = tokenizer.encode("".join(parts)).ids
        if way == "append":
            growing = encoding.appender(parts[0])
            assert growing.count == len(tokenizer.encode(parts[0]).ids)
            growing.append(parts[1])
        else:
            growing = encoding.prepender(parts[1])
            assert growing.count == len(tokenizer.encode(parts[1]).ids)
            growing.prepend(parts[0])
        assert growing.count == len(want)


def test_parts_of_long_texts_do_not_cut_runs_that_are_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    norm = tokenizers.normalizers
    tokenizer = tokenizer_of("Unigram", "nothing, at white space", random.Random(5))
    runs = norm.Replace(tokenizers.Regex(" {2,}"), " ")
    tokenizer.normalizer = norm.Sequence([norm.NFKC(), runs])
    tokenizer.add_special_tokens([AddedToken(" ", normalized=True)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    monkeypatch.setattr(parts, "_PART", 1)
    monkeypatch.setattr(parts, "_SEARCHED", 1)
    for text in ("a        b", "ab c  d \u00a0 e  ", "  a   a  b c"):
        want = tokenizer.encode(text, add_special_tokens=False).ids
        assert encoding.encode(text, allowed_special="all", num_threads=2) == want


FIRST = "t5, first", "NFC, metaspace first", "replaced, metaspace first"


def first_with(name: str, *tokens: Any) -> Any:
    tokenizer = tokenizer_of("Unigram", name, random.Random(5))
    tokenizer.add_tokens([*tokens])
    tokenizer.encode_special_tokens = True
    return tokenizer


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("name", FIRST)
def test_only_the_first_word_of_a_text_is_led(name: str, normalized: bool) -> None:
    tokenizer = first_with(name, AddedToken("<x>", normalized=normalized))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    rng = random.Random(name)
    for _ in range(12):
        letters = ["a", "b", "ab", " ", "  ", "<x>", "\u00ae", "\ufb01", "e\u0301", "\ufdfa", "c"]
        text = "".join(rng.choices(letters, k=12))
        assert encoding.encode_ordinary(text) == tokenizer.encode(text).ids, ascii(text)
        counter, n = encoding.intervals(text), len(text)
        for start in range(n):
            counts = {end: count(text[start:end]) for end in range(start, n + 1)}
            assert {end: counter.count(start, end) for end in counts} == counts, ascii(text)
            for budget in (0, 2, 5):
                want = max(end for end, tokens in counts.items() if tokens <= budget)
                assert counter.split_at(start, budget) == want, (ascii(text), start, budget)
        appender, prepender = encoding.appender(), encoding.prepender()
        for at in range(n):
            appender.append(text[at])
            prepender.prepend(text[n - 1 - at])
            assert appender.count == count(text[: at + 1]), ascii(text)
            assert prepender.count == count(text[n - 1 - at :]), ascii(text)


@pytest.mark.parametrize(
    ("name", "token", "text"),
    [("t5, first", "(", "\u00a9"), ("replaced, metaspace first", "f", "\ufb01"),
     ("replaced, metaspace first", "i", "\u0130"),
     ("NFC, metaspace first", "\u0301", "a")],
)  # fmt: skip
def test_a_token_inside_what_the_first_character_becomes_is_refused(
    name: str, token: str, text: str
) -> None:
    """What follows it is at the start of the text, too, as `tokenizers` sees it."""
    tokenizer = first_with(name, AddedToken(token, normalized=True))
    if text != "a":  # a mark is refused whatever it is
        assert sum("\u2581" in one for one in tokenizer.encode(text).tokens[1:])
    with pytest.raises(VocabularyError, match="may end inside what"):
        cutline.Encoding.from_tokenizers(tokenizer)


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram", "Unigram with bytes"])
def test_no_longer_text_has_fewer_tokens_than_least(kind: str) -> None:
    rng = random.Random(kind)
    for name in ("xlm-r", "nothing, at white space", "NFKC, Lowercase"):
        tokenizer = tokenizer_of(kind, name, random.Random(5))
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
        for letters in ("ab", "abc \u4e16\ue000", "\ue000\ue001a", "the in"):
            growing, least, counts = encoding.appender(), [], []
            for _ in range(300):
                growing.append(rng.choice(letters))
                counts.append(growing.count)
                least.append(growing.least)
            assert all(few <= min(counts[at:]) for at, few in enumerate(least))
            assert kind == "WordPiece" or least[-1] > counts[-1] // 2


STRIPPED = (
    *("deberta", "deberta, with white space in words", "deberta, of transformers 5", "t5"),
    *("metaspace, strip at the end", "stripped, with white space in words"),
)
FLAGS: tuple[dict[str, bool], ...] = ({}, {"lstrip": True, "rstrip": True}, {"single_word": True})


@short_or_long("n_texts", 6, 20)
@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("name", STRIPPED)
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_tokens_in_texts_that_are_stripped(
    kind: str, name: str, flags: dict[str, bool], monkeypatch: pytest.MonkeyPatch, n_texts: int
) -> None:
    """White space before a token is not at the end of the text."""
    settle_at_once(monkeypatch)
    rng = random.Random(f"{kind} {name} {flags}")
    tokenizer = tokenizer_of(kind, name, rng)
    tokenizer.add_tokens([AddedToken("<x>", normalized=True, **flags)])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    for _ in range(n_texts):
        pool = ["<x>", *rng.sample(["<", " ", "  ", "\n", "\x85", "a", "e\u0301", "\ufdfa"], 4)]
        text = "".join(rng.choices(pool, k=rng.choice((10, 90))))
        counter, n = encoding.intervals(text), len(text)
        start = rng.choice((0, rng.randrange(n)))
        counts = {end: count(text[start:end]) for end in range(start, n + 1)}
        assert {end: counter.count(start, end) for end in counts} == counts, ascii(text)
        for budget in (0, 2, rng.randint(0, max(counts.values()))):
            want = max(end for end, tokens in counts.items() if tokens <= budget)
            assert counter.split_at(start, budget) == want, (ascii(text), start, budget)
        appender, prepender = encoding.appender(), encoding.prepender()
        for at in range(n):
            appender.append(text[at])
            prepender.prepend(text[n - 1 - at])
            assert appender.count == count(text[: at + 1]), ascii(text[: at + 1])
            assert prepender.count == count(text[n - 1 - at :]), ascii(text[n - 1 - at :])
        appender.truncate(n // 2)
        prepender.truncate(n // 2)
        assert appender.count == count(text[: n // 2]), ascii(text)
        assert prepender.count == count(text[n - n // 2 :]), ascii(text)


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
@pytest.mark.parametrize("splitter", ["at a", "first", "none"])
def test_tokens_across_an_end_that_is_settled(
    kind: str, splitter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of tokens that strip blanks, some with blanks in them, no place inside a word is apart."""
    settle_at_once(monkeypatch)
    pre = tokenizers.pre_tokenizers
    splitters = {
        "at a": pre.CharDelimiterSplit("a"),
        "first": pre.Metaspace(prepend_scheme="first"),
        "none": pre.Metaspace(prepend_scheme="never", split=False),
    }
    for seed in range(25):
        rng = random.Random(f"{kind} {splitter} {seed}")
        pieces = ["b", "x", "ax", "bb", "xbx", "\u2581", "\u2581b"]
        if kind == "WordPiece":
            vocab = {text: at for at, text in enumerate(["[UNK]", *pieces, "##b", "##xb"])}
            model = tokenizers.models.WordPiece(
                vocab, unk_token="[UNK]", max_input_chars_per_word=rng.choice((1, 2, 4))
            )
        else:
            rows = [("<unk>", 0.0), *((text, rng.choice((-1.0, -2.0, -2.5))) for text in pieces)]
            model = tokenizers.models.Unigram(rows, 0)
        tokenizer = tokenizers.Tokenizer(model)
        tokenizer.pre_tokenizer = splitters[splitter]
        tokenizer.add_tokens(
            [
                AddedToken("".join(rng.choices("abx ", k=n)), normalized=False, **flags)
                for n, flags in zip(rng.sample(range(1, 9), 4), (*FLAGS, {}), strict=True)
            ]
        )
        contents = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
        parts = [*contents, *(one[1:] for one in contents), *(one[:-1] for one in contents)]
        text = "".join(rng.choices([*parts, "xxxxx", "bx", "a"], k=20))
        prepender = encoding.prepender()
        for at in range(len(text) - 1, -1, -1):
            prepender.prepend(text[at])
            if (want := ids_of(tokenizer, text[at:])) is not None:
                assert prepender.count == len(want), (seed, text[at:])
