"""Evaluating chunkers: how well chunks are found, and what they tear apart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutline.evaluation.comparing import Comparison, compare
    from cutline.evaluation.evaluating import Evaluation, Scores, Whole, evaluate
    from cutline.evaluation.questions import (
        Question,
        read_questions,
        sample_documents,
        sample_questions,
    )
    from cutline.evaluation.ranking import by_embedding

__all__ = [
    "Comparison",
    "Evaluation",
    "Question",
    "Scores",
    "Whole",
    "by_embedding",
    "compare",
    "evaluate",
    "read_questions",
    "sample_documents",
    "sample_questions",
]

_FILES = {
    "Comparison": "comparing",
    "compare": "comparing",
    "Question": "questions",
    "read_questions": "questions",
    "sample_documents": "questions",
    "sample_questions": "questions",
    "by_embedding": "ranking",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_FILES.get(name, 'evaluating')}"), name)
    globals()[name] = found
    return found
