"""The exceptions: each message says what is wrong, where, the value it got, and a hint.

Every class subclasses the builtin that a caller would catch anyway.
"""

__all__ = [
    "BudgetError",
    "ChatError",
    "CorruptDataError",
    "CutlineError",
    "HubError",
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
    "shown",
]

_SHOWN = 120


def shown(value: object) -> str:
    """Return how errors write a value that a caller gave: by `repr`, the middle left out.

    >>> shown("gpt2"), len(shown("x" * 100_000))
    ("'gpt2'", 144)
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write an integer of thousands of digits
        sign = "a negative" if isinstance(value, int) and value < 0 else "an"
        return f"{sign} integer of {int.bit_length(value)} bits"  # type: ignore[arg-type]
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}...{text[-half:]} ({len(text):,} characters)"


def shown_type(value: object) -> str:
    """Return how errors write the type of a value that a caller gave.

    Other packages have an `Encoding`, too: of that name, the module is said.
    """
    kind = type(value)
    return f"{kind.__module__}.Encoding" if kind.__name__ == "Encoding" else kind.__name__


class CutlineError(Exception):
    """Base of every error that cutline raises on purpose."""


class VocabularyError(CutlineError, ValueError):
    """A vocabulary that no exact encoder can be built from."""


class CorruptDataError(CutlineError, ValueError):
    """A damaged or malformed vocabulary or table file."""


class PatternError(CutlineError, ValueError):
    """A split pattern that is not a valid regular expression."""


class UnsupportedPatternError(PatternError):
    """A valid split pattern outside the subset that compiles to an automaton."""


class PatternFallbackWarning(UserWarning):
    """A split pattern runs on the `regex` module: exact, but slower."""


class UnparsedWarning(UserWarning):
    """A text is cut at lines, because its parser is not available or failed on it."""


class UnknownEncodingError(CutlineError, ValueError):
    """No encoding has this name."""


class HubError(CutlineError, OSError):
    """Files of a model that cannot be fetched from the Hugging Face Hub."""


class UnknownModelError(CutlineError, KeyError):
    """No encoding is known for this model."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownTokenError(CutlineError, KeyError):
    """A token, or a token id, that the encoding does not have."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class SpecialTokenError(CutlineError, ValueError):
    """Text that contains a special token that is not allowed."""


class SurrogateError(CutlineError, ValueError):
    """Text with surrogate code points, in a call that needs offsets into it."""


class SourceError(CutlineError, ValueError):
    """A source of text that has no text, or that cannot be read in its format."""


class OffsetError(CutlineError, ValueError):
    """An offset outside the text, or a reversed span."""


class BudgetError(CutlineError, ValueError):
    """A token budget that no cut can meet."""


class ChatError(CutlineError, ValueError):
    """A chat request that its format refuses, or a chat format that cannot be used."""
