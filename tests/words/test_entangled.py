"""Slices of texts whose characters change one another all along: see `pipeline/entangled.py`."""

import random
import unicodedata
from array import array
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cutline
from cutline.kernels.breaks.word_breaks import cut_words_at_breaks
from cutline.kernels.words.intervals import WordIntervals
from cutline.normalizing import normalize
from cutline.pipeline import entangled, text_pieces
from cutline.words.char_rules import CharRules
from tests.conftest import short_or_long
from tests.words.configurations import BERT, CONFIGURATIONS, rules_of, small_map, steps
from tests.words.configurations import at as split_at
from tests.words.test_char_rules import AWKWARD, SCALARS
from tests.words.tokenizers_of import LETTERS, MODELS, both, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

CASES = [(kind, name) for kind in MODELS for name in CONFIGURATIONS]
CONTEXTS = (
    "e{}\u0301",
    "\r{}\u200d\xa9",
    "\u0600{}\u0302",
    "\u1100{}\u11a8",
    "\u0915\u094d{}\u093c",
)
DENSE = ("e\u0301", "ae\u0301b \u0302", "\u0301e \x85\xa0", LETTERS, AWKWARD, "``ab'' \u0301")


def check_beginnings(rules: CharRules, text: str) -> int:
    places = rules.begin_anew(text)
    parts = [text[start:end] for start, end in pairwise([0, *places, len(text)])]
    made = [normalize(part, rules.char_steps) for part in parts]
    for at in range(1, len(parts)):
        both_sides = "".join(parts[:at]), "".join(parts[at:])
        assert normalize("".join(parts), rules.char_steps) == "".join(
            normalize(side, rules.char_steps) for side in both_sides
        ), ascii(both_sides)
    assert normalize(text, rules.char_steps) == "".join(made), ascii(text)
    return len(places)


@short_or_long("n_texts", 400, 1_000)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_begins_anew_is_normalized_apart_from_what_is_before_it(
    name: str, n_texts: int
) -> None:
    rules, rng, found = rules_of(*CONFIGURATIONS[name]()), random.Random(name), 0
    for _ in range(n_texts):
        pool = rng.choice(DENSE)
        found += check_beginnings(rules, "".join(rng.choices(pool, k=rng.randint(1, 9))))
    for code_point in rng.sample(SCALARS, n_texts):
        for context in CONTEXTS:
            found += check_beginnings(rules, context.format(chr(code_point)))
    assert found > n_texts / 10 or name == "several replaced"


def ids(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


@short_or_long("n_texts", 2, 6)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_cuts_where_characters_change_one_another_all_along(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_texts: int
) -> None:
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    monkeypatch.setattr(entangled, "_WINDOW", 5)
    monkeypatch.setattr(entangled, "_CHARACTERS_A_TOKEN", 1)
    for _ in range(n_texts):
        pool = rng.choice(DENSE)
        text = "".join(rng.choices(pool, k=rng.choice((30, 90))))
        n = len(text)
        counter = encoding.intervals(text)
        assert counter.total == ids(oracle, text)
        for start in rng.sample(range(n), 4):
            counts = {end: ids(oracle, text[start:end]) for end in range(start, n + 1)}
            found = counter.count_many([(start, end) for end in counts])
            assert [*found] == [*counts.values()], ascii(text)
            for budget in {*range(6), *rng.choices(range(n), k=6), 10**30}:
                best = max(end for end, count in counts.items() if count <= budget)
                assert counter.split_at(start, budget) == best, (ascii(text), start, budget)


@short_or_long("n_characters", 10_000, 20_000)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "name",
    [
        *("NFC, bert", "NFKC, Lowercase", "xlm-r", "t5", "bert uncased"),
        *("albert", "rembert", "several replaced"),
    ],
)
@pytest.mark.parametrize(
    "pattern",
    [
        *("e\u0301", "E\u0301 ", "e\u0301te\u0301, ", "\u1100\u1161\u11a8"),
        *("`", "'", "ab", "e" + 9_999 * "\u0301", "e" + 4_999 * "\u0301\u0323"),
        *("\U0001f469\u200d", "\u0600\u0301", "\u0915\u094d"),
    ],
    ids=lambda pattern: ascii(pattern[:9]),
)
def test_long_texts_are_cut_in_linear_time(
    kind: str, name: str, pattern: str, tmp_path: Path, n_characters: int
) -> None:
    """Trying all ends of such a text would take hours."""
    _, encoding = both(kind, name, random.Random(name), tmp_path)
    text = pattern * (n_characters // len(pattern))
    chunks = cutline.TextChunker(encoding, 128).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    for chunk in (chunks[0], chunks[-1]):
        assert encoding.count(chunk.text) == chunk.token_count
    assert encoding.split_at(text, 128) >= chunks[0].end_index


def test_one_of_many_characters_does_not_change_how_chunks_are_found(tmp_path: Path) -> None:
    _, encoding = both("Unigram", "NFKC, Lowercase", random.Random(1), tmp_path)
    text = "abc de ed, c\u00e9 bad. " * 200
    decomposed = unicodedata.normalize("NFD", text[:40]) + text[40:]
    found = [cutline.TextChunker(encoding, 32).chunk(one) for one in (text, decomposed)]
    counts = [[chunk.token_count for chunk in chunks] for chunks in found]
    assert counts[0] == counts[1]


class _Raises:
    def __init__(self, edges: NDArray[np.int64]) -> None:
        self.edges = edges

    def count(self, start: int, end: int, inside: bool, /) -> int:
        if start:
            raise KeyboardInterrupt
        return 3

    def longest_fit(self, start: int, end: int, n: int, inside: bool, /) -> int:
        raise KeyboardInterrupt


def test_what_is_raised_while_slices_are_counted_is_raised(tmp_path: Path) -> None:
    _, encoding = both("Unigram", "NFKC, Lowercase", random.Random(1), tmp_path)
    kernel = encoding._pipeline.kernel  # type: ignore[union-attr]
    text, edges = "e\u0301e\u0301 ab", np.array([0, 4], dtype=np.int64)
    counter = WordIntervals(kernel, text, lambda: _Raises(edges))
    calls: list[Any] = [
        lambda: counter.count(1, 6),
        lambda: counter.count_many(np.array([(1, 6)])),
        lambda: counter.split_at(1, 2),
        lambda: counter.split_at(0, 2),
        lambda: counter.cut_all(2),
        lambda: cut_words_at_breaks(counter, 0, 0, 9, 2, 0.5, array("i")),
        lambda: WordIntervals(kernel, f"ab {text}", lambda: _Raises(edges + 3)),
    ]
    for call in calls:
        with pytest.raises(KeyboardInterrupt):
            call()
    assert counter.count(4, 7) == encoding.count(" ab")


@pytest.mark.parametrize("kind", MODELS)
def test_marks_that_are_split_count_for_the_length_of_their_cluster(kind: str) -> None:
    # Clusters of fewer than six bytes are looked up as a whole.
    configurations = (
        (steps(small_map(), tokenizers.normalizers.Replace("\u0301", "``")), BERT),
        (small_map(), split_at(r"\p{M}", "isolated")),
    )
    for normalizer, splitter in configurations:
        oracle = tokenizer_of(kind, "nothing, bert", random.Random(kind))
        oracle.normalizer, oracle.pre_tokenizer = normalizer, splitter
        encoding = cutline.Encoding.from_tokenizers(oracle)
        for n in range(1, 6):
            for text in ("e" + "\u0301" * n, "ab e" + "\u0301" * n + "c", "e" + "\u0302\u0301" * n):
                ids = oracle.encode(text, add_special_tokens=False).ids
                assert encoding.encode_ordinary(text) == ids, ascii(text)
                counts = [encoding.count(text[:end]) for end in range(len(text) + 1)]
                counter = encoding.intervals(text)
                assert [counter.count(0, end) for end in range(len(text) + 1)] == counts


def test_parts_side_by_side_are_normalized_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokenizer_of("Unigram", "xlm-r", random.Random(3))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    calls, normal, pipeline = list[str](), text_pieces.normalize, encoding._pipeline
    assert pipeline is not None
    monkeypatch.setattr(
        text_pieces, "normalize", lambda text, steps: calls.append(text) or normal(text, steps)
    )
    for between in ("the ", "the words between two. ", "a word or two and more, " * 4):
        text = f"{between}cafe\u0301 e\u0302, " * 300
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert encoding.encode_ordinary(text) == ids
        calls.clear()
        # So are those of texts that are searched for added tokens.
        assert pipeline.encode(encoding, text, frozenset()) == ids
        most = len(text) // 3_000 if len(between) < 64 else 300
        assert 0 < len(calls) <= most + 1
        assert encoding.count(text) == len(ids)
