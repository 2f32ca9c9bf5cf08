"""Chunks and cuts within several limits: all ends are tried, counted by other encoders."""

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline import TextChunker, TokenChunker
from cutline.chunking import chunk_stream
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.chunking.level_choice import make_levels
from cutline.counting.limits import further_limits
from cutline.counting.together import Together
from cutline.errors import BudgetError
from tests.chunking.contract import check
from tests.chunking.test_choice import NAMES, WORDS, Hidden, expected_end
from tests.chunking.test_contract import CHUNKERS, OPTIONS, Make
from tests.conftest import short_or_long
from tests.oracles import Count, counter, with_count
from tests.pipeline import families
from tests.texts import NAMED_TEXTS, random_texts
from tests.vocabularies import SCANS, encoding_of, random_ranks, with_bytes
from tests.wrapping import made

OVER = 1 << 40
Limited = tuple[Any, Count, int]
"""A key of `also_fits` or an encoding, what counts instead of it, and a maximum."""


def utf8_bytes(text: str) -> int:
    return len(text.encode())


def loaded(source: Any) -> tuple[cutline.Encoding, Count]:
    """A tokenizer of the package `tokenizers` as an encoding, and the count of its own."""
    tokenizer = families.tokenizers.Tokenizer.from_str(source.to_str())
    tokenizer.no_truncation()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    tokenizer.encode_special_tokens = True  # their text is ordinary text
    return encoding, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


@cache
def measures() -> list[tuple[Any, Count]]:
    """All kinds that limits can have."""
    named: list[tuple[Any, Count]] = [
        (name, counter(name)) for name in ("o200k_base", "cl100k_base", "r50k_base")
    ]
    return [
        *named,
        (made.wrapped("bert"), made.counter("bert")),
        (made.wrapped("words"), made.counter("words")),
        loaded(families.build("qwen 2.5")),
        loaded(families.build("modernbert")),
        loaded(made.made("bert")),
        loaded(made.made("unigram_of_t5")),
        ("bytes", utf8_bytes),
        ("characters", len),
    ]


def joint_count(own: Count, others: Sequence[Limited]) -> Count:
    """Count tokens; what is over another limit has too many for any budget."""

    def count(text: str) -> int:
        return OVER if any(other(text) > most for _, other, most in others) else own(text)

    return count


def also_fits(others: Sequence[Limited]) -> dict[Any, int]:
    return {key: most for key, _, most in others}


def greatest_end(count: Count, text: str, start: int, n: int) -> int:
    """Every end is tried."""
    return next(
        e for e in range(len(text), start - 1, -1) if e == start or count(text[start:e]) <= n
    )


def joint_spans(
    own: Count, joint: Count, text: str, n: int, overlap: int
) -> list[tuple[int, int]] | None:
    """The chunks by the definitions of docs/cutting.md; None: some character cannot fit."""
    spans: list[tuple[int, int]] = []
    start = end = 0
    while end < len(text):
        floor = end
        place = start = floor
        while (
            overlap
            and spans
            and place - 1 > spans[-1][0]
            and own(text[place - 1 : floor]) <= overlap
        ):
            place -= 1
            if greatest_end(joint, text, place, n) > floor:
                start = place
        end = greatest_end(joint, text, start, n)
        if end <= floor:
            return None
        spans.append((start, end))
    return spans


def check_cuts(
    text: str, own: tuple[Any, Count], others: Sequence[Limited], n: int, overlap: int
) -> None:
    key, count = own
    encoding = cutline.get_encoding(key) if isinstance(key, str) else key
    joint = joint_count(count, others)
    for start in range(0, len(text) + 1, 1 + len(text) // 7):
        found = encoding.split_at(text, n, start, also_fits=also_fits(others))
        assert found == greatest_end(joint, text, start, n)
    spans = joint_spans(count, joint, text, n, overlap)
    ways: list[Callable[[], list[cutline.Chunk]]] = [
        lambda: encoding.split(text, n, overlap, also_fits=also_fits(others)),
        lambda: TokenChunker(encoding, n, overlap, also_fits=also_fits(others)).chunk(text),
    ]
    for cut in ways:
        if spans is None:
            with pytest.raises(BudgetError):
                cut()
            continue
        chunks = cut()
        assert [(chunk.start_index, chunk.end_index) for chunk in chunks] == spans
        assert [chunk.token_count for chunk in chunks] == [count(chunk.text) for chunk in chunks]


def drawn_limits(rng: random.Random, text: str) -> tuple[tuple[Any, Count], list[Limited], int]:
    """A tokenizer that can cut exactly, one or two others, and budgets that compete."""
    own, *others = rng.sample(measures(), rng.choice((2, 2, 3)))
    while own[0] in ("bytes", "characters"):
        own, *others = rng.sample(measures(), rng.choice((2, 2, 3)))
    length = rng.choice((3, 8, 20))
    part = text[:length] or "a"
    limits = [(key, count, max(1, count(part) + rng.randint(-1, 2))) for key, count in others]
    return own, limits, max(1, own[1](part) + rng.randint(-1, 2))


@short_or_long("n_texts", 150, 3_000)
def test_the_greatest_end_within_all_limits(n_texts: int) -> None:
    rng = random.Random(11)
    texts = [*random_texts(21, n_texts), *NAMED_TEXTS.values()]
    for text in texts:
        text = text[: rng.choice((25, 60))]
        own, others, n = drawn_limits(rng, text)
        check_cuts(text, own, others, n, rng.randrange(n))


@short_or_long("n_pairs", 60, 1_500)
def test_drawn_tokenizers_with_any_ids(n_pairs: int) -> None:
    rng = random.Random(12)
    for _ in range(n_pairs):
        alphabet = rng.choice((b"a", b"ab", b"abc "))
        drawn = [with_count(random_ranks(rng, alphabet), rng.choice(SCANS)) for _ in range(2)]
        text = bytes(rng.choices(alphabet, k=rng.choice((8, 40, 90)))).decode()
        n, most = rng.randint(1, 9), rng.randint(1, 9)
        check_cuts(text, drawn[0], [(*drawn[1], most)], n, rng.randrange(n))


def test_ends_that_fit_one_and_ends_that_fit_the_other_may_alternate() -> None:
    """Runs that powers of 2 shorten in one tokenizer, and powers of 3 in the other."""
    of_two = with_count(with_bytes(tuple(b"=" * 2**k for k in range(1, 9))), None)
    of_three = with_count(with_bytes(tuple(b"=" * k for k in (2, 3, 9, 6, 27, 18, 81, 54))), None)
    text = "=" * 300
    for n, most in ((1, 1), (2, 3), (3, 2), (4, 4), (2, 8)):
        check_cuts(text, of_two, [(*of_three, most)], n, 0)
        check_cuts(text, of_three, [(*of_two, most)], n, n // 2)
    joint = joint_count(of_two[1], [(*of_three, 3)])
    least = min(greatest_end(of_two[1], text, 0, 2), greatest_end(of_three[1], text, 0, 3))
    assert least - greatest_end(joint, text, 0, 2) > 20


def joint_ends(
    text: str, own: Count, others: Sequence[Limited], size: int, min_fill: float
) -> list[tuple[int, str]]:
    """The rule of `TextChunker`: `min_fill` is a share of what the limits leave of the budget."""
    levels, ends, start = make_levels(NAMES, "grapheme"), [], 0
    joint = joint_count(own, others)
    while start < len(text):
        longest = greatest_end(joint, text, start, size)
        most = size
        if longest < greatest_end(own, text, start, size):
            most = own(text[start:longest])
        found = expected_end(text, start, start, levels, joint, size, ceil(min_fill * most))
        assert found is not None
        ends.append(found)
        start = found[0]
    return ends


@settings(max_examples=200)
@given(
    text=st.lists(WORDS, max_size=25).map("".join),
    names=st.sampled_from([("o200k_base", "r50k_base"), ("cl100k_base", "o200k_base")]),
    sizes=st.tuples(st.sampled_from([4, 6, 12]), st.sampled_from([4, 6, 12, 40])),
    min_fill=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    most_bytes=st.sampled_from([12, 40, 1000]),
)
def test_the_last_boundary_of_the_best_level_within_all_limits(
    text: str, names: tuple[str, str], sizes: tuple[int, int], min_fill: float, most_bytes: int
) -> None:
    others: list[Limited] = [(names[1], counter(names[1]), sizes[1])]
    if most_bytes < 1000:
        others.append(("bytes", utf8_bytes, most_bytes))
    chunker = TextChunker(names[0], sizes[0], min_fill=min_fill, also_fits=also_fits(others))
    found = [(chunk.end_index, chunk.metadata["boundary"]) for chunk in chunker(text)]
    assert found == joint_ends(text, counter(names[0]), others, sizes[0], min_fill)


def parts_of(text: str, rng: random.Random) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + rng.choice([0, 1, 3, 50, 4000])
        yield text[start:end]
        start = end


def check_all(
    make: Make, text: str, others: Sequence[Limited], size: int, overlap: int, **options: Any
) -> None:
    chunker = make("o200k_base", size, overlap, also_fits=also_fits(others), **options)
    chunks = chunker.chunk(text)
    own, strip = counter("o200k_base"), options.get("strip", False)
    check(text, chunks, own, chunk_size=size, chunk_overlap=overlap, strip=strip)
    for chunk in chunks:
        for _, count, most in others:
            assert count(chunk.text) <= most
    assert list(chunker.iter_chunks(parts_of(text, random.Random(3)))) == chunks
    # A limit that is never reached changes nothing.
    wide = {key: len(text) * 8 + 8 for key, _, _ in others}
    with_wide = make("o200k_base", size, overlap, also_fits=wide, **options).chunk(text)
    assert with_wide == make("o200k_base", size, overlap, **options).chunk(text)


@short_or_long("every", 12, 1)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_every_chunker_with_every_option(
    monkeypatch: pytest.MonkeyPatch, make: Make, options: dict[str, Any], every: int
) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 1)
    texts = [*(text[:600] for text in NAMED_TEXTS.values()), *random_texts(31, 60)]
    kinds = measures()
    for number, text in enumerate(texts):
        if number % every:
            continue
        size, overlap = ((8, 0), (8, 3), (20, 6), (64, 16))[number // every % 4]
        # A character has at most 4 bytes; of BERT's tokens, one.
        first, second = kinds[1 + number % 2], kinds[3 + number // every % (len(kinds) - 3)]
        others = [(*first, 4 + number % 5 * 3), (*second, 8 + number % 3 * 10)]
        check_all(make, text, others, size, overlap, **options)


@settings(max_examples=200)
@given(
    text=st.lists(WORDS, max_size=120).map("".join),
    size=st.sampled_from([4, 8, 30, 100]),
    most=st.sampled_from([4, 7, 33, 90]),
    min_fill=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    levels=st.sampled_from([NAMES, (), ("line",), ("line", "paragraph", "word"), ("sentence",)]),
    stable=st.booleans(),
    boundary=st.sampled_from(["grapheme", "character"]),
    units=st.sampled_from([{}, {}, {"bytes": 40}, {"characters": 30}, {"bytes": 400}]),
)
def test_the_easy_way_to_chunks_gives_those_of_the_hard_one(
    text: str, size: int, most: int, min_fill: float, levels: Sequence[str], stable: bool,
    boundary: str, units: dict[str, int],
) -> None:  # fmt: skip
    chunker = TextChunker(
        "o200k_base", size, min_fill=min_fill, levels=levels, stable=stable, boundary=boundary,
        also_fits={"cl100k_base": most, "r50k_base": 3 * most // 2} | units,
    )  # fmt: skip
    intervals = chunker.encoding.intervals(text)
    easy, hard = (
        [*ChunkStream(chunker._rules).chunks(finder, 0, len(text), final=True)]
        for finder in (
            ChunkFinder(text, kind, chunker._rules) for kind in (intervals, Hidden(intervals))
        )
    )
    assert easy == hard


@pytest.mark.parametrize("make", [TokenChunker, TextChunker])
@pytest.mark.parametrize("overlap", [0, 2])
def test_a_character_over_a_limit_is_named_with_it(make: Make, overlap: int) -> None:
    text = "word " * 400 + "🧑"
    limits = {"r50k_base": 2, "bytes": 2000}
    with pytest.raises(BudgetError) as caught:
        make("o200k_base", 500, overlap, also_fits=limits).chunk(text)
    assert str(caught.value) == (
        "character '🧑' at offset 2000 has 3 tokens of 'r50k_base' on its own, more than the 2 of "
        "also_fits; it takes 3"
    )
    with pytest.raises(BudgetError, match="at offset 2000 has 4 bytes on its own, more than the 3"):
        list(make("o200k_base", 500, overlap, also_fits={"bytes": 3}).iter_chunks(iter(text)))
    with pytest.raises(BudgetError, match="more than chunk_size=2"):
        make("r50k_base", 2, also_fits={"o200k_base": 9}).chunk(text)


def test_the_tokens_that_are_sent_count_against_the_first_budget_only() -> None:
    chunker = TextChunker(
        "o200k_base", 20, count_text=lambda chunk: chunk.token_count + 7, also_fits={"bytes": 30}
    )
    text = "One fish, two fish, red fish, blue fish. " * 20 + "a b c d e f g h i j k l m n o p " * 9
    chunks = chunker(text)
    assert max(chunk.token_count for chunk in chunks) == 13
    assert max(len(chunk.text) for chunk in chunks) == 30
    tight = TextChunker("o200k_base", 4, count_text=lambda _: 9, also_fits={"bytes": 30})
    with pytest.raises(BudgetError, match="count_text leaves no room"):
        tight("a")


def test_where_another_limit_ends_chunks_they_still_end_at_sentences() -> None:
    text = "This is a sentence of ten words, more or less. " * 40
    chunks = TextChunker("o200k_base", 2000, also_fits={"cl100k_base": 40})(text)
    assert {chunk.metadata["boundary"] for chunk in chunks} == {"sentence", "end"}
    even = TextChunker("o200k_base", 2000, balance=True, min_fill=1, also_fits={"bytes": 1700})
    assert [len(chunk.text) for chunk in even(text)] == [940, 940]


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "no mapping": (["gpt2"], TypeError, "also_fits must be a mapping from encodings"),
    "no number": ({"gpt2": "9"}, TypeError, "also_fits must have integers or 'model' as values"),
    "no model": ({"gpt2": "model"}, ValueError, "also_fits with 'model' needs the model's limit"),
    "no model's unit": ({"bytes": "model"}, ValueError, "that of 'bytes' is not known"),
    "nothing": ({"gpt2": 0}, ValueError, "must have numbers of 1 or more, got 0 of 'gpt2'"),
    "unknown name": ({"gpt 9": 5}, cutline.UnknownEncodingError, "gpt 9"),
    "no tokenizer": ({4: 5}, TypeError, "encoding must be an Encoding, its name"),
}


@pytest.mark.parametrize(("limits", "kind", "message"), BAD.values(), ids=BAD)
def test_what_is_no_limit_is_refused(limits: Any, kind: type[Exception], message: str) -> None:
    encoding = cutline.get_encoding("o200k_base")
    for call in (
        lambda: TextChunker(encoding, 8, also_fits=limits),
        lambda: encoding.split("a", 8, also_fits=limits),
        lambda: made.wrapped("bert").split("a", 8, also_fits=limits),
    ):
        with pytest.raises(kind, match=message):
            call()
    if limits != {"gpt2": 0}:
        with pytest.raises(kind, match=message):
            encoding.split_at("a", 8, also_fits=limits)
    else:
        assert encoding.split_at("a", 8, also_fits=limits) == 0


def test_limits_are_shown_copied_and_pickled() -> None:
    limits = {"gpt2": 90, "bytes": 300, "characters": 200, cutline.get_encoding("gpt2"): 80}
    chunker = TextChunker("o200k_base", 64, also_fits=limits)
    assert repr(chunker) == (
        "TextChunker('o200k_base', chunk_size=64, "
        "also_fits={'gpt2': 80, 'bytes': 300, 'characters': 200})"
    )
    twin = pickle.loads(pickle.dumps(chunker))
    assert twin.also_fits == chunker.also_fits == dict(further_limits(limits))
    text = "Some words of a longer text. " * 60
    assert twin(text) == chunker(text) == chunker.with_count_text(None)(text)
    assert TextChunker("o200k_base", 64).also_fits == {}
    assert TextChunker("o200k_base", 64, also_fits=chunker.also_fits).also_fits == twin.also_fits
    bert = TokenChunker("o200k_base", 64, also_fits={made.wrapped("bert"): 30})
    assert pickle.loads(pickle.dumps(bert))(text) == bert(text)


@pytest.mark.parametrize("kind", made.KINDS)
def test_whatever_is_wrapped_its_limit_holds(kind: str) -> None:
    count = made.counter(kind)
    for text in made.some_texts(kind):
        for make, overlap in ((TokenChunker, 0), (TextChunker, 4)):
            chunks = make("o200k_base", 40, overlap, also_fits={made.wrapped(kind): 12})(text)
            check(text, chunks, counter("o200k_base"), chunk_size=40, chunk_overlap=overlap)
            assert all(count(chunk.text) <= 12 for chunk in chunks)


def test_a_character_that_fits_is_found_whatever_a_cut_says() -> None:
    class Shy:
        """Counts characters, and finds no end."""

        def count(self, start: int, end: int) -> int:
            return end - start

        def count_many(self, spans: Sequence[tuple[int, int]]) -> Iterator[int]:
            return (end - start for start, end in spans)

        def split_at(self, start: int, n: int) -> int:
            return start

    wide = further_limits({"bytes": 9})[0].measure.intervals("abc")
    for own, other, n in ((Shy(), wide, 2), (wide, Shy(), 2), (wide, Shy(), 1)):
        joint = Together(own, [(other, 1)], 3)
        assert [joint.split_at(start, n) for start in range(4)] == [1, 2, 3, 3]
        assert Together(own, [(other, 0)], 3).split_at(1, n) == 1


def test_texts_and_tokenizers_without_exact_cuts_are_refused() -> None:
    encoding, text = cutline.get_encoding("o200k_base"), "one two \ud800 three"
    for call in (
        lambda: encoding.split(text, 4, also_fits={"bytes": 9}),
        lambda: encoding.split_at(text, 9, also_fits={"bytes": 90}),
        lambda: TextChunker(encoding, 4, also_fits={"gpt2": 9})(text),
        lambda: [*TokenChunker("gpt2", 4, also_fits={encoding: 9}).iter_chunks([text])],
    ):
        with pytest.raises(cutline.SurrogateError, match="at offset 8"):
            call()
    with pytest.warns(cutline.PatternFallbackWarning):
        fallback = encoding_of(with_bytes((b"ab",)), r"(?<=a)b|\w+?|.")
    with pytest.raises(cutline.UnsupportedPatternError, match="runs on the `regex` module"):
        TextChunker("o200k_base", 4, also_fits={fallback: 9})("ab ab")


def test_texts_in_threads_and_of_own_types() -> None:
    class Text(str):
        __slots__ = ()

    texts = [Text(text) for text in NAMED_TEXTS.values()]
    chunker = TextChunker("o200k_base", 20, also_fits={"cl100k_base": 9, "bytes": 70})
    assert chunker.chunk_batch(texts) == [chunker(str(text)) for text in texts]
    encoding = cutline.get_encoding("o200k_base")
    assert type(encoding.split(texts[5], 4, also_fits={"bytes": 9})[0].text) is str


def test_a_number_beyond_all_texts_is_no_limit() -> None:
    encoding, text = cutline.get_encoding("o200k_base"), "日本 a\n\nb"
    for most in (2**31, 2**63, 10**400):
        for key in ("gpt2", "bytes", "characters"):
            assert encoding.split_at(text, most, also_fits={key: most}) == len(text)
            assert len(TextChunker(encoding, most, also_fits={key: most})(text)) == 1
            assert len(encoding.split(text, most, also_fits={key: most})) == 1
    assert encoding.split_at(text, 10**400, also_fits={"gpt2": 0}) == 0


def test_chunks_overlap_as_one_tokenizer_counts() -> None:
    text = "a, informações e dados mais " * 30
    chunks = TokenChunker("o200k_base", 12, 5, also_fits={"r50k_base": 14})(text)
    shared = [text[b.start_index : a.end_index] for a, b in pairwise(chunks)]
    assert max(map(counter("o200k_base"), shared)) == 5
    assert max(map(counter("r50k_base"), shared)) > 5


def test_a_limit_that_never_ends_a_slice_is_searched_once() -> None:
    """A word that nobody knows is one token, however long: its search reads the whole text."""

    class OneToken:
        searches = 0

        def count(self, start: int, end: int) -> int:
            return int(end > start)

        def count_many(self, spans: Any) -> list[int]:
            return [self.count(start, end) for start, end in spans]

        def split_at(self, start: int, n: int) -> int:
            self.searches += 1
            return len(text)

    text = "一二三四五六七八九十" * 100
    own = OneToken()
    letters = cutline.get_encoding("o200k_base").intervals(text)
    counter, place = Together(own, [(letters, 9)], len(text)), 0
    while place < len(text):
        end = counter.split_at(place, 9)
        assert end == letters.split_at(place, 9) > place
        place = end
    assert own.searches == 1
