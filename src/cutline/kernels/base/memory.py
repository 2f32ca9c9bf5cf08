"""Memory for tables that are read at random: in large pages, where the system has them.

A table of megabytes takes a thousand pages of four kilobytes, more than a TLB holds: translating
the address takes longer than fetching the data. With pages of two megabytes the TLB holds them
all. docs/algorithm.md, "Huge pages".

Guarded by tests/kernels/test_large_pages.py.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from contextlib import suppress
from struct import calcsize
from typing import TYPE_CHECKING, Any

from cutline.kernels.base.addresses import address_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    from cutline.kernels.base.late import numpy as np

__all__ = ["LINE_BYTES", "in_large_pages", "zeroed_memory", "zeroed_numbers"]

LINE_BYTES = 64  # of the cache: what is fetched at once
_PAGE_BYTES = 1 << 21


def zeroed_memory(n_bytes: int, *, large_pages: bool) -> memoryview:
    """Give zeroed memory that starts a line of the cache.

    Args:
        n_bytes: 1 or more.
        large_pages: in pages of two megabytes, if it is as large and the system has them. Such
            a page is there from the first byte written to it.

    Raises:
        MemoryError: there is none.
    """
    if n_bytes >= _PAGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        # What the system refuses here, it may still give in small pages.
        with suppress(OSError):
            pages = mmap.mmap(
                -1, n_bytes + _PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            )
            if large_pages:
                with suppress(OSError):
                    pages.madvise(mmap.MADV_HUGEPAGE)
            return _aligned(memoryview(pages), n_bytes, _PAGE_BYTES)
    return _aligned(memoryview(bytearray(n_bytes + LINE_BYTES)), n_bytes, LINE_BYTES)


def zeroed_numbers(code: Any, n: int) -> memoryview:
    """Give n zeros, as numpy would that takes longer to import than most calls.

    Args:
        code: their type, as in `struct`.
        n: 0 or more.
    """
    n_bytes = n * calcsize(code)
    if n_bytes < _PAGE_BYTES:
        return memoryview(bytearray(n_bytes)).cast(code)
    return zeroed_memory(n_bytes, large_pages=False).cast(code)


def in_large_pages(arrays: Iterable[NDArray[np.generic]]) -> list[NDArray[np.generic]]:
    """Copy the arrays, side by side."""
    arrays = list(arrays)
    sizes = [-(-array.nbytes // LINE_BYTES) * LINE_BYTES for array in arrays]
    memory = np.asarray(zeroed_memory(max(sum(sizes), 1), large_pages=True))
    copies = []
    at = 0
    for array, size in zip(arrays, sizes, strict=True):
        copy = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        copies.append(copy)
        at += size
    return copies


def _aligned(memory: memoryview, n_bytes: int, to: int) -> memoryview:
    start = -address_of(memory) % to
    return memory[start : start + n_bytes]
