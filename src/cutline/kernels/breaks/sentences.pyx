"""Where sentences end: by the rules of UAX #29, but not after abbreviations or quoted questions.

Nor in addresses, as after the `?` of `a.org/?q=saw`. Markup that closes after a full stop belongs
to its sentence, as in `**Note.** Then`, and so do references, as `[1]`. A line end that only wraps
is read as a blank, and a bracket or quote that opens begins the next sentence. Rules are named as
in UAX #29, section 5.

What is found depends on little text: on some before a place, where a sentence is taken to begin
wherever that text does, and on at most LOOK_AHEAD characters after it.

Guarded by tests/kernels/test_sentences.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport NOT_FOUND, uint8_t, uint16_t, uint32_t, uint64_t
from cutline.kernels.breaks.abbreviations cimport is_after_abbreviation
from cutline.kernels.breaks.graphemes cimport is_grapheme_boundary
from cutline.kernels.breaks.text_properties cimport (
    LETTER, LINE_ENDS, OPENING, SB_ATERM, SB_CLOSE, SB_EXTEND, SB_LOWER, SB_NUMERIC, SB_OLETTER,
    SB_OTHER, SB_SCONTINUE, SB_SP, SB_STERM, SB_UPPER, SENTENCE_MASK, SPACE, properties_of,
)
from cutline.kernels.breaks.wrapping cimport is_wrapped

cdef extern from "sixteen.h":
    uint32_t narrow_stops "cutline_narrow_stops"(const uint8_t* text) noexcept nogil
    uint32_t wide_stops "cutline_wide_stops"(const uint16_t* text) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil

cdef enum:
    AT_ONCE = 16
    FIRST_WINDOW = 200          # characters before a place that are searched first
    WIDER = 4
    CONTEXT = 64                # before a window
    LOOK_AHEAD = 64
    MOST_AROUND_QUOTE = 16      # of its end, and the blanks after it
    MOST_OF_MARKUP = 32
    MOST_OF_TITLE = 32
    MOST_OF_NAME = 16           # of a parameter in an address

# Sets of classes.
cdef enum:
    TERMS = 1 << SB_ATERM | 1 << SB_STERM
    DECISIVE = LINE_ENDS | TERMS | 1 << SB_LOWER | 1 << SB_UPPER | 1 << SB_OLETTER

# How far a sentence's end has been passed: what came last.
cdef enum:
    AT_TERM = 0
    AT_CLOSE = 1
    AT_SPACE = 2


cdef inline uint32_t class_at(const Walk* walk, Py_ssize_t at) noexcept nogil:
    """The class of a character, a line end that only wraps being a blank."""
    cdef uint32_t kind = properties_of(char_at(walk.text, at)) & SENTENCE_MASK
    cdef Py_ssize_t next_line
    if kind == SB_SCONTINUE or kind == SB_OTHER:
        return stop_or(kind, walk, at)
    if LINE_ENDS >> kind & 1:
        next_line = after_line_end(walk, at)
        if next_line < walk.end and is_wrapped(
            walk.text, walk.lines, walk.start, next_line
        ):
            return SB_SP
    return kind


cdef uint32_t stop_or(uint32_t kind, const Walk* walk, Py_ssize_t at) noexcept nogil:
    """The class of a stop that only some scripts have, or else the one given.

    So are `;` after Greek, as CLDR has it, `:` after Armenian, which stand for U+037E and U+0589,
    and two Ethiopic marks between words, which stand for the full stop.
    """
    cdef uint32_t sign = char_at(walk.text, at), before, after
    if at == walk.first:
        return kind
    before = char_at(walk.text, at - 1)
    if sign == 0x1361:
        return SB_STERM if before == 0x1361 else kind
    if not (
        ((sign == c";" or sign == 0x37E) and (0x370 <= before < 0x400 or 0x1F00 <= before < 0x2000))
        or (sign == c":" and 0x531 <= before < 0x590)
    ):
        return kind
    if at + 1 == walk.end:
        return SB_ATERM
    after = properties_of(char_at(walk.text, at + 1))
    return SB_ATERM if after & SPACE or after & SENTENCE_MASK == SB_CLOSE else kind


cdef inline Py_ssize_t after_line_end(const Walk* walk, Py_ssize_t at) noexcept nogil:
    """Where the next line begins: SB3."""
    return at + 1 + (
        at + 1 < walk.end and char_at(walk.text, at) == c"\r"
        and char_at(walk.text, at + 1) == c"\n"
    )


cdef inline bint is_plain(uint32_t code_point) noexcept nogil:
    """Whether a character ends no sentence and no line; some that end none are not plain."""
    return (
        0x20 <= code_point < 0x80
        and code_point != c"." and code_point != c"!" and code_point != c"?"
        and code_point != c":" and code_point != c";"
    )


cdef inline Py_ssize_t skip_plain(const Walk* walk, Py_ssize_t at) noexcept nogil:
    """The next character that is not plain; or the end."""
    cdef const uint8_t* narrow = <const uint8_t*> walk.text.data
    cdef const uint16_t* wide = <const uint16_t*> walk.text.data
    cdef uint32_t found
    while walk.text.kind < 4 and at + AT_ONCE <= walk.end:
        found = narrow_stops(narrow + at) if walk.text.kind == 1 else wide_stops(wide + at)
        if found:
            return at + low_bit(found)
        at += AT_ONCE
    while at < walk.end and is_plain(char_at(walk.text, at)):
        at += 1
    return at


cdef Py_ssize_t next_boundary(Walk* walk) noexcept nogil:
    """Go on to the next boundary of sentences, after one; NOT_FOUND: there is no more."""
    cdef Py_ssize_t at = walk.at, first = at
    cdef uint32_t kind
    if at >= walk.end:
        return NOT_FOUND
    while True:
        at = skip_plain(walk, at)
        if at >= walk.until and not walk.is_open and at < walk.end:
            return NOT_FOUND        # what comes ends after `until`
        if at == walk.end:
            break
        kind = class_at(walk, at)
        if LINE_ENDS >> kind & 1:
            at = after_line_end(walk, at)          # SB4
            break
        if TERMS >> kind & 1:
            at = after_term(walk, at, kind, is_after_letter(walk, first, at))
            if at < 0:
                at = ~at
                break
            first = at
            continue
        at += 1
    walk.at = at
    return at


cdef inline bint is_after_letter(
    const Walk* walk, Py_ssize_t first, Py_ssize_t at
) noexcept nogil:
    """Whether a letter with a case comes before a place, and not before `first`."""
    cdef uint32_t kind = SB_EXTEND
    while kind == SB_EXTEND and at > first:                 # SB5
        at -= 1
        kind = class_at(walk, at)
    return kind == SB_LOWER or kind == SB_UPPER


cdef Py_ssize_t after_term(
    const Walk* walk, Py_ssize_t at, uint32_t term, bint after_letter
) noexcept nogil:
    """Go on after a full stop or the like, as long as the sentence may end.

    Returns where it goes on after all; or ~ of where it ends.
    """
    cdef uint32_t kind
    cdef int state = AT_TERM
    at += 1
    while at < walk.end:
        kind = class_at(walk, at)
        if kind == SB_SP:                                          # SB9, SB10
            state = AT_SPACE
        elif kind == SB_CLOSE and state != AT_SPACE:               # SB9
            state = AT_CLOSE
        elif TERMS >> kind & 1:                                 # SB8a
            term = kind
            state = AT_TERM
            after_letter = False
        elif LINE_ENDS >> kind & 1:
            return ~after_line_end(walk, at)                   # SB9 to SB11, SB4
        elif kind == SB_SCONTINUE:                                 # SB8a
            return at
        elif kind != SB_EXTEND:                                    # SB5
            if term == SB_ATERM and (
                (state == AT_TERM and kind == SB_NUMERIC)                          # SB6
                or (state == AT_TERM and kind == SB_UPPER and after_letter)        # SB7
                or goes_on_in_lower_case(walk, at)                                 # SB8
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
            return kind == SB_LOWER
        at += 1
    return False


cdef Py_ssize_t next_end(Walk* walk) noexcept nogil:
    """Go on to the next end of a sentence, or the last again; NOT_FOUND: there is no more."""
    cdef Py_ssize_t boundary, place
    while True:
        boundary = next_boundary(walk)
        if boundary == NOT_FOUND:
            return NOT_FOUND
        place = sentence_end(walk, boundary)
        if place > walk.until:
            return NOT_FOUND
        if place != NOT_FOUND:
            return place


cdef Py_ssize_t sentence_end(const Walk* walk, Py_ssize_t place) noexcept nogil:
    """Where a sentence ends by a boundary; NOT_FOUND: it goes on."""
    while place > walk.first and properties_of(char_at(walk.text, place - 1)) & OPENING:
        place -= 1
    if (
        place == walk.first or is_after_abbreviation(walk.text, walk.start, place)
        or is_after_quote(walk, place) or is_inside_address(walk, place)
        or is_inside_title(walk, place)
    ):
        return NOT_FOUND
    place = after_markup(walk, place)
    if place != NOT_FOUND:
        place = after_guillemet(walk, place)
    if place == NOT_FOUND or not is_grapheme_boundary(walk.text, walk.first, place):
        return NOT_FOUND
    return place


cdef inline bint is_word_in_ascii(uint32_t code_point) noexcept nogil:
    return (
        c"a" <= code_point <= c"z" or c"A" <= code_point <= c"Z" or c"0" <= code_point <= c"9"
        or code_point == c"_"
    )


cdef bint is_inside_address(const Walk* walk, Py_ssize_t place) noexcept nogil:
    """Whether a sign goes on at once: `?q=`, `?ID=`, `!=`, or as `![image]`."""
    cdef uint32_t sign = char_at(walk.text, place - 1), first
    cdef Py_ssize_t at = place
    if (sign != c"?" and sign != c"!") or place == walk.end:
        return False
    first = char_at(walk.text, place)
    if first == c"[" and sign == c"!":
        return place - 2 < walk.first or begins_text(walk, place - 2)
    if c"a" <= first <= c"z" or c"0" <= first <= c"9":
        return True
    while (
        at < walk.end and at < place + MOST_OF_NAME and is_word_in_ascii(char_at(walk.text, at))
    ):
        at += 1
    return at < walk.end and char_at(walk.text, at) == c"="


cdef inline bint begins_text(const Walk* walk, Py_ssize_t at) noexcept nogil:
    """Whether what comes after a character begins a word: after a blank or what opens."""
    cdef uint32_t kind = class_at(walk, at)
    return (
        (LINE_ENDS | 1 << SB_SP) >> kind & 1 or properties_of(char_at(walk.text, at)) & OPENING != 0
    )


cdef Py_ssize_t after_markup(const Walk* walk, Py_ssize_t place) noexcept nogil:
    """Go past markup and references that close at the end of a sentence, and the blanks after them.

    Returns:
        where the sentence ends: at `place` if no such text, or no blank, is there. NOT_FOUND if it
        goes on in lower case, or the line ends here: that is an end itself.
    """
    cdef Py_ssize_t at = past_markup(walk, place)
    if at == place or at < walk.end and not (
        (LINE_ENDS | 1 << SB_SP) >> class_at(walk, at) & 1
    ):
        return place
    return past_blanks(walk, at, LINE_ENDS | 1 << SB_LOWER)


cdef Py_ssize_t past_blanks(const Walk* walk, Py_ssize_t at, uint32_t going_on) noexcept nogil:
    """Go past the blanks after a sentence.

    NOT_FOUND: nothing comes, or a class of these: the sentence goes on, or the line ends.
    """
    while at < walk.end and class_at(walk, at) == SB_SP:
        at += 1
    return NOT_FOUND if at == walk.end or going_on >> class_at(walk, at) & 1 else at


cdef Py_ssize_t past_markup(const Walk* walk, Py_ssize_t place) noexcept nogil:
    """Go past signs of emphasis and code, closing marks, and references such as [1] and [^note]."""
    cdef Py_ssize_t end = min(walk.end, place + MOST_OF_MARKUP), at = place, inner
    cdef uint32_t code_point
    if (LINE_ENDS | 1 << SB_SP) >> class_at(walk, place - 1) & 1:
        return place                # what comes begins the next sentence
    while at < end:
        code_point = char_at(walk.text, at)
        if code_point == c"[":
            inner = at + 1
            if inner < end and char_at(walk.text, inner) == c"^":
                inner += 1
            while inner < end and is_word_in_ascii(char_at(walk.text, inner)):
                inner += 1
            if inner == end or char_at(walk.text, inner) != c"]":
                break
            at = inner
        elif not is_closing(code_point):
            break
        at += 1
    return at


cdef inline bint is_closing(uint32_t code_point) noexcept nogil:
    cdef uint32_t properties
    if code_point == c"*" or code_point == c"_" or code_point == c"~" or code_point == c"`":
        return True
    properties = properties_of(code_point)
    return properties & SENTENCE_MASK == SB_CLOSE and not properties & OPENING


cdef Py_ssize_t after_guillemet(const Walk* walk, Py_ssize_t place) noexcept nogil:
    """Go past a guillemet that closes after a blank, as in `« Oui ! »`, and the blanks after it.

    Returns as `after_markup` does.
    """
    cdef Py_ssize_t at = place + 1
    if (
        place == walk.end or char_at(walk.text, place) != 0xBB or class_at(walk, place - 1) != SB_SP
        or at < walk.end and properties_of(char_at(walk.text, at)) & (LETTER | OPENING)
    ):
        return place
    return past_blanks(walk, at, LINE_ENDS | 1 << SB_LOWER | 1 << SB_SCONTINUE)


cdef bint is_inside_title(const Walk* walk, Py_ssize_t place) noexcept nogil:
    """Whether a place is inside of a title, as in `《你好！李焕英》`."""
    cdef Py_ssize_t earliest = max(walk.first, place - MOST_OF_TITLE), at = place
    cdef uint32_t sign
    if walk.text.kind == 1:
        return False
    while at > earliest:
        at -= 1
        sign = char_at(walk.text, at)
        if sign == 0x300A or sign == 0x3008:
            return True
        if sign == 0x300B or sign == 0x3009 or LINE_ENDS >> class_at(walk, at) & 1:
            return False
    return False


cdef inline bint is_particle(uint32_t code_point) noexcept nogil:
    """Whether a letter that follows a quote at once belongs to it: of Hiragana or Hangul."""
    return 0x3041 <= code_point < 0x3097 or 0xAC00 <= code_point < 0xD7A4


cdef bint is_after_quote(const Walk* walk, Py_ssize_t place) noexcept nogil:
    """Whether a sentence goes on after a quoted or bracketed question, or the like.

    As in: "Why?" asked Tom. UAX #29 has this after full stops only (SB8). Or with a particle:
    「はい。」と.
    """
    cdef Py_ssize_t earliest = max(walk.first, place - MOST_AROUND_QUOTE), at = place, closed
    cdef bint is_joined
    if place == walk.end:
        return False
    is_joined = is_particle(char_at(walk.text, place))
    if not is_joined and class_at(walk, place) != SB_LOWER:
        return False
    while not is_joined and at > earliest and class_at(walk, at - 1) == SB_SP:
        at -= 1
    closed = at
    while at > earliest and class_at(walk, at - 1) == SB_CLOSE:
        at -= 1
    if not earliest < at < closed:
        return False
    return (TERMS if is_joined else 1 << SB_STERM) >> class_at(walk, at - 1) & 1


cdef Py_ssize_t last_sentence(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """The last end b of a sentence with after < b <= until, or NOT_FOUND; the tables are there."""
    cdef Py_ssize_t width = FIRST_WINDOW, searched = until + 1, begin, place, last
    cdef Walk walk
    while True:
        begin = until - width
        if begin - start < width:
            begin = start               # at once: a second look costs more
        begin_walk(&walk, text, lines, start, max(start, begin - CONTEXT), until)
        last = NOT_FOUND
        place = next_end(&walk)
        while place != NOT_FOUND:
            if max(begin, after) < place < searched:
                last = place
            place = next_end(&walk)
        if last != NOT_FOUND or begin <= after:
            return last
        # What the context of a later beginning refuses is refused again.
        searched = begin + 1
        width *= WIDER


cdef inline void begin_walk(
    Walk* walk, const Characters* text, int lines, Py_ssize_t start, Py_ssize_t first,
    Py_ssize_t until
) noexcept nogil:
    walk.text = text
    walk.lines = lines
    walk.start = start
    walk.first = walk.at = first
    walk.until = until
    walk.end = min(text.n, until + LOOK_AHEAD)
    walk.is_open = until < text.n and properties_of(char_at(text, until)) & OPENING != 0


cdef void begin_sentences(
    Walk* walk, const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after,
    Py_ssize_t until
) noexcept nogil:
    """Begin to list the ends b of sentences with after < b <= until."""
    begin_walk(walk, text, lines, start, max(start, after - FIRST_WINDOW), until)


cdef Py_ssize_t next_sentence(Walk* walk, Py_ssize_t last) noexcept nogil:
    """The next end of a sentence after the last one, or after `after`; NOT_FOUND: no more."""
    cdef Py_ssize_t place = next_end(walk)
    while place != NOT_FOUND and place <= last:
        place = next_end(walk)
    return place


cdef list list_sentences(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
):
    """All ends b of sentences with after < b <= until, rising."""
    cdef list places = []
    cdef Py_ssize_t place
    cdef Walk walk
    begin_sentences(&walk, text, lines, start, after, until)
    place = next_sentence(&walk, after)
    while place != NOT_FOUND:
        places.append(place)
        place = next_sentence(&walk, place)
    return places
