"""Cutline counts and cuts text by tokens, exactly.

>>> import cutline
>>> enc = cutline.get_encoding("o200k_base")
>>> enc.count("hello world")
2
>>> [chunk.text for chunk in enc.split("one two three four five", chunk_size=2)]
['one two', ' three four', ' five']
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cutline.encoding import Encoding
from cutline.errors import (
    BudgetError,
    ChatError,
    CorruptDataError,
    CutlineError,
    HubError,
    OffsetError,
    PatternError,
    PatternFallbackWarning,
    SourceError,
    SpecialTokenError,
    SurrogateError,
    UnknownEncodingError,
    UnknownModelError,
    UnknownTokenError,
    UnsupportedPatternError,
    VocabularyError,
)
from cutline.registry import encoding_for_model, from_pretrained, get_encoding, load
from cutline.version import __version__

if TYPE_CHECKING:
    from cutline.chat import ChatTemplate, Conversation
    from cutline.chat.trimming import Trimmed, trim
    from cutline.chunking import (
        Chunker,
        CodeChunker,
        DataChunker,
        HierarchicalChunker,
        MarkdownChunker,
        Node,
        TextChunker,
        TokenChunker,
        boundaries,
        chunker_for,
        code_languages,
        notebook_text,
    )
    from cutline.chunks import Chunk
    from cutline.counting import Appender, IntervalCounter, Prepender
    from cutline.decode_stream import DecodeStream
    from cutline.packing import Group, Item, Packed, PackedGroup, PackedItem, pack, truncate
    from cutline.retrieval import (
        Plan,
        SentenceWindow,
        batches,
        merge_hits,
        plan,
        sentence_windows,
        token_spans,
    )
    from cutline.shortening import Shortened, shorten
    from cutline.template import Template
    from cutline.training import PieceCounts, Progress, count_pieces
    from cutline.training.trainer import train, train_from_counts
    from cutline.verification import Finding, Report, verify, verify_levels
    from cutline.vocabulary import encoding_name_for_model, list_encoding_names
    from cutline.wrapping import WrappedTokenizer, wrap

__all__ = [
    "Appender",
    "BudgetError",
    "ChatError",
    "ChatTemplate",
    "Chunk",
    "Chunker",
    "CodeChunker",
    "Conversation",
    "CorruptDataError",
    "CutlineError",
    "DataChunker",
    "DecodeStream",
    "Encoding",
    "Finding",
    "Group",
    "HierarchicalChunker",
    "HubError",
    "IntervalCounter",
    "Item",
    "MarkdownChunker",
    "Node",
    "OffsetError",
    "Packed",
    "PackedGroup",
    "PackedItem",
    "PatternError",
    "PatternFallbackWarning",
    "PieceCounts",
    "Plan",
    "Prepender",
    "Progress",
    "Report",
    "SentenceWindow",
    "Shortened",
    "SourceError",
    "SpecialTokenError",
    "SurrogateError",
    "Template",
    "TextChunker",
    "TokenChunker",
    "Trimmed",
    "UnknownEncodingError",
    "UnknownModelError",
    "UnknownTokenError",
    "UnsupportedPatternError",
    "VocabularyError",
    "WrappedTokenizer",
    "__version__",
    "batches",
    "boundaries",
    "chunker_for",
    "code_languages",
    "count_pieces",
    "encoding_for_model",
    "encoding_name_for_model",
    "from_pretrained",
    "get_encoding",
    "list_encoding_names",
    "load",
    "merge_hits",
    "notebook_text",
    "pack",
    "plan",
    "sentence_windows",
    "shorten",
    "token_spans",
    "train",
    "train_from_counts",
    "trim",
    "truncate",
    "verify",
    "verify_levels",
    "wrap",
]

# Imported when first asked for: most programs encode and never train.
_LATE = {
    "Appender": "cutline.counting",
    "ChatTemplate": "cutline.chat",
    "Chunk": "cutline.chunks",
    "Conversation": "cutline.chat",
    "DecodeStream": "cutline.decode_stream",
    "IntervalCounter": "cutline.counting",
    "Prepender": "cutline.counting",
    "encoding_name_for_model": "cutline.vocabulary",
    "list_encoding_names": "cutline.vocabulary",
    "Chunker": "cutline.chunking",
    "CodeChunker": "cutline.chunking",
    "DataChunker": "cutline.chunking",
    "Finding": "cutline.verification",
    "Group": "cutline.packing",
    "Item": "cutline.packing",
    "MarkdownChunker": "cutline.chunking",
    "Template": "cutline.template",
    "TextChunker": "cutline.chunking",
    "TokenChunker": "cutline.chunking",
    "Trimmed": "cutline.chat.trimming",
    "Packed": "cutline.packing",
    "PackedGroup": "cutline.packing",
    "PackedItem": "cutline.packing",
    "PieceCounts": "cutline.training",
    "Plan": "cutline.retrieval",
    "Progress": "cutline.training",
    "Report": "cutline.verification",
    "WrappedTokenizer": "cutline.wrapping",
    "HierarchicalChunker": "cutline.chunking",
    "Node": "cutline.chunking",
    "SentenceWindow": "cutline.retrieval",
    "Shortened": "cutline.shortening",
    "batches": "cutline.retrieval",
    "boundaries": "cutline.chunking",
    "chunker_for": "cutline.chunking",
    "code_languages": "cutline.chunking",
    "count_pieces": "cutline.training",
    "merge_hits": "cutline.retrieval",
    "notebook_text": "cutline.chunking",
    "pack": "cutline.packing",
    "plan": "cutline.retrieval",
    "sentence_windows": "cutline.retrieval",
    "shorten": "cutline.shortening",
    "token_spans": "cutline.retrieval",
    "train": "cutline.training.trainer",
    "train_from_counts": "cutline.training.trainer",
    "trim": "cutline.chat.trimming",
    "truncate": "cutline.packing",
    "verify": "cutline.verification",
    "verify_levels": "cutline.verification",
    "wrap": "cutline.wrapping",
}
# Parts with names of their own, as `cutline.chat.chatml`: `import cutline` is enough for them.
_PARTS = {"chat", "evaluation", "view"}


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"cutline.{name}")
    if name not in _LATE:
        missing = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(missing, name=name, obj=sys.modules[__name__])  # Python adds a hint
    globals()[name] = found = getattr(import_module(_LATE[name]), name)
    return found


def __dir__() -> list[str]:
    return list(__all__)
