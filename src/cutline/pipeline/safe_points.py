"""Where a text can be split in two that are encoded apart, whatever stands on either side.

A safe split point lies between two characters, and these two alone tell that it is one:

1. no piece of the split pattern holds the one before the other, and whether a piece ends
   between them is the same whether the second one follows or nothing;
2. no step of the tokenizer changes either because of the other; and
3. no added token can lie across, or take white space or look for a word across.

Then of any slice the tokens are those up to the point and those after it. The proof is in
docs/tokenizers.md.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cutline.normalizing import SPACE, Form, Prepend, Strip, normalize
from cutline.pretokenize.analysis import START, Tables
from cutline.pretokenize.charset import CODE_POINTS
from cutline.spec import TokenizerSpec
from cutline.tables import WHOLE_TEXT_PATTERN

__all__ = ["SafePoints"]

_LEAST_GAP = 24  # characters between points that are used: a balance of steps and their length


class SafePoints:
    """Finds safe split points in texts.

    Args:
        spec: of the tokenizer.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        self._spec = spec
        pattern = WHOLE_TEXT_PATTERN if spec.pat_str is None else spec.pat_str
        self._tables = Tables(pattern)
        self._parted = _parted(self._tables)
        # After any character but white space: for what a normal form may have joined.
        solid = [one for one in range(self._tables.end) if not self._is_space_class(one)]
        self._parted_from_all = np.logical_and.reduce(self._parted[solid], axis=0)
        texts = [
            text
            for token in spec.added_tokens
            for text in {token.content, normalize(token.content, spec.normalizer)}
            if text
        ]
        self._within = {pair for text in texts for pair in pairwise(text)}
        self._last = {text[-1] for text in texts} if _changes_after(spec) else set()
        single = [token.content for token in spec.added_tokens if token.single_word]
        self._last_of_words = {text[-1] for text in single}
        self._first_of_words = {text[0] for text in single}
        self._strips_left = any(token.lstrip for token in spec.added_tokens)
        self._last_of_strippers = {t.content[-1] for t in spec.added_tokens if t.rstrip}
        self._known: dict[tuple[str, str], bool] = {}

    def find(self, text: str, begin: int = 0) -> list[int]:
        """List points after `begin`, not all of them but never two that are near.

        Cost: linear in the text.
        """
        classes = self._tables.classes_in(text[begin:])
        parted = self._parted[classes[:-1], classes[1:]] | self._parted_from_all[classes[1:]]
        found, last = [], begin
        for place in (np.flatnonzero(parted) + begin + 1).tolist():
            if place - last >= _LEAST_GAP and self._is_point(text[place - 1], text[place]):
                found.append(place)
                last = place
        return found

    def _is_point(self, before: str, after: str) -> bool:
        pair = before, after
        known = self._known.get(pair)
        if known is None:
            if len(self._known) > 1 << 16:
                self._known.clear()
            known = self._known[pair] = self._decide(before, after)
        return known

    def _decide(self, before: str, after: str) -> bool:
        steps = self._spec.normalizer
        if not all(step.keeps(after) for step in steps):
            return False
        if all(step.keeps(before) for step in steps):
            first, second = self._tables.classes_in(before + after).tolist()
            if not self._parted[first, second]:
                return False
        elif not self._is_solid(before) or not self._is_parted_from_all(after):
            return False
        if (before, after) in self._within or before in self._last:
            return False
        if before in self._last_of_words or after in self._first_of_words:
            return False
        return not self._may_strip(before, after)

    def _is_parted_from_all(self, after: str) -> bool:
        return bool(self._parted_from_all[self._tables.classes_in(after)[0]])

    def _is_solid(self, character: str) -> bool:
        """Tell whether whatever a character becomes is no white space."""
        steps = self._spec.normalizer
        return character not in SPACE and all(
            isinstance(step, Form) and step.name in ("NFC", "NFD") for step in steps
        )

    def _may_strip(self, before: str, after: str) -> bool:
        """Tell whether a token on one side may take white space on the other."""
        if self._strips_left and before in SPACE:
            return True
        strips = self._last_of_strippers
        return bool(strips) and after in SPACE and (before in SPACE or before in strips)

    def _is_space_class(self, number: int) -> bool:
        """Tell whether a class holds white space and nothing else."""
        if number not in self._tables.classes_in(SPACE):
            return False
        inside = self._tables.members([number]).contains(np.arange(CODE_POINTS))
        return int(np.count_nonzero(inside)) == sum(
            bool(inside[ord(character)]) for character in SPACE
        )


def _parted(tables: Tables) -> NDArray[np.bool_]:
    """Tell of each two classes whether no piece holds them in this order; rule 1.

    In whatever state the first one leaves the automaton: the second one must end the piece,
    without being part of it, and like the end of the text.
    """
    n = tables.end
    ends = tables.accepts != 0
    stops = (tables.targets == 0) & (tables.accepts != 1)
    stops &= ends == ends[:, n : n + 1]
    stops[:, n] = False
    parted = np.zeros((n, n), dtype=bool)
    for first in range(n):
        reached = np.unique(tables.targets[START:, first])
        parted[first] = stops[reached[reached != 0], :n].all(axis=0)
    return parted


def _changes_after(spec: TokenizerSpec) -> bool:
    """Tell whether text begins otherwise after an added token."""
    return spec.prefix_space or any(isinstance(one, Prepend | Strip) for one in spec.normalizer)
