"""Where do special tokens stand in a text? The search behind `Encoding.encode`."""

from collections.abc import Collection, Iterator
from os.path import commonprefix

import ahocorasick

from cutline.errors import SpecialTokenError

__all__ = ["SpecialFinder", "disallowed_error"]


class SpecialFinder:
    """Finds any of some texts in a text, in one pass however many they are.

    Nearly all text holds none of them, and all special tokens of a tokenizer tend to
    begin alike (`<|`): so a plain search for that beginning comes first.
    """

    __slots__ = ("_automaton", "_prefix")

    def __init__(self, texts: Collection[str]) -> None:
        self._prefix = commonprefix(list(texts))  # noqa: RUF071 (by character, as is meant)
        self._automaton = ahocorasick.Automaton()
        for text in texts:
            if text:
                self._automaton.add_word(text, text)
        if len(self._automaton):
            self._automaton.make_automaton()

    def find_all(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield start and text of each find: leftmost first, the longest of those, no overlaps.

        Cost: linear in the text; a substring search where the common beginning is absent.

        >>> list(SpecialFinder({"<a>", "<ab>"}).find_all("x<ab><a>"))
        [(1, '<ab>'), (5, '<a>')]
        """
        first = text.find(self._prefix)
        if first < 0 or not len(self._automaton):
            return
        finds = [
            (last + 1 - len(found), -len(found), found)
            for last, found in self._automaton.iter(text, first)
        ]
        covered = 0
        for start, _, found in sorted(finds):
            if start >= covered:
                yield start, found
                covered = start + len(found)

    def first(self, text: str) -> str | None:
        """Return the leftmost find, or None."""
        return next((found for _, found in self.find_all(text)), None)


def disallowed_error(token: str) -> SpecialTokenError:
    """Build the error for text that spells a special token where that is not allowed."""
    return SpecialTokenError(
        f"the text holds {token!r}, which is a disallowed special token; "
        f"to encode it as that token, pass allowed_special={{{token!r}, ...}} or 'all'; "
        "to encode it as ordinary text, pass "
        f"disallowed_special=(enc.special_tokens_set - {{{token!r}}}), "
        "or disallowed_special=() for all special tokens"
    )
