"""`Contents`: text of special tokens that stands in messages, told from the template's own.

Such text is broken up by a mark before the template writes the request, so that only what the
template itself writes is found as special tokens; then the marks are taken out again. That the
request is the same but for the marks is checked. A text that ends within a special token gets a
mark at its end: the next part of a content may begin with the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, cast

from cutline.chat.rendering import GrowingRequest
from cutline.errors import ChatError

if TYPE_CHECKING:
    from cutline.encoding import Encoding

__all__ = ["Contents", "GrowingAsText"]

# Hexagrams, which `repr` of a list or a mapping writes as they are; then what is never in a text.
_MARKS: Final = [chr(point) for point in (*range(0x4DC0, 0x4E00), *range(0xFDD0, 0xFDF0))]


class Contents:
    """Finds and marks text of special tokens in messages.

    Raises:
        ChatError: the encoding has special tokens that are found only after other steps, or
            cannot be broken up.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        texts = sorted(filter(None, encoding.special_tokens_set), key=len, reverse=True)
        self._allowed = frozenset(texts)
        self._starts = frozenset(text[:n] for text in texts for n in range(1, len(text)))
        self._lengths = sorted({*map(len, self._starts)})
        firsts = {re.escape(start[0]) for start in self._starts}
        self._first = re.compile("|".join(sorted(firsts)) or "(?!)")
        self._pattern = re.compile("|".join(map(re.escape, texts)) or "(?!)")
        spec, has_steps = encoding._spec, encoding._pipeline is not None
        added = [token for token in spec.added_tokens if token.special] if has_steps else []
        is_first_only = has_steps and spec.prefix_space and spec.prefix_first
        if is_first_only or any(t.normalized for t in added) or any(len(t) == 1 for t in texts):
            raise ChatError(
                f"{encoding.name!r} does not tell special tokens from text around them alone, so "
                "that contents cannot be taken as text: leave contents_as_text out"
            )

    @classmethod
    def of(cls, encoding: Encoding) -> Self:
        """Return those of an encoding, made once."""
        return cast("Self", encoding._remember("chat contents", partial(cls, encoding)))

    def has_special(self, value: Any) -> bool:
        """Return whether a value contains the text of a special token, or a text ends in one."""
        return any(
            self._pattern.search(text) is not None or self._ends_within(text)
            for text in {*_texts(value)}  # keys and roles occur again and again
        )

    def _ends_within(self, text: str) -> bool:
        """Return whether a text ends with the beginning of a special token."""
        longest = self._lengths[-1] if self._lengths else 0
        if self._first.search(text, max(len(text) - longest, 0)) is None:
            return False  # as nearly always
        return any(text[-length:] in self._starts for length in self._lengths)

    def mark_for(self, value: Any) -> str:
        """Return a mark that occurs nowhere in a value."""
        used = {mark for text in _texts(value) for mark in _MARKS if mark in text}
        for mark in _MARKS:
            if mark not in used:
                return mark
        raise ChatError("the messages contain every code point that could be a mark")

    def marked(self, value: Any, mark: str) -> Any:
        """Copy a value with the texts of special tokens broken up."""
        if isinstance(value, str):
            broken = self._pattern.sub(lambda found: found[0][0] + mark + found[0][1:], value)
            return broken + mark if self._ends_within(value) else broken
        if isinstance(value, dict):
            return {self.marked(key, mark): self.marked(item, mark) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.marked(item, mark) for item in value)
        return value

    def encode(self, text: str, mark: str) -> list[int]:
        """Encode a text with marks, which are left out."""
        encoding, tokens = self._encoding, []
        if encoding._pipeline is None:
            for part in encoding._cut_at_special(text, self._allowed):
                if isinstance(part, int):
                    tokens.append(part)
                else:
                    tokens += encoding.encode_ordinary(part.replace(mark, ""))
            return tokens
        finder = encoding._pipeline.finder_of_raw
        for start, end, token in finder.cut(text, lambda token: token.special):
            if token is not None:
                tokens.append(token.id)
            else:
                tokens += encoding.encode_ordinary(text[start:end].replace(mark, ""))
        return tokens


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from filter(_is_text, value)
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_text(key: Any) -> bool:
    return isinstance(key, str)


class GrowingAsText(GrowingRequest):
    """The same where contents are text: counted whole while one has text of special tokens."""

    _contents: Contents
    _count_as_text: Any
    _special: list[int]

    def begin(self, contents: Contents, count: Any, is_special: bool) -> Self:
        """Say how to count a request whose contents, or tools, have such text."""
        self._contents, self._count_as_text = contents, count
        self._special = [-1] if is_special else []  # messages by place
        return self

    def copy(self) -> Self:
        """Return an independent one with the same messages."""
        twin = super().copy()
        twin._special = self._special.copy()
        return twin

    def extend(self, messages: Iterable[dict[str, Any]]) -> None:
        """Add checked messages."""
        added = [*messages]
        found = map(self._contents.has_special, added)
        self._special += [place for place, has in enumerate(found, len(self._messages)) if has]
        super().extend(added)

    def truncate(self, n_messages: int) -> None:
        """Keep the first messages."""
        self._special = [place for place in self._special if place < n_messages]
        super().truncate(n_messages)

    def count(self) -> int:
        """Count the tokens of the request."""
        if self._special:
            count: int = self._count_as_text(self._messages)
            return count
        return super().count()
