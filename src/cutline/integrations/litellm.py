"""litellm: a tokenizer for its `custom_tokenizer` arguments.

Source: docs/integrations/litellm.md.
"""

from collections.abc import Sequence
from typing import Any

from cutline.encoding import Encoding
from cutline.registry import encoding_of

__all__ = ["custom_tokenizer"]


def custom_tokenizer(encoding: Encoding | str = "o200k_base") -> dict[str, Any]:
    """Make what litellm's `token_counter`, `encode` and `decode` take as `custom_tokenizer`.

    The text of special tokens in a message is counted as ordinary text. What litellm adds for a
    message and for tools is its own estimate; and of a text beyond its
    `TOKEN_COUNTER_MAX_EXACT_CHARS` it counts samples only.

    Args:
        encoding: an encoding, or its name.

    Returns:
        A dict with "type" and "tokenizer".

    >>> made = custom_tokenizer("cl100k_base")
    >>> made["type"], made["tokenizer"].encode("hello world")
    ('huggingface_tokenizer', [15339, 1917])
    """
    return {"type": "huggingface_tokenizer", "tokenizer": _Tokenizer(encoding_of(encoding))}


class _Tokenizer:
    """What litellm calls of a tokenizer of the type "huggingface_tokenizer"."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return self._encoding.encode_ordinary(text)

    def encode_batch_fast(self, texts: Sequence[str]) -> list[range]:
        """Return something as long as the ids of each text, which is all that counting needs."""
        return [range(self._encoding.count(text)) for text in texts]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids."""
        return self._encoding.decode(ids, skip_special_tokens=skip_special_tokens)
