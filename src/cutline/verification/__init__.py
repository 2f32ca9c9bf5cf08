"""Checking chunks: `verify` lists what is wrong with the chunks of any library.

duck_typing.py  chunks and tokenizers of other libraries
locating.py     locating chunks without offsets in the text
checking.py     `verify`: counts, offsets, lost text
levels.py       `verify_levels`: chunks of several sizes
report.py       `Report` and `Finding`
"""

from cutline.verification.checking import verify
from cutline.verification.duck_typing import Tokenizer
from cutline.verification.levels import verify_levels
from cutline.verification.report import Fill, Finding, FindingKind, Report

__all__ = [
    "Fill",
    "Finding",
    "FindingKind",
    "Report",
    "Tokenizer",
    "verify",
    "verify_levels",
]
