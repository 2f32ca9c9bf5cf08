"""Tokenizers of published families give, count and cut what `tokenizers` gives for each slice.

They split a text once or several times, by patterns, digits or scripts, and may have added tokens.
Input: family, start, budget (a byte each), then the text as UTF-8, or after an odd byte a part of a
row of awkward texts for each.
"""

from functools import cache
from typing import Any

import cutline
from cutline.errors import CutlineError
from fuzz.target_marks import check_slices
from tests.pipeline.families import FAMILIES, build, texts_with

NAMES = tuple(FAMILIES)
MAX_CHARACTERS = 120
PART = 5  # characters that a byte stands for


def run(data: bytes) -> None:
    if len(data) < 5 or (found := pair(NAMES[data[0] % len(NAMES)])) is None:
        return
    tokenizer, encoding, row = found
    if data[3] % 2:
        parts = (row[byte * PART % len(row) :][:PART] for byte in data[4:])
        text = "".join(parts)
    else:
        text = data[4:].decode("utf-8", "replace")
    for special in encoding.special_tokens_set:
        text = text.replace(special, "")
    if any(special in text for special in encoding.special_tokens_set):
        return  # slices are counted without
    check_slices(tokenizer, encoding, text[:MAX_CHARACTERS], data[1], data[2])


@cache
def pair(name: str) -> tuple[Any, cutline.Encoding, str] | None:
    """Make a tokenizer, its encoding, and a row of texts for it; None: that is refused."""
    tokenizer = build(name)
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
    except CutlineError:
        return None
    return tokenizer, encoding, "".join(texts_with(tokenizer, 0))
