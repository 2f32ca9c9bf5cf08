"""Batches give what each text gives alone, and what tiktoken or `tokenizers` gives.

Input: subject, seed of a random vocabulary or a configuration of words, chunker, budget, block and
threads (a byte each), then the texts, parted by the byte 255.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import cutline
from cutline.chunking import Chunker
from fuzz.subjects import subject
from fuzz.target_words import NAMES, pair
from tests.chunking.contract import check
from tests.words.tokenizers_of import LETTERS, MODELS

N_SUBJECTS = 15
BLOCKS = (1, 30, 1 << 30)
REPEATS = (1, 1, 1, 9)
MAX_CHARACTERS = 400
CHUNKERS: tuple[Callable[..., Chunker], ...] = (
    cutline.TokenChunker,
    cutline.TextChunker,
    partial(cutline.TokenChunker, stable=True),
    partial(cutline.TextChunker, stable=True),
    partial(cutline.TextChunker, boundary="character", lines="join", min_fill=1.0),
    partial(cutline.TextChunker, also_fits={"bytes": 29}),
    partial(cutline.TokenChunker, boundary="grapheme", also_fits={"characters": 17}),
    partial(cutline.TokenChunker, chunk_overlap=3),
)


def run(data: bytes) -> None:
    if len(data) < 6:
        return
    made = encoded(data[0], data[1])
    if made is None:
        return
    encoding, encode, spell = made
    parts = [spell(part)[:MAX_CHARACTERS] for part in data[5:].split(b"\xff")]
    texts = parts * REPEATS[data[4] // 8 % 4]
    want = [*map(encode, texts)]
    threads = 1 + data[4] // 4 % 2
    assert encoding.encode_ordinary_batch(texts, num_threads=threads) == want
    assert encoding.count_batch(texts, num_threads=threads).tolist() == [*map(len, want)]
    chunker = CHUNKERS[data[2] % len(CHUNKERS)](encoding, 4 + data[3] % 30)
    block = BLOCKS[data[4] % len(BLOCKS)]
    with patch("cutline.chunking.chunker.block_size", lambda _: block):
        found = outcome(lambda: chunker.chunk_batch(texts, num_threads=threads))
    assert found == outcome(lambda: [*map(chunker.chunk, texts)])
    if isinstance(found, list):
        sizes = {"chunk_size": chunker.chunk_size, "chunk_overlap": chunker.chunk_overlap}
        for text, chunks in zip(parts, found[: len(parts)], strict=True):
            check(text, chunks, lambda part: len(encode(part)), **sizes)


def encoded(number: int, seed: int) -> tuple[Any, Callable[[str], list[int]], Any] | None:
    """Choose an encoding, what gives the same tokens, and what spells texts for it."""
    if number % 4 == 3:
        made = pair(MODELS[number // 4 % len(MODELS)], NAMES[seed % len(NAMES)], seed)
        if made is None:
            return None
        tokenizer, ours = made
        return (
            ours,
            lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
            lambda part: "".join(LETTERS[byte % len(LETTERS)] for byte in part),
        )
    chosen = subject(number % 4 if number < 128 else 4 + seed % N_SUBJECTS)
    return chosen.ours, chosen.real.encode_ordinary, partial(chosen.text, number // 4)


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result, or the error as text."""
    try:
        return call()
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
