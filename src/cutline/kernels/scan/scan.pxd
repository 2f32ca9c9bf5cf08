"""The plain scanner, inlined into the kernels that walk pieces."""

from cutline.kernels.base.common cimport char_bytes, uint8_t, uint16_t, uint32_t

cdef struct Scanner:
    const uint8_t* ascii_class      # 128
    const uint16_t* block_index     # code point >> 6 -> block number
    const uint8_t* block_class      # 64 a block
    const uint32_t* transitions     # [row + class] = row of the target << 2 | its accept code
    uint32_t start_row
    uint32_t end_class              # column of the end-of-text symbol
    const uint16_t* stream_rows     # [row + class] = row of the target, or NULL
    const uint8_t* stream_flags     # [row + class] = what is said below
    uint16_t stream_start           # the row behind nothing

# What a step of the stream says. docs/scanning.md: "The branchless scan".
cdef enum:
    ENDS = 1        # the piece before ends where this character begins
    LATE = 2        # it ended earlier: what was read since belongs to the next ones
    HERE = 4        # with this character, a piece could end
    ONE_AGO = 8     # without it, it could


cdef class ScanTables:
    """Owns the arrays that a Scanner points to."""
    cdef Scanner scanner
    cdef readonly tuple arrays
    cdef const uint16_t[:, :, ::1] stream_rows
    cdef const uint8_t[:, :, ::1] stream_flags
    cdef readonly bint has_gaps


cdef inline uint32_t char_class(
    const Scanner* scanner, const uint8_t* at, Py_ssize_t width
) noexcept nogil:
    """Class of the character of `width` (2 to 4) bytes that stands at `at`."""
    cdef uint32_t block
    if width == 2:
        block = at[0] & 0x1F
    elif width == 3:
        block = (at[0] & 0x0F) << 6 | (at[1] & 0x3F)
    else:
        block = (at[0] & 0x07) << 12 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F)
    return scanner.block_class[<uint32_t> scanner.block_index[block] << 6 | (at[width - 1] & 0x3F)]


cdef inline Py_ssize_t scan_piece(
    const Scanner* scanner,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,    # in: valid UTF-8 in text[start:end]
    Py_ssize_t* examined,                                     # out: how far the decision looked
) noexcept nogil:
    """End of the piece that starts at `start` (start < end), or -1 where none does.

    `examined` is one more than the last byte looked at, or end + 1 when the
    decision depends on the text ending at `end`.
    """
    cdef uint32_t row = scanner.start_row
    cdef uint32_t entry, code
    cdef Py_ssize_t at = start, before, width
    cdef Py_ssize_t piece_end = -1
    cdef uint8_t byte
    while at < end:
        before = at
        byte = text[at]
        if byte < 0x80:
            entry = scanner.transitions[row + scanner.ascii_class[byte]]
            at += 1
        else:
            width = char_bytes(byte)
            entry = scanner.transitions[row + char_class(scanner, text + at, width)]
            at += width
        if entry < 4:
            # Nothing can follow: the dead state, with or without a last accept.
            examined[0] = at
            if entry == 0:
                return piece_end
            return at if entry == 1 else before
        row = entry >> 2
        code = entry & 3
        if code == 1:
            piece_end = at
        elif code == 2:
            piece_end = before
    examined[0] = end + 1
    if scanner.transitions[row + scanner.end_class] & 3:
        return end
    return piece_end


