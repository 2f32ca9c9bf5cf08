"""Safe split points: where a text can be split into parts that are encoded separately.

A safe split point lies between two characters, and these two alone determine it:

1. no piece of the split pattern contains the two in this order, and a piece ends between
   them if and only if it would end there at the end of the text;
2. no step of the tokenizer changes either because of the other; and
3. no added token can match across the point, or strip white space or check for a word
   across it.

Then the tokens of any slice are those before the point followed by those after it. The
proof is in docs/tokenizers.md.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.known_pairs import KnownPairs
from cutline.kernels.base.utf8 import has_surrogates
from cutline.normalizing import (
    SPACE,
    Form,
    Prepend,
    Replace,
    Spell,
    Step,
    Strip,
    Unknown,
    normalize,
)
from cutline.pipeline.added import is_of_word
from cutline.pipeline.before_blanks import blank_begins, solid_end
from cutline.pretokenize.charset import CODE_POINTS
from cutline.pretokenize.neighbours import Neighbours
from cutline.spec import TokenizerSpec
from cutline.tables import WHOLE_TEXT_PATTERN

__all__ = ["SafePoints"]

_WINDOW = 1 << 18  # characters
_NONE = np.empty(0, dtype=np.int64)
_LEAST_GAP = 24  # characters: where parts between are counted, it balances their number and length


class SafePoints:
    """Finds safe split points in texts.

    Args:
        spec: the tokenizer.

    Attributes:
        neighbours: which characters are in different pieces.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        self._spec = spec
        pattern = WHOLE_TEXT_PATTERN if spec.pat_str is None else spec.pat_str
        self.neighbours = Neighbours(pattern, spec.splittings)
        self._never_joined = self.neighbours.apart
        written = [
            (text, token)
            for token in spec.added_tokens
            for text in {token.content, normalize(token.content, spec.normalizer)}
            if text
        ]
        texts = [text for text, _ in written]
        self._within = {pair for text in texts for pair in pairwise(text)}
        self._last = set[str]()
        if _changes_after(spec):
            self._last = {text[-1] for text in texts}
            if any(token.rstrip for token in spec.added_tokens):
                self._last |= set(SPACE)  # one may end there that strips it
        single = [text for text, token in written if token.single_word]
        self._last_of_words = {text[-1] for text in single}
        self._first_of_words = {text[0] for text in single}
        self._strips_left = any(token.lstrip for token in spec.added_tokens)
        self._last_of_strippers = {text[-1] for text, token in written if token.rstrip}
        self._known: dict[tuple[str, str], bool] = {}
        # Each is asked once for a character.
        self._is_kept = cache(self._keeps)
        self._shown_as = cache(self._outline)
        self._composites_of = cache(self._find_composites)
        # Hundreds of syllables become one of the same hundreds.
        self._classes_after = cache(self._find_classes_after)
        self._outlines = _outlines(spec.normalizer)
        # Two unknown characters that become one.
        self._fused = next(
            (
                2 * one.stand_ins
                for one in spec.normalizer
                if isinstance(one, Unknown) and one.fuses
            ),
            "",
        )

    def find(self, text: str, begin: int = 0) -> list[int]:
        """List points after `begin`, of those that are close to one another the first.

        Cost: linear in the text.
        """
        found, last = [], begin
        for place in self._all_after(text, begin).tolist():
            if place - last >= _LEAST_GAP:
                found.append(place)
                last = place
        return found

    @cached_property
    def _pairs(self) -> KnownPairs:
        return KnownPairs(self.is_between)

    def all_of(self, text: str) -> NDArray[np.int64]:
        """Return all points of a text: int64.

        Cost: linear in the text.
        """
        return self._all_after(text, 0)

    def _all_after(self, text: str, begin: int) -> NDArray[np.int64]:
        """Return all points after `begin`."""
        found = [self._points_of(window) + start for start, window in _windows(text, begin)]
        return found[0] if len(found) == 1 else np.concatenate([_NONE, *found])

    def _points_of(self, text: str) -> NDArray[np.int64]:
        """Return the points of a window of a text."""
        places, doubtful = self._candidates(text), self._doubtful
        if doubtful is None or has_surrogates(text):
            return np.asarray(self._pairs.places_of(text, places))
        ends = (found.end() for found in doubtful.finditer(text))
        wrong = [at for at in ends if at < len(text) and not self.holds_at(text, at)]
        return places[~np.isin(places, wrong)] if wrong else places

    @cached_property
    def _doubtful(self) -> re.Pattern[str] | None:
        """Matches each character behind which a candidate may be no point; None: any may.

        Where each character is changed on its own, only the ends and the insides of added tokens
        are such. Scripts without blanks have too many pairs to keep what is known of each.
        """
        tokens_look = self._last_of_words or self._strips_left or self._last_of_strippers
        if not self._outlines or self._fused or tokens_look:
            return None
        firsts = self._last | {before for before, _ in self._within}
        for step in reversed(self._spec.normalizer):
            if isinstance(step, Spell | Unknown) and firsts & set(step.stand_ins):
                return None
            if isinstance(step, Replace) and step.new in firsts:
                firsts.add(step.old)
        written = "".join(map(re.escape, sorted(firsts)))
        return re.compile(f"[{written}]" if written else "(?!)")

    def holds_at(self, text: str, place: int) -> bool:
        """Return whether a place between two characters is a point."""
        return self.is_between(text[place - 1], text[place])

    def first(self, text: str, begin: int = 0) -> int | None:
        """Find the first point of a text after `begin`; None: it has none.

        Cost: linear in the text.
        """
        for start, window in _windows(text, begin):
            for at in self._candidates(window).tolist():
                if self.is_between(window[at - 1], window[at]):
                    return start + int(at)
        return None

    def _candidates(self, text: str) -> NDArray[np.int64]:
        """List the places in a text that the split pattern alone makes points."""
        return self.neighbours.places_of(self._outline(text), self._may_be_apart)

    @cached_property
    def _blank_begins(self) -> bool:
        return blank_begins(self._spec.normalizer)

    @cached_property
    def _may_be_apart(self) -> NDArray[np.bool_]:
        """The pairs of classes of which two characters may have a point between them."""
        if not self._spec.normalizer or self._outlines:
            return self._never_joined
        return self._never_joined | self._always_begins

    @cached_property
    def _always_begins(self) -> NDArray[np.bool_]:
        """The classes that begin a piece after any character but white space.

        For characters that a normal form may have composed.
        """
        solid = [one for one in range(self.neighbours.n_classes) if not self._is_space_class(one)]
        begins: NDArray[np.bool_] = np.logical_and.reduce(self._never_joined[solid], axis=0)
        return begins

    @cached_property
    def tables(self) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """A class of each code point, and the pairs of classes that are points.

        They hold for texts that the normalizer has changed and that have no added tokens.
        """
        return self.neighbours.tables_of(self._never_joined)

    def is_between(self, before: str, after: str) -> bool:
        """Return whether there is a point between two characters."""
        pair = before, after
        known = self._known.get(pair)
        if known is None:
            if len(self._known) > 1 << 16:
                self._known.clear()
            known = self._known[pair] = self._decide(before, after)
        return known

    def _decide(self, before: str, after: str) -> bool:
        steps = self._spec.normalizer
        if _is_surrogate(before) or _is_surrogate(after):
            return False  # two may be one character
        if self._outlines:
            shown = self._shown_as(before) + self._shown_as(after)
            if shown == self._fused or not self._apart(shown) or (*shown,) in self._within:
                return False
        elif not self._is_kept(after):
            if after != " " or not self._blank_begins:
                return False
            end = solid_end(before, steps)
            if not end or not self._apart(end + after) or not self._is_free(end, after):
                return False
        elif self._is_kept(before):
            if not self._apart(before + after):
                return False
        elif not self._is_solid(before) or not self._begins_a_piece(after):
            return False
        if not self._is_point_before_composites(before, after):
            return False
        return self._is_free(before, after)

    def _is_free(self, before: str, after: str) -> bool:
        """Return whether no added token has, strips or looks at both."""
        if (before, after) in self._within or before in self._last:
            return False
        if self._last_of_words and self._may_part_words(before, after):
            return False
        return not self._may_strip(before, after)

    def _may_part_words(self, before: str, after: str) -> bool:
        """Return whether a token for single words may count only if a text ends there or begins."""
        ends = before in self._last_of_words or self._may_become_another(before)
        begins = after in self._first_of_words or self._may_become_another(after)
        return (ends and not self._stays_apart(after)) or (begins and not self._stays_apart(before))

    def _may_become_another(self, character: str) -> bool:
        """Return whether a character may change with those beside it."""
        return not self._outlines and not self._is_kept(character)

    def _stays_apart(self, character: str) -> bool:
        """Return whether a character is of no word, and changes into none of one.

        ASCII composes with marks into letters, or into signs: none of one with the other.
        """
        return character.isascii() and not is_of_word(character) and self._is_kept(character)

    def _keeps(self, character: str) -> bool:
        """Return whether a character stays unchanged, whatever is beside it."""
        return all(step.keeps(character) for step in self._spec.normalizer)

    def _is_point_before_composites(self, before: str, after: str) -> bool:
        """Return whether pieces end there, too, if what follows composes with the second one."""
        classes = self._composites_of(after)
        if not classes.size:
            return True
        if classes[0] < 0:
            return False
        if self._is_kept(before):
            return bool(self._never_joined[self.neighbours.class_of(before), classes].all())
        return bool(self._always_begins[classes].all())

    def _find_composites(self, character: str) -> NDArray[np.int64]:
        """Return the classes of what a character may become; -1 for what is removed then."""
        found = set[int]()
        for place, step in enumerate(self._spec.normalizer):
            if isinstance(step, Form):
                found |= self._classes_after(step.composites(character), place)
        return np.array(sorted(found), dtype=np.int64)

    def _find_classes_after(self, characters: str, place: int) -> frozenset[int]:
        """Return the same of what a step makes of some character, by its place."""
        steps = self._spec.normalizer[place + 1 :]
        made = (normalize(one, steps, at_start=False) for one in characters)
        return frozenset(self.neighbours.class_of(one[0]) if one else -1 for one in made)

    def _outline(self, text: str) -> str:
        """Write a text as pieces see it, where steps change characters one by one."""
        for outline in self._outlines:
            text = outline(text)
        return text

    def _apart(self, pair: str) -> bool:
        """Return whether no piece contains these two characters."""
        first, second = map(self.neighbours.class_of, pair)
        return bool(self._never_joined[first, second])

    def _begins_a_piece(self, after: str) -> bool:
        return bool(self._always_begins[self.neighbours.class_of(after)])

    def _is_solid(self, character: str) -> bool:
        """Return whether a character can never become white space."""
        steps = self._spec.normalizer
        return character not in SPACE and all(
            isinstance(step, Form) and step.name in ("NFC", "NFD") for step in steps
        )

    def _may_strip(self, before: str, after: str) -> bool:
        """Return whether a token on one side may strip white space on the other."""
        if self._strips_left and before in SPACE:
            return True
        strips = self._last_of_strippers
        return bool(strips) and after in SPACE and (before in SPACE or before in strips)

    def _is_space_class(self, number: int) -> bool:
        """Return whether a class contains white space only."""
        if number not in self.neighbours.classes_in(SPACE):
            return False
        inside = self.neighbours.members(number).contains(np.arange(CODE_POINTS))
        return int(np.count_nonzero(inside)) == sum(
            bool(inside[ord(character)]) for character in SPACE
        )


def _windows(text: str, begin: int) -> Iterator[tuple[int, str]]:
    """Yield windows of a text from a place on, with their offsets.

    Each begins with the last character of the one before. In between Ctrl-C is looked for.
    """
    for start in range(begin, len(text) - 1, _WINDOW):
        yield start, text[start : start + _WINDOW + 1]


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _outlines(steps: tuple[Step, ...]) -> list[Callable[[str], str]]:
    """Return what writes a text with one character for each, as pieces see it.

    Nothing unless each character is changed on its own: then a boundary in the outline is one in
    the changed text, whatever a character is spelled with.
    """
    found: list[Callable[[str], str]] = []
    for step in steps:
        match step:
            case Spell() | Unknown():
                found.append(step.outline)
            case Replace(old, new) if len(old) == len(new) == 1:
                found.append(step.apply)
            case Prepend():
                pass
            case _:
                return []
    return found


def _changes_after(spec: TokenizerSpec) -> bool:
    """Return whether text after an added token is changed like the start of a text."""
    return spec.prefix_space or any(isinstance(one, Prepend | Strip) for one in spec.normalizer)
