"""Build a trie of tokens, and look one up as a whole.

Guarded by tests/words/test_encoding.py.
"""

from libc.stdlib cimport calloc, free, malloc, qsort

from cutline.kernels.base.characters cimport utf8_width
from cutline.kernels.base.common cimport (
    HIGH_BITS, NONE, characters_in, is_continuation, load64, low_bytes, memset, reversed_bytes,
)


cdef extern from "native.h":
    int top_bit "cutline_top_bit"(uint64_t word) noexcept nogil

cdef extern from "math.h":
    double HUGE_VAL


cdef enum:
    DIGIT_BITS = 11         # of a key; six digits are a key
    DIGITS = 1 << 11
    FEW = 16                # tokens: fewer moves than the library takes for its work

# What is moved instead of tokens, to sort them.
cdef struct Keyed:
    uint64_t key
    uint32_t place


cdef bint start_spellings(Spellings* all, Py_ssize_t n_tokens) noexcept nogil:
    """Make room for so many tokens below each root. False: no memory."""
    cdef int root
    cdef bint has_memory = n_tokens >> 30 == 0
    memset(all, 0, sizeof(Spellings))
    for root in range(ROOTS):
        if has_memory:
            all.of[root] = <Spelling*> malloc((n_tokens + 1) * sizeof(Spelling))
            has_memory = all.of[root] != NULL
    return has_memory


cdef bint is_character(const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """Whether META or a character is there as a whole, in UTF-8."""
    cdef Py_ssize_t at, width = char_bytes(text[0])
    cdef uint32_t code_point
    if text[0] == META:
        return True
    if width > n:
        return False
    for at in range(1, width):
        if not is_continuation(text[at]):
            return False
    code_point = decode_char(text, width)
    return (
        text[0] < 0xF8 and code_point < 0x110000 and not 0xD800 <= code_point < 0xE000
        and utf8_width(code_point) == width
    )


cdef inline uint32_t order_of(uint32_t byte) noexcept nogil:
    """A number for a byte, in the order of labels."""
    # Surrogates would be 0xED 0xA0 and so on: META comes after all others of 0xED.
    if byte >= 0xEE:
        return 0xEE if byte == META else byte + 1
    return byte


cdef uint64_t key_at(const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """The next bytes as a number, up to eight: less for what comes before by its labels."""
    cdef uint64_t key = 0
    cdef Py_ssize_t at
    for at in range(min(n, 8)):
        key |= <uint64_t> order_of(text[at]) << (56 - 8 * at)
    return key


cdef bint is_text(const uint8_t* token, Py_ssize_t n) noexcept nogil:
    """Whether META and whole characters are there."""
    cdef Py_ssize_t at = 0
    while at < n:
        if token[at] >= 0x80 and not is_character(token + at, n - at):
            return False
        at += 1 if token[at] < 0x80 or token[at] == META else char_bytes(token[at])
    return True


cdef void add_token(
    Spellings* all, int root, const uint8_t* token, Py_ssize_t n, Py_ssize_t readable,
    uint32_t number
) noexcept nogil:
    """Add a token, for which there is room. One that is no UTF-8 or empty is in no word.

    Args:
        readable: bytes from its first one on, at least n.
    """
    cdef Spelling* one = &all.of[root][all.n[root]]
    if n == 0 or n >> 30:
        return
    if readable >= 8:
        one.key = load64(token) & low_bytes[min(n, 8)]
    if readable < 8 or one.key & HIGH_BITS or n > 8:
        if not is_text(token, n):
            return
        one.key = key_at(token, n)
    else:
        one.key = reversed_bytes(one.key)
    all.n[root] += 1
    all.longest = max(all.longest, <uint32_t> n)
    one.text = token
    one.n = <uint32_t> n
    one.token = number


cdef int compare_rests(const void* left, const void* right) noexcept nogil:
    """Compare what two tokens with the same key have after it."""
    cdef const Spelling* one = <const Spelling*> left
    cdef const Spelling* other = <const Spelling*> right
    cdef Py_ssize_t at = 8, shorter = min(one.n, other.n)
    while at < shorter and one.text[at] == other.text[at]:
        at += 1
    if at < shorter:
        return 1 if order_of(one.text[at]) > order_of(other.text[at]) else -1
    return (one.n > other.n) - (one.n < other.n)


cdef bint sort_spellings(Spelling** of, uint32_t n) noexcept nogil:
    """Sort tokens by their characters. False: no memory."""
    cdef Spelling* ordered = <Spelling*> malloc((n + 1) * sizeof(Spelling))
    cdef Keyed* keys = <Keyed*> malloc(2 * (n + 1) * sizeof(Keyed))
    cdef Keyed* keyed = keys
    cdef Keyed* spare = keys + n
    cdef uint32_t begin = 0, place
    cdef int shift
    if ordered == NULL or keys == NULL:
        free(ordered)
        free(keys)
        return False
    for place in range(n):
        keyed[place] = Keyed(of[0][place].key, place)
    for shift from 0 <= shift < 64 by DIGIT_BITS:
        if sort_by_digit(keyed, spare, n, shift):
            keyed, spare = spare, keyed
    for place in range(n):
        ordered[place] = of[0][keyed[place].place]
    free(keys)
    free(of[0])
    of[0] = ordered
    for place in range(1, n + 1):
        if place == n or ordered[place].key != ordered[begin].key:
            if place - begin > FEW:
                qsort(&ordered[begin], place - begin, sizeof(Spelling), &compare_rests)
            elif place - begin > 1:
                sort_few(&ordered[begin], place - begin)
            begin = place
    return True


cdef void sort_few(Spelling* of, uint32_t n) noexcept nogil:
    """Sort tokens by what they have after their key."""
    cdef uint32_t place, to
    cdef Spelling one
    for place in range(1, n):
        one, to = of[place], place
        while to > 0 and compare_rests(&of[to - 1], &one) > 0:
            of[to] = of[to - 1]
            to -= 1
        of[to] = one


cdef bint sort_by_digit(
    const Keyed* of, Keyed* to, uint32_t n, int shift
) noexcept nogil:
    """Sort by a digit of the keys, and leave the order of those with the same one.

    False: all have the same one, and nothing is done.
    """
    cdef uint32_t[DIGITS] places
    cdef uint32_t place, digit, before = 0, here
    memset(places, 0, sizeof(places))
    for place in range(n):
        places[of[place].key >> shift & DIGITS - 1] += 1
    for digit in range(DIGITS):
        here = places[digit]
        if here == n:
            return False
        places[digit] = before
        before += here
    for place in range(n):
        digit = of[place].key >> shift & DIGITS - 1
        to[places[digit]] = of[place]
        places[digit] += 1
    return True


cdef bint pack_trie(Spellings* all, Trie* trie) noexcept nogil:
    """Make the trie of tokens, not linked yet. False: no memory."""
    cdef size_t n_depths = <size_t> all.longest + 3
    cdef uint32_t* next_of = <uint32_t*> calloc(n_depths, sizeof(uint32_t))
    cdef uint32_t* path = <uint32_t*> malloc(n_depths * sizeof(uint32_t))
    cdef int root
    cdef bint has_memory = next_of != NULL and path != NULL
    memset(trie, 0, sizeof(Trie))
    for root in range(ROOTS):
        trie.first[root] = <uint32_t*> calloc(BMP, sizeof(uint32_t))
        has_memory = has_memory and trie.first[root] != NULL
        has_memory = has_memory and sort_spellings(&all.of[root], all.n[root])
    if has_memory:
        has_memory = number_depths(all, next_of, n_depths, trie)
    if has_memory:
        for root in range(ROOTS):
            make_nodes(all.of[root], all.n[root], root, next_of, path, trie)
        trie.nodes[trie.n_nodes].children = trie.n_nodes
        mark_only(trie)
        list_children(trie, 0, trie.first[0])
        trie.broad = trie.first[0][META_LABEL]
        if n_children(trie, trie.broad) < n_children(trie, 1) or trie.broad == 0:
            trie.broad = 1
        list_children(trie, trie.broad, trie.first[1])
    free(next_of)
    free(path)
    return has_memory


cdef bint number_depths(
    Spellings* all, uint32_t* next_of, size_t n_depths, Trie* trie
) noexcept nogil:
    """Make room for the nodes; those of fewer characters come first. False: no memory.

    Args:
        next_of: out: the number of the first node of each depth.
    """
    cdef uint32_t place, before = ROOTS, here, open = 0
    cdef size_t depth
    cdef int root
    for root in range(ROOTS):
        for place in range(all.n[root]):
            share(&all.of[root][place], &all.of[root][max(place, 1) - 1], next_of)
    # The tokens that have a node of their own at each depth.
    for depth in range(n_depths):
        open += next_of[depth]
        here = open
        next_of[depth] = before
        before += here
    trie.n_nodes = before
    trie.nodes = <Node*> calloc(before + 1, sizeof(Node))
    trie.labels = <uint32_t*> calloc(before + 1, sizeof(uint32_t))
    return trie.nodes != NULL and trie.labels != NULL


cdef inline bint is_short(const Spelling* one) noexcept nogil:
    """Whether a token is ASCII and in its key as a whole: no other memory need be read."""
    return one.n <= 8 and not one.key & HIGH_BITS


cdef inline void share(
    Spelling* one, const Spelling* before, uint32_t* begun
) noexcept nogil:
    """Find how many characters a token shares with the one before.

    Args:
        before: the first token, which shares nothing, has itself before it.
        begun: for each depth the tokens that have nodes of their own from there on, less those
            that end before.
    """
    cdef uint64_t differs = one.key ^ before.key
    cdef Py_ssize_t left
    cdef uint32_t at = 0, most = min(one.n, before.n)
    if one == before:
        most = 0
    elif differs != 0:
        at = most = min(most, <uint32_t> (63 - top_bit(differs)) >> 3)
    else:
        at = min(most, <uint32_t> 8)
    while at < most and before.text[at] == one.text[at]:
        at += 1
    one.depth, left = at, one.n - at
    if not is_short(one):
        # Where a character differs in a later byte, back to its first one.
        while 0 < at < one.n and is_continuation(one.text[at]):
            at -= 1
        one.depth = <uint32_t> characters_in(one.text, at, one.n)
        left = characters_in(one.text + at, one.n - at, one.n - at)
    one.shared = at
    begun[one.depth + 1] += 1
    begun[one.depth + 1 + left] -= 1


cdef void make_nodes(
    const Spelling* of, uint32_t n, uint32_t root, uint32_t* next_of, uint32_t* path, Trie* trie
) noexcept nogil:
    """Make the nodes below a root.

    Args:
        next_of: the number of the next node of each depth.
        path: room for the nodes of a token.
    """
    cdef uint32_t place, node = root, depth, label
    cdef Py_ssize_t at, width
    cdef bint in_key
    trie.nodes[root].children = next_of[1]
    path[0] = root
    for place in range(n):
        at, depth, in_key = of[place].shared, of[place].depth, is_short(&of[place])
        while at < of[place].n:
            if in_key:
                label, width = of[place].key >> (56 - 8 * at) & 0xFF, 1
            else:
                label = label_at(of[place].text + at, &width)
            at += width
            trie.nodes[path[depth]].labels |= label_bit(label)
            depth += 1
            node = next_of[depth]
            next_of[depth] += 1
            path[depth] = node
            trie.labels[node] = label
            # Those of the node before are all made: tokens are sorted.
            trie.nodes[node].children = next_of[depth + 1]
        trie.nodes[path[depth]].longest = of[place].token + 1 | EXACT


cdef void mark_only(Trie* trie) noexcept nogil:
    """Put the label of an only child where bits of those of several are."""
    cdef uint32_t node
    cdef uint32_t label
    for node in range(trie.n_nodes):
        # Which nodes have one would not be foreseen: so it is read for all.
        label = ONLY | trie.labels[trie.nodes[node].children]
        trie.nodes[node].labels = label if n_children(trie, node) == 1 else trie.nodes[node].labels


cdef inline uint32_t n_children(const Trie* trie, uint32_t node) noexcept nogil:
    return trie.nodes[node + 1].children - trie.nodes[node].children


cdef void list_children(const Trie* trie, uint32_t node, uint32_t* first) noexcept nogil:
    """Write the children of a node by their characters."""
    cdef uint32_t child
    for child in range(trie.nodes[node].children, trie.nodes[node + 1].children):
        if trie.labels[child] < BMP:
            first[trie.labels[child]] = child


cdef bint link_trie(
    Trie* trie, const int64_t* offsets, const double* scores, Py_ssize_t n_tokens
) noexcept nogil:
    """Link the nodes below the first root. The links of a node lead to such with smaller numbers.

    False: no memory.

    Args:
        offsets: of the tokens' bytes.
    """
    cdef uint32_t node, child, longest, token
    cdef Node* linked
    trie.ends = <End*> calloc(n_tokens + 1, sizeof(End))
    if trie.ends == NULL:
        return False
    trie.ends[0].score = -HUGE_VAL
    for node in range(ROOTS, trie.n_nodes):
        if ends_token(trie, node):
            token = token_at(trie, node)
            trie.ends[token + 1].score = scores[token]
            trie.ends[token + 1].n_bytes = <uint32_t> (offsets[token + 1] - offsets[token])
    for node in range(ROOTS, trie.n_nodes):
        for child in range(trie.nodes[node].children, trie.nodes[node + 1].children):
            linked = &trie.nodes[child]
            linked.fallback = next_node(trie, trie.nodes[node].fallback, trie.labels[child])
            longest = trie.nodes[linked.fallback].longest & ~EXACT
            if linked.longest:
                trie.ends[linked.longest & ~EXACT].shorter = longest
            else:
                linked.longest = longest
    return True


cdef uint32_t find_in_trie(
    const Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n
) noexcept nogil:
    """The token with exactly these bytes, which are UTF-8, or NONE."""
    cdef uint32_t node = root
    cdef Py_ssize_t at = 0, width
    while at < n:
        node = child_of(trie, node, label_at(token + at, &width))
        if node == 0:
            return NONE
        at += width
    return token_at(trie, node) if ends_token(trie, node) else NONE


cdef void free_spellings(Spellings* all) noexcept nogil:
    cdef int root
    for root in range(ROOTS):
        free(all.of[root])
        all.of[root] = NULL


cdef void free_trie(Trie* trie) noexcept nogil:
    cdef Py_ssize_t root
    free(trie.nodes)
    free(trie.labels)
    free(trie.ends)
    for root in range(2):
        free(trie.first[root])
