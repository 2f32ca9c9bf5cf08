"""Cuts of texts without safe split points: how much text is counted, which no clock disturbs."""

import random
from itertools import pairwise
from typing import Any

import pytest

import cutline
from cutline.pipeline import slice_counter, slices
from cutline.pipeline.entangled_texts import EntangledTexts
from cutline.pipeline.longest_fit import longest_fit_by_prefixes
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.slice_counter import SliceCounter
from cutline.pipeline.upper_bound import UpperBound
from cutline.pipeline.words import WordPipeline
from tests.pipeline.characters import make_document
from tests.pipeline.families import added, build, count_of
from tests.words.tokenizers_of import tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

LETTERS = {
    "one letter": "a",
    "two letters": "ab",
    "letters": "abcdefghijklm",
    "words": "ab ",
    "accents": "e\u0301",
    "Korean": "\u1100\u1161\u11a8",
    "han": "\u4e16\u754c\u4e2d\u6587",
}
MARKED = LETTERS | {"marks among words": "Z\u0351\u036b a"}
FAMILIES = (
    "blanks as letters",
    "led by a mark",
    "prefix space",
    "qwen 2.5",
    "lower case",
    "accents removed",
    "precompiled",
    "deepseek coder",
    "stripped",
)
DROPPING = (  # or merging, or marking
    *("scripts apart", "words removed", "text merged", "as bert splits"),
    *("clip", "words led by blanks", "subwords"),
)
TOKENS = 64


@pytest.fixture
def counted_words(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The same for models that encode words apart."""
    lengths: list[int] = []
    kinds = EntangledTexts, WordPipeline, WordPipeline, WordPipeline
    names = "count_normalized", "count_kept", "count", "_count_pieces"
    for kind, name in zip(kinds, names, strict=True):
        monkeypatch.setattr(kind, name, _noting(getattr(kind, name), lengths))
    return lengths


def _noting(count: Any, lengths: list[int]) -> Any:
    def noted(self: object, *given: Any, **options: Any) -> int:
        lengths.append(len(given[-1]))
        found: int = count(self, *given, **options)
        return found

    return noted


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The characters of each slice that was counted from scratch."""
    lengths: list[int] = []
    count = Pipeline._count_pieces

    def noted(self: Pipeline, encoder: Any, text: str, *, at_start: bool) -> int:
        lengths.append(len(text))
        return count(self, encoder, text, at_start=at_start)

    monkeypatch.setattr(Pipeline, "_count_pieces", noted)
    return lengths


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", LETTERS)
def test_chunks_count_each_character_a_few_times(
    family: str, kind: str, counted: list[int]
) -> None:
    encoding = cutline.Encoding.from_tokenizers(build(family))
    text = "".join(random.Random(kind).choices(LETTERS[kind], k=6_000))
    encoding.split(text, TOKENS)
    assert sum(counted) <= 8 * len(text)


@pytest.mark.parametrize("family", DROPPING)
@pytest.mark.parametrize("kind", MARKED)
def test_chunks_do_so_where_pieces_are_dropped_merged_or_marked(
    family: str, kind: str, counted: list[int]
) -> None:
    encoding = cutline.Encoding.from_tokenizers(build(family))
    text = "".join(random.Random(kind).choices(MARKED[kind], k=6_000))
    encoding.split(text, TOKENS)
    assert sum(counted) <= 24 * len(text)


@pytest.mark.parametrize("family", [*DROPPING, "decomposed"])
def test_chunks_of_marks_on_one_letter_take_linear_work(family: str, counted: list[int]) -> None:
    encoding = cutline.Encoding.from_tokenizers(build(family))

    def work(length: int) -> int:
        counted.clear()
        marks = random.Random(family).choices("\u0301\u0323\u0302\u0327", k=length)
        encoding.split("e" + "".join(marks), TOKENS)
        return sum(counted)

    at_4_000 = work(4_000)
    assert at_4_000 <= 400 * 4_000
    assert work(12_000) <= 4 * max(at_4_000, 4_000)


@pytest.mark.parametrize("family", ["gpt 2", "qwen 2.5", "not split"])
@pytest.mark.parametrize("letters", [["ab"], ["a", "b"], [" ab"], ["abc", "ab", " ", "!"]])
def test_chunks_do_so_among_tokens_for_single_words(
    family: str, letters: list[str], counted: list[int]
) -> None:
    tokenizer = build(family)
    tokenizer.add_tokens(added("ab", single_word=True))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "".join(random.Random(family).choices(letters, k=3_000))
    encoding.split(text, TOKENS)
    assert sum(counted) <= 24 * len(text)


@pytest.mark.parametrize("kind", LETTERS)
def test_marks_are_not_sought_in_the_rest_of_a_text(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    of_marks = UpperBound._bytes_of_marks

    def noted(self: UpperBound, text: str) -> set[int]:
        lengths.append(len(text))
        return of_marks(self, text)

    monkeypatch.setattr(UpperBound, "_bytes_of_marks", noted)
    text = LETTERS[kind] * (6_000 // len(LETTERS[kind]))
    cutline.Encoding.from_tokenizers(build("qwen 2.5")).split(text, TOKENS)
    assert sum(lengths) <= 8 * len(text)


@pytest.mark.parametrize("flags", [{}, {"normalized": True}, {"lstrip": True, "rstrip": True}])
@pytest.mark.parametrize("family", ["gpt 2", "qwen 2.5", "accents removed", "prefix space"])
def test_chunks_do_so_among_added_tokens_that_overlap(
    family: str, flags: dict[str, bool], counted: list[int]
) -> None:
    tokenizer = build(family)
    tokenizer.add_tokens(added("aba", "bab", "aa", **flags))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for kind in ("two letters", "one letter"):
        counted.clear()
        text = "".join(random.Random(kind).choices(LETTERS[kind], k=6_000))
        encoding.split(text, TOKENS)
        assert sum(counted) <= 24 * len(text)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", LETTERS)
def test_a_cut_looks_at_little_text_beyond_it(
    family: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What n tokens could cover at most is many times what they do."""
    encoding = cutline.Encoding.from_tokenizers(build(family))
    lengths: list[int] = []
    make = slices._counter

    def noted(pipeline: Any, encoding: Any, text: str) -> Any:
        lengths.append(len(text))
        return make(pipeline, encoding, text)

    monkeypatch.setattr(slices, "_counter", noted)
    text = "".join(random.Random(f"of {kind}").choices(LETTERS[kind], k=60_000))
    end = encoding.split_at(text, TOKENS)
    assert sum(lengths) <= 8 * (end + 512)
    text = text[:end] + text[end:][:2_000]
    assert end == encoding.intervals(text).split_at(0, TOKENS)


CLUSTERS = {
    "tones": "e\u302e",
    "accents": "e\u0301",
    "marks": "\u0301\u0302\u0323",
    "emoji": "\U0001f469\u200d",
    "consonants": "\u0915\u094d",
    "unknown and blanks": "\ue000e\u0301 ",
}


@pytest.mark.parametrize(
    "name",
    [
        *("nllb", "nllb, as converted", "lower case, composed"),
        *("command-r", "classes replaced", "blanks as letters"),
    ],
)
@pytest.mark.parametrize("kind", CLUSTERS)
def test_to_cut_clusters_takes_linear_work(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    families = ("command-r", "classes replaced", "blanks as letters")
    made = build(name) if name in families else tokenizers.Tokenizer.from_str(make_document(name))
    encoding = cutline.Encoding.from_tokenizers(made)
    lengths: list[int] = []

    def noting(count: Any) -> Any:
        def noted(self: Pipeline, encoder: Any, text: str) -> Any:
            lengths.append(len(text))
            return count(self, encoder, text)

        return noted

    for name_of_count in ("count", "count_after"):
        monkeypatch.setattr(Pipeline, name_of_count, noting(getattr(Pipeline, name_of_count)))

    def by_prefixes(pipeline: Pipeline, encoder: Any, text: str, n: int, *, inside: bool) -> Any:
        lengths.append(len(text))
        return longest_fit_by_prefixes(pipeline, encoder, text, n, inside=inside)

    def grown(_counter: SliceCounter, start: int, end: int, _n: int) -> None:
        """It would read the text once more for each slice, with all that may change at its end."""
        assert end - start <= slice_counter._SHORT

    monkeypatch.setattr(slice_counter, "longest_fit_by_prefixes", by_prefixes)
    monkeypatch.setattr(SliceCounter, "_longest_grown", grown)

    def work(length: int) -> int:
        lengths.clear()
        text = "e" + (CLUSTERS[kind] * length)[:length]
        counter, start = encoding.intervals(text), 0
        while start < length:
            start = max(start + 1, counter.split_at(start, TOKENS))
        return sum(lengths)

    at_3_000 = work(3_000)
    assert kind == "marks" or at_3_000 <= 8 * 3_000  # of marks that are sorted, many ends are tried
    assert work(9_000) <= 4 * max(at_3_000, 3_000)


@pytest.mark.parametrize("name", ["added after the first", "seamless"])
def test_chunks_do_so_where_text_after_an_added_token_has_no_prefix(
    name: str, counted: list[int]
) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)

    def tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    rng = random.Random(name)
    for pool in (["<x>"], ["<x>", " "], ["<x>", "abc"], ["<x>", "the", "\u65e5", " "]):
        text = "".join(rng.choices(pool, k=120))
        for n in (1, 7, 40):
            start = rng.choice((0, 3, rng.randrange(len(text))))
            ends = range(start, len(text) + 1)
            greatest = max(end for end in ends if tokens(text[start:end]) <= n)
            assert encoding.split_at(text, n, start) == greatest, (text, start, n)
            assert encoding.intervals(text).split_at(start, n) == greatest, (text, start, n)
    for part in ("<x>", "<x>   "):
        counted.clear()
        text = part * (6_000 // len(part))
        encoding.split(text, TOKENS)
        assert sum(counted) <= 24 * len(text)


@pytest.mark.parametrize("family", ["clip", "words led by blanks"])
def test_marks_in_a_word_that_is_marked_are_not_all_tried(family: str, counted: list[int]) -> None:
    encoding = cutline.Encoding.from_tokenizers(build(family))
    marks = random.Random(family).choices("\u064b\u064c\u064d\u0653\u0654\u0670", k=2_000)
    encoding.split_at("\u0627" + "".join(marks), 16)
    assert sum(length > 1_000 for length in counted) <= 20


@pytest.mark.parametrize(
    "name",
    ["metaspace, strip at the end", "stripped, with white space in words", "NFC, metaspace first"],
)
@pytest.mark.parametrize("kind", ["Unigram", "Unigram with bytes"])
def test_chunks_of_marks_take_linear_work_where_texts_are_stripped_or_led(
    kind: str, name: str, counted_words: list[int]
) -> None:
    encoding = cutline.Encoding.from_tokenizers(tokenizer_of(kind, name, random.Random(5)))

    def work(marks: str) -> int:
        counted_words.clear()
        encoding.split("e" + marks, TOKENS)
        return sum(counted_words)

    several = "".join(random.Random(name).choices("\u0301\u0323\u0302\u0327", k=6_000))
    for marks in ("\u0301" * 6_000, several, "\u0301" * 3_000 + "\u0323" * 3_000):
        assert work(marks) <= 4 * max(work(marks[2_000:4_000]), 20 * 2_000)


@pytest.mark.parametrize("name", ["deberta", "t5", "metaspace, strip at the end"])
@pytest.mark.parametrize("part", ["a", "e\u0301", "the\u0600", "<x>", "<x>   ", "<x", "\ufdfa"])
def test_chunks_do_so_among_tokens_in_stripped_texts(
    part: str, name: str, counted_words: list[int]
) -> None:
    tokenizer = tokenizer_of("Unigram", name, random.Random(5))
    tokenizer.add_tokens(added("<x>", normalized=True))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = part * (3_000 // len(part))
    encoding.split(text, TOKENS)
    assert sum(counted_words) <= 200 * len(text)


@pytest.mark.parametrize(
    ("way", "part"),
    [
        *(("appender", part) for part in ("x-", "e\u0301", "the\u0600", "<x>", "<x>   ", "<x")),
        *(("prepender", part) for part in ("e\u0301", "ab", "<x>", "<x>   ")),
    ],
)
@pytest.mark.parametrize("name", ["deberta", "t5", "metaspace, strip at the end"])
def test_texts_grow_among_tokens_in_stripped_texts(
    part: str, name: str, way: str, counted_words: list[int]
) -> None:
    tokenizer = tokenizer_of("Unigram", name, random.Random(5))
    tokenizer.add_tokens(added("<x>", normalized=True))
    grown: Any = getattr(cutline.Encoding.from_tokenizers(tokenizer), way)()
    text = part * (3_000 // len(part))
    for one in text if way == "appender" else text[::-1]:
        grown.append(one) if way == "appender" else grown.prepend(one)
        assert grown.count >= 0
    assert sum(counted_words) <= 200 * len(text)


OVERLAPS = ("stripped", "qwen 2.5", "precompiled", "single words", "blanks as letters")


@pytest.mark.parametrize("family", OVERLAPS[:-1])
@pytest.mark.parametrize("text", ["x" + 1_500 * " " + "x", 1_000 * "ab", 500 * "e\u0301 "])
def test_slices_with_one_end_are_counted_together(
    family: str, text: str, counted: list[int]
) -> None:
    """What overlaps a chunk may be a long word, or many blanks that are no token."""
    encoding = cutline.Encoding.from_tokenizers(build(family))
    counter, end, rng = encoding.intervals(text), len(text) - 1, random.Random(family)
    places = sorted(rng.sample(range(end), k=400), reverse=True)
    if not hasattr(counter, "_counts_to"):
        pytest.skip("nothing changes the text")
    assert counter.total >= 0  # what counts are looked up in is made
    counted.clear()
    found = [*counter._counts_to(end, places)]
    work = sum(counted)
    assert found == [counter.count(place, end) for place in places]
    assert work <= 64 * len(text)


@pytest.mark.parametrize("family", OVERLAPS)
def test_overlaps_are_the_longest_that_fit(family: str) -> None:
    tokenizer = build(family)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    for text in ("x" + 300 * " " + "x", 300 * "ab", 100 * "e\u0301 "):
        chunks = encoding.split(text, 40, 20)
        for one, next_one in pairwise(chunks):
            shared = range(next_one.start_index, one.end_index)
            assert all(count(text[at : one.end_index]) <= 20 for at in shared)
            if next_one.start_index > one.start_index + 1:
                assert count(text[next_one.start_index - 1 : one.end_index]) > 20


@pytest.mark.parametrize("family", ["precompiled", "qwen 2.5", "lower case"])
def test_steps_look_at_little_text_beyond_a_cut(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at, changes = list[int](), Pipeline._changes_after

    def noted(self: Pipeline, text: str) -> bool:
        looked_at.append(len(text))
        return changes(self, text)

    monkeypatch.setattr(Pipeline, "_changes_after", noted)
    tokenizer, text = build(family), 800 * "tie\u0302\u0301ng"
    cut = cutline.Encoding.from_tokenizers(tokenizer).split(text, 8)
    assert sum(looked_at) <= 32 * len(text)
    count = count_of(tokenizer)
    for one in [*cut[:9], *cut[-9:-1]]:
        assert one.token_count == count(one.text) <= 8
        assert count(text[one.start_index : one.end_index + 1]) > 8
