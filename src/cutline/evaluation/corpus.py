"""`Corpus`: what all chunkers are evaluated on, read once: documents, questions, tokens, units.

Places in all documents are on one axis, of code points or of tokens: a document's first place is
where the one before it ends.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutline.checks import plain_text
from cutline.errors import shown
from cutline.evaluation.questions import Question, documents_of, questions_of
from cutline.evaluation.scoring import Span, union
from cutline.evaluation.units import units_of
from cutline.retrieval.token_places import token_places
from cutline.view.tokens import Tokenizer, tokenizer_of

__all__ = ["Corpus"]

Spans = NDArray[np.int64]


class Corpus:
    """Documents with questions on them, and a tokenizer.

    Args:
        documents: texts by name, or one.
        questions: as `evaluate` takes them; None: there are none.
        encoding: an `Encoding`, its name, or a wrapped tokenizer.

    Attributes:
        documents: texts by name.
        starts: where each document begins on the axis of code points, by name.
        questions: as they were given, and checked.
        tokenizer: counts tokens.
    """

    def __init__(
        self,
        documents: Mapping[str, str] | str,
        questions: Iterable[Question | Mapping[str, Any]] | None,
        encoding: Tokenizer | str,
    ) -> None:
        self.documents = {name: plain_text(text) for name, text in documents_of(documents).items()}
        self.tokenizer = tokenizer_of(encoding)
        self.questions = questions_of(questions or (), self.documents)
        lengths = map(len, self.documents.values())
        self.starts = dict(zip(self.documents, accumulate(lengths, initial=0), strict=False))

    @cached_property
    def token_count(self) -> int:
        """The tokens of all documents."""
        return int(sum(self.tokenizer.count_batch(list(self.documents.values()))))

    @cached_property
    def _token_ends(self) -> Spans:
        """Where each token ends, ascending, on the axis of code points."""
        found = [np.zeros(0, dtype=np.int64)]
        for name, text in self.documents.items():
            # They rise but where a normalizer has reordered characters.
            ends = np.maximum.accumulate(token_places(text, self.tokenizer)[:, 1])
            found.append(ends[ends > 0] + self.starts[name])
        return np.concatenate(found)

    def tokens_of(self, spans: Spans) -> Spans:
        """Return the tokens that end in each span, as spans on the axis of tokens.

        So every token belongs to one of two spans that meet, and a blank that is the beginning of
        a word's token to none that ends behind it.

        Args:
            spans: shape (n, 2), on the axis of code points.
        """
        return np.searchsorted(self._token_ends, spans, side="right").astype(np.int64)

    @cached_property
    def references(self) -> list[list[Span]]:
        """For each question the tokens that answer it, as a set that is not empty."""
        found: list[list[Span]] = []
        for question in self.questions:
            at = self.starts[question.document]
            tokens = self.tokens_of(np.array(question.references, dtype=np.int64) + at)
            # An excerpt that is the beginning of a token has that token.
            last = max(len(self._token_ends) - 1, 0)
            found.append(
                union(
                    (start, end) if start < end else (min(start, last), min(start, last) + 1)
                    for start, end in tokens.tolist()
                )
            )
        return found

    @cached_property
    def units(self) -> dict[str, tuple[Spans, NDArray[np.int64]]]:
        """By kind, the spans of what belongs together, in code points, and its tokens."""
        spans: defaultdict[str, list[Span]] = defaultdict(list)
        texts: defaultdict[str, list[str]] = defaultdict(list)
        for name, text in self.documents.items():
            at = self.starts[name]
            try:
                units = units_of(name, text)
            except ImportError as error:
                error.add_note(
                    f"that is what {shown(name)} is read with: install it, or leave it out"
                )
                raise
            for kind, found in units.items():
                spans[kind] += [(start + at, end + at) for start, end in found]
                texts[kind] += [text[start:end] for start, end in found]
        return {
            kind: (
                np.array(spans[kind], dtype=np.int64).reshape(-1, 2),
                np.array(self.counts(texts[kind]), dtype=np.int64),
            )
            for kind in spans
        }

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text."""
        return list(map(int, self.tokenizer.count_batch(list(texts))))
