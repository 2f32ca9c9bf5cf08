"""How many tokens a text has: look its runs up, count the others by their words.

Guarded by tests/words/test_runs.py.
"""

from cpython.exc cimport PyErr_SetObject
from libc.stdint cimport int32_t

from cutline.kernels.base.characters cimport Characters, Unit, char_at
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, UNKNOWN, grow, uint8_t, uint16_t, uint32_t, unlikely,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.encode.runs cimport Runs, Separators, find_runs, keep_count
from cutline.kernels.words.char_map cimport (
    EDGE_SHIFT, LEFT, PAIR, RIGHT, Brief, CharBlock, is_changed,
)
from cutline.kernels.words.images cimport META
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.reader cimport read_words, start_reading
from cutline.kernels.words.separators cimport closed_run, ends_closed
from cutline.kernels.words.singles cimport (
    MOST_SINGLES, Singles, clear_singles, count_single, end_single, find_tokens, has_room,
)
from cutline.kernels.words.stretches cimport count_batches, count_stretch, encode_word, out_slots_of
from cutline.kernels.words.trie cimport LABEL_MASK, META_LABEL
from cutline.kernels.words.unigram cimport count_path
from cutline.kernels.words.word_state cimport WordState, make_room

cdef extern from "Python.h":
    object PyUnicode_FromKindAndData(int kind, const void* data, Py_ssize_t n)

cdef enum:
    NO_LEAD = 0xFFFFFFFF


cdef void count_new_runs(
    const WordModel* model, WordState* state, bint prefixes
) noexcept nogil:
    """Count and keep the runs of the batch that are not known, but for those that have to be read."""
    cdef Runs* runs = &state.runs
    cdef const Characters* text = &state.reader.text
    cdef Py_ssize_t run, n
    if model.array.slots == NULL:
        return
    for run in range(runs.count):
        n = runs.edges[2 * run + 1] - runs.edges[2 * run]
        if runs.counts[run] >= 0 or n >= MOST_SINGLES or not ends_closed(
            state.reader.blocks, text, runs.edges[2 * run + 1]
        ):
            continue
        if state.may_change and is_changed(
            state.reader.blocks, text, runs.edges[2 * run], runs.edges[2 * run + 1]
        ):
            continue
        if not has_room(&state.singles, n + 1):
            count_singles(model, state)
        add_single(model, state, run, prefixes)
    count_singles(model, state)


cdef inline void add_single(
    const WordModel* model, WordState* state, Py_ssize_t run, bint prefixes
) noexcept nogil:
    """Add a run, for which there is room, if it is one word and each of its characters stays one."""
    cdef Singles* singles = &state.singles
    cdef Py_ssize_t start = state.runs.edges[2 * run], n = state.runs.edges[2 * run + 1] - start
    cdef uint32_t lead = lead_of(state, start, prefixes), edge, first
    cdef uint32_t* codes = singles.codes + singles.n
    cdef const Characters* text = &state.reader.text
    if lead == NO_LEAD:
        return
    if lead != 0:
        codes[0] = model.array.codes[lead & LABEL_MASK]
        codes += 1
    if text.kind == 1:
        edge = read_singles(model, state, <const uint8_t*> text.data + start, n, codes)
    elif text.kind == 2:
        edge = read_singles(model, state, <const uint16_t*> text.data + start, n, codes)
    else:
        edge = read_singles(model, state, <const uint32_t*> text.data + start, n, codes)
    if edge == 0 or (lead >> EDGE_SHIFT != 0 and lead >> EDGE_SHIFT != edge):
        return
    first = char_at(text, start)
    if lead == META_LABEL and (
        state.reader.blocks[first >> 8].single[first & 0xFF] & LABEL_MASK == META_LABEL
    ):
        return
    state.single_runs[singles.n_words] = run
    end_single(singles, n + (lead != 0))


cdef inline uint32_t read_singles(
    const WordModel* model, const WordState* state, const Unit* text, Py_ssize_t n, uint32_t* codes
) noexcept nogil:
    """Look up the code of each character. Returns the edge of all, or 0 if they differ."""
    cdef CharBlock** blocks = state.reader.blocks
    cdef const CharBlock* block = blocks[0]
    cdef uint32_t single, differs = 0, first = blocks[text[0] >> 8].single[text[0] & 0xFF]
    cdef Py_ssize_t at
    for at in range(n):
        if Unit is not uint8_t:
            block = blocks[text[at] >> 8]
        single = block.single[text[at] & 0xFF]
        codes[at] = model.array.codes[single & LABEL_MASK]
        differs |= single ^ first
    return 0 if differs >> EDGE_SHIFT else first >> EDGE_SHIFT


cdef inline uint32_t lead_of(const WordState* state, Py_ssize_t start, bint prefixes) noexcept nogil:
    """What is put before a run, like what a character is; 0: nothing, or NO_LEAD: not known.

    A blank that stays is the beginning of the word, if the edges of both are the same.
    """
    cdef const Brief* blank = &state.reader.blocks[0].briefs[c" "]
    if start == 0 or blank.n == 0:
        return META_LABEL if prefixes else 0
    if blank.n != 1 or blank.written[0] != META:
        return NO_LEAD
    return <uint32_t> blank.last << EDGE_SHIFT | META_LABEL


cdef void count_singles(const WordModel* model, WordState* state) noexcept nogil:
    """Count and keep the runs that were added."""
    cdef Singles* singles = &state.singles
    cdef Py_ssize_t word, run, count
    if singles.n_words > 0 and find_tokens(&model.array, singles):
        for word in range(singles.n_words):
            run = state.single_runs[word]
            count = count_single(singles, word)
            if count != UNKNOWN:
                state.runs.counts[run] = <int32_t> count
                state.kept += keep_count(&state.runs, run, &state.store, <uint32_t> count)
    clear_singles(singles)


cdef Py_ssize_t count_closed_runs(
    const WordModel* model, WordState* state, Py_ssize_t first, Py_ssize_t last, bint prefixes
) noexcept nogil:
    """Count the tokens of the runs from `first` to `last`, which is closed; or a status.

    That of one run alone is kept. UNKNOWN: what their characters become together is not closed.
    """
    cdef Py_ssize_t start = state.runs.edges[2 * first], end = state.runs.edges[2 * last + 1], count
    if state.may_change and is_changed(state.reader.blocks, &state.reader.text, start, end):
        count = count_changed(state, start, end, prefixes)
    else:
        count = count_run(model, state, start - (start > 0), end, prefixes)
    if count >= 0 and first == last:
        state.kept += keep_count(&state.runs, first, &state.store, <uint32_t> count)
    return count


cdef Py_ssize_t count_changed(
    WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """Count the tokens of text[start:end], of which characters change one another; or a status.

    Before it is a separator, or nothing; after it, a separator. UNKNOWN: it is not apart from what
    comes next, or its first characters may change with what is before it.
    """
    cdef Py_ssize_t at
    cdef uint8_t flags
    if flags_of(state, end - 1) & RIGHT:
        return UNKNOWN
    at = start
    while start > 0 and at < end:
        flags = flags_of(state, at)
        if flags & LEFT:
            return UNKNOWN
        if not flags & PAIR:
            break
        at += 1
    return ask_count(state, start - (start > 0), end, prefixes)


cdef inline uint8_t flags_of(const WordState* state, Py_ssize_t at) noexcept nogil:
    cdef uint32_t code_point = char_at(&state.reader.text, at)
    return state.reader.blocks[code_point >> 8].images[code_point & 0xFF].flags


cdef Py_ssize_t ask_count(
    const WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept with gil:
    """Ask Python for the tokens of text[start:end], after which is a separator; or a status.

    UNKNOWN: it is not apart from what comes next.
    """
    cdef const Characters* text = &state.reader.text
    cdef const uint8_t* run = <const uint8_t*> text.data + start * text.kind
    cdef Py_ssize_t count
    try:
        count = (<object> state.changed_runs).count(
            PyUnicode_FromKindAndData(text.kind, run, end - start), prefixes
        )
        return count if count >= 0 else UNKNOWN
    except BaseException as error:
        PyErr_SetObject(type(error), error)
        return INTERRUPTED


cdef inline Py_ssize_t count_run(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """What count_stretch does: if it is one word, that is looked up no more."""
    cdef Py_ssize_t n
    cdef double score = 0
    start_reading(&state.reader, start, end, prefixes)
    n = read_words(&state.reader, &state.words)
    if n != 1 or state.reader.at < end or state.reader.is_open:
        return count_batches(model, state, n)
    n = count_path(
        model, &state.paths, state.reader.buffer + state.words.starts[0], state.words.lengths[0],
        &score,
    )
    if n != UNKNOWN:
        return n
    if not grow(
        <void**> &state.out, &state.out_slots, out_slots_of(state.words.lengths[0]),
        sizeof(uint32_t),
    ):
        return NO_MEMORY
    return encode_word(model, state, 0, state.out, NULL)


cdef Py_ssize_t count_runs(
    const WordModel* model, WordState* state, Separators separators, bint prefixes, bint reads,
    Py_ssize_t* place
) noexcept nogil:
    """Count the tokens from a place on, at which a text or a separator begins; or a status.

    UNKNOWN: see count_closed_runs. Moves `place` to where runs near the end of the text are left,
    and what comes after those that are known if no others are read.
    """
    cdef Runs* runs = &state.runs
    cdef Py_ssize_t at = place[0], begun, run, first, count, total = 0
    cdef const Characters* text = &state.reader.text
    state.reader.end = text.n
    while True:
        begun = at
        make_room(state)
        find_runs(
            runs, text, at, separators, state.first_level, state.line_mask, &state.store
        )
        run = 0
        if runs.are_known and runs.count:
            total += runs.total
            at = runs.edges[2 * runs.count - 1]
            run = runs.count
        elif reads:
            count_new_runs(model, state, prefixes)
        while run < runs.count:
            count = runs.counts[run]
            if unlikely(count < 0):
                if not reads:
                    break
                first = run
                run = closed_run(runs, run, state.reader.blocks, text)
                if run == runs.count:
                    break
                count = count_closed_runs(model, state, first, run, prefixes)
                if count < 0:
                    return count
            total += count
            at = runs.edges[2 * run + 1]
            run += 1
        place[0] = at
        if at == begun or (run < runs.count and not reads):
            return total
        if is_interrupted(&state.paths.watch, at - begun):
            return INTERRUPTED


cdef Py_ssize_t count_text(
    const WordModel* model, WordState* state, Separators separators, bint prefixes,
    Py_ssize_t place
) noexcept nogil:
    """Count the tokens of the text from a place on; see count_runs. Or a status."""
    cdef Py_ssize_t total = 0, rest
    if separators.are_known:
        total = count_runs(model, state, separators, prefixes, True, &place)
        if total < 0:
            return total
    rest = count_stretch(model, state, place, state.reader.text.n, prefixes)
    return rest if rest < 0 else total + rest
