"""Rankings by BM25 and by vectors are those of their definitions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.evaluation import by_embedding
from cutline.evaluation.ranking import bm25
from tests.evaluation.naive import bm25_scores

pytest.importorskip("bm25s")

WORDS = ("saw", "glue", "Oil", "früh", "chunk_size", "x1")
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


def check_order(found: list[int], scores: list[float], most: int) -> None:
    """The best are found, best first; those that are equal, up to rounding, in order."""
    expected = sorted((n for n, s in enumerate(scores) if s > 0), key=lambda n: -scores[n])
    assert len(found) == len(set(found)) == min(most, len(expected))
    for mine, best in zip(found, expected, strict=False):
        assert scores[mine] == pytest.approx(scores[best], rel=1e-5)


@given(st.lists(TEXT, max_size=7), st.lists(TEXT, max_size=3), st.integers(0, 8))
@settings(max_examples=200)
def test_bm25_ranks_by_its_definition(texts: list[str], questions: list[str], most: int) -> None:
    found = list(bm25(questions, texts, most))
    assert len(found) == len(questions)
    for question, ranking in zip(questions, found, strict=True):
        check_order(ranking, bm25_scores(texts, question), most)


def test_equal_texts_come_in_order_and_others_not_at_all() -> None:
    texts = ["saw", "glue", "saw", "saw", "oil"]
    assert list(bm25(["Saw!", "Hammer?", "", "SAW glue"], texts, 3)) == [
        [0, 2, 3],
        [],
        [],
        [1, 0, 2],
    ]
    assert list(bm25(["saw"], ["", "?!"], 3)) == [[]]
    assert list(bm25(["saw"], [], 3)) == [[]]


def test_scripts_without_blanks_are_ranked_by_character() -> None:
    texts = ["名前はまだ無い。", "吾輩は猫である。", "กินข้าว", "Das ist chunk_size."]
    questions = ["猫?", "chunk_size", "ข้าว", "名前"]
    assert list(bm25(questions, texts, 1)) == [[1], [3], [2], [0]]


def test_embeddings_rank_by_cosine() -> None:
    random = np.random.default_rng(5)
    texts = [str(number) for number in range(50)]
    vectors = {text: random.normal(size=8) for text in [*texts, "a", "b"]}
    vectors["7"] = vectors["31"] * 3  # as similar
    vectors["9"] = vectors["9"] * 0

    def embed(given: list[str]) -> Any:
        return [vectors[text] for text in given]

    questions = ["a", "b"] * 200
    found = list(by_embedding(embed)(questions, texts, 50))
    for question, ranking in zip(questions[:2], found[:2], strict=True):
        asked = vectors[question]
        cosine = [
            float(vectors[t] @ asked / (np.linalg.norm(vectors[t]) * np.linalg.norm(asked) or 1))
            for t in texts
        ]
        assert sorted(ranking) == list(range(50))
        ranked = [cosine[number] for number in ranking]
        assert ranked == pytest.approx(sorted(cosine, reverse=True))
        assert abs(ranking.index(7) - ranking.index(31)) == 1
    assert found[2:] == found[:2] * 199
    assert list(by_embedding(embed)(questions, texts, 3)) == [ranking[:3] for ranking in found]
    assert by_embedding(embed)([], texts, 3) == []
    assert by_embedding(embed)(["a"], [], 3) == [[]]
    apart = by_embedding(embed, lambda given: [vectors["31"]] * len(given))
    assert set(next(iter(apart(["a"], texts, 2)))) == {7, 31}


@pytest.mark.parametrize("vectors", [[[1.0]], [1.0, 2.0], [[1.0], [float("nan")]]])
def test_vectors_that_are_none_are_named(vectors: Any) -> None:
    with pytest.raises(ValueError, match="2 finite vectors for 2 texts, got an array of shape"):
        list(by_embedding(lambda _: vectors)(["q"], ["a", "b"], 1))
