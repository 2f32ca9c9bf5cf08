"""`Progress`: the argument of training's progress callbacks."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of `train`, `count_pieces` or `train_from_counts`.

    Attributes:
        stage: "count" while pieces are counted, then "merge".
        bytes_read: the bytes read so far: of files, on disk; of texts, in UTF-8.
        pieces: pieces counted so far, repeated ones included.
        merges: merges made so far.
        most_merges: the number of merges, unless pairs become too rare before.
        newest: the last few tokens made, oldest first.
    """

    stage: Literal["count", "merge"]
    bytes_read: int = 0
    pieces: int = 0
    merges: int = 0
    most_merges: int = 0
    newest: tuple[bytes, ...] = ()
