"""Other tokenizers, counting and cutting like an encoding. Source: docs/wrap.md.

tokenizer.py    `wrap`, `WrappedTokenizer`
opening.py      loading a tokenizer from a file, a folder or by a model's name
processor.py    sentencepiece's processor as a tokenizer
slices.py       counts of the slices of one text, and the longest that fits
safe_points.py  safe split points: where a text and its tokens can be split
versions.py     differences between versions of `tokenizers`
"""

from cutline.wrapping.tokenizer import WrappedTokenizer, wrap

__all__ = ["WrappedTokenizer", "wrap"]
