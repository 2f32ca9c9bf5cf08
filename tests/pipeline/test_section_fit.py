"""Cuts section by section, where texts have no safe split points: exact, and little work."""

import random
from collections.abc import Callable
from typing import Any

import pytest

import cutline
from cutline.kernels.cut.windows import Cutter
from cutline.normalizing import Form, Lower
from cutline.pipeline import longest_beginning, section_fit, section_form, slice_counter
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.section_fit import SectionFit
from cutline.words.beginnings import BeginsAnew
from tests.conftest import short_or_long
from tests.pipeline.families import added, build, count_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

FAMILIES = (
    *("bytes in the normalizer", "blanks as letters", "blanks as letters, not split", "not split"),
    *("decomposed", "lower case", "accents removed", "qwen 2.5", "modernbert", "stripped"),
    *("replaced", "led by a mark", "single words", "prefix space", "runs of blanks"),
    *("classes replaced", "precompiled", "clip", "subwords", "scripts apart", "between words"),
    *("as bert splits", "falcon", "words led by blanks", "text merged", "looks behind"),
)
ADDED: list[list[str]] = [
    *([], ["aba", "bab", "aa"], ["ab "], ["the", "them", "hem"], ["\u00e9", "e\u0301x"]),
    ["<|x|>" * 4],
]
FLAGS: list[dict[str, bool]] = [
    *({}, {"normalized": True}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}),
    {"lstrip": True, "rstrip": True, "normalized": True},
    {"single_word": True, "normalized": True},
]
PARTS = [
    *("the", "in", " ", "  ", "a", "ab", "aba", "b", "e", "\u0301", "\u0323", "\u00e9", "<", "<s>"),
    *("s>", "\u1112\u1161\u11ab", "\ufb01", "\u2460", "\u4e2d", "\u6587", "12345", "\n", "x"),
    *("hem", "_", "``", "`", "<|x|>", "<|x|", "\u00c5", "\u0130", "'s", ".", "e\u0301x"),
]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Search all slices in windows that grow; of each whether it was found so."""
    for module, name, value in (
        (section_fit, "_CHARACTERS_A_TOKEN", 1),
        (section_fit, "_WINDOW", 6),
        (section_fit, "_WINDOWS", 12),
        (section_fit, "_GROWTH", 2),
        (longest_beginning, "_LOOK", 1),
        (longest_beginning, "_GROWTH", 2),
        (slice_counter, "_FEW", 0),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(slice_counter, "longest_fit_anew", lambda *_: None)
    are_found, longest = list[bool](), SectionFit.longest

    def noted(self: SectionFit, *given: Any, inside: bool) -> int | None:
        found = longest(self, *given, inside=inside)
        are_found.append(found is not None)
        return found

    monkeypatch.setattr(SectionFit, "longest", noted)
    return are_found


def with_tokens(family: str, rng: random.Random) -> Any:
    tokenizer = build(family)
    for _ in range(rng.choice((0, 1, 1, 2))):
        if texts := rng.choice(ADDED):
            tokenizer.add_tokens(added(*texts, **rng.choice(FLAGS)))
    return tokenizer


@short_or_long("n_texts", 12, 200)
@pytest.mark.parametrize("family", FAMILIES)
def test_slices_are_the_longest_that_fit(
    family: str, n_texts: int, narrow: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(family)
    for _ in range(n_texts):
        tokenizer = with_tokens(family, rng)
        try:
            encoding = cutline.Encoding.from_tokenizers(tokenizer)
        except cutline.VocabularyError:
            continue  # some added tokens are refused
        count = count_of(tokenizer)
        pool = rng.choices(PARTS, k=rng.choice((2, 3, 5, 12, 40)))
        text = "".join(rng.choices(pool, k=rng.choice((10, 30, 60))))
        counter = encoding.intervals(text)
        for _ in range(3):
            start, n = rng.choice((0, rng.randrange(len(text)))), rng.choice((0, 1, 2, 5, 12, 30))
            ends = range(start, len(text) + 1)
            greatest = max(end for end in ends if end == start or count(text[start:end]) <= n)
            assert counter.split_at(start, n) == greatest, (text, start, n)
    assert sum(narrow) > 0.9 * len(narrow)


ENDS = ["\u0301", "\u0323\u0301", "b", "ab", "the", " ", " in", "a", "s>", "em", "x", "", "\u11ab"]


@short_or_long("n_texts", 10, 300)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_found_holds_whatever_comes_next(
    family: str, n_texts: int, narrow: list[bool]
) -> None:
    rng, n_found = random.Random(f"next {family}"), 0
    for _ in range(n_texts):
        try:
            encoding = cutline.Encoding.from_tokenizers(with_tokens(family, rng))
        except cutline.VocabularyError:
            continue
        pipeline = encoding._pipeline
        if pipeline is None or not SectionFit.applies(pipeline):
            continue
        fit = SectionFit(pipeline, encoding)
        text = "".join(
            rng.choices(rng.choices([*PARTS, *ENDS[:6]], k=rng.choice((2, 5, 20))), k=16)
        )
        n = rng.choice((0, 1, 2, 3, 5))
        for stop in range(min(len(text), 24)):
            window = section_fit._Window(
                fit._maker, fit._tokens, text[:stop], inside=False, goes_on=True
            )
            found = window.longest(n)
            if found is None:
                continue
            n_found += 1
            for more in (text[stop:], rng.choice(ENDS) + rng.choice(ENDS), rng.choice(PARTS)):
                whole = text[:stop] + more
                ends = range(len(whole), 0, -1)
                greatest = next((one for one in ends if encoding.count(whole[:one]) <= n), 0)
                assert greatest == found, (text[:stop], more, n)
    assert n_found


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("family", ["not split", "lower case", "clip", "between words"])
def test_it_holds_where_added_tokens_begin_in_what_is_known(
    family: str, flags: dict[str, bool], narrow: list[bool]
) -> None:
    """They are fewer tokens than their text."""
    rng = random.Random(f"{family} {flags}")
    for _ in range(6):
        tokenizer = build(family)
        tokenizer.add_tokens(added(*("".join(rng.choices("qj", k=5)) for _ in range(2)), **flags))
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
        pipeline = encoding._pipeline
        if pipeline is None or not SectionFit.applies(pipeline):
            continue
        fit = SectionFit(pipeline, encoding)
        written = [text for one in pipeline.ordinary_finders for text in one.texts]
        text = "".join(rng.choices([*written, *"qj  "], k=6))
        for stop in range(len(text)):
            for n in range(6):
                window = section_fit._Window(
                    fit._maker, fit._tokens, text[:stop], inside=False, goes_on=True
                )
                found = window.longest(n)
                ends = range(len(text), 0, -1)
                greatest = next((one for one in ends if encoding.count(text[:one]) <= n), 0)
                assert found in (None, greatest), (text, stop, n)


def prose(n: int) -> str:
    words = ["the ", "in ", "theory ", "of ", "Inner ", "things, ", "a ", "then\n", "caf\u00e9 "]
    return "".join(random.Random("prose").choices(words, k=n))[:n]


TEXTS: dict[str, Callable[[int], str]] = {
    "prose": prose,
    "one letter": lambda n: n * "z",
    "tokens": lambda n: (n * "thein ")[:n],
    "accents": lambda n: (n * "e\u0301")[:n],
    "touched tokens": lambda n: (n * "the\u0301 ab")[:n],
    "han": lambda n: "".join(random.Random(n).choices("\u4e16\u754c\u4e2d\u6587", k=n)),
}


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The characters of all that is normalized and counted, or searched."""
    lengths: list[int] = []

    def noting(count: Any) -> Any:
        def noted(self: Pipeline, *given: Any, **options: Any) -> Any:
            lengths.append(len(given[1]))
            return count(self, *given, **options)

        return noted

    for name in ("count_section", "count_section_inside", "count_between", "_count_pieces"):
        monkeypatch.setattr(Pipeline, name, noting(getattr(Pipeline, name)))

    def cutter(encoder: Any, owner: Any) -> Any:
        lengths.append(len(owner))
        return Cutter(encoder, owner)

    monkeypatch.setattr(longest_beginning, "Cutter", cutter)
    return lengths


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize(
    "family",
    [
        *("bytes in the normalizer", "blanks as letters, not split", "blanks as letters"),
        *("between words", "looks behind", "clip", "scripts apart"),
    ],
)
def test_cuts_take_little_work(family: str, kind: str, work: list[int]) -> None:
    encoding = cutline.Encoding.from_tokenizers(build(family))

    def work_for(length: int) -> int:
        work.clear()
        encoding.split(TEXTS[kind](length), 64)
        return sum(work)

    at_4_000 = work_for(4_000)
    assert at_4_000 <= 40 * 4_000
    assert work_for(12_000) <= 4 * max(at_4_000, 8_000)


@pytest.mark.parametrize("flags", FLAGS[:4])
@pytest.mark.parametrize("part", ["<x>\u0301 ab ", "<x>\u0301", "<x>\u0301" + 599 * "y"])
def test_a_long_added_token_takes_little_work(
    part: str, flags: dict[str, bool], work: list[int]
) -> None:
    tokenizer = build("bytes in the normalizer")
    tokenizer.add_tokens(added("<x>", 600 * "y", **flags))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = (part * 4_000)[:4_000]
    chunks = encoding.split(text, 64)
    assert sum(work) <= 80 * len(text)
    count = count_of(tokenizer)
    for one in chunks[:-1:7]:
        assert one.token_count == count(one.text) <= 64
        longer = range(one.end_index + 1, min(len(text), one.end_index + 40))
        assert all(count(text[one.start_index : end]) > 64 for end in longer)


def test_far_from_characters_that_begin_anew() -> None:
    """Those near are looked at one by one, others at once: both tell the same."""
    steps = (Form("NFC"), Lower())
    beginnings = BeginsAnew.inside(steps)
    rng = random.Random(1)
    for _ in range(300):
        runs = [rng.choice("ab ") + "\u0301\u0323" * rng.choice((0, 1, 20, 90)) for _ in range(3)]
        text = rng.choice(("", "\u0301" * rng.choice((1, 40, 200)))) + "".join(runs)
        text = text[: rng.randint(0, len(text))]
        unchanged = section_form._Unchanged(text, beginnings)
        places = [at for at in range(1, len(text)) if beginnings.at(text, at)]
        assert beginnings.places(text) == places
        assert unchanged.known == text[: max(places, default=0)]
        for place in range(1, len(text) + 3):
            after = min((at for at in places if at >= place), default=len(text))
            assert unchanged.first_beyond(place) == after + 1
        assert unchanged.first_beyond(0) == 1
