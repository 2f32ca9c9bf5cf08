"""`Progress`: how far training has come, as its callbacks are told."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far `train`, `count_pieces` or `train_from_counts` has come.

    Attributes:
        stage: "count" while pieces are counted, then "merge".
        bytes_read: of the source, as it lies on the disk; of texts, their UTF-8.
        pieces: counted so far, repeated ones too.
        merges: made so far.
        most_merges: how many there will be, unless pairs become too rare before.
        newest: the last few tokens made, oldest first.
    """

    stage: Literal["count", "merge"]
    bytes_read: int = 0
    pieces: int = 0
    merges: int = 0
    most_merges: int = 0
    newest: tuple[bytes, ...] = ()
