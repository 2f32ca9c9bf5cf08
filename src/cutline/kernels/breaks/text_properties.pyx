"""Where the properties of characters come from: set once, before any text is looked at.

Guarded by tests/kernels/test_break_rules.py.
"""

from array import array

cdef tuple kept = ()            # the arrays that `tables` points to


def set_tables(
    const uint16_t[::1] block_index not None, const uint8_t[::1] block_class not None,
    const uint32_t[::1] values not None, list words not None,
):
    """Take the tables; only the first ones, for other threads may read them.

    Args:
        words: three lists: see `Properties`.

    Trusts: every block and every class lies inside its table.
    """
    global kept
    if kept:
        return
    if block_index.shape[0] != 0x110000 >> BLOCK_BITS:
        raise ValueError("the tables do not cover all code points")
    hashes = [hashes_of(few) for few in words]
    kept = (block_index, block_class, values, *hashes)
    tables.block_index = &block_index[0]
    tables.block_class = &block_class[0]
    tables.values = &values[0]
    take_words(&tables.abbreviations, hashes[0])
    take_words(&tables.before_numbers, hashes[1])
    take_words(&tables.before_ordinals, hashes[2])


cdef object hashes_of(list words):
    cdef uint64_t found
    cdef str word
    cdef list hashes = []
    for word in words:
        found = 0
        for character in reversed(word):
            found = next_hash(found, ord(character))
        hashes.append(found)
    return array("Q", sorted(hashes))


cdef int take_words(WordSet* words, const uint64_t[::1] hashes) except -1:
    words.hashes = &hashes[0]
    words.n = hashes.shape[0]
    return 0


cdef int need_tables() except -1:
    if not kept:
        raise RuntimeError("the tables of text boundaries are not loaded")
    return 0
