"""Safe split points of texts for models that encode words apart: their parts are encoded apart.

See safe_points.py for those of other models. Proof: docs/words.md.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from cutline.kernels.words.char_map import CharMap
from cutline.normalizing import SPACE, Strip, normalize
from cutline.pipeline.added import is_of_word
from cutline.pipeline.added_among_words import AddedAmongWords
from cutline.spec import TokenizerSpec

__all__ = ["WordSafePoints"]

_LEAST_GAP = 24  # characters from one to the next


class WordSafePoints:
    """Finds safe split points.

    Args:
        spec: the tokenizer.
        char_map: what becomes of its characters.
        normal_of: what becomes of one that is alone.
        added: finds its added tokens.
    """

    def __init__(
        self,
        spec: TokenizerSpec,
        char_map: CharMap,
        normal_of: Callable[[str], str],
        added: AddedAmongWords,
    ) -> None:
        self._char_map = char_map
        self._normal = normal_of
        self._added = added
        # Special ones hide others, and are found where they are allowed.
        tokens, steps = spec.added_tokens, spec.normalizer
        texts = [t for one in tokens for t in (one.content, normalize(one.content, steps))]
        self._within = {pair for text in texts for pair in pairwise(text)}
        self._edges = {edge for text in texts if text for edge in (text[0], text[-1])}
        self._strips = any(one.lstrip or one.rstrip for one in tokens)
        # What follows a token is stripped as a text is.
        self._strips_starts = any(isinstance(step, Strip) and step.left for step in steps)
        self._last = {text[-1] for text in texts if text} if self._strips_starts else set[str]()
        single = [one.content for one in tokens if one.single_word]
        single += [normalize(text, steps) for text in single]
        self._first_of_words = {text[0] for text in single if text}
        self._last_of_words = {text[-1] for text in single if text}
        self._are_changed = any(one.normalized for one in tokens)
        # A token of white space may be what becomes of a whole run, or of CR and LF together.
        self._are_runs = bool(steps) and self._are_changed
        self._are_runs &= any(one in SPACE for one in set().union(*texts))

    def find(self, text: str, begin: int = 0) -> list[int]:
        """List points after `begin`: not all of them, but none closer than _LEAST_GAP."""
        return self._find(text, begin, _LEAST_GAP)

    def holds_at(self, text: str, place: int) -> bool:
        """Return whether a place is a point; two characters on each side decide."""
        begin = max(0, place - 2)
        return place - begin in self._find(text[begin : place + 2], 0, 1)

    def first(self, text: str, begin: int = 0) -> int | None:
        """Find the first point of a text after `begin`; None: it has none."""
        return next(iter(self._find(text, begin, 1)), None)

    def _find(self, text: str, begin: int, gap: int) -> list[int]:
        points = self._char_map.sure_starts(text, begin, gap)
        if not (self._edges or self._are_runs):
            return points
        # An added token may match or look across one, in normalized text too.
        crosses = partial(self._may_hold, self._touches)
        return [point for point in points if not crosses(text[point - 1], text[point])]

    def after_tokens(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield starts and ends of added tokens after which what follows is a text of its own.

        So it is in each slice that has all of the token.
        """
        if not self._added.stand_alone:
            return
        may_change = self._char_map.is_entangled
        for start, end, token in self._added.ordinary(text):
            if end + 1 >= len(text):
                continue  # more text could change what is next
            if self._may_part_words(text[end - 1], text[end]):
                continue
            if start and self._may_part_words(text[start - 1], text[start]):
                continue
            # In normalized text, what is beside a token is neither cut off nor changed with it.
            if token.normalized and (
                self._strips_starts
                or text[end - 1] in SPACE
                or may_change(text[max(0, start - 2) : end + 2])
            ):
                continue
            yield start, end

    def _may_part_words(self, before: str, after: str) -> bool:
        """Return whether a token for single words beside a place may count only in slices.

        One that is a part of a word counts in a slice that begins or ends beside it.
        """
        if not self._first_of_words:
            return False
        return self._may_hold(self._parts_words, before, after)

    def _may_hold(self, holds: Callable[[str, str], bool], before: str, after: str) -> bool:
        """Whether something holds for two characters, or may for what they become."""
        if holds(before, after):
            return True
        if not self._are_changed:
            return False
        before, after = self._normal(before)[-1:], self._normal(after)[:1]
        # Of what vanishes, the neighbours would have to be known.
        return not before or not after or holds(before, after)

    def _parts_words(self, before: str, after: str) -> bool:
        if after in self._first_of_words and is_of_word(before):
            return True
        return before in self._last_of_words and is_of_word(after)

    def _touches(self, before: str, after: str) -> bool:
        if (before, after) in self._within or before in self._last:
            return True
        if self._are_runs and before in SPACE and after in SPACE:
            return True
        if self._parts_words(before, after):
            return True
        if not self._strips:
            return False
        both = {before, after}
        return bool(both & self._edges) or (before in SPACE and after in SPACE)
