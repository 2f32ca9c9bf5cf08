"""Tokenizers of other makes, counting and cutting like an encoding. Source: docs/wrap.md.

tokenizer.py    `wrap`, `WrappedTokenizer`
slices.py       the slices of one text, and how far a budget reaches
growing.py      texts that grow
seams.py        where tokens do not depend on one another
"""

from cutline.wrapping.tokenizer import WrappedTokenizer, wrap

__all__ = ["WrappedTokenizer", "wrap"]
