"""Checks of arguments, and a text's UTF-8 as the kernels take it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Protocol, SupportsIndex

from cutline.errors import OffsetError, SurrogateError, UnsupportedPatternError, shown, shown_type
from cutline.kernels.base import text_ends as kernel
from cutline.kernels.base.utf8 import encode_utf8, has_surrogates

__all__ = [
    "changes_texts",
    "checked_budget",
    "checked_flag",
    "checked_integer",
    "checked_length",
    "checked_order",
    "hint_for",
    "is_missing",
    "list_of_texts",
    "need_automaton",
    "need_no_table",
    "need_several",
    "need_unchanged",
    "plain_text",
    "spans_error",
    "text_ends",
    "utf8_of",
    "utf8_of_part",
    "without_surrogates",
]

REPAIR = "repair it with text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"


def plain_text(text: str, name: str = "text") -> str:
    """Return a str unchanged, and a str subclass as a plain str, whose methods are reliable.

    Raises:
        TypeError: it is no str.
    """
    if type(text) is str:
        return text
    if isinstance(text, str):
        return str.__str__(text)
    raise TypeError(f"{name} must be a str, got {type(text).__name__}")


def list_of_texts(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Return several texts as a list; what these are is not looked at.

    Raises:
        TypeError: it is one str, a table, or cannot be iterated.
    """
    if isinstance(texts, str):
        raise TypeError(f"{name} must be a sequence of str, got one str: put it into a list")
    need_no_table(texts, name)
    try:
        each = iter(texts)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of str, got {shown_type(texts)}") from None
    return list(each)


def need_several(things: object, name: str) -> None:
    """Refuse one thing where several are taken.

    Raises:
        TypeError: it is a text, a table, or cannot be iterated.
    """
    if isinstance(things, str | bytes):
        kind = type(things).__name__
        raise TypeError(f"{name} must be several, got one {kind}: put it into a list")
    need_no_table(things, name)
    try:
        iter(things)  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(f"{name} must be several, got {shown_type(things)}") from None


def need_no_table(things: object, name: str) -> None:
    """Refuse a table, such as pandas' DataFrame or a dict of columns: its items are column names.

    Raises:
        TypeError: it is one.
    """
    names = getattr(things, "columns", None)
    if names is not None:
        names = getattr(things, "column_names", names)  # Arrow's `columns` are their values
    if isinstance(things, Mapping):
        first = next(iter(things.values()), None)
        names = [*things] if isinstance(first, Iterable) and not isinstance(first, str) else None
    if isinstance(names, Iterable):
        kind = type(things).__name__
        rows = "; or its rows, by to_dict('records') or to_pylist()" if name == "chunks" else ""
        raise TypeError(
            f"{name} must be one column of the {kind}, which has {shown([*names])}{rows}"
        )


def text_ends(texts: list[str]) -> memoryview:
    """Return where each text ends if they lie one after the other, and refuse what is no text.

    Returns:
        int64, shape (texts,).

    Raises:
        TypeError: one is not a str; names its place, before work is done for others.
    """
    ends = kernel.text_ends(texts)
    if isinstance(ends, memoryview):
        return ends
    text = texts[ends]
    kind = type(text).__name__
    raise TypeError(f"texts must be str, got {kind} at place {ends}{hint_for(text)}")


def is_missing(value: object) -> bool:
    """Return whether a value is None, or what tables have in its place: nan, NaT or NA."""
    try:
        return value is None or bool(value != value)
    except (ArithmeticError, TypeError, ValueError):  # NA is neither; arrays are several
        return type(value).__name__ == "NAType"


def hint_for(text: object) -> str:
    """Return how columns of tables become texts."""
    if is_missing(text):
        return ": fill or drop missing values first"
    if hasattr(text, "as_py"):
        return ": pass to_pylist() of an Arrow array, or its table to cutline.integrations.arrow"
    return ""


def utf8_of(text: str, offset: int = 0, hint: str = REPAIR) -> str | bytes:
    """Return the text's UTF-8, as the kernels take it: the text itself if it is ASCII.

    Args:
        text: any string.
        offset: where the text begins in the user's text, for the error.
        hint: what the error suggests.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate code point.
    """
    if text.isascii():
        return text
    try:
        return encode_utf8(text)
    except UnicodeEncodeError as error:
        raise SurrogateError(
            f"the text has a surrogate code point, {text[error.start]!r}, at offset "
            f"{offset + error.start}; tokenizers cannot use offsets into such text: {hint}"
        ) from None


def without_surrogates(text: str) -> str:
    r"""Replace surrogates as encoding does: pairs by their character, others by U+FFFD.

    >>> without_surrogates("a\ud83d"), without_surrogates("caf\udce9")
    ('a\ufffd', 'caf\ufffd')
    """
    if not has_surrogates(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def need_no_surrogates(text: str) -> None:
    """Refuse a text that has surrogates.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate code point.
    """
    if has_surrogates(text):
        utf8_of(text)  # says where


def utf8_of_part(text: str) -> str | bytes:
    """Return the UTF-8 of text added to a growing text; its likely error is half a pair.

    Raises:
        TypeError: it is no str.
        SurrogateError: (a ValueError) the text has a surrogate code point.
    """
    return utf8_of(
        plain_text(text),
        hint=f"if it is half of a pair, join it with its other half first; otherwise {REPAIR}",
    )


class _Named(Protocol):
    name: str

    @property
    def _has_automaton(self) -> bool: ...
    @property
    def _changes_texts(self) -> bool: ...
    def _changes(self, text: str, /) -> bool: ...


def need_automaton(encoding: _Named) -> None:
    """Refuse an encoding whose split pattern runs on the `regex` module.

    Raises:
        UnsupportedPatternError: its split pattern does.
    """
    if not encoding._has_automaton:
        raise UnsupportedPatternError(
            f"the split pattern of {encoding.name!r} runs on the `regex` module, which does not "
            "report how far it looked: exact cuts need a pattern that compiles to an automaton; "
            "encode and count work with any"
        )


def changes_texts(encoding: _Named, method: str, text: str | None = None) -> bool:
    """Return whether an encoding changes texts before it splits them; see `need_unchanged`.

    Raises:
        TypeError: it is no encoding.
    """
    try:
        return encoding._changes_texts and (text is None or encoding._changes(text))
    except AttributeError:
        raise TypeError(
            f"encoding must be an Encoding, got {shown_type(encoding)}: "
            f"use get_encoding(...).{method}"
        ) from None


def need_unchanged(encoding: _Named, method: str, text: str | None = None) -> None:
    """Refuse what is no encoding, and one that changes texts.

    Args:
        encoding: anything.
        method: the one of `Encoding` to use instead, for the error.
        text: the only text that is meant; None: any may come.

    Raises:
        TypeError: it is no encoding.
        UnsupportedPatternError: it changes the text, or its split pattern runs on the `regex`
            module.
    """
    if changes_texts(encoding, method, text):
        raise UnsupportedPatternError(
            f"{encoding.name!r} changes texts before it splits them, or splits them several times: "
            f"use its own {method}, which counts as it encodes"
        )
    need_automaton(encoding)


def checked_integer(value: SupportsIndex, name: str) -> int:
    """Return an integer, such as one of numpy's, as an int.

    Raises:
        TypeError: it is no integer; 5.0 is a float, True a bool.
    """
    if type(value) is int:
        return value
    try:
        if not isinstance(value, bool):  # an int to Python; as a limit, it is a mistake
            return index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be an integer, got {shown(value)}")


def checked_flag(value: object, name: str) -> bool:
    """Return a bool, such as one of numpy's, as one of Python's; 0 and 1 are taken for such.

    Raises:
        TypeError: it is something else: "no" and "false" of a file of settings would be true.
    """
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {shown(value)}")


def checked_budget(max_tokens: SupportsIndex, name: str = "max_tokens") -> int:
    """Return a number of tokens as an int.

    Raises:
        TypeError: it is no integer.
        ValueError: it is negative.
    """
    max_tokens = checked_integer(max_tokens, name)
    if max_tokens < 0:
        raise ValueError(f"{name} must be 0 or more, got {shown(max_tokens)}")
    return max_tokens


def spans_error(dtype: object, shape: tuple[int, ...]) -> ValueError:
    """Return the error for spans of slices that are no rows of two integers, but of this kind."""
    return ValueError(
        "spans must be integers of shape (k, 2), start and end of each slice, got "
        f"{dtype} of shape {shape}"
    )


def checked_order(number: float, name: str) -> None:
    """Refuse what has no place in an order of numbers.

    Raises:
        TypeError: it is no number.
        ValueError: it is nan.
    """
    try:
        has_place = number < 0 or number >= 0
    except TypeError:
        raise TypeError(f"{name} must be a number, got {shown(number)}") from None
    if not has_place:
        raise ValueError(f"{name} must be a number that others can be compared with, got nan")


def checked_length(length: int, text_length: int) -> int:
    """Return the length of the kept part of a text, as an int.

    Raises:
        OffsetError: (a ValueError) it is not from 0 to the text's length.
    """
    # An offset, of which Python's own slices take bools, too.
    length = checked_integer(+length if isinstance(length, bool) else length, "length")
    if not 0 <= length <= text_length:
        raise OffsetError(
            f"length must be from 0 to {text_length}, the text's length, got {shown(length)}"
        )
    return length
