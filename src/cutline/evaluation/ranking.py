"""Which chunks a question finds: by BM25, or by vectors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import regex
from numpy.typing import ArrayLike, NDArray

from cutline.extras import need

__all__ = ["Retriever", "bm25", "by_embedding"]

Retriever: TypeAlias = Callable[[list[str], list[str], int], Iterable[Sequence[int]]]
"""Takes questions, texts of chunks, and how many chunks are wanted for each question at most.
Returns the numbers of chunks for each question, best first."""

# In scripts without blanks between words, a character is a word.
_NO_BLANKS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"[{_NO_BLANKS}]|[\w--[{_NO_BLANKS}]]+", regex.V1)
_QUESTIONS_AT_ONCE = 256


def bm25(questions: list[str], texts: list[str], most: int) -> Iterator[list[int]]:
    """Rank texts by BM25; of equal ones the earlier first. Texts without a word in common: none.

    Words are runs of letters, digits and underscores in lower case, all of them and as they are;
    in Chinese, Japanese, Thai, Lao, Khmer and Burmese, the characters.

    Raises:
        ImportError: bm25s is not installed: pip install 'cutline[eval]'.

    Cost: linear in the texts, and for each question in their number.

    >>> list(bm25(["Which saw?", "Why?"], ["Glue sets.", "A saw cuts.", "Saw, saw!"], 2))
    [[2, 1], []]
    """
    bm25s = need("bm25s", "the retriever 'bm25'", "eval")
    words = [_words(text) for text in texts]
    if not any(words):
        yield from ([] for _ in questions)
        return
    model = bm25s.BM25(backend="numpy")
    model.index(words, show_progress=False)
    for question in questions:
        known = [word for word in _words(question) if word in model.vocab_dict]
        if known:
            scores = model.get_scores(known)
            yield [number for number in _best(scores, most) if scores[number] > 0]
        else:
            yield []


def _words(text: str) -> list[str]:
    found: list[str] = _WORD.findall(text.lower())
    return found


def by_embedding(
    embed: Callable[[list[str]], ArrayLike],
    embed_questions: Callable[[list[str]], ArrayLike] | None = None,
) -> Retriever:
    """Make a retriever of a function that embeds texts: the most similar by cosine, exactly.

    Args:
        embed: takes texts, and returns a vector for each, shape (texts, dimensions).
        embed_questions: the same for questions, where models treat them otherwise.

    Returns:
        What `evaluate` takes as `retriever`. Of equally similar chunks the earlier comes first.

    Raises:
        ValueError: (when it is used) there is not one finite vector for each text.

    Cost: one call for all texts and one for all questions; memory for the vectors, and for 256
    questions at a time.

    >>> import numpy as np
    >>> def embed(texts):
    ...     return np.array([[text.count("a"), text.count("b")] for text in texts])
    >>> by_embedding(embed)(["ab"], ["a", "bb", "abab"], 2)
    [[2, 0]]
    """

    def ranked(questions: list[str], texts: list[str], most: int) -> list[list[int]]:
        if not questions or not texts:
            return [[] for _ in questions]
        of_texts = _unit_vectors(embed(texts), len(texts))
        asked = _unit_vectors((embed_questions or embed)(questions), len(questions))
        found: list[list[int]] = []
        for first in range(0, len(questions), _QUESTIONS_AT_ONCE):
            scores = asked[first : first + _QUESTIONS_AT_ONCE] @ of_texts.T
            found += [_best(row, most) for row in scores]
        return found

    return ranked


def _unit_vectors(vectors: ArrayLike, count: int) -> NDArray[np.floating[Any]]:
    found = np.asarray(vectors)
    found = found.astype(np.result_type(found, np.float32), copy=False)
    if found.ndim != 2 or len(found) != count or not np.isfinite(found).all():
        raise ValueError(
            f"the function that embeds must return {count} finite vectors for {count} texts, got "
            f"an array of shape {found.shape}"
        )
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    units: NDArray[np.floating[Any]] = np.divide(
        found, norms, out=np.zeros_like(found), where=norms > 0
    )
    return units


def _best(scores: NDArray[Any], most: int) -> list[int]:
    """Return the numbers of the highest scores, highest first; of equal ones the lowest first."""
    if most < len(scores):
        least = np.partition(scores, len(scores) - most)[len(scores) - most] if most else np.inf
        candidates = np.flatnonzero(scores >= least)
    else:
        candidates = np.arange(len(scores))
    order = np.argsort(-scores[candidates], kind="stable")
    best: list[int] = candidates[order][:most].tolist()
    return best
