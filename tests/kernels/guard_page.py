"""Run the kernels on texts that end where memory ends.

    python -m tests.kernels.guard_page walk     must exit with 0
    python -m tests.kernels.guard_page read     must crash: it reads a byte too far

A `bytes` or `str` is laid such that the byte after its last one, where CPython has a NUL,
is the first of a page that must not be read: more than a kernel may ask of real objects.
"""

import ctypes
import mmap
import random
import sys
from typing import TypeVar

from cutline.chunking.break_tables import load_tables
from cutline.kernels.base.find import find
from cutline.kernels.breaks.breaks import (
    CHARACTER,
    GRAPHEME,
    LINE,
    PARAGRAPH,
    SENTENCE,
    WORD,
    find_breaks,
    find_last_break,
)
from cutline.kernels.cut.windows import Cutter
from cutline.kernels.encode.encoder import Encoder
from cutline.kernels.scan.lanes import find_ends
from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.tables import build_scan_tables
from tests.kernels.encoders import DEFAULT_CACHES, SMALLEST_CACHES, packaged, whole_piece
from tests.kernels.scanners import PACKAGED
from tests.vocabularies import TOY_TOKENS, with_bytes

Text = TypeVar("Text", bytes, str)

PAGE = mmap.PAGESIZE
READABLE_PAGES = 2
PROT_NONE = 0
# From 3.14 on CPython keeps marks in the lowest bits of addresses: objects must be aligned.
ALIGNED_TO = 8 if sys.version_info >= (3, 14) else 1
LENGTHS = range(81)


class GuardedMemory:
    """Some readable pages, then one that must not be touched."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, (READABLE_PAGES + 1) * PAGE)
        self.end = ctypes.addressof(ctypes.c_char.from_buffer(self.memory)) + READABLE_PAGES * PAGE
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(self.end), ctypes.c_size_t(PAGE), PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect failed")

    def place(self, text: Text) -> Text:
        """Copy a `bytes` or an ASCII `str` to the end; it is gone when the next one is placed."""
        n = len(text)
        header = sys.getsizeof(text) - n - 1
        start = self.end - n - header
        ctypes.memmove(start, id(text), header + n)
        # Never released: the memory is not the allocator's.
        ctypes.c_ssize_t.from_address(start).value = 1 << 20
        placed: Text = ctypes.cast(start, ctypes.py_object).value
        return placed


def scan(memory: GuardedMemory, tables: ScanTables, utf8: bytes) -> None:
    want = [part.tolist() for part in scan_pieces(tables, utf8)]
    assert [part.tolist() for part in scan_pieces(tables, memory.place(utf8))] == want


def scan_by_lanes(memory: GuardedMemory, tables: ScanTables, utf8: bytes) -> None:
    want = scan_pieces(tables, utf8)[1].tolist()
    for size in (6, 48, 600):
        assert find_ends(tables, memory.place(utf8), size)[0] == want


def encode(memory: GuardedMemory, encoder: Encoder, utf8: bytes) -> None:
    want = encoder._encode_bytes_as_piece(utf8)
    assert encoder._encode_bytes_as_piece(memory.place(utf8)) == want
    if utf8.isascii():
        text = utf8.decode()
        tokens, count = encoder.encode_ordinary(text), encoder.count(text)
        assert encoder.encode_ordinary(memory.place(text)) == tokens
        assert encoder._encode_block([memory.place(text)]) == [tokens]
        assert encoder.count(memory.place(text)) == count == len(tokens)


def cut(memory: GuardedMemory, encoder: Encoder, utf8: bytes) -> None:
    for max_tokens in (1, 4, 100):
        wanted, placed = Cutter(encoder, utf8), Cutter(encoder, memory.place(utf8))
        for goes_on in (False, True):
            expected = wanted.longest_fit(0, max_tokens, goes_on)
            assert placed.longest_fit(0, max_tokens, goes_on) == expected
        rows = placed.cut_all(max_tokens + 3, max_tokens - 1)
        assert rows.tolist() == wanted.cut_all(max_tokens + 3, max_tokens - 1).tolist()
        # Before the next text takes the memory.
        placed.close()
        wanted.close()


def pause(memory: GuardedMemory, utf8: bytes) -> None:
    if not utf8.isascii():
        return
    text = utf8.decode()
    for kind in (PARAGRAPH, LINE, SENTENCE, WORD, GRAPHEME, CHARACTER):
        for until in (len(text), len(text) - 1):
            want = find_breaks(text, kind, 0, 0, until), find_last_break(text, kind, 0, 0, until)
            placed = memory.place(text)
            assert find_breaks(placed, kind, 0, 0, until) == want[0]
            assert find_last_break(placed, kind, 0, 0, until) == want[1]


def search(memory: GuardedMemory) -> None:
    for length in range(1 << 12, (1 << 12) + 130, ALIGNED_TO):
        for end in ("", "<", "<|"):
            text = "-" * (length - len(end)) + end
            assert find(memory.place(text), "<|") == text.find("<|")
            assert find(memory.place(text), "<|end|>") == -1


def texts(rng: random.Random) -> list[bytes]:
    """Texts of every length in bytes, with characters of every width at their ends."""
    found = []
    for items in ("a", " ", "ab \n1'", "aB. \n!)1", "\x00", "é", "日", "😀", "aé日😀 \n'"):
        for length in LENGTHS:
            drawn = "".join(rng.choices(items, k=length)).encode()
            found.append(drawn[len(drawn) - length :].decode(errors="ignore").encode())
    return [text for text in dict.fromkeys(found) if len(text) % ALIGNED_TO == 0]


def walk() -> None:
    load_tables()
    memory, rng = GuardedMemory(), random.Random(61)
    search(memory)
    encoders = [packaged("o200k_base", bits) for bits in (DEFAULT_CACHES, SMALLEST_CACHES)]
    encoders += [whole_piece(with_bytes(tokens), (0, 0)) for tokens in TOY_TOKENS.values()]
    scanners = [build_scan_tables(pattern) for pattern in (None, r"\p{L}+!|\d{2}|\s+$")]
    laned = [build_scan_tables(pattern) for pattern in (None, *PACKAGED.values())]
    for utf8 in texts(rng):
        for tables in scanners:
            scan(memory, tables, utf8)
        for tables in laned:
            scan_by_lanes(memory, tables, utf8)
        for encoder in encoders:
            encode(memory, encoder, utf8)
            cut(memory, encoder, utf8)
        pause(memory, utf8)


if __name__ == "__main__":
    if sys.argv[1] == "walk":
        walk()
    else:
        ctypes.string_at(GuardedMemory().end, 1)
