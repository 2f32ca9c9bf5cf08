"""Which parts of a text differ in their characters: of equal ones only one is counted.

Guarded by tests/pipeline/test_distinct_parts.py.
"""

from libc.stdlib cimport calloc, free

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, characters_of, slice_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, int64_t, same_bytes, uint8_t, uint64_t,
)
from cutline.kernels.base.signals cimport Watch, is_interrupted, raise_pending
from cutline.kernels.encode.runs cimport PartKey, make_part_key

cdef enum:
    LEAST_SLOTS = 1 << 10
    WORK = 16                   # of a part, in bytes

cdef struct Slot:
    uint64_t hashed
    Py_ssize_t number           # of a distinct part, and 1; 0: of none

# At least half of the slots are free.
cdef struct Table:
    Slot* slots
    uint64_t mask
    Py_ssize_t count


def distinct_parts(str text not None, const int64_t[:, :] spans not None):
    """Tell which parts of a text differ.

    Args:
        text: a plain str.
        spans: shape (n, 2), of 1 to LONGEST_PART characters each (trusted).

    Returns:
        int64: the rows of those that differ, of equal ones the first; and of each part, which of these
        is equal to it.
    """
    cdef Characters characters = characters_of(text)
    cdef Py_ssize_t n = spans.shape[0], outcome
    firsts, numbers = zeroed_numbers("q", n), zeroed_numbers("q", n)
    cdef int64_t[::1] rows = firsts, out = numbers
    cdef Table table
    table.count = 0
    table.mask = LEAST_SLOTS - 1
    table.slots = <Slot*> calloc(LEAST_SLOTS, sizeof(Slot))
    with nogil:
        outcome = NO_MEMORY
        if table.slots != NULL:
            outcome = fill_table(&table, &characters, spans, rows, out)
        free(table.slots)
    if outcome == INTERRUPTED:
        raise_pending()
    if outcome == NO_MEMORY:
        raise MemoryError(f"no memory for {n} parts")
    return firsts[:table.count], numbers


cdef Py_ssize_t fill_table(
    Table* table, const Characters* text, const int64_t[:, :] spans, int64_t[::1] firsts,
    int64_t[::1] numbers
) noexcept nogil:
    """Returns 0, or a status."""
    cdef Characters part
    cdef PartKey key
    cdef Slot* slot
    cdef Watch watch
    cdef Py_ssize_t row
    watch.is_on, watch.work, watch.defers = True, 0, False
    for row in range(spans.shape[0]):
        part = slice_of(text, spans[row, 0], spans[row, 1])
        make_part_key(&part, False, &key)
        slot = find_slot(table, text, spans, firsts, &part, key.key.hashed)
        if slot.number == 0:
            firsts[table.count] = row
            table.count += 1
            slot.number = table.count
            slot.hashed = key.key.hashed
        numbers[row] = slot.number - 1
        if 2 * table.count > <Py_ssize_t> table.mask and not double_table(table):
            return NO_MEMORY
        if is_interrupted(&watch, WORK + part.n):
            return INTERRUPTED
    return 0


cdef inline Slot* find_slot(
    const Table* table, const Characters* text, const int64_t[:, :] spans,
    const int64_t[::1] firsts, const Characters* part, uint64_t hashed
) noexcept nogil:
    """The slot of a part, or the free one that it takes."""
    cdef uint64_t at = hashed >> 20 & table.mask
    cdef Slot* slot
    cdef Py_ssize_t row
    while True:
        slot = table.slots + at
        if slot.number == 0:
            return slot
        if slot.hashed == hashed:
            row = firsts[slot.number - 1]
            if spans[row, 1] - spans[row, 0] == part.n and same_bytes(
                <const uint8_t*> text.data + spans[row, 0] * text.kind,
                <const uint8_t*> part.data, part.n * part.kind,
            ):
                return slot
        at = at + 1 & table.mask


cdef bint double_table(Table* table) noexcept nogil:
    """Move all to twice as many slots. False: no memory."""
    cdef uint64_t mask = 2 * table.mask + 1, number, at
    cdef Slot* slots = <Slot*> calloc(mask + 1, sizeof(Slot))
    if slots == NULL:
        return False
    for number in range(table.mask + 1):
        if table.slots[number].number:
            at = table.slots[number].hashed >> 20 & mask
            while slots[at].number:
                at = at + 1 & mask
            slots[at] = table.slots[number]
    free(table.slots)
    table.slots, table.mask = slots, mask
    return True
