"""The summary that `cutline train` prints at the end."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from cutline.cli.status import shown_token

if TYPE_CHECKING:
    from cutline import Encoding
    from cutline.training import PieceCounts

__all__ = ["summary"]

_LONGEST = 8
_BATCH_PIECES = 1 << 16


def summary(
    encoding: "Encoding", counts: "PieceCounts", held_out: Sequence[str] | None
) -> Iterator[str]:
    """Yield the lines: size, compression, longest tokens.

    Args:
        encoding: the trained encoding.
        counts: the counts that it was trained on.
        held_out: texts that it was not trained on; None: none were asked for. Without any,
            compression is that of `counts`.
    """
    tokens = encoding.token_byte_values()
    merges, special = len(tokens) - 256, len(encoding.special_tokens_set)
    yield f"tokens       {encoding.n_vocab:,}: 256 bytes, {merges:,} merges, {special} special"
    yield f"pieces       {counts.total:,}, {len(counts):,} of them distinct"
    if held_out:
        n_bytes = sum(len(text.encode()) for text in held_out)
        n_tokens = sum(map(encoding.count, held_out))
        on = "on text held out"
    else:
        n_bytes, n_tokens = _sizes(encoding, counts)
        on = "on the text trained on"
        on += "; --held-out measures on other text" if held_out is None else ": none was held out"
    ratio = n_bytes / n_tokens if n_tokens else 0.0
    yield f"compression  {ratio:.3f} bytes per token, {n_bytes:,} bytes {on}"
    if longest := sorted(tokens, key=len, reverse=True)[: min(merges, _LONGEST)]:
        yield f"longest      {'  '.join(map(shown_token, longest))}"


def _sizes(encoding: "Encoding", counts: "PieceCounts") -> tuple[int, int]:
    """Return the bytes and the tokens of all pieces."""
    whole = type(encoding).from_vocabulary(
        encoding.name, pat_str=None, vocabulary=encoding._vocabulary, special_tokens={}
    )
    n_bytes = n_tokens = 0
    for batch in _batches(counts):
        token_counts = whole.count_batch([piece.decode() for piece, _ in batch], num_threads=1)
        for (piece, count), token_count in zip(batch, token_counts, strict=True):
            n_bytes += len(piece) * count
            n_tokens += int(token_count) * count
    return n_bytes, n_tokens


def _batches(counts: "PieceCounts") -> Iterator[list[tuple[bytes, int]]]:
    items = iter(counts.items())
    while batch := list(islice(items, _BATCH_PIECES)):
        yield batch
