"""Rebuild the packed vocabularies from the published `.tiktoken` rank files.

    python tools/build_vocabularies.py DIRECTORY

DIRECTORY holds the rank files under their published names (the addresses are in
NOTICE). Each is checked against its published sha256 first, and what is written is
read back and compared.
"""

import argparse
import hashlib
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cutline.formats.tiktoken_file import read_tiktoken
from cutline.vocabulary import RANK_FILE_SHA256, Vocabulary, pack, unpack

VOCABULARIES = Path(__file__).parent / "vocabularies"


def last_merge_left_length(token: bytes, ranks: dict[bytes, int]) -> int:
    """Byte length of the left part of the merge that completes a token.

    The token's bytes are merged as in any text: the adjacent pair whose union has the
    lowest rank first, the leftmost on a tie. Returns 0 when that never gives the token.
    """
    parts = [token[place : place + 1] for place in range(len(token))]
    while len(parts) > 1:
        unions = [left + right for left, right in pairwise(parts)]
        _, place = min(
            ((ranks[union], place) for place, union in enumerate(unions) if union in ranks),
            default=(0, -1),
        )
        if place < 0:
            return 0
        if len(parts) == 2:
            return len(parts[0])
        parts[place : place + 2] = [unions[place]]
    return 0


def recover_left_lengths(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """`last_merge_left_length` of every token: uint32, shape (n,)."""
    ranks = vocabulary.to_ranks()
    return np.array([last_merge_left_length(token, ranks) for token in ranks], dtype=np.uint32)


def build(rank_path: Path, packed_path: Path) -> None:
    """Check one rank file, write its packed form and prove that it reads back."""
    digest = hashlib.sha256(rank_path.read_bytes()).hexdigest()
    if digest != RANK_FILE_SHA256[rank_path.stem]:
        sys.exit(
            f"{rank_path} has sha256 {digest}, published is "
            f"{RANK_FILE_SHA256[rank_path.stem]}; download it again"
        )
    vocabulary = read_tiktoken(rank_path)
    left_lengths = recover_left_lengths(vocabulary)
    data = pack(vocabulary.with_left_lengths(left_lengths))
    packed_path.write_bytes(data)
    restored = unpack(packed_path.read_bytes(), str(packed_path))
    restored_lengths = restored.left_lengths
    if (
        restored != vocabulary
        or restored_lengths is None
        or not np.array_equal(restored_lengths, left_lengths)
    ):
        sys.exit(f"{packed_path} does not read back as what was written")
    underived = int(np.count_nonzero(left_lengths == 0)) - 256
    print(
        f"{packed_path.name}: {len(vocabulary)} tokens, {len(data)} bytes, "
        f"{underived} tokens that merging does not reach"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="where the .tiktoken files are")
    directory: Path = parser.parse_args().directory
    for rank_file in RANK_FILE_SHA256:
        build(directory / f"{rank_file}.tiktoken", VOCABULARIES / f"{rank_file}.bin")


if __name__ == "__main__":
    main()
