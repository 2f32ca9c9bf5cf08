"""Around retrieval: what to embed again, batches, windows, merged hits, tokens of chunks."""

from typing import TYPE_CHECKING, Any

from cutline.retrieval.batching import batches
from cutline.retrieval.merging import merge_hits
from cutline.retrieval.reindexing import Plan, plan
from cutline.retrieval.windows import SentenceWindow, sentence_windows

if TYPE_CHECKING:
    from cutline.retrieval.token_places import token_spans

__all__ = [
    "Plan",
    "SentenceWindow",
    "batches",
    "merge_hits",
    "plan",
    "sentence_windows",
    "token_spans",
]


def __getattr__(name: str) -> Any:
    if name != "token_spans":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The others need no numpy.
    from cutline.retrieval.token_places import token_spans

    globals()[name] = token_spans
    return token_spans
