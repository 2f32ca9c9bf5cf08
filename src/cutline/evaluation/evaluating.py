"""`evaluate`: how well the chunks of documents are found, how full they are, what they tear."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate, takewhile
from operator import index
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.checks import checked_integer
from cutline.chunking.chunker import Chunker
from cutline.chunks import Chunk
from cutline.errors import shown
from cutline.evaluation.corpus import Corpus, Spans
from cutline.evaluation.questions import Question
from cutline.evaluation.ranking import Retriever, bm25
from cutline.evaluation.scoring import precision_omega, score
from cutline.view.foreign_chunks import chunks_of
from cutline.view.tokens import Tokenizer
from cutline.view.totals import lost_spans

__all__ = ["Evaluation", "Reading", "Scores", "Whole", "evaluate", "evaluate_on"]

_DEFAULT_K = 5


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """How well questions found their excerpts: an array with a value for each question.

    Attributes:
        recall: share of the excerpts' tokens that was retrieved.
        precision: share of the retrieved tokens that are in an excerpt.
        precision_omega: the precision if all chunks that have a token of the excerpts, and no
            others, were retrieved.
        iou: intersection over union: tokens of the excerpts that were retrieved, as a share of
            all retrieved tokens and all of the excerpts.
        retrieved_tokens: tokens of the retrieved chunks.
    """

    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    precision_omega: NDArray[np.float64]
    iou: NDArray[np.float64]
    retrieved_tokens: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Whole:
    """How many units of one kind are whole in a chunk.

    Attributes:
        count: how many there are.
        fitting: how many of them have at most `chunk_size` tokens on their own.
        whole: how many of the fitting ones lie in one chunk.
    """

    count: int
    fitting: int
    whole: int

    @property
    def share(self) -> float | None:
        """The share of the fitting ones that is whole, or None if there are none."""
        return self.whole / self.fitting if self.fitting else None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What `evaluate` found.

    Attributes:
        name: what the chunker was called.
        encoding: the name of the tokenizer that counted.
        chunk_size: the budget; None: it is not known.
        document_tokens: tokens of all documents.
        token_counts: int64, shape (chunks,): the tokens that are embedded for each chunk.
        lost_characters: code points, white space aside, that are in no chunk.
        whole: what was left whole, by the kind of the unit.
        scores: the results of each question; None: there are no questions.
    """

    name: str
    encoding: str
    chunk_size: int | None
    document_tokens: int
    token_counts: NDArray[np.int64]
    lost_characters: int
    whole: Mapping[str, Whole]
    scores: Scores | None

    @property
    def chunk_count(self) -> int:
        """The number of chunks."""
        return len(self.token_counts)

    @property
    def embedded_tokens(self) -> int:
        """The tokens that are embedded for all chunks, more with overlap and templates."""
        return int(self.token_counts.sum())

    @property
    def mean_fill(self) -> float | None:
        """The mean share of the budget that is used, or None without a budget or chunks."""
        if self.chunk_size is None or not self.chunk_count:
            return None
        return float(self.token_counts.mean()) / self.chunk_size

    @property
    def over_budget(self) -> float | None:
        """The share of the chunks that are above the budget, or None as for the fill."""
        if self.chunk_size is None or not self.chunk_count:
            return None
        return float((self.token_counts > self.chunk_size).mean())

    def quantile(self, share: float) -> int | None:
        """Return the tokens that at least this share of the chunks does not exceed.

        Args:
            share: from 0, the smallest chunk, to 1, the largest.
        """
        if not self.chunk_count:
            return None
        return int(np.quantile(self.token_counts, share, method="inverted_cdf"))

    def as_dict(self) -> dict[str, Any]:
        """Return all figures as JSON has them: one value each, the means of the questions'."""
        scores = self.scores
        names = () if scores is None else Scores.__dataclass_fields__
        return {
            "chunker": self.name,
            "encoding": self.encoding,
            "chunk_size": self.chunk_size,
            "chunks": self.chunk_count,
            "document_tokens": self.document_tokens,
            "embedded_tokens": self.embedded_tokens,
            "lost_characters": self.lost_characters,
            "mean_fill": self.mean_fill,
            "over_budget": self.over_budget,
            "tokens": {f"p{part}": self.quantile(part / 100) for part in (0, 10, 50, 90, 100)},
            "whole": {
                kind: {**asdict(whole), "share": whole.share} for kind, whole in self.whole.items()
            },
            "questions": 0 if scores is None else len(scores.recall),
            **{name: float(getattr(scores, name).mean()) for name in names},
        }

    def report(self) -> str:
        """Return the figures as lines of text."""
        sizes = ", ".join(
            f"{label} {self.quantile(part)}"
            for part, label in (
                (0, "least"),
                (0.1, "10 %"),
                (0.5, "median"),
                (0.9, "90 %"),
                (1, "most"),
            )
            if self.chunk_count
        )
        lines = [
            f"{self.name or 'chunks'}: {self.chunk_count:,} chunks, {self.embedded_tokens:,} "
            f"tokens to embed for {self.document_tokens:,} of documents, {self.encoding}",
        ]
        if sizes:
            lines.append(f"  tokens of a chunk: {sizes}")
        if self.mean_fill is not None:
            lines.append(
                f"  mean fill {self.mean_fill:.1%} of {self.chunk_size}, "
                f"{self.over_budget:.1%} over budget"
            )
        if self.lost_characters:
            lines.append(f"  {self.lost_characters:,} characters, white space aside, in no chunk")
        lines += [
            f"  {kind}: {whole.whole:,} of {whole.fitting:,} whole ({whole.share:.1%})"
            + f", {whole.count - whole.fitting:,} too large" * (whole.fitting < whole.count)
            for kind, whole in self.whole.items()
            if whole.share is not None
        ]
        if self.scores is not None:
            found = self.scores
            lines.append(
                f"  {len(found.recall):,} questions, {found.retrieved_tokens.mean():,.0f} tokens "
                f"retrieved for each: recall {found.recall.mean():.3f}"
            )
            lines.append(
                f"  precision {found.precision.mean():.3f}, IoU {found.iou.mean():.3f}, "
                f"precision omega {found.precision_omega.mean():.3f}"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.report()


class Reading(NamedTuple):
    """What a question reads: the best chunks, at most so many, with at most so many tokens."""

    retriever: Retriever
    k: int | None
    max_tokens: int | None

    @classmethod
    def of(
        cls, retriever: Literal["bm25"] | Retriever, k: int | None, max_tokens: int | None
    ) -> "Reading":
        """Check the arguments of `evaluate`; without any limit it is five chunks."""
        if retriever != "bm25" and not callable(retriever):
            raise TypeError(f"retriever must be 'bm25' or a function, got {shown(retriever)}")
        limits = [k, max_tokens]
        for name, limit in zip(("k", "max_tokens"), limits, strict=True):
            if limit is not None and checked_integer(limit, name) < 1:
                raise ValueError(f"{name} must be 1 or more, got {limit}")
        if limits == [None, None]:
            limits = [_DEFAULT_K, None]
        return cls(bm25 if retriever == "bm25" else retriever, *limits)

    def most_chunks(self, sizes: NDArray[np.int64]) -> int:
        """Return how many chunks of these sizes can be read at most."""
        most = len(sizes)
        if self.max_tokens is not None:
            smallest_first = np.cumsum(np.sort(sizes))
            most = int(np.searchsorted(smallest_first, self.max_tokens, side="right"))
        return most if self.k is None else min(most, self.k)

    def read(self, ranked: Iterable[int], sizes: NDArray[np.int64], most: int) -> list[int]:
        """Return the chunks that are read: those before the first that is too much."""
        numbers = [index(number) for number in ranked][:most]
        if len(set(numbers)) < len(numbers) or not all(0 <= n < len(sizes) for n in numbers):
            raise ValueError(
                f"the retriever must return different numbers of chunks, from 0 to "
                f"{len(sizes) - 1}, got {numbers}"
            )
        if self.max_tokens is None:
            return numbers
        sums = accumulate(int(sizes[number]) for number in numbers)
        return numbers[: sum(1 for _ in takewhile(self.max_tokens.__ge__, sums))]


def evaluate(
    chunks: Any,
    documents: Mapping[str, str] | str,
    questions: Iterable[Question | Mapping[str, Any]] | None = None,
    *,
    encoding: Tokenizer | str = "o200k_base",
    chunk_size: int | None = None,
    k: int | None = None,
    max_tokens: int | None = None,
    retriever: Literal["bm25"] | Retriever = "bm25",
    render: Callable[[Chunk], str] | None = None,
    name: str = "",
) -> Evaluation:
    """Evaluate a chunker, or chunks of any library, on documents and on questions about them.

    Args:
        chunks: a chunker: any function from a text to its chunks, or an object with `split_text`;
            or the chunks; or a mapping with either for each document, by its name, which chunks of
            several documents must be. Chunks are slices of the text, in order; what may be one is
            said at `verify`.
        documents: texts by name, or one. Names tell what the documents are, such as "a.md", and so
            what should be left whole.
        questions: `Question` objects, or mappings with what `read_questions` reads. None: no
            retrieval is evaluated.
        encoding: an `Encoding`, its name, or a wrapped tokenizer that gives offsets. All tokens
            are its.
        chunk_size: the budget. By default that of the chunker, if it is Cutline's and of the same
            encoding; else there is none, so no fill, and nothing is too large to be left whole.
        k: how many chunks a question reads at most; 5 if `max_tokens` is not given either.
        max_tokens: how many tokens a question reads at most, which compares chunks of different
            sizes fairly: the best chunks before the first that does not fit.
        retriever: which chunks a question finds: "bm25"; what `by_embedding` makes of a function
            that embeds; or a function that takes questions, texts of chunks and how many are
            wanted, and returns for each question the numbers of chunks, best first.
        render: returns what is embedded for a chunk; by default what the template of a Cutline
            chunker makes of it, else its text.
        name: what it is called in reports.

    Returns:
        The figures; `print` shows them.

    Raises:
        ImportError: "bm25" needs an extra: pip install 'cutline[eval]'; or a parser does.
        SurrogateError: (a ValueError) a document has a surrogate.
        TypeError: a document is no str, a chunk has no text, or the tokenizer gives no offsets.
        ValueError: a chunk is not a slice of its document, or out of order; a question is wrong;
            the mapping lacks a document; a limit is below 1.

    Cost: linear in documents and chunks, some MB/s; each question takes time linear in the number
    of chunks, for BM25, and is scored in the time of what it reads.
    Source: docs/choosing-a-chunker.md.

    >>> import cutline
    >>> text = "Wood glue sets in half an hour. Clamp the parts. Oil the blade."
    >>> questions = [{"question": "When does glue set?", "references": ["half an hour"]}]
    >>> print(evaluate(cutline.TextChunker("o200k_base", 8), text, questions, k=1))
    chunks: 2 chunks, 16 tokens to embed for 16 of documents, o200k_base
      tokens of a chunk: least 8, 10 % 8, median 8, 90 % 8, most 8
      mean fill 100.0% of 8, 0.0% over budget
      sentence: 3 of 3 whole (100.0%)
      1 questions, 8 tokens retrieved for each: recall 1.000
      precision 0.375, IoU 0.375, precision omega 0.375
    """
    corpus = Corpus(documents, questions, encoding)
    reading = Reading.of(retriever, k, max_tokens)
    return evaluate_on(corpus, chunks, reading, chunk_size=chunk_size, render=render, name=name)


def evaluate_on(
    corpus: Corpus,
    chunks: Any,
    reading: Reading,
    *,
    chunk_size: int | None = None,
    render: Callable[[Chunk], str] | None = None,
    name: str = "",
) -> Evaluation:
    """Evaluate on a corpus that was read before; see `evaluate`."""
    given = _by_document(chunks, corpus)
    if chunk_size is None:
        chunk_size = _budget(given.values(), corpus.tokenizer.name)
    elif checked_integer(chunk_size, "chunk_size") < 1:
        raise ValueError(f"chunk_size must be 1 or more tokens, got {chunk_size}")
    found = {document: _read(corpus, document, given[document]) for document in corpus.documents}
    every = [chunk for of_document in found.values() for chunk in of_document]
    places = [
        (chunk.start_index + at, chunk.end_index + at)
        for at, of_document in zip(corpus.starts.values(), found.values(), strict=True)
        for chunk in of_document
    ]
    spans = np.array(places, dtype=np.int64).reshape(-1, 2)
    sent, counts = _sent(corpus, given, found, render)
    return Evaluation(
        name=name,
        encoding=corpus.tokenizer.name,
        chunk_size=chunk_size,
        document_tokens=corpus.token_count,
        token_counts=counts,
        lost_characters=sum(
            _inked(corpus.documents[document][start:end])
            for document, of_document in found.items()
            for start, end in lost_spans(corpus.documents[document], of_document)
        ),
        whole=_whole(corpus, spans, chunk_size),
        scores=_scores(corpus, reading, every, spans, sent) if corpus.questions else None,
    )


def _by_document(chunks: Any, corpus: Corpus) -> dict[str, Any]:
    """Return the chunker, or the chunks, of each document."""
    is_chunker = callable(chunks) or hasattr(chunks, "split_text")
    if is_chunker:
        return dict.fromkeys(corpus.documents, chunks)
    if isinstance(chunks, Mapping):
        for document in corpus.documents:
            if document not in chunks:
                raise ValueError(
                    f"chunks must have those of each document: {document!r} is missing"
                )
        return {document: chunks[document] for document in corpus.documents}
    if len(corpus.documents) != 1:
        raise TypeError(
            f"of {len(corpus.documents)} documents, chunks must be a chunker, or a mapping from "
            f"their names, got {type(chunks).__name__}"
        )
    return dict.fromkeys(corpus.documents, chunks)


def _budget(chunkers: Iterable[Any], encoding: str) -> int | None:
    """Return the budget of Cutline's chunkers, if it is one, and in tokens of the encoding."""
    known = {
        chunker.chunk_size
        if isinstance(chunker, Chunker) and chunker.encoding.name == encoding
        else None
        for chunker in chunkers
    }
    return known.pop() if len(known) == 1 else None


def _read(corpus: Corpus, document: str, chunks: Any) -> list[Chunk]:
    """Read the chunks of a document, as they were given or as the chunker makes them."""
    text = corpus.documents[document]
    make = chunks if callable(chunks) else getattr(chunks, "split_text", None)
    try:
        return chunks_of(text, chunks if make is None else make(text), corpus.tokenizer)
    except Exception as error:
        error.add_note(f"in the document {document!r}")
        raise


def _sent(
    corpus: Corpus,
    given: Mapping[str, Any],
    found: Mapping[str, list[Chunk]],
    render: Callable[[Chunk], str] | None,
) -> tuple[list[str], NDArray[np.int64]]:
    """Return what is embedded for each chunk, and its tokens."""
    texts: list[str] = []
    counts: list[int] = []
    for document, chunks in found.items():
        chunker, render_one, special = given[document], render, 0
        if render is None and isinstance(chunker, Chunker) and chunker.template is not None:
            render_one = chunker.template.render
            special = chunker.template.special_tokens_of(corpus.tokenizer)
        if render_one is None:
            texts += [chunk.text for chunk in chunks]
            counts += [chunk.token_count for chunk in chunks]
        else:
            rendered = list(map(render_one, chunks))
            texts += rendered
            counts += [count + special for count in corpus.counts(rendered)]
    return texts, np.array(counts, dtype=np.int64)


def _inked(text: str) -> int:
    return sum(not character.isspace() for character in text)


def _whole(corpus: Corpus, chunks: Spans, chunk_size: int | None) -> dict[str, Whole]:
    starts = chunks[:, 0]
    farthest = np.maximum.accumulate(chunks[:, 1]) if len(chunks) else chunks[:, 1]
    found = {}
    for kind, (units, counts) in corpus.units.items():
        fitting = units if chunk_size is None else units[counts <= chunk_size]
        # Of the chunks that begin no later, whether one ends no sooner.
        before = np.searchsorted(starts, fitting[:, 0], side="right")
        covered = before > 0
        covered[covered] = farthest[before[covered] - 1] >= fitting[covered, 1]
        found[kind] = Whole(len(units), len(fitting), int(covered.sum()))
    return found


def _scores(
    corpus: Corpus, reading: Reading, chunks: list[Chunk], spans: Spans, sent: list[str]
) -> Scores:
    sizes = np.array([chunk.token_count for chunk in chunks], dtype=np.int64)
    most = reading.most_chunks(sizes)
    asked = [question.question for question in corpus.questions]
    tokens = corpus.tokens_of(spans)
    farthest = np.maximum.accumulate(tokens[:, 1]) if len(tokens) else tokens[:, 1]
    rankings = list(reading.retriever(asked, sent, most)) if sent else [() for _ in asked]
    if len(rankings) != len(asked):
        raise ValueError(
            f"the retriever must return a ranking for each of {len(asked)} questions, got "
            f"{len(rankings)}"
        )
    rows = []
    for ranked, references in zip(rankings, corpus.references, strict=True):
        numbers = reading.read(ranked, sizes, most)
        found = score([(int(a), int(b)) for a, b in tokens[numbers]], references)
        rows.append((*found, precision_omega(_hit(tokens, farthest, references), references)))
    recall, precision, iou, retrieved, omega = np.array(rows, dtype=np.float64).T
    return Scores(recall, precision, omega, iou, retrieved.astype(np.int64))


def _hit(tokens: Spans, farthest: Spans, references: list[tuple[int, int]]) -> list[Any]:
    """Return the spans of the chunks that have a token of the references, some more than once."""
    found: list[Any] = []
    for start, end in references:
        first = np.searchsorted(farthest, start, side="right")
        near = tokens[first : np.searchsorted(tokens[:, 0], end, side="left")]
        found += near[(near[:, 1] > start) & (near[:, 0] < near[:, 1])].tolist()
    return found
