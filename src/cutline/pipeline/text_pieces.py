"""Pieces of a text for one call of the kernel each, for models that encode words apart.

Added tokens are cut out first, and then parts whose characters change one another, which are
normalized here. Source: docs/words.md.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from cutline.normalizing import Traced, normalize, trace
from cutline.pipeline.added_among_words import AddedAmongWords
from cutline.pipeline.entangled_texts import EntangledTexts
from cutline.spec import AddedToken
from cutline.words.char_rules import CharRules

__all__ = ["Piece", "TextPieces"]


class Piece(NamedTuple):
    """A span of a text with an added token, or text for the kernel.

    Attributes:
        start: of the span.
        end: of the span.
        token: None: it is text.
        text: as it is, or
        is_normal: normalized.
        prefixes: its first word gets the prefix.
        keeps_end: what is cut off at the end of a text is cut off already.
        trace: of normalized text: makes the same of the span, with what it comes from.
    """

    start: int
    end: int
    token: AddedToken | None = None
    text: str = ""
    is_normal: bool = False
    prefixes: bool = True
    keeps_end: bool = False
    trace: Callable[[], Traced] | None = None


class TextPieces:
    """Cuts texts into pieces.

    Args:
        rules: what steps do.
        added: finds added tokens.
        entangled: finds parts whose characters change one another.
    """

    def __init__(self, rules: CharRules, added: AddedAmongWords, entangled: EntangledTexts) -> None:
        self._rules = rules
        self._added = added
        self._entangled = entangled

    def of(self, text: str, allowed: frozenset[str], at_start: bool) -> Iterator[Piece]:
        """Cut a text.

        Args:
            text: without surrogates.
            allowed: the special tokens to find.
            at_start: False: the text begins at a safe split point of a longer one.
        """
        for start, end, token in self._added.sections(text, allowed):
            if token is not None:
                yield Piece(start, end, token)
            else:
                begins = at_start or start > 0
                prefixes = (at_start and start == 0) or not self._rules.only_first
                yield from self.of_section(text[start:end], start, allowed, begins, prefixes)

    def of_section(
        self, section: str, start: int, allowed: frozenset[str], begins: bool, prefixes: bool
    ) -> Iterator[Piece]:
        """Cut what is between two added tokens of a text, which are found in it as it is.

        Args:
            section: it.
            start: where it is.
            allowed: the special tokens to find in normalized text.
            begins: whether it is not inside a section.
            prefixes: whether its first word gets the prefix.
        """
        tokens, done = self._added.of_section(section, allowed), 0
        if tokens is None:
            found = self._added.normalized_parts(section, allowed, begins=begins)
            if found is not None:
                yield from self._normalized(section, start, found, begins, prefixes)
                return
        n = len(section)
        for first, last, token in [*(tokens or ()), (n, n, None)]:
            prefix = prefixes and (done == 0 or not self._rules.only_first)
            ends = begins and done == 0, token is None
            yield from self._between(section[done:first], start + done, ends, prefix)
            if token is not None:
                yield Piece(start + first, start + last, token)
            done = last

    def _normalized(
        self,
        section: str,
        start: int,
        found: list[tuple[int, int, AddedToken | None]],
        begins: bool,
        prefixes: bool,
    ) -> Iterator[Piece]:
        """Yield the pieces of the normal form of a section, with what they come from."""
        traced = trace(section, self._added.steps_from(begins))
        for first, last, token in found:
            part = traced.part(first, last)
            begin, stop = int(part.spans[0, 0]), int(part.spans[-1, 1])
            made = Traced(part.text, part.spans - begin)
            prefix = prefixes and (first == 0 or not self._rules.only_first)
            yield Piece(
                start + begin, start + stop, token, made.text, True, prefix, True,
                partial(trace, made, ()),
            )  # fmt: skip

    def _between(
        self, text: str, start: int, ends: tuple[bool, bool], prefixes: bool
    ) -> Iterator[Piece]:
        """Cut what is between two added tokens; `ends`: whether it begins and ends a section."""
        kept, cut_off = self._entangled.stripped(text, ends[0])
        for first, last, is_entangled in self._entangled.few_parts(kept):
            part, begin = kept[first:last], start + cut_off + first
            prefix = prefixes and (first == 0 or not self._rules.only_first)
            piece = Piece(begin, begin + len(part), None, part, False, prefix, not ends[1])
            if is_entangled:
                own = ends[0] and first == 0, ends[1] and last == len(kept)
                steps = self._entangled.steps_at(*own)
                piece = piece._replace(
                    text=normalize(part, steps), is_normal=True, trace=partial(trace, part, steps)
                )
            yield piece
