"""The exceptions: each says what, where, what was got and the way out.

Every class subclasses the builtin that a caller would catch anyway.
"""

__all__ = [
    "BudgetError",
    "CorruptDataError",
    "CutlineError",
    "OffsetError",
    "PatternError",
    "PatternFallbackWarning",
    "SourceError",
    "SpecialTokenError",
    "SurrogateError",
    "UnknownEncodingError",
    "UnknownModelError",
    "UnknownTokenError",
    "UnparsedWarning",
    "UnsupportedPatternError",
    "VocabularyError",
]


class CutlineError(Exception):
    """Base of every error that cutline raises on purpose."""


class VocabularyError(CutlineError, ValueError):
    """A vocabulary that no exact encoder can be built from."""


class CorruptDataError(CutlineError, ValueError):
    """A vocabulary or table file whose content is not what it claims to be."""


class PatternError(CutlineError, ValueError):
    """A split pattern that is not a valid regular expression."""


class UnsupportedPatternError(PatternError):
    """A valid split pattern outside the subset that compiles to an automaton."""


class PatternFallbackWarning(UserWarning):
    """A split pattern runs on the `regex` module: exact, but slower."""


class UnparsedWarning(UserWarning):
    """A text is cut at lines, since its parser cannot be had or did not stand it."""


class UnknownEncodingError(CutlineError, ValueError):
    """No encoding has this name."""


class UnknownModelError(CutlineError, KeyError):
    """No encoding is known for this model."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownTokenError(CutlineError, KeyError):
    """A token, or a token id, that the encoding does not have."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class SpecialTokenError(CutlineError, ValueError):
    """Text that spells a special token, where that is not allowed."""


class SurrogateError(CutlineError, ValueError):
    """Text with surrogate code points, where offsets into it are asked for."""


class SourceError(CutlineError, ValueError):
    """A source of text that holds no text, or that cannot be read as it says."""


class OffsetError(CutlineError, ValueError):
    """An offset outside the text, or a reversed span."""


class BudgetError(CutlineError, ValueError):
    """A token budget that no cut can meet."""
