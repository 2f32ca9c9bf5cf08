"""An upper bound for the end of a slice with n tokens, in a text without safe split points.

Each token covers at most as many bytes as the longest one that consists of bytes of the text; and
where tokens cover just the text, n of them reach no farther than if each began at the end of the
one before, or earlier, and were the one that reaches farthest. At the end of a slice, a step may
change a few characters otherwise than in the whole text. One token may extend into these, so the
length of the longest token of all is added. Many marks on one letter are sorted, so that a later
one can move before the others: of these it is only certain that the tokens inside them consist of
marks.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import takewhile
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.splitting import end_of_tokens_from, furthest_end, least_tokens
from cutline.normalizing import SPACE, Form, Lower, Strip, normalize
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.marked_cover import MarkedCover
from cutline.pipeline.marks import Cover, most_marks, sorting_steps
from cutline.pipeline.sure_pieces import SurePieces
from cutline.pretokenize.neighbours import Neighbours
from cutline.spec import TokenizerSpec
from cutline.text_encoder import TextEncoder
from cutline.words.beginnings import BeginsAnew
from cutline.words.prefixes import Prefixes

__all__ = ["UpperBound"]

_LONGER: Final = np.array([0x80, 0x800, 0x10000])  # code points that have one byte more
_MANY_MARKS: Final = 32  # for fewer no bound is looked for
_SOLID: Final = re.compile(f"[^{SPACE}]")
_SPACE_POINTS: Final = np.array([*map(ord, SPACE)])


class UpperBound:
    """Bounds the ends of slices that have at most n tokens.

    Attributes:
        longest: bytes of the longest token.

    Args:
        spec: the tokenizer.
        finders: find the added tokens that ordinary text can contain.
        neighbours: what is known of the pieces of its texts.
        pieces: finds those that are sure; None: one pattern splits texts, and leaves nothing out.
    """

    def __init__(
        self,
        spec: TokenizerSpec,
        finders: tuple[AddedFinder, ...],
        neighbours: Neighbours,
        pieces: SurePieces | None,
    ) -> None:
        vocabulary, steps = spec.vocabulary, spec.normalizer
        self._spec = spec
        self._finders = finders
        self._arena = np.frombuffer(vocabulary.arena, dtype=np.uint8)
        self._starts = vocabulary.offsets[:-1].astype(np.int64)
        self._lengths = vocabulary.lengths.astype(np.int64)
        self.longest = int(self._lengths.max())
        self._added = [pair for one in finders for pair in one.texts.items() if pair[0]]
        found = dict(self._added)
        self._longest_added = max((len(text.encode()) for text in found), default=0)
        # No token of the text between added tokens contains the text of an added token.
        sure = [
            text.encode() for text, token in found.items()
            if (token.normalized or not steps) and not token.single_word
        ]  # fmt: skip
        if sure:
            holds = re.compile(b"|".join(map(re.escape, sure))).search
            held = [place for place, token in enumerate(vocabulary.tokens()) if holds(token)]
            self._lengths[held] = 1
        # Any amount of white space may be removed, or belong to an added token.
        self._skips_space = any(isinstance(step, Strip) for step in steps) or any(
            token.lstrip or token.rstrip for token in found.values()
        )
        # At the end of a slice, a step may make an added token that strips white space.
        self._strips_at_end = any(
            (token.lstrip or token.rstrip) and token.normalized for token in found.values()
        )
        self._in_raw_added = frozenset(
            "".join(text for text, token in self._added if not token.normalized)
        )
        self._begun = {
            text[:end]
            for text, token in self._added if token.normalized
            for end in range(1, len(text))
        }  # fmt: skip
        self._strips_left = any(token.lstrip for token in found.values() if not token.normalized)
        self._begins_anew = BeginsAnew.inside(steps)
        self._forms = [step for step in steps if isinstance(step, Form)]
        self._sorts_marks = bool(self._forms) and all(
            isinstance(step, Form | Lower) for step in steps
        )
        self._known: dict[bytes, int] = {}
        self._marked_cover = MarkedCover(spec) if spec.marks_words else None
        self._pieces = pieces
        self._neighbours = None if pieces is None else neighbours

    def limit(
        self, encoder: TextEncoder, text: str, n: int, prefixes_of: Callable[[str], Prefixes]
    ) -> int:
        """Return an end such that no longer prefix of a text has at most n tokens.

        Args:
            encoder: its vocabulary is that of the spec.
            text: any text.
            n: the budget.
            prefixes_of: returns what prefixes of a text become.

        Cost: linear in that end, or in the text if steps remove characters.
        """
        marks = cache(lambda: self._bytes_of_marks(text) if self._sorts_marks else set())
        size = 2 * n + 32
        while size < len(text):
            sure = self._without_added(text, size)
            end = self._limit_in(encoder, prefixes_of(text[:size]), text[:size], sure, n, marks)
            if end is not None:
                return end
            size *= 2
        end = self._limit_in(encoder, prefixes_of(text), text, len(text), n, marks)
        return len(text) if end is None else end

    def covers_all(self, changed: str) -> bool:
        """Return whether tokens cover just what steps make of a slice, whatever the pieces.

        Args:
            changed: what steps make of it; without added tokens.
        """
        if self._strips_at_end:
            return False
        return bool(np.all(self._in_pieces_of(changed)))

    def end_of_marks(self, text: str, place: int) -> int:
        """Find the first place from one on where a text can be cut, and no mark is moved across."""
        while place < len(text) and not all(form.begins(text[place]) for form in self._forms):
            place += 1
        return place

    def start_of_marks(self, text: str, end: int) -> int:
        """Return where the stretch starts, whose marks may change one another, that ends there."""
        start = end - 1
        while start > 0 and not self._begins_anew.at(text, start):
            start -= 1
        return start

    def most_with_marks(
        self, encoder: TextEncoder, prefixes: Prefixes, text: str, start: int, n: int
    ) -> int:
        """Bound the prefixes of a text that fit, if they end in its last stretch of marks.

        Args:
            encoder: see `limit`.
            prefixes: what prefixes of the text, or of a longer one, become.
            text: without added tokens.
            start: where the stretch starts.
            n: the budget.

        Returns:
            The most characters; no longer text that begins like this one fits, if these are fewer
            than it has.
        """
        stretch = text[start:]
        steps = sorting_steps(self._spec.normalizer, stretch[1:])
        if len(stretch) <= _MANY_MARKS or steps is None:
            return len(text)
        written = "".join(normalize(one, steps) for one in set(stretch[1:]))
        marks = set(stretch[1:] + written)
        # White space may be cut off at the end; ASCII may be in any token; and an added token of
        # the given text is found before marks are sorted.
        if any(one.isascii() or one in SPACE or one in self._in_raw_added for one in marks):
            return len(text)
        if not self.covers_all(normalize(stretch, steps)):
            return len(text)
        cover: Cover = partial(least_tokens, encoder)
        if self._marked_cover is not None:
            cover = self._marked_cover.least_tokens
        before, least = prefixes.normalized[: prefixes.of(start)[0]], 0
        if self.covers_all(before):
            # One more token may begin before the stretch and end in it.
            across = max(self.longest, self._longest_added)
            least = int(cover(before.encode())[-across:][0])
        longest = self._longest_with(self._bytes_of_marks(stretch) | set(written.encode()))
        with_marks = [text.encode() for text, _ in self._added if not marks.isdisjoint(text)]
        longest = max(longest, *map(len, with_marks), 0)
        return start + most_marks(stretch, steps, cover, longest, n - least)

    def _limit_in(
        self,
        encoder: TextEncoder,
        prefixes: Prefixes,
        text: str,
        sure: int,
        n: int,
        marks_of_all: Callable[[], set[int]],
    ) -> int | None:
        """Return the bound if this prefix of the text determines it, else None.

        No added token of the text that goes on after the prefix has, or strips, what is before
        `sure`.
        The bytes of the whole text's marks are asked for only if it has many marks at its end.
        """
        changed = prefixes.normalized
        may_have_added = any(
            finder.may_find(text) or finder.may_find(changed) for finder in self._finders
        )
        has_added = may_have_added and any(
            finder.finds(text) or finder.finds(changed) for finder in self._finders
        )
        written = set(changed.encode())
        if self._spec.marks_words:
            written.add(ord(" "))
        if self._spec.normalizer and has_added:
            written |= set(text.encode())
        added = self._longest_added * has_added
        # Of an unknown character that pieces of a model over characters have, too.
        unknown = 4 if self._spec.marks_words and self._spec.characters is not None else 0
        longest = max(self._longest(bytes(sorted(written))), added, unknown)
        points = np.frombuffer(changed.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        lengths = 1 + np.searchsorted(_LONGER, points, side="right")
        if self._skips_space and has_added:
            lengths[np.isin(points, _SPACE_POINTS)] = 0
        in_pieces = self._in_pieces_of(changed)
        ends = np.cumsum(in_pieces * lengths)
        most = n * longest + self.longest + self._longest_added
        beyond = int(np.searchsorted(ends, most, side="right"))
        if not has_added:
            over = self.end_over(encoder, changed, n)
            if over is not None:
                beyond = min(
                    beyond, over + self._longest_added * self._may_have_begun(changed, over)
                )
        # One for single words may count at the end of a slice, where it does not in the whole.
        more = self._longest_added * (may_have_added and not has_added)
        beyond += more
        if self._strips_at_end:
            beyond = _solid_end(changed, beyond)
        end = prefixes.first_beyond(beyond + 1) + more
        if end <= sure:
            return end
        if not has_added:
            start = self.start_of_marks(text, len(text))
            end = self.most_with_marks(encoder, prefixes, text, start, n)
            if end < len(text):
                return end
        n_marks = sum(1 for _ in _marks_at_end(changed)) if self._forms else 0
        marks = marks_of_all() if n_marks else None
        if not marks or not np.all(self._in_pieces_of(changed[-n_marks:])):
            return None
        # Later marks may be sorted before all these, so their bytes count, too.
        longest = max(self._longest(bytes(sorted(marks))), self._longest_added)
        at_ends = 2 * (self._longest_with(marks) + self._longest_added)
        if _length_of_marks(changed) > n * longest + at_ends:
            return len(text)
        return None

    def _without_added(self, text: str, size: int) -> int:
        """Return up to where no added token goes that ends after a size, or begins there."""
        last = max(0, size - self._longest_added)
        if not self._strips_left:
            return last
        near = text[last : _solid_end(text, last) + self._longest_added]
        if not any(finder.may_find(near) for finder in self._finders):
            return last
        return len(text[:last].rstrip(SPACE))

    def end_over(self, encoder: TextEncoder, changed: str, n: int) -> int | None:
        """Return how much of a changed text has more than n tokens, whatever comes after it."""
        over = None if self._pieces is None else self._pieces.end_over(encoder, changed, n)
        if self._marked_cover is not None or not self.covers_all(changed):
            return over
        # A token that begins there, or before, and goes on after what is known.
        utf8 = changed.encode()
        reached = end_of_tokens_from(encoder, utf8, furthest_end(encoder, utf8, n))
        if reached < 0:
            return over
        covered = len(utf8[:reached].decode(errors="ignore"))
        return covered if over is None else min(covered, over)

    def _may_have_begun(self, changed: str, place: int) -> bool:
        """Return whether an added token of a changed text may lie across a place.

        One that the whole of it has not: it may be at the end of a slice, or of what is known.
        """
        return any(
            changed[start:place] in self._begun
            for start in range(max(0, place - self._longest_added), place)
        )

    def _in_pieces_of(self, text: str) -> NDArray[np.bool_] | bool:
        """Return for each character whether it is sure to be in a piece, wherever one begins."""
        if self._neighbours is None:
            return True
        found: NDArray[np.bool_] = self._neighbours.in_pieces[self._neighbours.classes_in(text)]
        return found

    def _bytes_of_marks(self, text: str) -> set[int]:
        """List the bytes that the marks of a text can become."""
        marks = [one for one in set(text) if not all(form.begins(one) for form in self._forms)]
        made = [form.apply(mark) for form in self._forms for mark in marks]
        return set("".join([unicodedata.normalize("NFKD", "".join(marks)), *marks, *made]).encode())

    def _longest(self, present: bytes) -> int:
        """Find the length of the longest token that consists of these bytes."""
        if present not in self._known:
            if len(self._known) > 1 << 10:
                self._known.clear()
            allowed = np.zeros(256, dtype=bool)
            allowed[list(present)] = True
            inside = np.logical_and.reduceat(allowed[self._arena], self._starts)
            self._known[present] = int(self._lengths[inside].max(initial=1))
        return self._known[present]

    def _longest_with(self, marks: set[int]) -> int:
        """Find the length of the longest token that can have part of a mark at an end."""
        first = np.zeros(256, dtype=bool)
        first[[byte for byte in marks if byte >= 0xC0]] = True
        begun = np.logical_or.reduceat(first[self._arena], self._starts)
        return max(4, int(self._lengths[begun].max(initial=0)))


def _solid_end(text: str, place: int) -> int:
    """Return where the first character ends from a place on that is no white space."""
    found = _SOLID.search(text, place)
    return len(text) if found is None else found.end()


def _length_of_marks(text: str) -> int:
    """Count the bytes of the marks at the end, minus those that may compose with a letter."""
    return len("".join(_marks_at_end(text)).encode()) - 16


def _marks_at_end(text: str) -> Iterator[str]:
    return takewhile(unicodedata.combining, reversed(text))
