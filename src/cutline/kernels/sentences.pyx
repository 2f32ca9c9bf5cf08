"""Where sentences end: by the rules of UAX #29, but not behind abbreviations.

A line end that only wraps is read as a blank, and a bracket or quote that opens begins the next
sentence. Rules are named as in UAX #29, section 5.

What is found depends on little text: on some before a place, where a sentence is taken to begin
wherever that text does, and on at most LOOK_AHEAD characters behind it.
"""

from threading import Lock

from cutline.kernels.characters cimport Characters, char_at
from cutline.kernels.common cimport uint8_t, uint32_t, uint64_t
from cutline.kernels.lines cimport is_space, is_wrapped
from cutline.kernels.marks cimport NOWHERE

cdef enum:
    FIRST_WINDOW = 200          # characters before a place that are searched first
    WIDER = 4
    CONTEXT = 64                # before a window; or a wrapped line looks short, so like one's end
    LOOK_AHEAD = 64
    MOST_OF_ABBREVIATION = 16   # characters that are looked at

# The classes of sentence_data.BREAKS, then what is added to them.
cdef enum:
    OTHER = 0
    CR = 1
    LF = 2
    SEP = 3
    EXTEND = 4
    SP = 5
    LOWER = 6
    UPPER = 7
    OLETTER = 8
    NUMERIC = 9
    ATERM = 10
    SCONTINUE = 11
    STERM = 12
    CLOSE = 13
    CLASS = 0x0F
    OPENING = 0x10
    LETTER = 0x20
    LONE_CAPITAL = 0x40

# Sets of classes.
cdef enum:
    LINE_ENDS = 1 << CR | 1 << LF | 1 << SEP
    TERMS = 1 << ATERM | 1 << STERM
    STOPS = LINE_ENDS | TERMS
    DECISIVE = STOPS | 1 << LOWER | 1 << UPPER | 1 << OLETTER

# How far a sentence's end has been passed: what came last.
cdef enum:
    AT_TERM = 0
    AT_CLOSE = 1
    AT_SPACE = 2

cdef object lock = Lock()
cdef tuple kept = ()            # the arrays below
cdef const uint8_t* classes = NULL
cdef const uint64_t* abbreviations = NULL
cdef Py_ssize_t n_abbreviations = 0

cdef struct Walk:
    const Characters* text
    Py_ssize_t first            # where it began
    Py_ssize_t at
    Py_ssize_t end


cdef int need_classes() except -1:
    """Have the classes of characters before any sentence is asked for."""
    global kept, classes, abbreviations, n_abbreviations
    cdef const uint8_t[::1] class_view
    cdef const uint64_t[::1] abbreviation_view
    with lock:  # what other threads read is never replaced
        if classes == NULL:
            # regex takes long to load, for those who ask for no sentence.
            from cutline.kernels.sentence_data import pack_abbreviations, sentence_classes
            kept = (pack_abbreviations(), sentence_classes())
            abbreviation_view, class_view = kept
            abbreviations = &abbreviation_view[0]
            n_abbreviations = abbreviation_view.shape[0]
            classes = &class_view[0]
    return 0


cdef inline uint32_t class_at(const Walk* walk, Py_ssize_t at) noexcept nogil:
    cdef uint32_t kind = classes[char_at(walk.text, at)] & CLASS
    cdef Py_ssize_t next_line = at + 1
    if LINE_ENDS >> kind & 1:
        next_line += kind == CR and next_line < walk.end and is_newline(walk, next_line)
        if next_line < walk.end and is_wrapped(walk.text, walk.first, next_line):
            return SP
    return kind


cdef inline bint is_newline(const Walk* walk, Py_ssize_t at) noexcept nogil:
    return char_at(walk.text, at) == c"\n"


cdef Py_ssize_t next_boundary(Walk* walk) noexcept nogil:
    """Go on to the next boundary of sentences, behind one; NOWHERE: there is no more."""
    cdef Py_ssize_t at = walk.at
    cdef uint32_t kind, before = OTHER
    if at >= walk.end:
        return NOWHERE
    while at < walk.end:
        kind = classes[char_at(walk.text, at)] & CLASS
        if STOPS >> kind & 1:
            kind = class_at(walk, at)
            if LINE_ENDS >> kind & 1:
                at = behind_line_end(walk, at)      # SB4
                break
            if TERMS >> kind & 1:
                at = behind_term(walk, at, kind, before == LOWER or before == UPPER)
                if at < 0:
                    at = ~at
                    break
                before = OTHER
                continue
        if kind != EXTEND:                          # SB5
            before = kind
        at += 1
    walk.at = at
    return at


cdef inline Py_ssize_t behind_line_end(const Walk* walk, Py_ssize_t at) noexcept nogil:
    """Where the next line begins: SB3."""
    return at + 1 + (
        char_at(walk.text, at) == c"\r" and at + 1 < walk.end and is_newline(walk, at + 1)
    )


cdef Py_ssize_t behind_term(
    const Walk* walk, Py_ssize_t at, uint32_t term, bint behind_letter
) noexcept nogil:
    """Go on behind a full stop or the like, as long as the sentence may end.

    Returns where it goes on after all; or ~ of where it ends.
    """
    cdef uint32_t kind
    cdef int state = AT_TERM
    at += 1
    while at < walk.end:
        kind = class_at(walk, at)
        if kind == SP:                                          # SB9, SB10
            state = AT_SPACE
        elif kind == CLOSE and state != AT_SPACE:               # SB9
            state = AT_CLOSE
        elif TERMS >> kind & 1:                                 # SB8a
            term = kind
            state = AT_TERM
            behind_letter = False
        elif LINE_ENDS >> kind & 1:
            return ~behind_line_end(walk, at)                   # SB9 to SB11, SB4
        elif kind == SCONTINUE:                                 # SB8a
            return at
        elif kind != EXTEND:                                    # SB5
            if term == ATERM and (
                (state == AT_TERM and kind == NUMERIC)                          # SB6
                or (state == AT_TERM and kind == UPPER and behind_letter)       # SB7
                or goes_on_in_lower_case(walk, at)                              # SB8
            ):
                return at
            return ~at                                          # SB11
        at += 1
    return ~at


cdef bint goes_on_in_lower_case(const Walk* walk, Py_ssize_t at) noexcept nogil:
    """Whether a lower-case letter comes before any other letter and any end of a sentence."""
    cdef uint32_t kind
    while at < walk.end:
        kind = class_at(walk, at)
        if DECISIVE >> kind & 1:
            return kind == LOWER
        at += 1
    return False


cdef Py_ssize_t sentence_end(
    const Walk* walk, Py_ssize_t place, Py_ssize_t start
) noexcept nogil:
    """Where a sentence ends by a boundary; NOWHERE: it goes on. `start` is the chunk's."""
    while place > walk.first and classes[char_at(walk.text, place - 1)] & OPENING:
        place -= 1
    if place == walk.first or is_behind_abbreviation(walk.text, start, place):
        return NOWHERE
    return place


cdef bint is_behind_abbreviation(
    const Characters* text, Py_ssize_t start, Py_ssize_t place
) noexcept nogil:
    """Whether an abbreviation or an initial stands before a place, or follows a sign there."""
    cdef Py_ssize_t earliest = max(start, place - MOST_OF_ABBREVIATION), at
    cdef uint64_t word = 0
    cdef uint32_t code_point
    while place > earliest and is_space(char_at(text, place - 1)):
        place -= 1
    if place == earliest or char_at(text, place - 1) != c".":
        return False
    place -= 1
    if place > earliest and classes[char_at(text, place - 1)] & LONE_CAPITAL and begins_word(
        text, earliest, place - 1
    ):
        return True
    at = place
    while at > earliest and place - at < 8:
        at -= 1
        code_point = char_at(text, at)
        if code_point >= 0x80 or is_space(code_point):
            break
        word = word << 8 | code_point
        if begins_word(text, earliest, at) and is_abbreviation(word):
            return True
    return False


cdef inline bint begins_word(
    const Characters* text, Py_ssize_t earliest, Py_ssize_t at
) noexcept nogil:
    return at == earliest or not classes[char_at(text, at - 1)] & LETTER


cdef bint is_abbreviation(uint64_t word) noexcept nogil:
    cdef Py_ssize_t at
    for at in range(n_abbreviations):
        if abbreviations[at] == word:
            return True
    return False


cdef Py_ssize_t last_sentence(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """The last end b of a sentence with after < b <= until, or NOWHERE; need_classes is done."""
    cdef Py_ssize_t width = FIRST_WINDOW, searched = until + 1, begin, place, last
    cdef Walk walk
    while True:
        begin = until - width
        if begin - start < width:
            begin = start               # at once: a second look costs more
        start_walk(&walk, text, max(start, begin - CONTEXT), until)
        last = NOWHERE
        while True:
            place = next_boundary(&walk)
            if place == NOWHERE:
                break
            place = sentence_end(&walk, place, start)
            if place > until:
                break
            if max(begin, after) < place < searched:
                last = place
        if last != NOWHERE or begin <= after:
            return last
        # What the context of a later beginning refuses is refused again.
        searched = begin + 1
        width *= WIDER


cdef inline void start_walk(
    Walk* walk, const Characters* text, Py_ssize_t first, Py_ssize_t until
) noexcept nogil:
    walk.text = text
    walk.first = walk.at = first
    walk.end = min(text.n, until + LOOK_AHEAD)


cdef list list_sentences(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
):
    """All ends b of sentences with after < b <= until, rising."""
    cdef list places = []
    cdef Py_ssize_t boundary, place, last = after
    cdef Walk walk
    start_walk(&walk, text, max(start, after - FIRST_WINDOW), until)
    while True:
        boundary = next_boundary(&walk)
        if boundary == NOWHERE:
            break
        place = sentence_end(&walk, boundary, start)
        if place > until:
            break
        if place > last:
            places.append(place)
            last = place
    return places
