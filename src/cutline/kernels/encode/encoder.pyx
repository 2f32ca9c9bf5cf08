"""Texts in; lists, arrays and counts of tokens out: the quick part of `cutline.Encoding`.

Guarded by tests/test_encode.py.
"""

from cpython.buffer cimport (
    PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.unicode cimport (
    PyUnicode_AsUTF8AndSize, PyUnicode_Check, PyUnicode_CheckExact, PyUnicode_Find,
    PyUnicode_FromObject, PyUnicode_GET_LENGTH,
)
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_numbers

from cython cimport auto_pickle, critical_section

from cutline.kernels.base.characters cimport (
    Characters, PyUnicode_DATA, PyUnicode_IS_ASCII, characters_of,
)
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, NONE, UNKNOWN, char_bytes, int64_t, memcpy, memset, uint32_t,
)
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.base.utf8 cimport (
    MOST_AT_WORST, UTF8_ROOM, encode_utf8, utf8_at_worst, write_text,
)
from cutline.kernels.bpe.bpe cimport Bpe, find_token, id_of_rank
from cutline.kernels.encode.batches cimport (
    MOST_SHORT, MOST_UNWANTED, EncoderState, count_short, encode_piece, encode_text, look_for_unwanted,
    prefill, reserve,
)
from cutline.kernels.encode.blocks cimport encode_in_blocks, pays_in_blocks
from cutline.kernels.encode.decode cimport list_of_ids
from cutline.kernels.encode.run_counts cimport RunRules, count_by_runs
from cutline.kernels.encode.runs cimport LEAST_WITH_TAIL, NO_PREFIX, Separators
from cutline.kernels.scan.scan cimport scan_piece
from cutline.kernels.scan.scan import scan_pieces

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define CUTLINE_HAS_GIL 0
    #else
    #define CUTLINE_HAS_GIL 1
    #endif
    """
    const bint HAS_GIL "CUTLINE_HAS_GIL"

cdef enum:
    NOGIL_BYTES = 4096          # shorter texts are done before another thread could start
    KEPT_OUT_SLOTS = 1 << 20    # a larger buffer for tokens is freed after use
    KEPT_UTF8_BYTES = 1 << 23   # the same of a buffer for UTF-8
    KEPT_STATES = 16
    CHARACTERS_A_TOKEN = 4      # about, in European languages
    LONG_FIND = 1 << 14         # characters: more are searched while they are encoded

# Defaults of arguments: to compare them costs short texts less than to read them.
cdef object ONE_THREAD = 1
cdef object NOT_ANY = ()
cdef object ALL = "all"

# Of numpy, once it is loaded.
cdef object np_empty = None
cdef object np_uint32 = None


cdef inline str plain_str(text):
    if PyUnicode_CheckExact(text):
        return text
    if not PyUnicode_Check(text):
        raise TypeError(f"text must be a str, got {type(text).__name__}")
    return PyUnicode_FromObject(text)   # what a subclass overrides does not count


cdef bint lacks(text, prefix) except -1:
    """Whether a text has a string nowhere."""
    cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text)
    if PyUnicode_IS_ASCII(text) and PyUnicode_IS_ASCII(prefix) and PyUnicode_GET_LENGTH(prefix) and (
        memchr(PyUnicode_DATA(text), (<const uint8_t*> PyUnicode_DATA(prefix))[0], n) == NULL
    ):
        return True     # nearly always
    return PyUnicode_Find(text, prefix, 0, n, 1) == -1


cdef object utf8_owner(text):
    """An object that holds the text's UTF-8: the text itself where it is ASCII, else bytes.

    Lone surrogates become U+FFFD and surrogate pairs the character they stand for,
    as tiktoken does it. Never caches UTF-8 inside the string: that memory would stay.
    """
    text = plain_str(text)
    if PyUnicode_IS_ASCII(text):
        return text
    try:
        return encode_utf8(text)
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return encode_utf8(text)


cdef object plain_utf8(text):
    """The same of a plain str without surrogates; None: it is none."""
    if not PyUnicode_CheckExact(text):
        return None
    if PyUnicode_IS_ASCII(text):
        return text
    try:
        return encode_utf8(text)
    except UnicodeEncodeError:
        return None


cdef const uint8_t* utf8_data(object owner, Py_ssize_t* n) except NULL:
    if isinstance(owner, bytes):
        n[0] = PyBytes_GET_SIZE(owner)
        return <const uint8_t*> PyBytes_AS_STRING(owner)
    if PyUnicode_CheckExact(owner) and PyUnicode_IS_ASCII(owner):
        n[0] = PyUnicode_GET_LENGTH(owner)
        return <const uint8_t*> PyUnicode_DATA(owner)
    return <const uint8_t*> PyUnicode_AsUTF8AndSize(owner, n)


@auto_pickle(False)
cdef class Encoder:
    """Ordinary encoding and counting; `cutline.Encoding` adds everything else.

    Any number of threads may call it at once: each call takes an encoder state of its
    own from a list of idle ones.
    """

    def _bind(
        self, BpeTables tables, ScanTables scan_tables, find_spans=None,
        tuple cache_bits=(17, 16), pipeline=None,
    ):
        """Attach the tables.

        Args:
            tables: None: the pipeline encodes.
            find_spans: replaces the scanner where there are no tables for it.
            cache_bits: log2 of the entries of the first level and of the store's index; -1: none.
            pipeline: changes texts before they are split; None: nothing does. It is asked with
                this encoder and the text, and encodes what it makes of it with the methods below
                whose names say `normalized`.
        """
        self.pipeline = pipeline
        self.tables = tables
        self.scan_tables = scan_tables
        self.find_spans = find_spans
        self.cache_bits = cache_bits
        self.idle = []
        self.short_scanner = NULL
        if HAS_GIL and pipeline is None and scan_tables is not None:
            self.short_scanner = &scan_tables.scanner

    @property
    def _has_automaton(self):
        """Whether the split pattern runs on the scanner."""
        return self.scan_tables is not None

    @property
    def _changes_texts(self):
        """Whether a text can be changed before it is split."""
        return self.pipeline is not None

    @property
    def _highest_id(self):
        """The highest id of the vocabulary's tokens."""
        cdef const Bpe* bpe = &self.tables.bpe
        cdef Py_ssize_t n_sparse = bpe.n_tokens - bpe.n_dense
        return bpe.sparse_ids[n_sparse - 1] if n_sparse else bpe.n_tokens - 1

    def _max_bytes_of(self, n):
        """The most bytes of text that n tokens cover; None where that is not known.

        With a pipeline, the most characters.
        """
        if self.pipeline is not None:
            return self.pipeline.max_characters_of(self, n)
        return self._max_normalized_bytes_of(n)

    def _max_normalized_bytes_of(self, n):
        """The most bytes of normalized text that n tokens cover; None: text can have no tokens."""
        if self.scan_tables is None or self.scan_tables.has_gaps:
            return None
        return n * self.tables.bpe.max_token_bytes

    cdef OwnedState take_state(self):
        cdef OwnedState owned
        # One is kept beside the list: a list of one would free its memory at each pop.
        with critical_section(self):
            owned = self.spare
            self.spare = None
        if owned is not None:
            return owned
        try:
            return self.idle.pop()
        except IndexError:
            owned = OwnedState(*self.cache_bits, self.tables.bpe.n_tokens)
            prefill(&self.tables.bpe, &owned.state)
            return owned

    cdef void release(self, OwnedState owned):
        owned.state.lookups.watch.is_on = False
        if owned.state.out_slots > KEPT_OUT_SLOTS:
            free(owned.state.out)
            owned.state.out = NULL
            owned.state.out_slots = 0
        with critical_section(self):
            if self.spare is None:
                self.spare = owned
                return
            if self.spare.state.runs == NULL:
                # Who counts runs or parts takes it next, not who was asked for one of them.
                self.spare, owned = owned, self.spare
        if len(self.idle) < KEPT_STATES:
            self.idle.append(owned)

    cdef Source source(self):
        cdef Source source
        memset(&source, 0, sizeof(source))
        if self.scan_tables is not None:
            source.scanner = &self.scan_tables.scanner
        return source

    def _last_piece(self, bytes utf8 not None):
        """The bytes of the last piece of a valid text; none where there is no piece."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(utf8)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(utf8), at = 0, piece_end, lookahead_end = 0
        cdef Py_ssize_t start = 0, end = 0
        if self.scan_tables is None:
            starts, ends = self.spans_of(utf8)
            return utf8[starts.max(initial=0):ends.max(initial=0)]
        while at < n:
            piece_end = scan_piece(&self.scan_tables.scanner, data, at, n, &lookahead_end)
            if piece_end < 0:
                at += char_bytes(data[at])
            else:
                start = at
                end = at = piece_end
        return utf8[start:end]

    def _find_pieces(self, bytes utf8 not None):
        """Byte starts and ends of the pieces of a valid text: int64, shape (pieces,) each."""
        if self.scan_tables is None:
            return self.spans_of(utf8)
        return scan_pieces(self.scan_tables, utf8)[:2]

    cdef tuple spans_of(self, bytes utf8):
        """Byte spans of the pieces, from the function that replaces the scanner."""
        return self.find_spans(utf8)

    cdef Py_ssize_t run(
        self, OwnedState owned, object owner, Py_ssize_t before, Py_ssize_t limit
    ) except -1:
        """Encode a text's UTF-8 into the encoder state; see encode_text."""
        cdef Py_ssize_t n = 0, total
        cdef const uint8_t* data = utf8_data(owner, &n)
        cdef Source source
        if self.scan_tables is None and n > 0:
            total = self.run_spans(owned, owner, data, n, before, limit)
        elif n < NOGIL_BYTES:
            source = self.source()
            total = encode_text(&self.tables.bpe, &source, &owned.state, data, n, before, limit)
        else:
            source = self.source()
            owned.state.lookups.watch.is_on = True
            with nogil:
                total = encode_text(
                    &self.tables.bpe, &source, &owned.state, data, n, before, limit
                )
        if total == INTERRUPTED:
            raise_pending()
        if total < 0:
            raise MemoryError(f"no memory for the tokens of {n} bytes of text")
        return total

    cdef Py_ssize_t run_str(
        self, OwnedState owned, object text, Py_ssize_t before, Py_ssize_t limit
    ) except -1:
        """The same for a str."""
        cdef Characters characters
        cdef Source source
        cdef Py_ssize_t total
        text = plain_str(text)
        characters = characters_of(text)
        source = self.source()
        if self.scan_tables is None or (
            characters.n > MOST_AT_WORST and not characters.is_ascii
            and not pays_in_blocks(&source, &characters)
        ):
            return self.run(owned, utf8_owner(text), before, limit)
        if characters.n < NOGIL_BYTES:
            total = self.encode_one(owned, &source, &characters, before, limit)
        else:
            owned.state.lookups.watch.is_on = True
            with nogil:
                total = self.encode_one(owned, &source, &characters, before, limit)
        if total >= 0:
            return total
        if total == INTERRUPTED:
            raise_pending()
        if total == UNKNOWN:
            return self.run(owned, utf8_owner(text), before, limit)
        raise MemoryError(f"no memory for the tokens of {characters.n} characters of text")

    cdef Py_ssize_t run_spans(
        self, OwnedState owned, object owner, const uint8_t* data, Py_ssize_t n,
        Py_ssize_t before, Py_ssize_t limit
    ) except -1:
        """What run does where a function replaces the scanner; see encode_text."""
        cdef Source source = self.source()
        cdef const int64_t[::1] starts, ends
        starts, ends = self.spans_of(owner if isinstance(owner, bytes) else owner.encode())
        source.n_spans = starts.shape[0]
        if source.n_spans == 0:
            look_for_unwanted(&owned.state, data, 0, n)
            return 0
        source.starts = &starts[0]
        source.ends = &ends[0]
        owned.state.lookups.watch.is_on = True
        with nogil:
            return encode_text(&self.tables.bpe, &source, &owned.state, data, n, before, limit)

    def _expect_special(self, prefix):
        """Say what the special tokens' texts begin with; None: there are none."""
        cdef bytes utf8 = (prefix or "").encode("utf-8", "replace")
        self.special_prefix = prefix
        self.special_utf8 = utf8
        memset(&self.special_bytes, 0, sizeof(Characters))
        # A text with surrogates, which cannot be encoded, is searched before.
        if 2 <= len(utf8) <= MOST_UNWANTED and utf8.decode() == prefix:
            self.special_bytes.data = PyBytes_AS_STRING(utf8)
            self.special_bytes.kind = 1
            self.special_bytes.n = len(utf8)

    cdef bint is_searched_meanwhile(
        self, text, allowed_special, disallowed_special, num_threads
    ) except -1:
        """Whether a text that is not ordinary at once is searched while it is encoded."""
        return (
            self.special_bytes.n > 0 and self.pipeline is None and num_threads is ONE_THREAD
            and allowed_special is NOT_ANY and disallowed_special is ALL
            and PyUnicode_Check(text) and PyUnicode_GET_LENGTH(text) >= LONG_FIND
        )

    cdef Py_ssize_t run_searching(self, OwnedState owned, text) except -1:
        """Encode a text as encode_ordinary does, and raise if it spells a special token.

        Most texts lack what all of these begin with. To look for that takes less time while the
        text is in the processor's cache.
        """
        cdef Py_ssize_t total
        text = plain_str(text)
        owned.state.unwanted = &self.special_bytes
        owned.state.found_unwanted = False
        total = self.run_str(owned, text, 0, NO_LIMIT)
        owned.state.unwanted = NULL
        if owned.state.found_unwanted:
            try:
                self._check_special(text, NOT_ANY, ALL)
            except ValueError:
                self.release(owned)
                raise
        return total

    cdef bint is_ordinary(self, text, allowed_special, disallowed_special, num_threads) except -1:
        """Whether it is known at once that `encode` does what `encode_ordinary` does."""
        if allowed_special is not NOT_ANY or num_threads is not ONE_THREAD:
            return False
        if disallowed_special is not ALL:
            return disallowed_special is NOT_ANY
        if self.special_prefix is None or not PyUnicode_Check(text):
            return True
        return PyUnicode_GET_LENGTH(text) < LONG_FIND and lacks(text, self.special_prefix)

    def _may_spell_special(self, list texts not None):
        """The places of those texts in which the texts of special tokens must be looked for."""
        cdef Py_ssize_t place
        return [
            place for place in range(len(texts))
            if not self.is_ordinary(texts[place], NOT_ANY, ALL, ONE_THREAD)
        ]

    def encode(
        self, text, *, allowed_special=(), disallowed_special="all", num_threads=1
    ):
        """Encode a text that may spell special tokens.

        Args:
            text: any string; lone surrogates count as U+FFFD, as in tiktoken.
            allowed_special: special tokens whose text becomes the token, or "all".
            disallowed_special: texts that must not occur; "all" means every special token
                that is not allowed. A special token in neither set is encoded as ordinary text.
            num_threads: maximum number of threads, for a text of megabytes.

        Returns:
            Token ids; they do not depend on the number of threads.

        Raises:
            SpecialTokenError: (a ValueError) the text contains a disallowed special token.
            ValueError: num_threads is below 1.

        Cost: linear in the text. Threads take parts of 2**19 characters, cut where the tokenizer
        is known to split any text, such as before the blank after a word. A text without such
        places, such as a run of one letter, takes one thread, and so does a split pattern that
        runs on the `regex` module. The list is made by one thread, a third of the work;
        `encode_to_numpy` makes none.
        Source: docs/encoding.md, "One text in threads".

        >>> import cutline
        >>> enc = cutline.get_encoding("gpt2")
        >>> enc.encode("hi<|endoftext|>", allowed_special="all")
        [5303, 50256]
        >>> enc.encode("hi<|endoftext|>", disallowed_special=())
        [5303, 27, 91, 437, 1659, 5239, 91, 29]
        """
        if not self.is_ordinary(text, allowed_special, disallowed_special, num_threads):
            if self.is_searched_meanwhile(
                text, allowed_special, disallowed_special, num_threads
            ):
                return self.encode_str(text, searching=True)
            return self._encode_special(text, allowed_special, disallowed_special, num_threads)
        if self.pipeline is not None:
            return self.pipeline.encode_ordinary(self, plain_str(text))
        return self.encode_str(text)

    def encode_to_numpy(
        self, text, *, allowed_special=(), disallowed_special="all", num_threads=1
    ):
        """Encode like `encode`, into an array: uint32, shape (tokens,).

        >>> import cutline
        >>> cutline.get_encoding("gpt2").encode_to_numpy("hello world")
        array([31373,   995], dtype=uint32)
        """
        if not self.is_ordinary(text, allowed_special, disallowed_special, num_threads):
            if self.is_searched_meanwhile(
                text, allowed_special, disallowed_special, num_threads
            ):
                return self.numpy_of(text, searching=True)
            return self._encode_special_to_numpy(
                text, allowed_special, disallowed_special, num_threads
            )
        if self.pipeline is not None:
            return self.pipeline.encode_to_numpy(self, plain_str(text))
        return self.numpy_of(text)

    def encode_ordinary(self, text, *, num_threads=1):
        """Encode a text, special-token text as ordinary text.

        Args:
            text: any string; lone surrogates count as U+FFFD, as in tiktoken.
            num_threads: maximum number of threads, for a text of megabytes; as for `encode`.

        Returns:
            Token ids, a list of int.

        Cost: linear in the text, whatever it is.

        >>> import cutline
        >>> cutline.get_encoding("o200k_base").encode_ordinary("hello world")
        [24912, 2375]
        """
        if num_threads is not ONE_THREAD:
            return self._encode_in_threads(plain_str(text), frozenset(), num_threads)
        if self.pipeline is not None:
            return self.pipeline.encode_ordinary(self, text)
        return self.encode_str(text)

    def _encode_normalized(self, text):
        """Encode a text that nothing changes any more."""
        return self.encode_str(text)

    cdef list encode_str(self, text, bint searching=False):
        cdef OwnedState owned = self.take_state()
        cdef Py_ssize_t total
        if searching:
            total = self.run_searching(owned, text)
        else:
            total = self.run_str(owned, text, 0, NO_LIMIT)
        tokens = list_of_ids(owned.state.out, total)
        self.release(owned)
        return tokens

    def _encode_to_numpy(self, text):
        """Encode like encode_ordinary into a uint32 array."""
        if self.pipeline is not None:
            return self.pipeline.encode_to_numpy(self, text)
        return self.numpy_of(text)

    def _encode_normalized_to_numpy(self, text):
        """Encode a text that nothing changes any more, into a uint32 array."""
        return self.numpy_of(text)

    cdef object numpy_of(self, text, bint searching=False):
        cdef OwnedState owned = self.take_state()
        cdef Py_ssize_t total
        if searching:
            total = self.run_searching(owned, text)
        else:
            total = self.run_str(owned, text, 0, NO_LIMIT)
        tokens = array_of_ids(&owned.state, total)
        self.release(owned)
        return tokens

    def count(self, text, *, num_threads=1, allowed_special=()):
        """Count the tokens of a text: `len(encode_ordinary(text))`, without the list.

        Special-token text such as `<|endoftext|>` counts as the ordinary text it is, unless
        `allowed_special` has it: then the count is that of `encode` with this argument, and
        `disallowed_special=()`.

        Args:
            text: any string.
            num_threads: maximum number of threads, for a text of megabytes; as for `encode`.
            allowed_special: special tokens whose text is one token, or "all"; such a text is
                counted in one thread.

        Returns:
            The number of tokens.

        Cost: linear in the text; no memory for tokens, whatever its length, but for one
        giant piece and, where the text is not ASCII, for its UTF-8.

        >>> import cutline
        >>> enc = cutline.get_encoding("o200k_base")
        >>> enc.count("hello world")
        2
        >>> enc.count("<|endoftext|>"), enc.count("<|endoftext|>", allowed_special="all")
        (7, 1)
        """
        cdef Py_ssize_t total
        if num_threads is ONE_THREAD and allowed_special is NOT_ANY and PyUnicode_CheckExact(text):
            total = count_at_once(self, text)
            if total >= 0:
                return total
        if allowed_special is not NOT_ANY and allowed_special:
            return self._allowing(allowed_special).count(text)
        if num_threads is not ONE_THREAD:
            return self._count_in_threads(plain_str(text), num_threads)
        if self.pipeline is not None:
            return self.pipeline.count(self, text)
        return self.count_str(text)

    def _count_utf8(self, bytes utf8 not None, *, num_threads=1):
        """Count the tokens of a text's UTF-8, which must be valid: `count`, without the str."""
        if num_threads is not ONE_THREAD:
            return self._count_in_threads(utf8, num_threads)
        if self.pipeline is not None:
            return self.pipeline.count(self, utf8.decode())
        cdef OwnedState owned = self.take_state()
        cdef Py_ssize_t total = self.run(owned, utf8, -1, NO_LIMIT)
        self.release(owned)
        return total

    def _count_normalized(self, text):
        """Count the tokens of a text that nothing changes any more."""
        return self.count_str(text)

    def _count_runs(self, str text not None, RunRules rules not None, bint at_start=True):
        """Count the tokens of a text that has no added tokens by its runs; -1: not known.

        Args:
            rules: of this encoding.
            at_start: a prefix is put before it.
        """
        cdef Characters characters = characters_of(text)
        cdef Separators separators = rules.separators
        cdef Source source = self.source()
        cdef OwnedState owned
        cdef Py_ssize_t total
        if not at_start:
            separators.prefix = NO_PREFIX
        rules.prepare(text)
        owned = self.take_state()
        if characters.n >= LEAST_WITH_TAIL:
            owned.reserve_runs()
        if characters.n < NOGIL_BYTES:
            total = count_by_runs(
                &self.tables.bpe, &source, &owned.state, &separators, &rules.spelling, &characters,
                NULL,
            )
        else:
            owned.state.lookups.watch.is_on = True
            with nogil:
                total = count_by_runs(
                    &self.tables.bpe, &source, &owned.state, &separators, &rules.spelling,
                    &characters, NULL,
                )
                forget_long_utf8(&owned.state)
        if total == INTERRUPTED:
            raise_pending()
        if total == NO_MEMORY:
            raise MemoryError(f"no memory for the tokens of {characters.n} characters of text")
        self.release(owned)
        return total if total >= 0 else -1

    cdef Py_ssize_t count_str(self, text) except -1:
        cdef OwnedState owned = self.take_state()
        cdef Py_ssize_t total = self.run_str(owned, text, -1, NO_LIMIT)
        self.release(owned)
        return total

    def count_till_limit(self, text, limit):
        """Count the tokens of a text, but give up once there are more than `limit`.

        Args:
            text: any string.
            limit: the greatest count of interest, 0 or more.

        Returns:
            The count, or None where it exceeds the limit.

        Raises:
            TypeError: the limit is no integer.
            ValueError: the limit is negative.

        Cost: linear in the part of the text that makes limit + 1 tokens.

        >>> import cutline
        >>> enc = cutline.get_encoding("o200k_base")
        >>> enc.count_till_limit("hello world", 2), enc.count_till_limit("hello world", 1)
        (2, None)
        """
        if isinstance(limit, bool) or not PyIndex_Check(limit):
            raise TypeError(f"limit must be an integer, got {limit!r}")
        limit = PyNumber_Index(limit)
        if limit < 0:
            raise ValueError(f"limit must be 0 or more, got {limit}")
        if self.pipeline is not None:
            return self.pipeline.count_till_limit(self, text, limit)
        return self._count_normalized_till_limit(text, limit)

    def _count_normalized_till_limit(self, text, limit):
        """Count like count_till_limit a text that nothing changes any more."""
        most = self._max_normalized_bytes_of(limit)
        if most is not None and PyUnicode_Check(text) and PyUnicode_GET_LENGTH(text) > most:
            return None     # more bytes than so many tokens have
        cdef OwnedState owned = self.take_state()
        cdef Py_ssize_t total = self.run_str(
            owned, text, -1, NO_LIMIT if limit > NO_LIMIT else limit
        )
        self.release(owned)
        return total if total <= limit else None

    cdef object run_block(self, OwnedState owned, list texts, bint keep):
        """Encode texts one after the other, the GIL released over all of them.

        Returns int64 token counts; the tokens are in the encoder state where kept.
        """
        cdef list owners = [plain_str(text) for text in texts]
        cdef Block block = Block(owners)
        cdef Source source = self.source()
        cdef Py_ssize_t n = len(owners), at = 0, total = 0, added = 0
        owned.state.lookups.watch.is_on = True
        counts = zeroed_numbers("q", n)
        cdef int64_t[::1] out = counts
        while at < n:
            if source.scanner != NULL:
                with nogil:
                    while at < n:
                        added = self.encode_one(
                            owned, &source, block.texts + at, total if keep else -1, NO_LIMIT
                        )
                        if added < 0:
                            break
                        out[at] = added
                        total += added
                        at += 1
                if at == n:
                    break
                if added == INTERRUPTED:
                    raise_pending()
                if added == NO_MEMORY:
                    raise MemoryError(f"no memory for the tokens of {n} texts")
            # A text with surrogates, or any text where a function replaces the scanner.
            out[at] = self.run(owned, utf8_owner(owners[at]), total if keep else -1, NO_LIMIT)
            total += out[at]
            at += 1
        return counts

    cdef Py_ssize_t encode_one(
        self, OwnedState owned, Source* source, const Characters* text, Py_ssize_t before,
        Py_ssize_t limit
    ) noexcept nogil:
        """Encode a text; see encode_text. UNKNOWN: it has surrogates."""
        cdef EncoderState* state = &owned.state
        cdef const uint8_t* utf8 = NULL
        cdef Py_ssize_t total
        if before < 0 and text.is_ascii:
            total = count_short(source.scanner, state, <const uint8_t*> text.data, text.n)
            if total >= 0:
                return total
        if before == 0 and text.n >= NOGIL_BYTES:
            reserve(state, text.n // CHARACTERS_A_TOKEN)    # if not, it grows, which copies
        if pays_in_blocks(source, text):
            total = encode_in_blocks(&self.tables.bpe, source, state, text, before, limit)
        else:
            total = text_utf8(state, text, &utf8)
            if total >= 0:
                total = encode_text(&self.tables.bpe, source, state, utf8, total, before, limit)
        forget_long_utf8(state)     # without the GIL: it can take long
        return total

    def _encode_block(self, list texts not None):
        """Encode texts like encode_ordinary: a list of lists."""
        if self.pipeline is not None:
            return [self.pipeline.encode_ordinary(self, text) for text in texts]
        cdef OwnedState owned = self.take_state()
        cdef const int64_t[::1] counts = self.run_block(owned, texts, True)
        cdef Py_ssize_t at, done = 0
        cdef list tokens = []
        for at in range(counts.shape[0]):
            tokens.append(list_of_ids(owned.state.out + done, counts[at]))
            done += counts[at]
        self.release(owned)
        return tokens

    def _count_block(self, list texts not None):
        """Count the tokens of each text: int64, shape (texts,)."""
        if self.pipeline is not None:
            counted = (self.pipeline.count(self, text) for text in texts)
            return np.fromiter(counted, np.int64, len(texts))
        cdef OwnedState owned = self.take_state()
        counts = self.run_block(owned, texts, False)
        self.release(owned)
        return np.asarray(counts).view(np.int64)    # not "q", which shows as another type

    def _encode_column(
        self, const uint8_t[::1] utf8 not None, const int64_t[::1] offsets not None
    ):
        """Encode texts like encode_ordinary where they lie, as UTF-8.

        Args:
            utf8: the texts; valid (trusted).
            offsets: shape (texts + 1,), where each of them begins in it, and the last one
                ends; ascending, and inside it (trusted).

        Returns:
            The token ids of all texts, uint32, and how many there are of each, int64.
        """
        cdef OwnedState owned
        if self.pipeline is not None or self.scan_tables is None:
            found = [self._encode_to_numpy(text) for text in strs_of(utf8, offsets)]
            counts = np.fromiter(map(len, found), np.int64, len(found))
            return np.concatenate([np.empty(0, dtype=np.uint32), *found]), counts
        owned = self.take_state()
        counts = self.run_utf8(owned, utf8, offsets, True)
        tokens = array_of_ids(&owned.state, counts.sum())
        self.release(owned)
        return tokens, counts

    def _count_column(self, const uint8_t[::1] utf8 not None, const int64_t[::1] offsets not None):
        """Count the tokens of texts where they lie; see _encode_column. int64, shape (texts,)."""
        cdef OwnedState owned
        if self.pipeline is not None or self.scan_tables is None:
            return np.array([self.count(text) for text in strs_of(utf8, offsets)], dtype=np.int64)
        owned = self.take_state()
        counts = self.run_utf8(owned, utf8, offsets, False)
        self.release(owned)
        return counts

    cdef object run_utf8(
        self, OwnedState owned, const uint8_t[::1] utf8, const int64_t[::1] offsets, bint keep
    ):
        """What run_block does, for texts where they lie."""
        cdef Py_ssize_t n = offsets.shape[0] - 1, at, total = 0, added = 0
        cdef const uint8_t* data = &utf8[0] if utf8.shape[0] else NULL
        cdef Source source = self.source()
        owned.state.lookups.watch.is_on = True
        counts = np.zeros(n, dtype=np.int64)
        cdef int64_t[::1] out = counts
        with nogil:
            for at in range(n):
                added = encode_text(
                    &self.tables.bpe, &source, &owned.state, data + offsets[at],
                    offsets[at + 1] - offsets[at], total if keep else -1, NO_LIMIT,
                )
                if added < 0:
                    break
                out[at] = added
                total += added
        if added == INTERRUPTED:
            raise_pending()
        if added < 0:
            raise MemoryError(f"no memory for the tokens of {n} texts")
        return counts

    def _token_id(self, bytes piece not None):
        """The id of the token with exactly these bytes, or None."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(piece)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(piece)
        cdef uint32_t token = NONE
        if n > 0 and self.tables is not None:
            token = find_token(&self.tables.bpe, data, n)
        return id_of_rank(&self.tables.bpe, token) if token != NONE else None

    def _encode_bytes_as_piece(self, bytes piece not None):
        """Encode bytes, not necessarily UTF-8, as one piece. A list of ids."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(piece)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(piece), total
        cdef OwnedState owned
        if n == 0:
            return []
        owned = self.take_state()
        total = NO_MEMORY
        with nogil:
            if reserve(&owned.state, n):
                total = encode_piece(
                    &self.tables.bpe, &owned.state, data, n, False, owned.state.out
                )
        if total < 0:
            raise MemoryError(f"no memory for the tokens of {n} bytes")
        tokens = list_of_ids(owned.state.out, total)
        self.release(owned)
        return tokens


@auto_pickle(False)
cdef class IdMemory:
    """Memory of an encoder state that became an array's."""
    cdef uint32_t* ids
    cdef Py_ssize_t n

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.ids, self.n * sizeof(uint32_t), False, flags)

    def __dealloc__(self):
        free(self.ids)


cdef object array_of_ids(EncoderState* state, Py_ssize_t n):
    """The tokens of an encoder state in an array of their own."""
    cdef IdMemory owner
    cdef void* shrunk
    if n < KEPT_OUT_SLOTS // 8:
        return copy_ids(state.out, n)
    # Memory touched for the first time takes longer than encoding into it: touch it once.
    owner = IdMemory()      # first, for it may fail
    with nogil:     # giving back memory takes milliseconds
        shrunk = realloc(state.out, n * sizeof(uint32_t))
    owner.ids = state.out if shrunk == NULL else <uint32_t*> shrunk
    owner.n = n
    state.out = NULL
    state.out_slots = 0
    return np.frombuffer(owner, dtype=np.uint32)


cdef inline Py_ssize_t count_at_once(Encoder encoder, text) noexcept:
    """Tokens of a short text; negative: that is not said at once.

    The encoder state need not be taken where no other thread can, and no Python code runs.
    """
    cdef Characters characters
    cdef Source source
    if encoder.short_scanner == NULL or encoder.spare is None:
        return UNKNOWN
    if PyUnicode_IS_ASCII(text):
        return count_short(
            encoder.short_scanner, &encoder.spare.state, <const uint8_t*> PyUnicode_DATA(text),
            PyUnicode_GET_LENGTH(text),
        )
    characters = characters_of(text)
    if characters.n > MOST_SHORT:
        return UNKNOWN
    source = encoder.source()
    return encoder.encode_one(encoder.spare, &source, &characters, -1, NO_LIMIT)


cdef list strs_of(const uint8_t[::1] utf8, const int64_t[::1] offsets):
    cdef Py_ssize_t at
    data = memoryview(utf8)
    return [
        str(data[offsets[at]:offsets[at + 1]], "utf-8") for at in range(offsets.shape[0] - 1)
    ]


cdef void forget_long_utf8(EncoderState* state) noexcept nogil:
    """Give back the room for UTF-8 if it is large."""
    if state.utf8_bytes > KEPT_UTF8_BYTES:
        free(state.utf8)
        state.utf8 = NULL
        state.utf8_bytes = 0


cdef Py_ssize_t text_utf8(
    EncoderState* state, const Characters* text, const uint8_t** utf8
) noexcept nogil:
    """Point to a text's UTF-8, in the encoder state where it is not ASCII. Returns its bytes.

    UNKNOWN: it has surrogates; or NO_MEMORY.
    """
    cdef Py_ssize_t n
    if text.is_ascii:
        utf8[0] = <const uint8_t*> text.data
        return text.n
    n = utf8_at_worst(text) + UTF8_ROOM
    if n > state.utf8_bytes:
        free(state.utf8)
        state.utf8 = <uint8_t*> malloc(n)
        state.utf8_bytes = n if state.utf8 != NULL else 0
        if state.utf8 == NULL:
            return NO_MEMORY
    utf8[0] = state.utf8
    n = write_text(text, True, state.utf8)
    return n if n >= 0 else UNKNOWN


cdef class Block:
    """Texts for work without the GIL.

    Args:
        texts: plain strs, which outlive this.
    """

    def __cinit__(self, list texts):
        cdef Py_ssize_t at
        self.texts = <Characters*> malloc(max(len(texts), 1) * sizeof(Characters))
        if self.texts == NULL:
            raise MemoryError(f"no memory for {len(texts)} texts")
        for at in range(len(texts)):
            self.texts[at] = characters_of(texts[at])

    def __dealloc__(self):
        free(self.texts)


cdef object copy_ids(const uint32_t* ids, Py_ssize_t n):
    """A numpy array of its own for the ids of an encoder state."""
    cdef Py_buffer view
    global np_empty, np_uint32
    if np_empty is None:
        np_uint32 = np.dtype(np.uint32)
        np_empty = np.empty
    tokens = np_empty(n, np_uint32)
    if n == 0:
        return tokens   # there may be no address
    # Several times faster than a typed memoryview: what counts on short texts.
    PyObject_GetBuffer(tokens, &view, PyBUF_WRITABLE)
    memcpy(view.buf, ids, n * sizeof(uint32_t))
    PyBuffer_Release(&view)
    return tokens
