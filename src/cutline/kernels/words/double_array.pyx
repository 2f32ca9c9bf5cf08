"""Build a double array from a trie.

Guarded by tests/words/test_runs.py.
"""

from libc.stdlib cimport calloc, free, malloc

from cutline.kernels.base.common cimport memset, uint64_t
from cutline.kernels.words.trie cimport EXACT, ROOTS, ends_token, token_at

cdef extern from "native.h":
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil

cdef enum:
    CODE_POINTS = 0x110000
    KINDS = 8               # of texts, by how many children they have: so many, or more
    WORD = 64

# What is needed while slots are given.
cdef struct Packing:
    uint64_t* taken         # a bit for each slot
    uint32_t* slot_of       # each node's
    uint32_t* codes         # of the children of a node
    size_t n_slots
    size_t n_codes          # and 2 more
    # Where there may be room for nodes of each kind: there is none before.
    size_t starts[KINDS + 1]


cdef bint pack_slots(
    DoubleArray* array, const Trie* trie, uint32_t unk_token, const uint32_t* ids
) noexcept nogil:
    """Build the double array of a trie. False: no memory.

    Args:
        unk_token: the number of the unknown token of Unigram and 1; 0: there is none.
        ids: of tokens, by number, which take the place of scores; NULL: the trie is linked.
    """
    cdef Packing packing
    cdef uint32_t node
    cdef bint has_memory, fits = True
    memset(array, 0, sizeof(DoubleArray))
    memset(&packing, 0, sizeof(Packing))
    array.codes = <uint32_t*> calloc(CODE_POINTS, sizeof(uint32_t))
    if array.codes == NULL:
        return False
    packing.n_codes = give_codes(array.codes, trie)
    packing.n_slots = trie.n_nodes + trie.n_nodes // 4 + 2 * packing.n_codes + 16 * WORD
    packing.starts[1] = packing.n_codes // WORD + 1
    packing.taken = <uint64_t*> calloc(packing.n_slots // WORD + 2, sizeof(uint64_t))
    packing.slot_of = <uint32_t*> malloc(trie.n_nodes * sizeof(uint32_t))
    packing.codes = <uint32_t*> malloc(packing.n_codes * sizeof(uint32_t))
    array.slots = <Slot*> calloc(packing.n_slots, sizeof(Slot))
    has_memory = (
        packing.taken != NULL and packing.slot_of != NULL and packing.codes != NULL
        and array.slots != NULL
    )
    if has_memory:
        put_characters(array, trie, &packing)
        packing.slot_of[1] = CONTINUED
        node = 1
        while fits and node < trie.n_nodes:
            fits = put_children(array, trie, &packing, node)
            node += 1
        if fits and ids != NULL:
            write_ids(array, trie, &packing, ids)
        elif fits:
            fits = write_scores(array, trie, &packing, unk_token)
    free(packing.taken)
    free(packing.slot_of)
    free(packing.codes)
    if not has_memory or not fits:
        free_slots(array)
    return has_memory


cdef size_t give_codes(uint32_t* codes, const Trie* trie) noexcept nogil:
    """Give codes to all characters, first to those with which tokens begin. Returns their end."""
    cdef uint32_t node, n_codes = ROOTS
    for node in range(ROOTS, trie.n_nodes):
        if codes[trie.labels[node]] == 0:
            codes[trie.labels[node]] = n_codes
            n_codes += 1
    return n_codes


cdef void put_characters(DoubleArray* array, const Trie* trie, Packing* packing) noexcept nogil:
    """Give slots to the children of the root, which have the first codes."""
    cdef uint32_t node
    packing.taken[0] = 1 << NO_SLOT | 1 << UNKNOWN_SLOT
    for node in range(ROOTS, trie.nodes[1].children):
        put(array, packing, node, node, ROOT)


cdef inline void put(
    DoubleArray* array, Packing* packing, uint32_t node, size_t slot, uint32_t parent
) noexcept nogil:
    packing.slot_of[node] = <uint32_t> slot
    packing.taken[slot // WORD] |= <uint64_t> 1 << (slot % WORD)
    array.slots[slot].parent = parent


cdef bint put_children(
    DoubleArray* array, const Trie* trie, Packing* packing, uint32_t node
) noexcept nogil:
    """Give slots to the children of a node. False: there is no room."""
    cdef uint32_t first = trie.nodes[node].children, n = trie.nodes[node + 1].children - first
    cdef uint32_t child, parent = packing.slot_of[node]
    cdef size_t base
    if n == 0:
        return True
    for child in range(n):
        packing.codes[child] = array.codes[trie.labels[first + child]]
    base = base_of_one(packing) if n == 1 else base_of_some(packing, n)
    if base == 0:
        return False
    array.slots[parent].base = <uint32_t> base
    for child in range(n):
        put(array, packing, first + child, base + packing.codes[child], parent)
    return True


cdef size_t base_of_one(Packing* packing) noexcept nogil:
    """The base by which an only child gets the first free slot after the codes; 0: there is none."""
    cdef size_t* word = &packing.starts[1]
    while packing.taken[word[0]] == <uint64_t> -1:
        word[0] += 1
    if word[0] * WORD + WORD + packing.n_codes >= packing.n_slots:
        return 0
    return word[0] * WORD + low_bit(~packing.taken[word[0]]) - packing.codes[0]


cdef size_t base_of_some(Packing* packing, uint32_t n) noexcept nogil:
    """A base for several children, by 64 at a time; 0: there is no room."""
    cdef size_t* start = &packing.starts[min(n, <uint32_t> KINDS)]
    cdef size_t slot
    cdef uint64_t room
    cdef uint32_t child
    while start[0] + 2 * WORD + packing.n_codes < packing.n_slots:
        room = <uint64_t> -1 if start[0] > 0 else <uint64_t> -2
        for child in range(n):
            slot = start[0] + packing.codes[child]
            room &= ~(
                packing.taken[slot // WORD] >> (slot % WORD)
                | packing.taken[slot // WORD + 1] << 1 << (WORD - 1 - slot % WORD)
            )
            if room == 0:
                break
        if room != 0:
            return start[0] + low_bit(room)
        start[0] += WORD
    return 0


cdef void write_ids(
    DoubleArray* array, const Trie* trie, const Packing* packing, const uint32_t* ids
) noexcept nogil:
    cdef uint32_t node
    for node in range(ROOTS, trie.n_nodes):
        if ends_token(trie, node):
            array.slots[packing.slot_of[node]].score = <double> ids[token_at(trie, node)] + 1


cdef bint write_scores(
    DoubleArray* array, const Trie* trie, const Packing* packing, uint32_t unk_token
) noexcept nogil:
    """Write the scores of tokens. False: sums of some could be as low as NEVER."""
    cdef uint32_t node, longest
    cdef size_t slot
    cdef double score
    for slot in range(packing.n_slots):
        array.slots[slot].score = NEVER
    array.slots[UNKNOWN_SLOT].score = HUGE_VAL
    for node in range(ROOTS, trie.n_nodes):
        longest = trie.nodes[node].longest
        if longest & EXACT and longest & ~EXACT != unk_token:
            score = trie.ends[longest & ~EXACT].score
            if not -MOST_SCORE < score < MOST_SCORE:
                return False
            array.slots[packing.slot_of[node]].score = score
        elif longest & EXACT or node < trie.nodes[1].children:
            array.slots[packing.slot_of[node]].score = HUGE_VAL
    return True


cdef void free_slots(DoubleArray* array) noexcept nogil:
    free(array.slots)
    free(array.codes)
    memset(array, 0, sizeof(DoubleArray))
