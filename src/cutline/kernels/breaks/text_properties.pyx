"""Where the properties of characters come from: set once, before any text is looked at.

Guarded by tests/kernels/test_break_rules.py.
"""

cdef tuple kept = ()            # the arrays that `tables` points to


def set_tables(
    const uint16_t[::1] block_index not None, const uint8_t[::1] block_class not None,
    const uint32_t[::1] values not None, const uint64_t[::1] abbreviations not None,
):
    """Take the tables; only the first ones, for other threads may read them.

    Trusts: every block and every class lies inside its table.
    """
    global kept
    if kept:
        return
    if block_index.shape[0] != 0x110000 >> BLOCK_BITS:
        raise ValueError("the tables do not cover all code points")
    kept = (block_index, block_class, values, abbreviations)
    tables.block_index = &block_index[0]
    tables.block_class = &block_class[0]
    tables.values = &values[0]
    tables.abbreviations = &abbreviations[0]
    tables.n_abbreviations = abbreviations.shape[0]


cdef int need_tables() except -1:
    if not kept:
        raise RuntimeError("the tables of text boundaries are not loaded")
    return 0
