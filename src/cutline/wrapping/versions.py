"""Differences between versions 0.x and 1.x of the `tokenizers` package.

Version 1 has no components to inspect, no offsets and no `to_str`. Its pickle contains the
`tokenizer.json`.
"""

import json
from typing import Any

__all__ = [
    "document_of",
    "encodes_with_offsets",
    "is_of_tokenizers",
    "template_tokens",
    "without_limits",
]


def is_of_tokenizers(tokenizer: Any) -> bool:
    """Return whether it is an object of the `tokenizers` package, not of a user's class."""
    return type(tokenizer).__module__.partition(".")[0] == "tokenizers"


def document_of(tokenizer: Any) -> dict[str, Any] | None:
    """Return the `tokenizer.json` of a tokenizer; None if it is not from `tokenizers`.

    Raises:
        Exception: of any kind, from parts that are written in Python.
    """
    write = getattr(tokenizer, "to_str", None)
    if callable(write):
        return _object(write())
    if not is_of_tokenizers(tokenizer):
        return None
    match tokenizer.__reduce__():
        case (_, (str() as text, *_)):
            return _object(text)
    return None


def _object(text: Any) -> dict[str, Any] | None:
    document = json.loads(text)
    return document if isinstance(document, dict) else None


def encodes_with_offsets(tokenizer: Any) -> bool:
    """Return whether encoding gives offsets.

    Raises:
        AttributeError, TypeError: it does not encode to ids.
    """
    encoded = tokenizer.encode("a", add_special_tokens=False)
    n_tokens = len(encoded.ids)
    offsets = getattr(encoded, "offsets", None)
    return offsets is not None and len(offsets) == n_tokens


def template_tokens(tokenizer: Any, *, pair: bool) -> int:
    """Count the tokens that the model's template adds around a text, or around two."""
    tell = getattr(tokenizer, "num_special_tokens_to_add", None)
    if tell is not None:
        return int(tell(pair))
    if document_of(tokenizer) is None:
        return 0
    nothing = ("", "") if pair else ""
    added, bare = (
        tokenizer.encode(nothing, add_special_tokens=special) for special in (True, False)
    )
    return len(added.ids) - len(bare.ids)


def without_limits(tokenizer: Any) -> Any:
    """Turn off truncation and padding; returns the tokenizer."""
    for what, turn_off in (("truncation", "no_truncation"), ("padding", "no_padding")):
        if getattr(tokenizer, what, None) is not None:
            if hasattr(tokenizer, turn_off):
                getattr(tokenizer, turn_off)()
            else:
                setattr(tokenizer, what, None)
    return tokenizer
