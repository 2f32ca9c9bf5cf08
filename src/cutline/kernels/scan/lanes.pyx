"""Scan a long text by six lanes: from six places of a chunk at once, joined to one scan's pieces.

A scan waits for each of its steps; six that do not depend on one another share the wait. Why
the pieces are the plain scanner's: docs/scanning.md, "Lanes".

Guarded by tests/kernels/test_lanes.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport free, malloc

from cutline.kernels.base.common cimport (
    NOT_FOUND, char_bytes, is_continuation, load64, memcpy, memset,
)
from cutline.kernels.scan.lane_table cimport LOST, STATE_SHIFT
from cutline.kernels.scan.scan cimport ScanTables, scan_piece

cdef extern from "native.h":
    bint mark_ends "cutline_mark_ends"(
        const uint8_t* decided, Py_ssize_t n_words, uint64_t* ends
    ) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil
    int top_bit "cutline_top_bit"(uint64_t word) noexcept nogil

cdef extern from "lane_vectors.h":
    int best_vectors "cutline_lane_vectors"() noexcept nogil
    bint mark_ends_256 "cutline_mark_ends_256"(
        const uint8_t* decided, Py_ssize_t n_words, uint64_t* ends
    ) noexcept nogil
    bint mark_ends_512 "cutline_mark_ends_512"(
        const uint8_t* decided, Py_ssize_t n_words, uint64_t* ends
    ) noexcept nogil
    Py_ssize_t list_words_256 "cutline_list_words_256"(
        const uint64_t* words, Py_ssize_t* word, Py_ssize_t n_words, Py_ssize_t base,
        Py_ssize_t room, Py_ssize_t* places
    ) noexcept nogil
    Py_ssize_t list_words_512 "cutline_list_words_512"(
        const uint64_t* words, Py_ssize_t* word, Py_ssize_t n_words, Py_ssize_t base,
        Py_ssize_t room, Py_ssize_t* places
    ) noexcept nogil

cdef enum:
    AVX2 = 1
    AVX512 = 2

cdef int vectors = best_vectors()


cdef void scan_chunk(
    const Scanner* scanner,
    const uint8_t* text, Py_ssize_t at, Py_ssize_t end,     # in: a piece begins at text[at]
    Py_ssize_t size,            # in: bytes to scan at most: from LANES to CHUNK, and there
    uint32_t left_out,          # in: of the join; 0 but for tests
    Chunk* chunk,               # out
) noexcept nogil:
    """Find the next pieces; at least one, and all that `size` bytes decide but for the last."""
    cdef Py_ssize_t n_words
    chunk.lane = size // LANES
    chunk.n = chunk.lane * LANES
    chunk.start = chunk.at = at
    chunk.word = chunk.n_rescanned = chunk.furthest = 0
    n_words = (chunk.n + 63) // 64
    run_lanes(scanner.lane_table, text + at, chunk.lane, chunk.decided)
    memset(chunk.decided + chunk.n, 0, 64 + 6)
    chunk.vectors = vectors
    if left_out & (NO_VECTORS | NO_AVX512):
        chunk.vectors = 0 if left_out & NO_VECTORS else min(vectors, AVX2)
    if chunk.vectors == AVX512:
        chunk.lost = mark_ends_512(chunk.decided, n_words, chunk.ends)
    elif chunk.vectors == AVX2:
        chunk.lost = mark_ends_256(chunk.decided, n_words, chunk.ends)
    else:
        chunk.lost = mark_ends(chunk.decided, n_words, chunk.ends)
    memset(chunk.looked_far, 0, n_words * sizeof(uint64_t))
    join(scanner, text, end, left_out, chunk)


cdef void run_lanes(
    const uint32_t* table, const uint8_t* text, Py_ssize_t n, uint8_t* decided
) noexcept nogil:
    """Step through the n bytes of each lane. Each begins as if a piece did, in state 0."""
    if n == CHUNK // LANES:
        # Distances that the compiler knows need no registers, of which there are too few.
        step_lanes(table, text, CHUNK // LANES, decided)
    else:
        step_lanes(table, text, n, decided)


cdef inline void step_lanes(
    const uint32_t* table, const uint8_t* text, Py_ssize_t n, uint8_t* decided
) noexcept nogil:
    """What run_lanes does. Six names for the states: arrays would not stay in registers."""
    cdef const uint8_t* later_text = text + 3 * n
    cdef uint8_t* later_decided = decided + 3 * n
    cdef size_t state0 = 0, state1 = 0, state2 = 0, state3 = 0, state4 = 0, state5 = 0
    cdef uint32_t entry
    cdef Py_ssize_t at
    for at in range(n):
        entry = table[state0 + text[at]]
        decided[at] = <uint8_t> entry
        state0 = entry >> STATE_SHIFT
        entry = table[state1 + text[at + n]]
        decided[at + n] = <uint8_t> entry
        state1 = entry >> STATE_SHIFT
        entry = table[state2 + text[at + 2 * n]]
        decided[at + 2 * n] = <uint8_t> entry
        state2 = entry >> STATE_SHIFT
        entry = table[state3 + later_text[at]]
        later_decided[at] = <uint8_t> entry
        state3 = entry >> STATE_SHIFT
        entry = table[state4 + later_text[at + n]]
        later_decided[at + n] = <uint8_t> entry
        state4 = entry >> STATE_SHIFT
        entry = table[state5 + later_text[at + 2 * n]]
        later_decided[at + 2 * n] = <uint8_t> entry
        state5 = entry >> STATE_SHIFT


cdef void join(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t end, uint32_t left_out, Chunk* chunk
) noexcept nogil:
    """Correct the ends where one lane's scan meets the next one's, and find where to stop.

    Up to `joined`, and from there to the next seam, the ends are those of one scan, of which
    the last before a seam may be wrong or missing.
    """
    cdef Py_ssize_t joined = 0, seam, at
    while True:
        seam = next_seam(chunk, text + chunk.start, joined, left_out)
        if seam >= chunk.n:
            break
        at = last_end(chunk, seam, joined)
        if at > joined and not left_out & NO_STEP_BACK:
            at = last_end(chunk, at, joined)
        joined = rescan(scanner, text, end, at, seam, left_out, chunk)
        if joined >= chunk.n:
            chunk.stop = chunk.start + joined
            return
        if not pays(chunk):
            clear_ends(chunk, joined, chunk.n)
            chunk.stop = chunk.start + joined
            return
    at = last_end(chunk, chunk.n, joined)
    if at > joined and not left_out & NO_UNDOING:
        at = last_end(chunk, at, joined)
    clear_ends(chunk, at, chunk.n)
    chunk.stop = chunk.start + at


cdef Py_ssize_t rescan(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t end,
    Py_ssize_t at, Py_ssize_t seam, uint32_t left_out, Chunk* chunk
) noexcept nogil:
    """Replace ends by the scanner's from `at` on, until it meets the lane beyond the seam.

    Returns where they meet; a place beyond the chunk if the last piece leaves it; where the scanner
    is, if it does not pay to go on.
    """
    cdef Py_ssize_t piece_end, limit = chunk.start + chunk.n if left_out & NO_LOOK_BEYOND else end
    cdef bint met = False
    while not met and pays(chunk):
        piece_end = rescan_piece(scanner, text, limit, at, chunk)
        if piece_end >= chunk.n:
            if not left_out & NO_CLEARING_BEYOND:
                clear_ends(chunk, at + 1, chunk.n)
            return piece_end
        if not left_out & NO_CLEARING:
            clear_ends(chunk, at + 1, piece_end)
        met = piece_end == seam or piece_end > seam and (
            has_end(chunk, piece_end) or left_out & NO_MEETING != 0
        )
        chunk.ends[piece_end >> 6] |= <uint64_t> 1 << (piece_end & 63)
        at = piece_end
    return at


cdef inline bint pays(const Chunk* chunk) noexcept nogil:
    """Whether joining has not read much more than it does but for patterns that look far ahead."""
    return chunk.n_rescanned <= 4 * chunk.n


cdef inline Py_ssize_t rescan_piece(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t end, Py_ssize_t at, Chunk* chunk
) noexcept nogil:
    """Where the piece ends that begins at `at`, from the chunk's start."""
    cdef Py_ssize_t lookahead_end = 0, start = chunk.start + at, byte
    cdef Py_ssize_t piece_end = plain_end(scanner, text, start, end, &lookahead_end) - chunk.start
    chunk.n_rescanned += lookahead_end - start
    chunk.furthest = max(chunk.furthest, lookahead_end)
    if piece_end < chunk.n:
        if lookahead_end - chunk.start > piece_end + MOST_BEYOND:
            chunk.looked_far[piece_end >> 6] |= <uint64_t> 1 << (piece_end & 63)
        # What a lane reported of it need not hold for this piece: see tell_lookahead.
        for byte in range(4):
            chunk.decided[piece_end + byte] &= ~(1 << byte)
    return piece_end


cdef inline Py_ssize_t plain_end(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t* lookahead_end
) noexcept nogil:
    """What scan_piece finds; that is a piece, unless tables that say so (no gaps) were wrong."""
    cdef Py_ssize_t piece_end = scan_piece(scanner, text, start, end, lookahead_end)
    return piece_end if piece_end >= 0 else start + char_bytes(text[start])


cdef Py_ssize_t next_seam(
    const Chunk* chunk, const uint8_t* text, Py_ssize_t at, uint32_t left_out
) noexcept nogil:
    """The first place after `at` where a scan began that knows nothing of what was before."""
    cdef Py_ssize_t seam = (at // chunk.lane + 1) * chunk.lane
    while seam < chunk.n and is_continuation(text[seam]):
        seam += 1
    if not chunk.lost or left_out & NO_LOSS:
        return seam
    # Beyond the chunk there are zeros.
    while at < seam and load64(chunk.decided + at) & LOST * <uint64_t> 0x0101010101010101 == 0:
        at += 8
    while at < seam and chunk.decided[at] & LOST == 0:
        at += 1
    return min(at + 1, seam)


cdef inline bint has_end(const Chunk* chunk, Py_ssize_t at) noexcept nogil:
    return chunk.ends[at >> 6] >> (at & 63) & 1


cdef Py_ssize_t last_end(const Chunk* chunk, Py_ssize_t before, Py_ssize_t least) noexcept nogil:
    """The last end below `before`, but no less than `least`."""
    cdef Py_ssize_t word = before >> 6
    cdef uint64_t bits = chunk.ends[word] & ((<uint64_t> 1 << (before & 63)) - 1)
    while bits == 0 and word > least >> 6:
        word -= 1
        bits = chunk.ends[word]
    return least if bits == 0 else max(least, 64 * word + top_bit(bits))


cdef void clear_ends(Chunk* chunk, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Forget the ends from `start` to before `stop`."""
    cdef Py_ssize_t word = start >> 6, last = stop >> 6
    cdef uint64_t kept = (<uint64_t> 1 << (start & 63)) - 1
    while word < last:
        chunk.ends[word] &= kept
        kept = 0
        word += 1
    if start < stop:
        chunk.ends[word] &= kept | ~((<uint64_t> 1 << (stop & 63)) - 1)


cdef Py_ssize_t next_that_looked_far(
    const Chunk* chunk, Py_ssize_t after, Py_ssize_t last
) noexcept nogil:
    """The first end beyond text[after], up to `last`, that may have been decided far beyond it.

    NOT_FOUND: there is none. A piece that leaves the chunk always may; where the chunk stops is none
    of its `ends`.
    """
    cdef Py_ssize_t at = after + 1 - chunk.start, stop = min(last - chunk.start, chunk.n - 1)
    cdef Py_ssize_t word = at >> 6
    cdef uint64_t bits
    while 64 * word <= stop:
        bits = chunk.ends[word] & chunk.looked_far[word]
        if word == at >> 6:
            bits &= ~<uint64_t> 0 << (at & 63)
        if bits != 0:
            at = 64 * word + low_bit(bits)
            return chunk.start + at if at <= stop else NOT_FOUND
        word += 1
    stop = chunk.stop - chunk.start
    if after < last == chunk.stop and (
        stop >= chunk.n or chunk.looked_far[stop >> 6] >> (stop & 63) & 1
    ):
        return last
    return NOT_FOUND


cdef bint seek_piece(Chunk* chunk, Py_ssize_t at) noexcept nogil:
    """Let the next piece taken be the one that begins at text[at]. False: the chunk has none."""
    if at == chunk.at and at < chunk.stop:
        return True
    if not chunk.start <= at < min(chunk.stop, chunk.start + chunk.n):
        return False
    if at > chunk.start and not has_end(chunk, at - chunk.start):
        return False
    chunk.at = at
    chunk.word = (at - chunk.start) >> 6
    return True


cdef Py_ssize_t take_pieces(
    Chunk* chunk,
    Py_ssize_t most,                                # in: at most so many, MOST_PIECES_A_WORD or more
    Py_ssize_t* starts, Py_ssize_t* ends            # out
) noexcept nogil:
    """Take the next pieces of a chunk. Returns their number; chunk.at becomes the last end."""
    cdef Py_ssize_t n_words = (min(chunk.stop - chunk.start, chunk.n) + 63) >> 6
    cdef Py_ssize_t count = 0, room = most - MOST_PIECES_A_WORD, at = chunk.at - chunk.start
    cdef uint64_t bits
    while count < room and chunk.word < n_words:
        bits = chunk.ends[chunk.word]
        if at >> 6 == chunk.word:
            bits &= ~<uint64_t> 1 << (at & 63)      # those before, and this one, were taken
        count += list_bits(bits, chunk.start + 64 * chunk.word, ends + count)
        chunk.word += 1
        if chunk.vectors == AVX512:
            count += list_words_512(
                chunk.ends, &chunk.word, n_words, chunk.start, most - count, ends + count
            )
        elif chunk.vectors == AVX2:
            count += list_words_256(
                chunk.ends, &chunk.word, n_words, chunk.start, most - count, ends + count
            )
    if chunk.word == n_words:
        ends[count] = chunk.stop
        count += 1
    if count == 0:
        return 0
    starts[0] = chunk.at
    memcpy(starts + 1, ends, (count - 1) * sizeof(Py_ssize_t))
    chunk.at = ends[count - 1]
    return count


cdef void tell_lookahead(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t end, const Chunk* chunk,
    Py_ssize_t count, const Py_ssize_t* starts, const Py_ssize_t* ends,     # in: pieces taken
    Py_ssize_t* lookahead_ends,                                             # out
) noexcept nogil:
    """How far the decision on each piece looked.

    Most often one character: if a lane that was joined read the piece, a byte of that character
    reported its end. Others are scanned again.
    """
    cdef Py_ssize_t piece, at, width, byte
    for piece in range(count):
        at = ends[piece] - chunk.start
        if at < chunk.n:
            width = char_bytes(text[ends[piece]])
            byte = 0
            while byte < width and not chunk.decided[at + byte] >> byte & 1:
                byte += 1
            if byte < width:
                lookahead_ends[piece] = ends[piece] + width
                continue
        plain_end(scanner, text, starts[piece], end, &lookahead_ends[piece])


cdef inline Py_ssize_t list_bits(
    uint64_t bits, Py_ssize_t base, Py_ssize_t* places      # out: 64 slots
) noexcept nogil:
    """Write base + i for each bit i that is set. Returns their number.

    Eight at a time, set or not: a branch for each would be mispredicted in every word.
    """
    cdef Py_ssize_t n = popcount(bits), written = 0, at
    while written < n:
        for at in range(8):
            places[written + at] = base + low_bit(bits | <uint64_t> 1 << 63)
            bits &= bits - 1
        written += 8
    return n


def find_ends(ScanTables tables not None, bytes text not None, Py_ssize_t size, uint32_t left_out=0):
    """Find where all pieces of a valid text end, in chunks of at most so many bytes.

    Args:
        tables: of an automaton that has a lane table.
        text: valid UTF-8.
        size: at most that of a chunk, at least one byte a lane.
        left_out: what to leave out of the join, which gives wrong ends; or of vectors, which gives
            the same.

    Returns:
        The ends, in bytes; how many bytes the lanes stepped through, and how many were
        rescanned to join them.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), at = 0, lookahead_end = 0, count, piece
    cdef Py_ssize_t n_stepped = 0, n_rescanned = 0
    cdef Py_ssize_t[2 * MOST_PIECES_A_WORD] starts, ends
    cdef Chunk* chunk
    if tables.scanner.lane_table == NULL or not LANES <= size <= CHUNK:
        raise ValueError(f"no lane table, or a chunk of {size} bytes")
    chunk = <Chunk*> malloc(sizeof(Chunk))
    if chunk == NULL:
        raise MemoryError
    found = []
    while at < n:
        if n - at < LANES:
            at = plain_end(&tables.scanner, data, at, n, &lookahead_end)
            found.append(at)
            continue
        scan_chunk(&tables.scanner, data, at, n, min(size, n - at), left_out, chunk)
        n_stepped += chunk.n
        n_rescanned += chunk.n_rescanned
        while chunk.at < chunk.stop:
            count = take_pieces(chunk, 2 * MOST_PIECES_A_WORD, starts, ends)
            for piece in range(count):
                found.append(ends[piece])
        at = chunk.stop
    free(chunk)
    return found, n_stepped, n_rescanned
