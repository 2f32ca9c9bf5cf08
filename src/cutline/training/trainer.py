"""Training an encoding from text, or from counts of its pieces."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

from cutline.checks import checked_integer, plain_text
from cutline.encoding import Encoding
from cutline.errors import shown
from cutline.tables import MAX_TOKEN_BYTES
from cutline.training.counting import checked_thread_limit, count_pieces
from cutline.training.counts import PieceCounts, checked_special_texts
from cutline.training.merging import Ties, train_vocabulary
from cutline.training.progress import Progress
from cutline.training.sources import Files
from cutline.vocabulary import O200K_PAT_STR
from cutline.vocabulary.vocabulary import MAX_TOKEN_COUNT

__all__ = ["check_limits", "train", "train_from_counts"]


def train(
    source: Files | Iterable[Any],
    vocab_size: int,
    *,
    pat_str: str | None = O200K_PAT_STR,
    special_tokens: Iterable[str] = (),
    min_frequency: int = 2,
    ties: Ties = "smallest",
    max_token_length: int | None = None,
    column: str | None = None,
    num_threads: int | None = None,
    progress: Callable[[Progress], Any] | None = None,
    name: str = "trained",
) -> Encoding:
    r"""Train a byte-level BPE encoding.

    The result is deterministic: it depends only on the text, not on the order of files, on
    threads or on how the text is read.

    Args:
        source: files, or an iterable of texts: see `count_pieces`.
        vocab_size: the total number of tokens: 256 bytes, merges and special tokens.
        pat_str: the split pattern; None: each document is one piece.
        special_tokens: texts that split documents and are not merged. Their ids follow the
            last merge.
        min_frequency: training stops when no pair occurs as often; the vocabulary is then
            smaller.
        ties: which of equally frequent pairs is merged first: "smallest", the pair of byte
            strings that sorts first; "largest", the pair that sorts last; "ids", the pair
            with the lower ids (left, then right).
        max_token_length: maximum length of a token in bytes; None: 32,768.
        column: the column of JSONL or Parquet files that has the text.
        num_threads: None: the number of processors.
        progress: called with a `Progress` several times a second.
        name: the encoding's name.

    Raises:
        ValueError: an argument is out of range, the source has no text, or its distinct pieces
            have about 4 GiB or more in total: their bytes, and one more for each, must be less.
        FileNotFoundError, OSError: a file cannot be read.
        PatternError: the split pattern is no valid regular expression.

    Cost: counting is linear in the text; memory is bounded by the distinct pieces, not by the
    text. Merging: see `train_from_counts`.

    >>> enc = train(iter(["low low low lower lowest"]), 260, pat_str=r" ?\w+")
    >>> enc.decode_tokens_bytes(enc.encode("lower low"))
    [b'low', b'e', b'r', b' low']
    """
    name = plain_text(name, "name")
    special_tokens = checked_special_texts(special_tokens)
    check_limits(vocab_size, special_tokens, min_frequency, ties, max_token_length)
    counts = count_pieces(
        source,
        pat_str=pat_str,
        special_tokens=special_tokens,
        column=column,
        num_threads=num_threads,
        progress=progress,
    )
    return train_from_counts(
        counts, vocab_size, min_frequency=min_frequency, ties=ties,
        max_token_length=max_token_length, num_threads=num_threads, progress=progress, name=name,
    )  # fmt: skip


def train_from_counts(
    counts: PieceCounts,
    vocab_size: int,
    *,
    min_frequency: int = 2,
    ties: Ties = "smallest",
    max_token_length: int | None = None,
    num_threads: int | None = None,
    progress: Callable[[Progress], Any] | None = None,
    name: str = "trained",
) -> Encoding:
    r"""Train on counts of pieces; the second half of `train`.

    Args:
        counts: from `count_pieces`, of one machine or the sum of many; with their split
            pattern and special tokens.
        vocab_size: as for `train`, like the other arguments.
        min_frequency: training stops when no pair occurs as often.
        ties: which of equally frequent pairs is merged first.
        max_token_length: maximum length of a token in bytes.
        num_threads: None: the number of processors. The result does not depend on it.
        progress: called with a `Progress` several times a second.
        name: the encoding's name.

    Raises:
        ValueError: an argument is out of range, or the distinct pieces have about 4 GiB or more
            in total: their bytes, and one more for each, must be less.
        OverflowError: the pieces have more than 2**62 bytes, repeated ones counted.

    Cost: near-linear in the distinct pieces and the merges. A merge visits the occurrences of
    its pair, and updates the counts of the pairs next to them; a heap has the next pair.

    >>> import cutline
    >>> counts = cutline.count_pieces(iter(["low low low lower lowest"]), pat_str=r" ?\w+")
    >>> enc = cutline.train_from_counts(counts, 260)
    >>> [enc.decode_single_token_bytes(token) for token in range(256, 260)]
    [b'lo', b'low', b' low', b' lowe']
    """
    if not isinstance(counts, PieceCounts):
        raise TypeError(
            f"counts must be PieceCounts, got {type(counts).__name__}: count_pieces counts texts, "
            "and PieceCounts.from_pieces takes counts by piece"
        )
    check_limits(vocab_size, counts.special_tokens, min_frequency, ties, max_token_length)
    vocabulary = train_vocabulary(
        *counts.arrays(),
        n_merges=vocab_size - 256 - len(counts.special_tokens),
        min_frequency=min_frequency,
        ties=ties,
        max_token_length=max_token_length,
        progress=progress,
        num_threads=checked_thread_limit(num_threads),
    )
    first = len(vocabulary)
    return Encoding.from_vocabulary(
        name,
        pat_str=counts.pat_str,
        vocabulary=vocabulary,
        special_tokens={text: first + k for k, text in enumerate(counts.special_tokens)},
    )


def check_limits(
    vocab_size: int,
    special_tokens: Sequence[str],
    min_frequency: int,
    ties: Ties,
    max_token_length: int | None,
) -> None:
    """Refuse arguments out of range before hours of counting.

    Raises:
        ValueError: names the argument of `train` and its limits.
    """
    least = 256 + len(special_tokens)
    if not least <= checked_integer(vocab_size, "vocab_size") <= MAX_TOKEN_COUNT:
        raise ValueError(
            f"vocab_size must be from {least} (256 bytes and {len(special_tokens)} special "
            f"tokens) to {MAX_TOKEN_COUNT}, got {vocab_size}"
        )
    if not 1 <= checked_integer(min_frequency, "min_frequency") < 2**63:
        raise ValueError(f"min_frequency must be from 1 to 2**63 - 1, got {min_frequency}")
    if ties not in get_args(Ties):
        raise ValueError(
            f"ties must be one of {', '.join(map(repr, get_args(Ties)))}, got {shown(ties)}"
        )
    if max_token_length is None:
        return
    if not 1 <= checked_integer(max_token_length, "max_token_length") <= MAX_TOKEN_BYTES:
        raise ValueError(
            f"max_token_length must be from 1 to {MAX_TOKEN_BYTES} bytes, got {max_token_length}"
        )
