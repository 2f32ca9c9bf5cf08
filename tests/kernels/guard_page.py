"""Run the kernels on texts that end where memory ends.

    python -m tests.kernels.guard_page walk     must exit with 0
    python -m tests.kernels.guard_page read     must crash: it reads a byte too far

A `bytes` or `str` is laid such that the byte after its last one, where CPython has a NUL,
is the first of a page that must not be read: more than a kernel may ask of real objects.
"""

import ctypes
import json
import mmap
import random
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import cutline
from cutline.chunking.break_tables import load_tables
from cutline.kernels.base.find import find
from cutline.kernels.breaks.breaks import (
    CHARACTER,
    ENTRY,
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
        """Copy a `bytes` or `str` to the end; it is gone when the next one is placed."""
        width = 1
        if isinstance(text, str) and text:
            width += (max(text) > "\xff") + 2 * (max(text) > "\uffff")
        n_bytes = width * len(text)
        header = sys.getsizeof(text) - n_bytes - width
        start = self.end - n_bytes - header
        ctypes.memmove(start, id(text), header + n_bytes)
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
    for kind in (PARAGRAPH, ENTRY, LINE, SENTENCE, WORD, GRAPHEME, CHARACTER):
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


def word_encoding(kind: str, folder: Path) -> cutline.Encoding:
    """A tokenizer that encodes words apart."""
    names = ["<unk>", "\u2581", *"ab\u2581\u4e16", "\u2581a", "ab", "##a", "##b", "\u2581\u4e16"]
    model: dict[str, Any] = {"type": kind, "unk_id": 0, "byte_fallback": False}
    model["vocab"] = [[name, -float(at)] for at, name in enumerate(dict.fromkeys(names))]
    splitters: list[dict[str, Any]] = [{"type": "WhitespaceSplit"}]
    if kind == "WordPiece":
        model = {"type": kind, "unk_token": "<unk>", "continuing_subword_prefix": "##"}
        model["max_input_chars_per_word"] = 100
        model["vocab"] = {name: at for at, name in enumerate(dict.fromkeys(names))}
    else:
        space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}
        splitters.append({**space, "split": True})
    path = folder / f"{kind}.json"
    splitter = {"type": "Sequence", "pretokenizers": splitters}
    parts = {"added_tokens": [], "normalizer": {"type": "NFKC"}, "pre_tokenizer": splitter}
    path.write_text(json.dumps({"version": "1.0", **parts, "model": model}), encoding="utf-8")
    return cutline.load(path)


def count_words(memory: GuardedMemory, encoding: cutline.Encoding, rng: random.Random) -> None:
    """Texts of some looks at 64 characters, with words of one character and more at their ends."""
    for letters in ("ab", "a\xe9", "a\u4e16", "a\U0001f600"):
        for length in range(60, 260):
            words = ["".join(rng.choices(letters, k=rng.choice((1, 2, 5)))) for _ in range(length)]
            text = " ".join(words)[:length]
            if len(text) * (4 if max(text) > "\uffff" else 1 + (max(text) > "\xff")) % ALIGNED_TO:
                continue
            want = encoding.count(text), encoding.encode(text), encoding.intervals(text).total
            assert encoding.count(memory.place(text)) == want[0]
            assert encoding.encode(memory.place(text)) == want[1]
            assert encoding.intervals(memory.place(text)).total == want[2]


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
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("Unigram", "WordPiece"):
            count_words(memory, word_encoding(kind, Path(folder)), rng)
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
