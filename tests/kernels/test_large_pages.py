"""Tables lie side by side in large pages, or in small ones where there are no others."""

import mmap
import sys

import numpy as np
import pytest

from cutline.kernels.base.addresses import address_of
from cutline.kernels.base.memory import LINE_BYTES, in_large_pages, zeroed_memory

LARGE = 1 << 21


@pytest.mark.parametrize("large_pages", [False, True])
@pytest.mark.parametrize("n_bytes", [1, 63, 4096, LARGE - 1, LARGE, 3 * LARGE + 5])
def test_memory_is_zeroed_writable_and_starts_a_line(n_bytes: int, large_pages: bool) -> None:
    memory = np.asarray(zeroed_memory(n_bytes, large_pages=large_pages))
    assert (memory.shape, memory.dtype) == ((n_bytes,), np.uint8)
    assert not memory.any()
    assert memory.ctypes.data % LINE_BYTES == 0
    memory[:] = 255


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no large pages")
def test_large_memory_starts_a_large_page() -> None:
    assert address_of(zeroed_memory(LARGE, large_pages=True)) % LARGE == 0


def test_small_pages_are_taken_where_the_system_has_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    assert not np.asarray(zeroed_memory(LARGE, large_pages=True)).any()


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_small_pages_are_taken_where_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert not np.asarray(zeroed_memory(LARGE, large_pages=True)).any()


def test_arrays_are_copied_side_by_side() -> None:
    arrays = [
        np.arange(5, dtype=np.uint32),
        np.empty(0, dtype=np.uint8),
        np.arange(12, dtype=np.uint64).reshape(3, 4),
        np.frombuffer(b"abc", dtype=np.uint8),
    ]
    copies = in_large_pages(arrays)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy, strict=True)
        assert not np.shares_memory(array, copy)
        assert copy.ctypes.data % LINE_BYTES == 0 or not copy.size
    assert in_large_pages([]) == []
