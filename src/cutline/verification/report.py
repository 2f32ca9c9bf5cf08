"""`Report` and `Finding`: the results of `verify`."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

__all__ = ["Fill", "Finding", "FindingKind", "Report", "some"]

FindingKind = Literal[
    "over budget",
    "wrong offsets",
    "wrong token count",
    "invented text",
    "text lost",
    "white space lost",
    "overlap too large",
    "nothing new",
    "out of order",
    "wrong children",
]
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem with a chunk.

    Attributes:
        kind: the kind of problem.
        chunk: the number of the chunk, from 0; for lost text, that of the chunk after it, and
            None at the end of the text.
        message: the details.
        start: its start in the text, in code points, if known.
        end: its end, if known.
    """

    kind: FindingKind
    chunk: int | None
    message: str
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        where = "end of the text" if self.chunk is None else f"chunk {self.chunk}"
        return f"{self.kind}: {where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Fill:
    """How far the chunks use a limit of `also_fits`.

    Attributes:
        unit: what it counts, such as "tokens of 'gpt2'".
        limit: the maximum.
        largest: the number of the chunk that has the most.
        mean_fill: the mean share of the limit that a chunk uses; 0 without chunks.
    """

    unit: str
    limit: int
    largest: int
    mean_fill: float

    def __str__(self) -> str:
        return f"mean fill {self.mean_fill:.1%}, largest chunk {self.largest} {self.unit}"


@dataclass(frozen=True, slots=True)
class Report:
    """All findings about the chunks of a text. True if there are none.

    Attributes:
        findings: in the order of the chunks.
        chunk_count: the number of chunks.
        text_length: the length of the text in code points.
        mean_fill: the mean share of the budget that a chunk uses; 0 without chunks.
        most_tokens: the tokens of the largest chunk.
        lost_characters: characters of the text, white space aside, that are in no chunk.
        lost_white_space: characters of white space that are in no chunk.
        also_fits: how far each further limit is used, in the order of `also_fits`.
    """

    findings: tuple[Finding, ...]
    chunk_count: int
    text_length: int
    mean_fill: float
    most_tokens: int
    lost_characters: int
    lost_white_space: int
    also_fits: tuple[Fill, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.ok

    def counts(self) -> dict[FindingKind, int]:
        """Return the number of findings of each kind that occurs."""
        return dict(Counter(finding.kind for finding in self.findings))

    def raise_for_findings(self) -> None:
        """Raise an error if there are findings.

        Raises:
            AssertionError: with the report. A program's own guarantee has failed, not an
                argument: there is nothing to handle, and test runners show it as a failure.
        """
        if self.findings:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        lines = [
            f"{some(self.chunk_count, 'chunk')} of {some(self.text_length, 'character')}: "
            + ("all exact" if self.ok else some(len(self.findings), "finding")),
            f"mean fill {self.mean_fill:.1%}, largest chunk {some(self.most_tokens, 'token')}, "
            f"{some(self.lost_characters, 'character')} and {self.lost_white_space} "
            "of white space lost",
            *map(str, self.also_fits),
        ]
        lines += [f"  {kind}: {count}" for kind, count in self.counts().items()]
        lines += [f"- {finding}" for finding in self.findings[:_MOST_SHOWN]]
        if len(self.findings) > _MOST_SHOWN:
            lines.append(f"- and {len(self.findings) - _MOST_SHOWN} more")
        return "\n".join(lines)


def some(n: int, noun: str) -> str:
    """Return a number with what is counted.

    >>> some(1, "row"), some(2, "row")
    ('1 row', '2 rows')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
