"""The settled end of a text that grows at its beginning, for models that encode words apart.

An end is settled from a safe split point on, or from a place inside a long word of which no other
beginning changes the tokens after it. Proof: docs/words.md, "Growing texts".
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from cutline.counting.recounted import Settled
from cutline.kernels.words.intervals import WordIntervals
from cutline.normalizing import SPACE, normalize
from cutline.pipeline.entangled import entangled
from cutline.pipeline.settled_sections import sections_at_end
from cutline.pipeline.settled_words import ends_sections
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
    ) -> None:
        self._pipeline = pipeline
        self._count = count
        self._points = points
        self._counts_texts = counts_texts
        self._tokens = tokens
        self._filler = filler
        self._n_bytes = n_bytes
        self.reach = reach

    def settle(self, more: str) -> "tuple[int, WordsAtEnd] | None":
        """Settle more of a text; see `Settled`."""
        pipeline, count = self._pipeline, self._count
        found = self._after_point(more) or self._inside_word(more)
        if found is None:
            return self._without_vanished(more)
        place, reach, filler = found
        tokens = count(more + self._filler) - count(more[:place] + filler)
        made = normalize(more[place:], pipeline.rules.char_steps)
        n_bytes = self._n_bytes + len(made.encode())
        tokens += self._tokens
        return len(more) - place, self._with(tokens, filler, n_bytes, reach)

    def _with(self, tokens: int, filler: str, n_bytes: int, reach: int) -> "WordsAtEnd":
        rules = self._pipeline, self._count, self._points, self._counts_texts
        return WordsAtEnd(*rules, tokens, filler, n_bytes, reach)

    def _without_vanished(self, more: str) -> "tuple[int, WordsAtEnd] | None":
        """Settle text most of which vanishes: what stays is one with what is settled."""
        pipeline = self._pipeline
        if pipeline.ordinary_finders or pipeline.strips:
            return None
        held = pipeline.rules.without_vanished(more)
        if 2 * len(held) > len(more):
            return None
        n_bytes = self._n_bytes + len(normalize(held, pipeline.rules.char_steps).encode())
        filler = held + self._filler
        return len(more), self._with(self._tokens, filler, n_bytes, self.reach)

    def count_with(self, rest: str) -> int | None:
        """Count the tokens of the text if it begins like this."""
        if self._n_bytes and self._n_bytes + _MOST_BYTES_OF_CHARACTER * len(rest) > _MOST_BYTES:
            return None
        return self._count(rest + self._filler) + self._tokens

    def _after_point(self, more: str) -> tuple[int, int, str] | None:
        """Find the first safe split point: where it is, its reach, and no filler."""
        points = self._points(more)
        place = next((at for at in points if at >= _REACH), 0)
        return (place, _REACH, "") if place else None

    def _inside_word(self, more: str) -> tuple[int, int, str] | None:
        """Find a place inside a word: where it is, its reach, and a filler."""
        pipeline = self._pipeline
        if pipeline.ordinary_of_normalized.texts:
            return None
        if isinstance(pipeline.spec.model, Unigram):
            return self._at_joint(more)
        return self._in_unknown(more + self._filler, len(more))

    def _at_joint(self, more: str) -> tuple[int, int, str] | None:
        """Find it for Unigram: the first joint that no other beginning changes."""
        pipeline = self._pipeline
        edges_of = partial(entangled, pipeline, more)
        starts = WordIntervals(pipeline.kernel, more, edges_of, before=_MOST_BYTES)
        at = starts.start_from(pipeline.longest_token + 1)
        while 0 <= at < len(more):
            if self._is_solid(more[at - 1]) and pipeline.rules.begins_anew(more, at):
                # A token that begins before the text would end before the place.
                made = normalize(more[:at], pipeline.rules.char_steps)
                if len(made) > pipeline.longest_token:
                    return at, at, ""
                at *= 2
            at = starts.start_from(at + 1)
        return None

    def _in_unknown(self, text: str, n: int) -> tuple[int, int, str] | None:
        """Find it for WordPiece: the filler alone is too long for a word that is known."""
        pipeline = self._pipeline
        model, rules = pipeline.spec.model, pipeline.rules
        assert isinstance(model, WordPiece)
        most = model.max_word_characters
        if most > _LONGEST_WORD:
            return None
        place = next((at for at in range(_REACH, n) if rules.begins_anew(text, at)), 0)
        end = place + most + 1
        while end < len(text) and not rules.begins_anew(text, end):
            end += 1
        if not place or end >= len(text):
            return None
        filler = text[place:end]
        if self._counts_texts and pipeline.finder_of_raw.may_find(filler):
            return None  # there may be another at its end
        found = pipeline.kernel.encode_with_spans(filler)
        if found is None or found[1].tolist() != [[0, len(filler)]]:
            return None
        made = normalize(filler, rules.char_steps)
        return (place, _REACH, filler) if len(made) > most else None

    def _is_solid(self, character: str) -> bool:
        """Return whether a character is no blank that is cut off at the end of a text."""
        made = self._pipeline.normal_of(character)
        return character not in SPACE and made != "" and made[-1] not in SPACE


def words_at_end(pipeline: WordPipeline, encoding: TextEncoder) -> Settled:
    """Begin a text that grows at its beginning."""
    is_cut = bool(pipeline.ordinary_of_raw.texts) and not pipeline.ordinary_of_normalized.texts
    is_cut = is_cut and ends_sections(pipeline)

    def points_of_section(text: str) -> list[int]:  # no added token lies across them, or beside
        return pipeline.kernel.raw.sure_starts(text, 0, _REACH)

    if not is_cut:
        return WordsAtEnd(pipeline, encoding.count, pipeline.safe_points.find, True)
    count = partial(pipeline.count_section, encoding)

    def begin() -> Settled:
        return WordsAtEnd(pipeline, count, points_of_section, False)

    return sections_at_end(pipeline.finder_of_raw, pipeline.ordinary_of_raw, begin, count)
