"""Proofs for chunks: `verify` says what is wrong with them, whoever made them.

duck_typing.py  chunks and tokenizers of other libraries
locating.py     where in the text chunks without offsets lie
checking.py     `verify`: counts, offsets, what is lost
report.py       `Report` and `Finding`
"""

from cutline.verification.checking import verify
from cutline.verification.duck_typing import Tokenizer
from cutline.verification.report import Finding, FindingKind, Report

__all__ = ["Finding", "FindingKind", "Report", "Tokenizer", "verify"]
