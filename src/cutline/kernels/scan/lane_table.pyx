"""The table of the scan by lanes: an entry for each state and next byte of a text.

It is derived from the automaton in two steps. First, states and steps over whole characters,
which decide where pieces end without ever going back. Then bytes: what a character does is
looked up at its last byte, in rows for what its first bytes leave open; equal rows are one.
Why the steps are right: docs/scanning.md, "The stream of bytes".

Guarded by tests/kernels/test_lane_table.py.
"""

from cython cimport internal
from libc.stdlib cimport free, malloc

from cutline.kernels.base.memory import zeroed_numbers
from cutline.kernels.base.common cimport NONE, memcmp, memcpy, memset, scramble, uint64_t
from cutline.kernels.scan.automaton cimport ACCEPTS, ACCEPTS_AFTER, ACCEPTS_BEFORE

cdef enum:
    MAX_STATES = 512
    MAX_ENTRIES = 1 << 19           # of the table: 2 MB
    MAX_ROWS_MADE = 1 << 16         # before equal ones become one: some milliseconds
    STATE_ROW = 1 << STATE_ROW_BITS # entries: one for each byte that can begin a character
    INNER_ROW = 64                  # one for each byte that can continue it
    SLOTS = 1 << 14                 # of the hash table of inner rows: two for each, or more
    LONGEST_WAIT = 3                # bytes; with a character of four, bit 6 names the end
    SEGMENTS = 0x110000 >> 12       # of 64 blocks of 64 characters
    BLOCKS = SEGMENTS * 64

# What is known of the piece that a scan is in; `row` is the automaton's state.
cdef enum:
    OPEN            # it cannot end yet
    ENDED           # it can end after the last character
    WAITING         # it could, `distance` bytes ago; a scan `beside` this one began there
    BELIEVED        # it could, longer ago: that was reported, and is wrong if it ends later

cdef struct State:
    uint32_t kind
    uint32_t row
    uint32_t distance
    uint32_t held               # what the scan `beside` reported, as seen from the last byte
    uint32_t beside             # its state
    uint32_t older              # the state that was added before this one for `row`, or NONE


cdef object lane_table_of(
    const uint8_t[::1] ascii_class, const uint16_t[::1] block_index,
    const uint8_t[::1] block_class, const uint32_t[::1] transitions, uint32_t stride
):
    """Make the table, a uint32 array, and what the end of a text decides in each state.

    None if the table would be too large.
    """
    cdef TableBuilder builder = TableBuilder(ascii_class, block_index, block_class, transitions)
    builder.end_class = stride - 1
    builder.find_symbols(stride)
    builder.find_states(stride)
    if not builder.gave_up:
        builder.fill_state_rows()
        builder.fill_inner_rows()
    return None if builder.gave_up else builder.finished()


@internal
cdef class TableBuilder:
    """The table in the making, and what it is made of."""
    cdef const uint8_t[::1] ascii_class, block_class
    cdef const uint16_t[::1] block_index
    cdef const uint32_t[::1] transitions
    # A symbol is a class of characters of one width.
    cdef uint32_t[:, ::1] symbol_of     # by width and class, or NONE
    cdef uint32_t[::1] class_of, width_of
    cdef uint32_t n_symbols, n_states
    cdef uint32_t end_class
    cdef State states[MAX_STATES]
    cdef uint32_t[::1] newest           # by `row`: the state that was added last, or NONE
    cdef uint32_t[:, ::1] steps         # by state and symbol: the entry of the table
    cdef uint32_t* table
    cdef uint32_t n_entries, n_rows_made
    cdef uint32_t slots[SLOTS]          # of inner rows, by hash: where one begins, or 0
    cdef uint32_t[::1] block_rows       # of one state: what a character of a block does
    cdef uint32_t segment_rows[SEGMENTS]
    cdef uint32_t first_alike[SEGMENTS]     # the first segment of the same blocks
    cdef bint gave_up

    def __cinit__(
        self, const uint8_t[::1] ascii_class, const uint16_t[::1] block_index,
        const uint8_t[::1] block_class, const uint32_t[::1] transitions,
    ):
        self.ascii_class, self.block_index = ascii_class, block_index
        self.block_class, self.transitions = block_class, transitions
        # Not a bytearray: little of it will be touched.
        self.table = <uint32_t*> malloc(MAX_ENTRIES * sizeof(uint32_t))
        if self.table == NULL:
            raise MemoryError("no memory for the table of a scanner")

    def __dealloc__(self):
        free(self.table)

    cdef object finished(self):
        cdef uint32_t[::1] entries = zeroed_numbers("I", self.n_entries)
        cdef uint8_t[::1] at_end = zeroed_numbers("B", self.n_states)
        cdef uint32_t state
        memcpy(&entries[0], self.table, self.n_entries * sizeof(uint32_t))
        for state in range(self.n_states):
            at_end[state] = self.decided_at_end(&self.states[state])
        return entries.base, at_end.base

    cdef void find_symbols(self, uint32_t stride) except *:
        """Number the classes of ASCII, then those of the characters of 2, 3 and 4 bytes."""
        cdef uint32_t width, block, column, last
        cdef uint32_t[::1] seen = zeroed_numbers("I", self.block_class.shape[0] // 64)
        self.symbol_of = zeroed_numbers("I", 5 * stride).cast("B").cast("I", (5, stride))
        self.symbol_of[:, :] = NONE
        self.class_of = zeroed_numbers("I", 4 * stride)
        self.width_of = zeroed_numbers("I", 4 * stride)
        for column in range(128):
            self.add_symbol(1, self.ascii_class[column])
        for width in range(2, 5):
            last = BLOCKS if width == 4 else 1 << (5 * width - 5)
            for block in range(first_block(width), last):
                block = self.block_index[a_block(width, block)]
                if seen[block] != width:
                    seen[block] = width
                    for column in range(64):
                        self.add_symbol(width, self.block_class[64 * block + column])

    cdef void add_symbol(self, uint32_t width, uint32_t column) noexcept:
        if self.symbol_of[width, column] == NONE:
            self.class_of[self.n_symbols] = column
            self.width_of[self.n_symbols] = width
            self.symbol_of[width, column] = self.n_symbols
            self.n_symbols += 1

    cdef void find_states(self, uint32_t stride) except *:
        """Take every step from every state, beginning with that of a piece's start.

        A step refers to states of lower numbers, whose steps were taken before.
        """
        cdef uint32_t state = 0, symbol
        self.steps = zeroed_numbers("I", MAX_STATES * self.n_symbols).cast("B").cast(
            "I", (MAX_STATES, self.n_symbols)
        )
        self.newest = zeroed_numbers("I", self.transitions.shape[0])
        self.newest[:] = NONE
        self.add_state(OPEN, stride, 0, 0, 0)
        while state < self.n_states and not self.gave_up:
            for symbol in range(self.n_symbols):
                self.steps[state, symbol] = self.step(&self.states[state], symbol)
            state += 1

    cdef uint32_t add_state(
        self, uint32_t kind, uint32_t row, uint32_t distance, uint32_t held, uint32_t beside
    ) noexcept:
        """The entry that goes on with a state, which is added if it is new."""
        cdef State state
        cdef uint32_t number = self.newest[row]
        state.kind, state.row, state.distance = kind, row, distance
        state.held, state.beside, state.older = held, beside, number
        while number != NONE:
            if memcmp(&state, &self.states[number], sizeof(State) - sizeof(state.older)) == 0:
                return number * STATE_ROW << STATE_SHIFT
            number = self.states[number].older
        if self.n_states == MAX_STATES:
            self.gave_up = True
            return LOST
        self.states[self.n_states] = state
        self.newest[row] = self.n_states
        self.n_states += 1
        return (self.n_states - 1) * STATE_ROW << STATE_SHIFT

    cdef uint32_t step(self, const State* state, uint32_t symbol) noexcept:
        """The entry for reading a character in a state. LOST is always right to return."""
        cdef uint32_t width = self.width_of[symbol]
        cdef uint32_t entry = self.transitions[state.row + self.class_of[symbol]]
        cdef uint32_t accept = entry & ACCEPTS, row = entry >> 2, held
        cdef uint32_t beside = LOST     # the step of the scan that begins at the piece's end
        if state.kind == BELIEVED:
            beside = self.steps[state.beside, symbol]
            if entry == 0:
                return beside
            if accept or beside & (DECIDED | LOST):
                return LOST
            return self.add_state(BELIEVED, row, 0, 0, number_of(beside))
        if accept == ACCEPTS_AFTER:
            return self.add_state(ENDED, row, 0, 0, 0)
        if state.kind == OPEN and accept == 0:
            return LOST if entry == 0 else self.add_state(OPEN, row, 0, 0, 0)
        if accept == ACCEPTS_BEFORE or state.kind == ENDED:
            beside = self.steps[0, symbol]
            if beside & LOST:
                return LOST
            if row == 0:
                return beside | 1 << (width - 1)
            if width > LONGEST_WAIT:
                return LOST     # the end before a character is reported by it when that is final
            return self.wait(row, width, 0, number_of(beside))
        beside = self.steps[state.beside, symbol]
        if beside & LOST:
            return LOST
        held = state.held << width | (beside & DECIDED)
        if entry != 0:
            return self.wait(row, state.distance + width, held, number_of(beside))
        if self.states[number_of(beside)].kind == BELIEVED:
            return LOST     # a report that may be wrong, after another one in the same step
        return beside | held | 1 << (state.distance + width - 1)

    cdef uint8_t decided_at_end(self, const State* state) noexcept:
        """What a byte after a text that ends in a state would report of it. LOST is always right."""
        cdef uint32_t accept = self.transitions[state.row + self.end_class] & ACCEPTS, beside
        if state.kind == BELIEVED:
            return LOST if accept else self.decided_at_end(&self.states[state.beside])
        if accept or state.kind == ENDED:
            return 1
        if state.kind == OPEN:
            return LOST
        beside = self.decided_at_end(&self.states[state.beside])
        return LOST if beside & LOST else beside | state.held << 1 | 1 << state.distance

    cdef uint32_t wait(
        self, uint32_t row, uint32_t distance, uint32_t held, uint32_t beside
    ) noexcept:
        """The entry that goes on after a piece could have ended so many bytes ago."""
        if distance <= LONGEST_WAIT:
            return self.add_state(WAITING, row, distance, held, beside)
        if held or self.states[beside].kind == BELIEVED:
            return LOST     # more than one end would have to be taken back
        return self.add_state(BELIEVED, row, 0, 0, beside) | 1 << (distance - 1)

    cdef void fill_state_rows(self):
        """What a byte of ASCII does. A text that begins inside a character begins after it."""
        cdef uint32_t state, byte
        self.n_entries = self.n_states * STATE_ROW
        for state in range(self.n_entries):
            self.table[state] = LOST
        for state in range(self.n_states):
            for byte in range(128):
                self.table[state * STATE_ROW + byte] = self.steps[
                    state, self.symbol_of[1, self.ascii_class[byte]]
                ]
        for byte in range(0x80, 0xC0):
            self.table[byte] = 0

    cdef void fill_inner_rows(self):
        """What a longer character does: once for the states for which that is the same."""
        cdef uint32_t width, state, lead, row
        cdef uint32_t[::1] alike
        self.compare_segments()
        self.block_rows = zeroed_numbers("I", self.block_class.shape[0] // 64)
        for width in range(2, 5):
            alike = self.alike_in(width)
            for state in range(self.n_states):
                if alike[state] < state:
                    row = alike[state] * STATE_ROW + first_lead(width)
                    memcpy(
                        &self.table[state * STATE_ROW + first_lead(width)], &self.table[row],
                        (first_lead(width + 1) - first_lead(width)) * sizeof(uint32_t),
                    )
                    continue
                self.block_rows[:] = NONE
                memset(self.segment_rows, 0xFF, sizeof(self.segment_rows))
                for lead in range(first_lead(width), first_lead(width + 1)):
                    self.table[state * STATE_ROW + lead] = self.inner_step(
                        state, width, lead & 0xFF >> (width + 1), width - 1
                    )
                    if self.gave_up:
                        return

    cdef uint32_t[::1] alike_in(self, uint32_t width):
        """For each state the first that does the same on all characters of a width."""
        cdef uint32_t[::1] alike = zeroed_numbers("I", self.n_states)
        cdef uint32_t state, other, first = 0, n = 0
        while first < self.n_symbols and self.width_of[first] < width:
            first += 1
        while first + n < self.n_symbols and self.width_of[first + n] == width:
            n += 1
        for state in range(self.n_states):
            other = 0
            while other < state and (alike[other] < other or memcmp(
                &self.steps[state, first], &self.steps[other, first], n * sizeof(uint32_t)
            )):
                other += 1
            alike[state] = other
        return alike

    cdef uint32_t inner_step(
        self, uint32_t state, uint32_t width, uint32_t prefix, uint32_t n_left
    ) noexcept:
        """The entry for a byte after which a character has so many left: `prefix` are its bits."""
        cdef uint32_t entries[INNER_ROW]
        cdef uint32_t block, byte
        cdef uint32_t* known = NULL
        if n_left == 1:
            block = self.block_index[a_block(width, prefix)]
            known = &self.block_rows[block]
        elif n_left == 2 and width == 4:
            prefix = a_block(width, prefix << 6) >> 6
            known = &self.segment_rows[self.first_alike[prefix]]
        if known != NULL and known[0] != NONE:
            return known[0]
        for byte in range(INNER_ROW):
            if n_left == 1:
                entries[byte] = self.steps[
                    state, self.symbol_of[width, self.block_class[64 * block + byte]]
                ]
            else:
                entries[byte] = self.inner_step(state, width, prefix << 6 | byte, n_left - 1)
        byte = self.step_to(entries)
        if known != NULL:
            known[0] = byte
        return byte

    cdef uint32_t step_to(self, uint32_t* entries) noexcept:
        """The entry that goes on with a row, of which no two are equal.

        It reports what all of them would, a byte earlier: that makes more of them equal.
        """
        cdef uint32_t shared = DECIDED, at
        self.n_rows_made += 1
        for at in range(INNER_ROW):
            shared &= 0 if entries[at] & LOST else entries[at]
        for at in range(INNER_ROW):
            entries[at] &= ~shared
        # The bytes added to a row's place are those from 0x80 on.
        return (self.row_of(entries) - 0x80) << STATE_SHIFT | shared >> 1

    cdef uint32_t row_of(self, const uint32_t* entries) noexcept:
        """Where a row stands in the table."""
        cdef uint64_t hashed = 0
        cdef uint32_t at, slot
        for at in range(INNER_ROW):
            hashed = (hashed ^ entries[at]) * <uint64_t> 0x9E3779B97F4A7C15
        slot = scramble(hashed) & (SLOTS - 1)
        while self.slots[slot] != 0:
            at = self.slots[slot]
            if memcmp(&self.table[at], entries, INNER_ROW * sizeof(uint32_t)) == 0:
                return at
            slot = (slot + 1) & (SLOTS - 1)
        if self.n_entries + INNER_ROW > MAX_ENTRIES or self.n_rows_made > MAX_ROWS_MADE:
            self.gave_up = True
            return STATE_ROW
        at = self.n_entries
        memcpy(&self.table[at], entries, INNER_ROW * sizeof(uint32_t))
        self.slots[slot] = at
        self.n_entries += INNER_ROW
        return at

    cdef void compare_segments(self) noexcept:
        cdef uint32_t segment, other
        for segment in range(SEGMENTS):
            other = 0
            while other < segment and (self.first_alike[other] < other or memcmp(
                &self.block_index[64 * segment], &self.block_index[64 * other],
                64 * sizeof(uint16_t)
            )):
                other += 1
            self.first_alike[segment] = other


cdef inline uint32_t number_of(uint32_t entry) noexcept:
    """The state that an entry goes on with."""
    return (entry >> STATE_SHIFT) // STATE_ROW


cdef inline uint32_t first_lead(uint32_t width) noexcept:
    """The first byte of the first character of a width; of 5: one more than the last."""
    if width <= 3:
        return 0xC2 if width == 2 else 0xE0
    return 0xF0 if width == 4 else 0xF5


cdef inline uint32_t first_block(uint32_t width) noexcept:
    """The block of the first character of a width."""
    return 2 if width == 2 else 1 << (5 * width - 10)


cdef inline uint32_t a_block(uint32_t width, uint32_t block) noexcept:
    """A block; one next to it that valid text can contain, if that is none of them."""
    if 0xD800 >> 6 <= block < 0xE000 >> 6:
        return (0xD800 >> 6) - 1
    return min(max(block, first_block(width)), BLOCKS - 1)
