"""Added tokens in what a normalizer makes of a text, found without writing it.

A kernel reads what becomes of each character. Where characters change one another, the text around
them is normalized, and looked through. Source: docs/words.md, "Added tokens".
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache, partial
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cutline.errors import PatternError, VocabularyError
from cutline.kernels.words.char_map import CharMap
from cutline.kernels.words.image_search import ImageSearch
from cutline.normalizing import SPACE, Form, Replace, Step, Strip, normalize
from cutline.pipeline.run_images import NO_CHARACTER
from cutline.pipeline.stand_alone import overlap
from cutline.pipeline.tokens_of_slices import slices_may_have
from cutline.spec import AddedToken
from cutline.words.char_rules import CharRules
from cutline.words.charsmap import CharsMap
from cutline.words.precompiled import Precompiled
from cutline.words.splitting import Metaspace
from cutline.words.steps import Collapse, CollapseWhite

__all__ = ["Found", "TokenSearch"]

Found = tuple[int, int, AddedToken]
"""Where a token starts and ends in a text, and the token."""

_NUMBER: Final = -1  # the key of that of a text, in the trie while it is built
_KNOWN: Final = 1024  # characters whose normal forms are kept
_BLANKS_AS_WRITTEN: Final = (Metaspace("never", True, NO_CHARACTER),)


class TokenSearch:
    """Finds tokens in what becomes of a text.

    Args:
        tokens: by the text that is searched for, in its normal form.
        steps: the normalizer; none where the text is searched as it is.
    """

    def __init__(self, tokens: Mapping[str, AddedToken], steps: tuple[Step, ...]) -> None:
        self._texts = [text for text in tokens if text]
        self._tokens = [tokens[text] for text in self._texts]
        self._steps = steps
        self._normal = lru_cache(_KNOWN)(partial(normalize, steps=_inner(steps)))

    def find(self, text: str, *, overlapping: bool = False) -> list[Found] | None:
        """Find those that start first, of these the longest, whether they count or not.

        A token that a slice has is one that all of the text has, at the same place, unless it
        overlaps one that is found.

        Args:
            text: it.
            overlapping: find all that its slices could have, by starts and then by ends.

        Returns:
            The tokens, each of which is all that becomes of the characters of its span. None: it
            is not known which ones there are.

        Cost: linear in the text.
        """
        if not self._texts:
            return []
        if self._kernel is None or NO_CHARACTER in text:
            return None
        kernel, char_map = self._kernel
        rows = kernel.find(text, overlapping)
        if rows is None or (char_map.is_entangled(text) and self._may_touch(char_map, text, rows)):
            return None
        return [
            (rows[at], rows[at + 1], self._tokens[rows[at + 2]]) for at in range(0, len(rows), 3)
        ]

    @cached_property
    def longest(self) -> int:
        """The characters of the longest token."""
        return max(map(len, self._texts), default=0)

    def place_after(self, text: str, place: int) -> int:
        """Return a place before which each token ends that begins before another place.

        What becomes of one is made of so many characters at most, but for those that vanish, and
        for blanks of a run that becomes one.
        """
        most = self.longest * prod(map(_most_for_one, self._steps))
        return self._pass(text, place, len(text), most) or len(text)

    @cached_property
    def _kernel(self) -> tuple[ImageSearch, CharMap] | None:
        """What finds them where no characters change one another; None: nothing does."""
        try:
            rules = CharRules(_inner(self._steps), _BLANKS_AS_WRITTEN, None)
        except (VocabularyError, PatternError):
            return None
        new = (step.new for step in self._steps if isinstance(step, Collapse))
        written = "".join(self._texts)
        may_be_run = self._has_runs and not set(SPACE).union(*new).isdisjoint(written)
        if NO_CHARACTER in written or may_be_run:
            return None  # a blank of it may be a run, or what is written for one
        char_map = CharMap(rules.characters, rules.maker)
        return ImageSearch(char_map, *_trie(self._texts)), char_map

    @cached_property
    def _has_runs(self) -> bool:
        return any(isinstance(step, Collapse | CollapseWhite) for step in self._steps)

    # Characters that change one another

    def _may_touch(self, char_map: CharMap, text: str, rows: memoryview) -> bool:
        """Return whether a token of a slice may have something of characters that change others."""
        starts, kinds = char_map.entangled_parts(text)
        ends = [*starts[1:], len(text)]
        for first, last in zip(rows[::3], rows[1::3], strict=True):
            place = bisect_right(starts, first) - 1
            if any(kinds[place : bisect_right(starts, last - 1)]):
                return True
        parts = [span for *span, kind in zip(starts, ends, kinds, strict=True) if kind]
        # A slice that has some of a token that is found has no other one there, if none overlap.
        edges = [] if self._overlap else [*rows[::3], *rows[1::3]]
        edges = sorted([0, *edges, len(text)])
        for begin, start, end, stop in self._windows(text, parts):
            begin = max(begin, edges[bisect_right(edges, start) - 1])
            stop = min(stop, edges[bisect_left(edges, end)])
            if self._may_be_in(text[begin:stop]):
                return True
        return False

    @cached_property
    def _overlap(self) -> bool:
        return overlap(set(self._texts))

    def _windows(self, text: str, parts: list[list[int]]) -> Iterator[tuple[int, int, int, int]]:
        """Yield starts and ends of parts between as many characters as a token may have there."""
        (start, end), *others = parts
        begin = self._pass(text, start, 0, self.longest) or 0
        for next_start, next_end in others:
            stop = self._pass(text, end, next_start, self.longest)
            if stop is not None:
                yield begin, start, end, stop
                begin = self._pass(text, next_start, end, self.longest) or end
                start = next_start
            end = next_end
        yield begin, start, end, self._pass(text, end, len(text), self.longest) or len(text)

    def _pass(self, text: str, at: int, stop: int, n: int) -> int | None:
        """Return the place behind n characters that do not vanish; None: it is beyond `stop`.

        Backward, if `stop` is before the place. Of a run that becomes one, the first one counts.
        """
        step = 1 if stop >= at else -1
        in_run = False
        for place in range(at, stop, step):
            made = self._normal(text[place if step > 0 else place - 1])
            if made:
                is_blank = self._has_runs and made.isspace()
                n -= not (is_blank and in_run)
                in_run = is_blank
            if n == 0:
                return place + step
        return None

    def _may_be_in(self, text: str) -> bool:
        """Return whether a token may be in a slice of a text, in its normal form."""
        normalized = normalize(text, self._steps)
        if any(one in normalized for one in self._texts):
            return True
        return slices_may_have(self._texts, self._steps, text, normalized)


def _inner(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Leave steps out that only cut off white space, or make runs of it shorter."""
    return tuple(step for step in steps if not isinstance(step, Strip | Collapse))


def _most_for_one(step: Step) -> int:
    """Return of how many characters a step makes one at most, if it is no white space."""
    match step:
        case Replace(old=old):
            return len(old)
        case Form():
            return 4
        case CharsMap():
            return step.longest
        case Precompiled():
            return 5  # bytes of a grapheme cluster that a map looks up as a whole
        case _:
            return 1


def _trie(
    texts: list[str],
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]:
    """Return labels, first children and numbers of the nodes of a trie of texts."""
    root: dict[int, Any] = {}
    for number, text in enumerate(texts):
        node = root
        for byte in text.encode():
            node = node.setdefault(byte, {})
        node[_NUMBER] = number
    labels, children, nodes = [0], [], [root]
    for node in nodes:  # which grows
        children.append(len(nodes))
        below = sorted(node.keys() - {_NUMBER})
        labels += below
        nodes += [node[byte] for byte in below]
    numbers = [node.get(_NUMBER, -1) for node in nodes]
    children.append(len(nodes))
    return (
        np.array(labels, dtype=np.uint8),
        np.array(children, dtype=np.int32),
        np.array(numbers, dtype=np.int32),
    )
