"""The automaton's step and the plain scanner, inlined into the kernels that walk pieces."""

from cutline.kernels.base.characters cimport Characters, char_at
from cutline.kernels.base.common cimport NOT_FOUND, char_bytes, uint8_t, uint16_t, uint32_t
from cutline.kernels.scan.automaton cimport ACCEPTS, ACCEPTS_AFTER, ACCEPTS_BEFORE

# A state of the automaton is its offset: where its row of `transitions` begins.
cdef struct Scanner:
    const uint8_t* ascii_class      # 128
    const uint16_t* block_index     # code point >> 6 -> block number
    const uint8_t* block_class      # 64 a block
    const uint32_t* transitions     # [state + class] = next state << 2 | where the step accepts
    uint32_t start_state
    uint32_t end_class              # column of the end-of-text symbol
    const uint16_t* stream_states   # [state + class] = next state; or NULL
    const uint8_t* stream_flags     # [state + class] = what is said below
    uint16_t stream_start           # the state after nothing
    const uint32_t* lane_table      # of the scan by lanes, or NULL
    const uint8_t* lane_ends        # by state: what the end of a text decides, as an entry does
    const uint8_t* in_pieces        # by class: whether such a character is in a piece of any text;
                                    # NULL: all are
    const uint8_t* apart            # [class][class]: where two such meet, a piece ends; or NULL

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
    cdef const uint16_t[:, :, ::1] stream_states
    cdef const uint8_t[:, :, ::1] stream_flags
    cdef readonly object lane_table, lane_ends, apart
    cdef const uint8_t[::1] in_pieces
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


cdef inline uint32_t next_class(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t* at
) noexcept nogil:
    """Class of the character at text[at], in valid UTF-8. Moves `at` past it."""
    cdef Py_ssize_t before = at[0], width
    cdef uint8_t byte = text[before]
    if byte < 0x80:
        at[0] = before + 1
        return scanner.ascii_class[byte]
    width = char_bytes(byte)
    at[0] = before + width
    return char_class(scanner, text + before, width)


cdef inline uint32_t step(
    const Scanner* scanner, uint32_t dfa_state, const uint8_t* text, Py_ssize_t* at
) noexcept nogil:
    """The entry of `transitions` for the character at text[at]. Moves `at` past it."""
    return scanner.transitions[dfa_state + next_class(scanner, text, at)]


cdef inline Py_ssize_t accepted_end(
    uint32_t entry, Py_ssize_t before, Py_ssize_t after, Py_ssize_t piece_end
) noexcept nogil:
    """The piece's end after a step over the character from `before` to `after`.

    `piece_end` where the step accepts nothing.
    """
    if entry & ACCEPTS == ACCEPTS_AFTER:
        return after
    return before if entry & ACCEPTS == ACCEPTS_BEFORE else piece_end


cdef inline bint accepts_end(const Scanner* scanner, uint32_t dfa_state) noexcept nogil:
    """Whether a piece ends here if the text does."""
    return scanner.transitions[dfa_state + scanner.end_class] & ACCEPTS != 0


cdef inline Py_ssize_t scan_piece(
    const Scanner* scanner,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,    # in: valid UTF-8 in text[start:end]
    Py_ssize_t* lookahead_end,                                # out: how far the decision looked
) noexcept nogil:
    """End of the piece that starts at `start` (start < end), or NOT_FOUND.

    `lookahead_end` is one more than the last byte looked at, or end + 1 when the
    decision depends on the text ending at `end`.
    """
    cdef uint32_t dfa_state = scanner.start_state, entry
    cdef Py_ssize_t at = start, before, piece_end = NOT_FOUND
    while at < end:
        before = at
        entry = step(scanner, dfa_state, text, &at)
        piece_end = accepted_end(entry, before, at, piece_end)
        dfa_state = entry >> 2
        if dfa_state == 0:
            # Nothing can follow.
            lookahead_end[0] = at
            return piece_end
    lookahead_end[0] = end + 1
    return end if accepts_end(scanner, dfa_state) else piece_end


# The scan of one piece of a str, which can stop anywhere and go on.
cdef struct PieceScan:
    uint32_t dfa_state                # of the automaton; 0: it died
    Py_ssize_t at
    Py_ssize_t piece_end              # as far as is known, or NOT_FOUND


cdef inline void begin_scan(
    const Scanner* scanner, PieceScan* scan, Py_ssize_t start
) noexcept nogil:
    scan.dfa_state = scanner.start_state
    scan.at = start
    scan.piece_end = NOT_FOUND


cdef inline void continue_scan(
    const Scanner* scanner, const Characters* text, PieceScan* scan, Py_ssize_t end
) noexcept nogil:
    """Go on to `end`, or to the character on which the automaton dies."""
    cdef uint32_t dfa_state = scan.dfa_state, entry, code_point, column
    cdef Py_ssize_t at = scan.at
    while at < end:
        code_point = char_at(text, at)
        if code_point < 0x80:
            column = scanner.ascii_class[code_point]
        else:
            column = scanner.block_class[
                <uint32_t> scanner.block_index[code_point >> 6] << 6 | (code_point & 0x3F)
            ]
        entry = scanner.transitions[dfa_state + column]
        at += 1
        scan.piece_end = accepted_end(entry, at - 1, at, scan.piece_end)
        dfa_state = entry >> 2
        if dfa_state == 0:
            break
    scan.dfa_state = dfa_state
    scan.at = at


cdef inline bint ends_whole(const Scanner* scanner, const PieceScan* scan) noexcept nogil:
    """Whether a text that ends here is one piece."""
    return scan.piece_end == scan.at or (
        scan.dfa_state != 0 and accepts_end(scanner, scan.dfa_state)
    )
