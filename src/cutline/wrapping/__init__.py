"""Tokenizers of other makes, counting and cutting like an encoding. Source: docs/wrap.md.

tokenizer.py    `wrap`, `WrappedTokenizer`
slices.py       the slices of one text, and how far a budget reaches
safe_points.py  where a text can be split, and its tokens with it
versions.py     what versions of `tokenizers` say in different ways
"""

from cutline.wrapping.tokenizer import WrappedTokenizer, wrap

__all__ = ["WrappedTokenizer", "wrap"]
