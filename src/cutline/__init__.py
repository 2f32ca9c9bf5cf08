"""Cutline counts and cuts text by tokens, exactly.

>>> import cutline
>>> enc = cutline.get_encoding("o200k_base")
>>> enc.count("hello world")
2
>>> [chunk.text for chunk in enc.split("one two three four five", chunk_size=2)]
['one two', ' three four', ' five']
"""

from cutline.chunk import Chunk
from cutline.counting import Appender, IntervalCounter, Prepender
from cutline.decode_stream import DecodeStream
from cutline.encoding import Encoding
from cutline.errors import (
    BudgetError,
    CorruptDataError,
    CutlineError,
    OffsetError,
    PatternError,
    PatternFallbackWarning,
    SpecialTokenError,
    SurrogateError,
    UnknownEncodingError,
    UnknownModelError,
    UnknownTokenError,
    UnsupportedPatternError,
    VocabularyError,
)
from cutline.registry import encoding_for_model, get_encoding, load
from cutline.version import __version__
from cutline.vocabulary import encoding_name_for_model, list_encoding_names

__all__ = [
    "Appender",
    "BudgetError",
    "Chunk",
    "CorruptDataError",
    "CutlineError",
    "DecodeStream",
    "Encoding",
    "IntervalCounter",
    "OffsetError",
    "PatternError",
    "PatternFallbackWarning",
    "Prepender",
    "SpecialTokenError",
    "SurrogateError",
    "UnknownEncodingError",
    "UnknownModelError",
    "UnknownTokenError",
    "UnsupportedPatternError",
    "VocabularyError",
    "__version__",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
    "load",
]
