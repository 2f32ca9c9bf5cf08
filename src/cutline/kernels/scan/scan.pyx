"""Split text into pieces with the tables of an automaton.

The tables come from `cutline.pretokenize`; docs/scanning.md says why a scan with
them gives the leftmost-first match of the split pattern.

Guarded by tests/kernels/test_scan.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from cutline.kernels.base.late import numpy as np
from cutline.kernels.scan.automaton cimport ACCEPTS, ACCEPTS_AFTER, ACCEPTS_BEFORE
from cutline.kernels.scan.lane_table cimport lane_table_of

cdef enum:
    STREAM_ENTRIES = 1 << 16    # a number has 16 bits; a larger automaton does without a stream


cdef class ScanTables:
    """The automaton's arrays, kept alive for the pointers that the kernels read.

    Trusts: the arrays were checked by `cutline.pretokenize` (every target number and
    every class lies inside the table).
    """

    def __cinit__(
        self,
        const uint8_t[::1] ascii_class not None,
        const uint16_t[::1] block_index not None,
        const uint8_t[::1] block_class not None,
        const uint32_t[::1] transitions not None,
        uint32_t stride,
        const uint8_t[::1] in_pieces,
    ):
        cdef const uint32_t[::1] lane_entries
        cdef const uint8_t[::1] lane_ends
        cdef const uint8_t[:, ::1] apart
        if ascii_class.shape[0] != 128 or block_index.shape[0] != 0x110000 >> 6:
            raise ValueError("class tables do not cover all code points")
        if in_pieces is not None and in_pieces.shape[0] != stride - 1:
            raise ValueError("it is not said for each class whether it is in pieces")
        if block_class.shape[0] == 0 or transitions.shape[0] < 2 * stride or stride == 0:
            raise ValueError("an automaton needs a dead and a start state")
        self.arrays = (ascii_class, block_index, block_class, transitions, stride)
        self.in_pieces = in_pieces
        self.scanner.ascii_class = &ascii_class[0]
        self.scanner.block_index = &block_index[0]
        self.scanner.block_class = &block_class[0]
        self.scanner.transitions = &transitions[0]
        self.scanner.start_state = stride
        self.scanner.end_class = stride - 1
        if 2 * transitions.shape[0] <= STREAM_ENTRIES:
            self.apart = apart = apart_of(transitions, stride)
            self.scanner.apart = &apart[0, 0]
        self.has_gaps = in_pieces is not None
        if self.has_gaps:
            self.scanner.in_pieces = &in_pieces[0]
        elif 2 * transitions.shape[0] <= STREAM_ENTRIES:
            self.stream_states, self.stream_flags = stream_of(transitions, stride)
            self.scanner.stream_states = &self.stream_states[0, 0, 0]
            self.scanner.stream_flags = &self.stream_flags[0, 0, 0]
            self.scanner.stream_start = 2 * stride
            made = lane_table_of(ascii_class, block_index, block_class, transitions, stride)
            if made is not None:
                self.lane_table, self.lane_ends = lane_entries, lane_ends = made
                self.scanner.lane_table = &lane_entries[0]
                self.scanner.lane_ends = &lane_ends[0]


cdef tuple stream_of(const uint32_t[::1] transitions, uint32_t stride):
    """Make the tables of the stream, states and flags: two states for each of the automaton's.

    The second is for pieces that could end after the last character. Two tables, because the
    next step waits for the state alone.
    """
    cdef Py_ssize_t number, column, n_states = transitions.shape[0] // stride
    cdef uint32_t entry, taken
    cdef bint ends
    shape = (n_states, 2, stride)
    states = memoryview(bytearray(4 * n_states * stride)).cast("H", shape)
    flags = memoryview(bytearray(2 * n_states * stride)).cast("B", shape)
    cdef uint16_t[:, :, ::1] state_entries = states
    cdef uint8_t[:, :, ::1] flag_entries = flags
    for column in range(stride):
        for number in range(n_states):
            entry = transitions[number * stride + column]
            # Dead, with or without a match before this character: it begins the next piece.
            ends = entry == 0 or entry == ACCEPTS_BEFORE
            taken = transitions[stride + column] if ends else entry
            state_entries[number, :, column] = 2 * (taken >> 2) + (
                stride if taken & ACCEPTS == ACCEPTS_AFTER else 0
            )
            flag_entries[number, :, column] = (taken & ACCEPTS) << 2 | (ENDS if ends else 0)
            if entry == 0:
                flag_entries[number, 0, column] = LATE
    return states, flags


cdef object apart_of(const uint32_t[::1] transitions, uint32_t stride):
    """Which pairs of classes are in no piece, one behind the other, and always split.

    From each state after the first class, the second one must end the piece without being part of
    it, and exactly as the end of the text would. Source: docs/tokenizers.md, "Safe split points".
    """
    cdef Py_ssize_t n = stride - 1, n_states = transitions.shape[0] // stride, number, second
    cdef uint32_t first, dfa_state, entry, at_end
    pairs = memoryview(bytearray(b"\1" * (n * n))).cast("B", (n, n))
    cdef uint8_t[:, ::1] apart = pairs
    for first in range(n):
        reached = set()
        for number in range(1, n_states):
            reached.add(transitions[number * stride + first] >> 2)
        reached.discard(0)
        for dfa_state in reached:
            at_end = transitions[dfa_state + n]
            for second in range(n):
                entry = transitions[dfa_state + second]
                # Dead, and a piece could end before this character if it could at the end.
                apart[first, second] &= (entry == 0 or entry == ACCEPTS_BEFORE) and (
                    (entry == 0) == (at_end & ACCEPTS == 0)
                )
    return pairs


def scan_pieces(ScanTables tables not None, bytes text not None):
    """Find all pieces of a text.

    Args:
        tables: the automaton.
        text: valid UTF-8.

    Returns:
        Three int64 arrays of one entry a piece: where it starts and ends, in
        bytes, and how far its decision looked (one more than the last byte
        lookahead_end; one more than the length when it depended on the text's end).
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), at = 0, end, lookahead_end = 0, skipped = 0
    starts, ends, looked = [], [], []
    while at < n:
        end = scan_piece(&tables.scanner, data, at, n, &lookahead_end)
        if end < 0:
            # What was decided for skipped text holds for the piece that follows it too.
            skipped = max(skipped, lookahead_end)
            at += char_bytes(data[at])
            continue
        starts.append(at)
        ends.append(end)
        looked.append(max(skipped, lookahead_end))
        skipped = 0
        at = end
    return (
        np.array(starts, dtype=np.int64),
        np.array(ends, dtype=np.int64),
        np.array(looked, dtype=np.int64),
    )
