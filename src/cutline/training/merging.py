"""Learning a vocabulary from counts of pieces, by byte-pair encoding."""

from collections.abc import Callable
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.train.trainer import Merger
from cutline.tables import MAX_TOKEN_BYTES
from cutline.training.assisting import assisted
from cutline.training.progress import Progress
from cutline.vocabulary import Vocabulary

__all__ = ["Ties", "train_vocabulary"]

Ties = Literal["smallest", "largest", "ids"]

MERGES_AT_ONCE: Final = 256
"""Merges between two checks of the clock and for Ctrl-C: a few milliseconds."""

MOST_THREADS: Final = 4
"""The heap and the table of pairs are those of one thread: more would mostly wait for it."""

THREAD_BYTES: Final = 1 << 18
"""Of distinct pieces. With fewer, most lists of places are too short to be divided."""

NEWEST: Final = 5


def train_vocabulary(
    arena: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    *,
    n_merges: int,
    min_frequency: int,
    ties: Ties,
    max_token_length: int | None,
    progress: Callable[[Progress], Any] | None,
    num_threads: int = 1,
) -> Vocabulary:
    """Merge the most frequent pair of neighbouring tokens, `n_merges` times.

    Args:
        arena: the distinct pieces' bytes, concatenated.
        offsets: shape (n + 1,); piece k is `arena[offsets[k]:offsets[k + 1]]`.
        counts: shape (n,); the number of occurrences of each piece.
        n_merges: maximum number of merges.
        min_frequency: rarer pairs are not merged.
        ties: which of equally frequent pairs is merged first.
        max_token_length: in bytes; None: MAX_TOKEN_BYTES, the limit of the tables.
        progress: called every few hundred merges.
        num_threads: maximum number of threads. The result does not depend on it.

    Returns:
        The 256 bytes, then the merges' tokens, with ids in this order.

    Cost: near-linear: O((bytes + merges) log pairs). Memory is 30 to 60 bytes for each byte of
    the distinct pieces. docs/training.md has proofs.
    """
    _check_sum(offsets, counts)
    merger = Merger(
        arena, offsets, counts, 256 + n_merges, min_frequency, max_token_length or MAX_TOKEN_BYTES,
        get_args(Ties).index(ties), min(num_threads, MOST_THREADS, len(arena) // THREAD_BYTES),
    )  # fmt: skip
    with assisted(merger, merger.n_parts):
        while not merger.finished:
            done = merger.advance(MERGES_AT_ONCE)
            if progress is not None:
                newest = tuple(merger.newest(NEWEST))
                progress(Progress("merge", merges=done, most_merges=n_merges, newest=newest))
    tokens, lengths = merger.tokens_so_far()
    left_lengths = np.zeros(len(lengths), dtype=np.uint32)
    left_lengths[256:] = lengths[merger.merges()[0][:, 0]]
    return Vocabulary(tokens, lengths, np.arange(len(lengths), dtype=np.uint32), left_lengths)


def _check_sum(offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Refuse counts whose pairs could exceed int64; half of it, since floats are not exact.

    Not by `np.dot`: the threads of its library then keep all processors busy for a while.
    """
    if float((counts.astype(np.float64) * np.diff(offsets)).sum()) > 2.0**62:
        raise OverflowError(
            "the pieces have more than 2**62 bytes, repeated ones counted: divide the counts"
        )
