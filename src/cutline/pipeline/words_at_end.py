"""The settled end of a text that grows at its beginning, for models that encode words apart.

An end is settled from a safe split point on, or from a place inside a long word of which no other
beginning changes the tokens after it. Proof: docs/words.md, "Growing texts".
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from cutline.counting.recounted import RecountedPrepender, Settled
from cutline.kernels.words.intervals import WordIntervals
from cutline.normalizing import SPACE, normalize
from cutline.pipeline.entangled import EntangledParts
from cutline.pipeline.settled_sections import sections_at_end
from cutline.pipeline.settled_text import Sections, SettledText
from cutline.pipeline.settled_words import ends_sections, has_plain_sections
from cutline.pipeline.words import WordPipeline
from cutline.text_encoder import TextEncoder
from cutline.words.models import Unigram, WordPiece

__all__ = ["WordsAtEnd", "words_at_end"]

_MOST_BYTES: Final = 1 << 22  # of the normal form of a text: in longer ones rounding is unknown
_MOST_BYTES_OF_CHARACTER: Final = 256
_REACH: Final = 2  # characters on each side of a place that decide about it
_LONGEST_WORD: Final = 4096  # characters: WordPiece may know words that are longer


class WordsAtEnd:
    """See `counting.recounted.Settled`.

    Args:
        pipeline: normalizes and splits.
        count: counts.
        points: lists safe split points.
        counts_texts: `count` finds added tokens; or else it takes what is between two.
        tokens: what the text has more than what is before it, and the filler, together.
        filler: stands for what is settled of the word that it begins in; it is its beginning.
        n_bytes: of its normal form.
        reach: see `Settled`.
        is_normal: the text is normalized.
        normalizes: begins one that normalizes what it gets; None: it cannot be had.
    """

    gap = 1
    least = 0

    def __init__(
        self,
        pipeline: WordPipeline,
        count: Callable[[str], int],
        points: Callable[[str], list[int]],
        counts_texts: bool,
        tokens: int = 0,
        filler: str = "",
        n_bytes: int = 0,
        reach: int = 1,
        *,
        is_normal: bool = False,
        normalizes: Callable[[], Settled] | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._count = count
        self._points = points
        self._counts_texts = counts_texts
        self.tokens = tokens
        self._filler = filler
        self._n_bytes = n_bytes
        self.reach = reach
        self._is_normal = is_normal
        self._normalizes = normalizes

    def settle(self, more: str) -> "tuple[int, Settled] | None":
        """Settle more of a text; see `Settled`."""
        if point := self.after_point(more):
            tokens = self._count(more + self._filler) + self.tokens
            return len(more) - point, self.before_point(more[:point], tokens)
        found = self._inside_word(more)
        if found is None:
            return self._without_vanished(more) or self._normalized(more)
        place, reach, filler = found
        tokens = self._count(more + self._filler) - self._count(more[:place] + filler)
        n_bytes = self._n_bytes + len(self._made_of(more[place:]).encode())
        return len(more) - place, self._with(tokens + self.tokens, filler, n_bytes, reach)

    def before_point(self, text: str, tokens: int) -> "WordsAtEnd":
        """Return what is settled from a safe split point on.

        Args:
            text: what is before it.
            tokens: of all, if the text begins with that.
        """
        return self._with(tokens - self._count(text), "", 0, _REACH)

    def _with(self, tokens: int, filler: str, n_bytes: int, reach: int) -> "WordsAtEnd":
        rules = self._pipeline, self._count, self._points, self._counts_texts
        return WordsAtEnd(
            *rules, tokens, filler, n_bytes, reach,
            is_normal=self._is_normal, normalizes=self._normalizes,
        )  # fmt: skip

    def most_bytes(self, text: str) -> int:
        """Return no fewer bytes than the normal form of a part of the text has."""
        return len(self._made_of(text).encode()) + _MOST_BYTES_OF_CHARACTER

    def _made_of(self, text: str) -> str:
        return text if self._is_normal else normalize(text, self._pipeline.rules.char_steps)

    def _begins_anew(self, text: str, place: int) -> bool:
        return self._is_normal or self._pipeline.rules.begins_anew(text, place)

    def _normalized(self, more: str) -> "tuple[int, Settled] | None":
        """Go on with the normal form, of which more can be settled."""
        if self._normalizes is None:
            return None
        found = self._normalizes().settle(more + self._filler)
        if found is None or (n := found[0] - len(self._filler)) < 1:
            return None
        return n, _FormAtEnd(
            self, found[1], self._n_bytes and self._n_bytes + self.most_bytes(more)
        )

    def _without_vanished(self, more: str) -> "tuple[int, WordsAtEnd] | None":
        """Settle text most of which vanishes: what stays is one with what is settled."""
        pipeline = self._pipeline
        if self._is_normal or pipeline.ordinary_finders or pipeline.strips:
            return None
        held = pipeline.rules.without_vanished(more)
        if 2 * len(held) > len(more):
            return None
        n_bytes = self._n_bytes + len(normalize(held, pipeline.rules.char_steps).encode())
        filler = held + self._filler
        return len(more), self._with(self.tokens, filler, n_bytes, self.reach)

    def count_with(self, rest: str) -> int | None:
        """Count the tokens of the text if it begins like this."""
        if self._n_bytes and self._n_bytes + _MOST_BYTES_OF_CHARACTER * len(rest) > _MOST_BYTES:
            return None
        return self._count(rest + self._filler) + self.tokens

    def after_point(self, more: str) -> int:
        """Find the first safe split point; 0: there is none."""
        return next((at for at in self._points(more) if at >= _REACH), 0)

    def _inside_word(self, more: str) -> tuple[int, int, str] | None:
        """Find a place inside a word: where it is, its reach, and a filler."""
        pipeline = self._pipeline
        if pipeline.ordinary_of_normalized.texts and not self._is_normal:
            return None
        if isinstance(pipeline.spec.model, Unigram):
            return self._at_joint(more)
        return self._in_unknown(more + self._filler, len(more))

    def _at_joint(self, more: str) -> tuple[int, int, str] | None:
        """Find it for Unigram: the first joint that no other beginning changes."""
        pipeline = self._pipeline
        edges_of = partial(EntangledParts, pipeline, more)
        starts = WordIntervals(
            pipeline.kernel, more, edges_of, is_plain=self._is_normal, before=_MOST_BYTES
        )
        at = starts.start_from(pipeline.longest_token + 1)
        while 0 <= at < len(more):
            is_apart = self._is_solid(more[at - 1]) and self._is_apart(more, at)
            if is_apart and self._begins_anew(more, at):
                # A token that begins before the text would end before the place.
                if len(self._made_of(more[:at])) > pipeline.longest_token:
                    return at, at, ""
                at *= 2
            at = starts.start_from(at + 1)
        return None

    def _in_unknown(self, text: str, n: int) -> tuple[int, int, str] | None:
        """Find it for WordPiece: the filler alone is too long for a word that is known."""
        pipeline = self._pipeline
        model = pipeline.spec.model
        assert isinstance(model, WordPiece)
        most = model.max_word_characters
        if most > _LONGEST_WORD:
            return None
        places = (at for at in range(_REACH, n) if self._begins_anew(text, at))
        place = next((at for at in places if self._is_apart(text, at)), 0)
        end = place + most + 1
        while end < len(text) and not self._begins_anew(text, end):
            end += 1
        if not place or end >= len(text):
            return None
        filler = text[place:end]
        if self._counts_texts and self._may_end_in(text, place, end):
            return None
        found = pipeline.kernel.encode_with_spans(filler, self._is_normal)
        if found is None or found[1].tolist() != [[0, len(filler)]]:
            return None
        return (place, _REACH, filler) if len(self._made_of(filler)) > most else None

    def _is_apart(self, text: str, place: int) -> bool:
        """Return whether no added token lies across a place, whatever is around the text.

        Nor may one end there that counts by what follows, or strips it.
        """
        tokens = self._pipeline.finder_of_raw.texts if self._counts_texts else {}
        for written, token in tokens.items():
            n = len(written)
            for n_before in range(1, n + (token.single_word or token.rstrip)):
                after = text[place : place + n - n_before]
                before = text[max(0, place - n_before) : place]
                if written.startswith(after, n_before) and written[:n_before].endswith(before):
                    return False
        return True

    def _may_end_in(self, text: str, start: int, end: int) -> bool:
        """Return whether an added token may end a word in a part of a text, or strip some of it."""
        finder = self._pipeline.finder_of_raw
        longest = max(map(len, finder.texts), default=0)
        strips = any(one.lstrip or one.rstrip for one in finder.texts.values())
        has_space = strips and not set(SPACE).isdisjoint(text[start:end])
        return has_space or finder.may_find(text[start : end + max(longest - 1, 0)])

    def _is_solid(self, character: str) -> bool:
        """Return whether a character is no blank that is cut off at the end of a text."""
        made = character if self._is_normal else self._pipeline.normal_of(character)
        white = self._pipeline.rules.white
        return character not in white and made != "" and made[-1] not in white


class _FormAtEnd:
    """The same of a text, before such an end, whose normal form is counted.

    Args:
        end: what is settled after it.
        settled: of the text and the filler.
        n_bytes: of the normal form of both, and what is after the filler; 0: that is nothing.
    """

    reach = 1
    least = 0

    def __init__(self, end: WordsAtEnd, settled: Settled, n_bytes: int) -> None:
        self._end = end
        self._settled = settled
        self._n_bytes = n_bytes
        self.gap = settled.gap

    def settle(self, more: str) -> "tuple[int, Settled] | None":
        """Settle more of a text; see `Settled`."""
        end, tokens = self._end, self.count_with(more)
        if tokens is not None and (point := end.after_point(more)):
            return len(more) - point, end.before_point(more[:point], tokens)
        found = self._settled.settle(more)
        if found is None:
            return None
        n_bytes = self._n_bytes and self._n_bytes + end.most_bytes(more[-found[0] :])
        return found[0], _FormAtEnd(end, found[1], n_bytes)

    def count_with(self, rest: str) -> int | None:
        """Count the tokens of the text if it begins like this."""
        if self._n_bytes and self._n_bytes + _MOST_BYTES_OF_CHARACTER * len(rest) > _MOST_BYTES:
            return None
        tokens = self._settled.count_with(rest)
        return None if tokens is None else tokens + self._end.tokens


def words_at_end(pipeline: WordPipeline, encoding: TextEncoder) -> Settled:
    """Begin a text that grows at its beginning."""
    raw, kernel = pipeline.ordinary_of_raw, pipeline.kernel
    searches = bool(pipeline.ordinary_of_normalized.texts)
    ends = ends_sections(pipeline)
    is_cut = bool(raw.texts) and not searches and ends

    def points_of_section(text: str) -> list[int]:  # no added token lies across them, or beside
        return kernel.raw.sure_starts(text, 0, _REACH)

    def begin_normal() -> Settled:
        points = partial(kernel.plain.sure_starts, begin=0, gap=_REACH)
        return WordsAtEnd(pipeline, sections.count, points, False, is_normal=True)

    sections: Any = Sections(pipeline, begin_normal, begin_normal, pipeline.count_kept)

    def begin_form() -> Settled:
        return SettledText(encoding, pipeline.form_at_beginning, RecountedPrepender(sections))

    # Its sections are whole texts, or what is between added tokens.
    may = has_plain_sections(pipeline) if searches else ends
    normalizes = begin_form if may and (is_cut or not raw.texts) else None
    if not is_cut:
        find = pipeline.safe_points.find
        return WordsAtEnd(pipeline, encoding.count, find, True, normalizes=normalizes)
    count = partial(pipeline.count_section, encoding)

    def begin() -> Settled:
        return WordsAtEnd(pipeline, count, points_of_section, False, normalizes=normalizes)

    return sections_at_end(pipeline.finder_of_raw, raw, begin, count)
