"""Texts that are hard to show, and chunks of them."""

from itertools import count

import cutline
from cutline import Chunk, Encoding

NASTY = (
    "</script><!--<script>alert(1)</script> --> &amp; <b>bold</b> {{data}} {{script}}\n"
    "nul \0, \x01, \x1b[31mred\x1b[0m, \x7f, \x85, tab\there, \r\nCRLF, lone \rCR, \x0b\x0c\n"
    "\u202eoverride\u202c \u2066isolate\u2069 \ufeffmark zero\u200bwidth soft\xadhyphen\n"
    "no\xa0break \xa0\xa0\n"
    "\u2028line\u2029paragraph \ufffe\uffff \U0010ffff \ufffd\n"
)
SCRIPTS = (
    "مرحبا بالعالم، هذا نص عربي. שלום עולם! 名前はまだ無い。नमस्ते दुनिया, สวัสดี\n"
    "👩‍👩‍👧‍👦 🧑🏿‍🤝‍🧑🏻 🇯🇵 👍🏽 e\u0301a\u0323\u0308 𓀀𓀁𓀂 \U0001f999\n"
)
TEXTS = {
    "nothing": "",
    "one word": "hello",
    "nasty": NASTY * 2,
    "scripts": SCRIPTS * 2,
    "white space": " \t\n" * 20 + " " * 300 + "\n" * 40,
    "special tokens": "a<|endoftext|>b" * 5,
    "newline first": "\n\nbegins with line ends\r\n",
    "long line": "".join(chr(97 + place * place % 26) for place in range(3_000)),
}


def encoding() -> Encoding:
    return cutline.get_encoding("o200k_base")


def overlapping(text: str, chunk_size: int = 16) -> list[Chunk]:
    """Chunks that overlap, with headings and metadata."""
    chunks = encoding().split(text, chunk_size, 4)
    return [
        Chunk(
            chunk.text,
            chunk.start_index,
            chunk.end_index,
            chunk.token_count,
            chunk.index,
            ("Guide", "<Installing>")[: chunk.index % 3],
            {"boundary": "word", "table": {"rows": 3}} if chunk.index % 2 else {},
        )
        for chunk in chunks
    ]


def stripped(text: str, chunk_size: int = 16) -> list[Chunk]:
    """Chunks without white space at their ends, so that some of the text is lost."""
    numbers = count()
    chunks = []
    for chunk in encoding().split(text, chunk_size):
        if content := chunk.text.strip():
            start = chunk.start_index + chunk.text.index(content)
            tokens = encoding().count(content)
            chunks.append(Chunk(content, start, start + len(content), tokens, next(numbers)))
    return chunks
