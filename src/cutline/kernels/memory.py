"""Memory for tables that are read at random: in large pages, where the system has them.

A table of megabytes lies in a thousand pages of four kilobytes, more than a processor keeps in
mind: to find the page takes longer than to fetch what is on it. One of two megabytes is found
at once. docs/algorithm.md, "Large pages".
"""

import mmap
from collections.abc import Iterable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

__all__ = ["LINE_BYTES", "in_large_pages", "large_pages"]

LINE_BYTES = 64  # of the cache: what is fetched at once
_PAGE_BYTES = 1 << 21


def large_pages(n_bytes: int) -> NDArray[np.uint8]:
    """Zeroed memory, in pages of two megabytes if it is as large and the system has them.

    Args:
        n_bytes: 1 or more.

    Raises:
        MemoryError: there is none.
    """
    if n_bytes >= _PAGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        # What the system refuses here, it may still give in small pages.
        with suppress(OSError):
            pages = mmap.mmap(
                -1, n_bytes + _PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            )
            with suppress(OSError):
                pages.madvise(mmap.MADV_HUGEPAGE)
            return _aligned(np.frombuffer(pages, dtype=np.uint8), n_bytes, _PAGE_BYTES)
    return _aligned(np.zeros(n_bytes + LINE_BYTES, dtype=np.uint8), n_bytes, LINE_BYTES)


def in_large_pages(arrays: Iterable[NDArray[np.generic]]) -> list[NDArray[np.generic]]:
    """Copy the arrays, side by side."""
    arrays = list(arrays)
    sizes = [-(-array.nbytes // LINE_BYTES) * LINE_BYTES for array in arrays]
    memory = large_pages(max(sum(sizes), 1))
    copies = []
    at = 0
    for array, size in zip(arrays, sizes, strict=True):
        copy = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        copies.append(copy)
        at += size
    return copies


def _aligned(memory: NDArray[np.uint8], n_bytes: int, to: int) -> NDArray[np.uint8]:
    start = -memory.__array_interface__["data"][0] % to
    return memory[start : start + n_bytes]
