"""Where memory lies.

Guarded by tests/kernels/test_large_pages.py.
"""

from cutline.kernels.base.common cimport uint8_t


def address_of(const uint8_t[::1] memory not None):
    """The address of the first byte, of which there must be one."""
    return <size_t> &memory[0]
