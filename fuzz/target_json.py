"""The kernels for JSON read a document, and write text, as the standard library does.

Input: a byte, then a document; where the byte is odd, text.
"""

import json
from typing import Any

import numpy as np

from cutline.errors import CutlineError
from cutline.formats.huggingface import float_of_serde
from cutline.formats.tokenizer_json import COMMENT
from cutline.kernels.base.json_model import read_model
from cutline.kernels.base.json_text import json_string


class Pairs(list[tuple[str, Any]]):
    """An object of JSON with the keys that come twice."""


def run(data: bytes) -> None:
    if data[:1] and data[0] & 1:
        text = data[1:].decode(errors="replace")
        assert json_string(text.encode()) == json.dumps(text, ensure_ascii=False).encode()
        return
    try:
        found, document = read_model(data[1:]), read(data[1:])
    except (ValueError, CutlineError):  # a number that tokenizers would refuse
        return
    if found is None:
        return
    rest, vocab, merges = found
    if document is None:
        assert read(rest) is None or not all(map(are_texts, filter(None, (vocab[:2], merges))))
        return
    model = dict(document)["model"]
    check_tokens(dict(model)["vocab"], *vocab)
    if merges is None:
        assert "merges" not in dict(model)
    else:
        check_merges(dict(model)["merges"], *merges)
    emptied = Pairs((key, None if key in ("vocab", "merges") else value) for key, value in model)
    expected = Pairs((key, emptied if key == "model" else value) for key, value in document)
    assert repr(read(rest)) == repr(expected)  # NaN is not equal to itself


def read(document: bytes) -> Any:
    """Read JSON; None: it is none."""
    try:
        return json.loads(document.decode(), object_pairs_hook=Pairs, parse_float=float_of_serde)
    except (ValueError, RecursionError):
        return None


def are_texts(found: tuple[bytes, Any]) -> bool:
    """Return whether all texts are UTF-8, which the kernel does not check."""
    try:
        texts_of(*found)
    except UnicodeDecodeError:
        return False
    return True


def texts_of(arena: bytes, lengths: Any) -> list[str]:
    """Cut the texts that a kernel wrote one after another."""
    ends = [0, *np.cumsum(lengths).tolist()]
    return [arena[ends[at] : ends[at + 1]].decode() for at in range(len(ends) - 1)]


def check_tokens(rows: Any, arena: bytes, lengths: Any, numbers: Any) -> None:
    """Compare tokens with their ids or scores."""
    assert texts_of(arena, lengths) == [text for text, _ in rows]
    kind = int if isinstance(rows, Pairs) else float
    assert numbers.tolist() == [kind(number) for _, number in rows]


def check_merges(rows: Any, arena: bytes, lengths: Any) -> None:
    """Compare merges, of which those that begin as a comment are left out."""
    pairs = [
        one.split(" ") if isinstance(one, str) else one
        for one in rows
        if not (isinstance(one, str) and one.startswith(COMMENT))
    ]
    assert texts_of(arena, lengths) == [part for pair in pairs for part in pair]
