"""Cutting: the half of `Encoding` that fits texts into budgets, and counts slices and growth."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any, cast

from cutline.checks import checked_budget, plain_text
from cutline.kernels.base.late import Late
from cutline.text_encoder import TextEncoder

if TYPE_CHECKING:
    from array import array

    from cutline import counting
    from cutline.chunks import Chunk
    from cutline.counting import Appender, IntervalCounter, Prepender
    from cutline.counting.limits import AlsoFits
    from cutline.counting.recounted import Settled
    from cutline.counting.truncating import Boundary, Keep
    from cutline.kernels.breaks.overlaps import Overlap
    from cutline.kernels.breaks.text_blocks import TextCutter
    from cutline.pipeline.pipeline import Pipeline
    from cutline.pipeline.safe_points import SafePoints
    from cutline.pipeline.words import WordPipeline
    from cutline.spec import TokenizerSpec
    from cutline.special import AllowedSpecial
else:
    counting = Late("cutline.counting")  # a plain count does not need it

__all__ = ["Cutting"]


class Cutting(TextEncoder):
    """The methods of `Encoding` that cut texts and count slices and growing texts."""

    __slots__ = ()

    _pipeline: Pipeline | None

    @property
    @abstractmethod
    def _spec(self) -> TokenizerSpec:
        """All that the encoding is."""

    @abstractmethod
    def _allowing(self, allowed_special: AllowedSpecial) -> Any:
        """Return what counts with these special tokens; itself if there are none."""

    @abstractmethod
    def _remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made before, or make it."""

    # Cutting

    def fits(
        self, text: str, max_tokens: int, *, allowed_special: AllowedSpecial = frozenset()
    ) -> bool:
        """Return whether a text has at most `max_tokens` tokens.

        Args:
            text: the text.
            max_tokens: the budget, 0 or more.
            allowed_special: as for `count`.

        Raises:
            ValueError: max_tokens is negative.

        Cost: linear in the prefix of the text that has max_tokens + 1 tokens.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").fits("hello world", 2)
        True
        """
        most = checked_budget(max_tokens)
        counting = self._allowing(allowed_special) if allowed_special else self
        return counting.count_till_limit(text, most) is not None

    def split_at(self, text: str, n: int, start: int = 0, *, also_fits: AlsoFits = None) -> int:
        """Find the greatest `end` such that `text[start:end]` has at most n tokens.

        Counts are not monotonic: a longer text can have fewer tokens. The result is
        nevertheless the greatest such end.

        Args:
            text: the text.
            n: the token budget, 0 or more.
            start: the offset to begin at, in code points.
            also_fits: further limits that the slice fits at once: maximum numbers of tokens by
                encoding, name or wrapped tokenizer, and of "characters" or "bytes".

        Returns:
            The end, in code points; `start` if not even one character fits.

        Raises:
            OffsetError: start lies outside the text.
            ValueError: n is negative.
            SurrogateError: (a ValueError) the text that is read has surrogate code points.

        Cost: linear in the text from start to the cut, independent of start; see
        docs/cutting.md for the worst inputs.
        Source: docs/cutting.md, "The longest fitting prefix".

        >>> import cutline
        >>> enc = cutline.get_encoding("o200k_base")
        >>> enc.split_at(" informações e dados", 2)
        14
        >>> enc.split_at(" informações e dados", 4, also_fits={"cl100k_base": 4, "bytes": 18})
        16
        """
        if also_fits:
            limits = counting.limits.further_limits(also_fits)
            return counting.together.split_at(self, plain_text(text), n, index(start), limits)
        if (pipeline := self._changing_pipeline) is not None:
            return int(self._slices.split_at(pipeline, self, text, n, start))
        return counting.cutting.split_at(self, text, n, start)

    def intervals(self, text: str, *, byte_offsets: bool = False) -> IntervalCounter:
        """Scan a text once, to count the tokens of any of its slices in constant time.

        Args:
            text: the text; kept, not copied.
            byte_offsets: take and return offsets in bytes of UTF-8 instead of code points.

        Raises:
            SurrogateError: (a ValueError) the text has surrogate code points.
            UnsupportedPatternError: the split pattern runs on the `regex` module.

        Cost: like `count`. For the cost of its methods see `cutline.IntervalCounter`.
        Source: docs/counting.md.

        >>> import cutline
        >>> counter = cutline.get_encoding("o200k_base").intervals("one two three four")
        >>> counter.count(4, 13), counter.split_at(4, 2)
        (2, 13)
        """
        if (pipeline := self._changing_pipeline) is not None:
            counter = self._slices.intervals(pipeline, self, text, byte_offsets=byte_offsets)
            return cast("IntervalCounter", counter)  # has all its public methods
        return counting.IntervalCounter(self, text, byte_offsets=byte_offsets)

    def split(
        self,
        text: str,
        chunk_size: int,
        chunk_overlap: int = 0,
        *,
        also_fits: AlsoFits = None,
    ) -> list[Chunk]:
        """Cut a text into chunks of at most `chunk_size` tokens, each as long as possible.

        Without overlap, the chunks joined are the text. Cuts lie between characters,
        and each chunk's `token_count` is the number of tokens of its text on its own.

        Args:
            text: the text; special-token text in it is ordinary text.
            chunk_size: maximum number of tokens of a chunk, overlap included.
            chunk_overlap: maximum number of tokens that a chunk shares with the one before.
            also_fits: further limits that each chunk fits at once; see `split_at`.

        Returns:
            The chunks, in order; none for an empty text.

        Raises:
            BudgetError: (a ValueError) a character alone has more than chunk_size tokens
                (possible only below 4), or is over another limit; names it and its offset.
            ValueError: chunk_size is below 1, or chunk_overlap is not from 0 to below it.
            SurrogateError: (a ValueError) the text has surrogate code points.

        Cost: linear in the text; with overlap, times the overlap in the worst case.
        Source: docs/cutting.md.

        >>> import cutline
        >>> enc = cutline.get_encoding("o200k_base")
        >>> [chunk.text for chunk in enc.split("The quick brown fox jumps over.", 3)]
        ['The quick brown', ' fox jumps over', '.']
        """
        if also_fits:
            limits = counting.limits.further_limits(also_fits, least=1)
            least = self._most_tokens_of_a_character
            return counting.cutting.split_by_counting(
                self.intervals, plain_text(text), chunk_size, chunk_overlap, least, limits
            )
        if (pipeline := self._changing_pipeline) is not None:
            return list(self._slices.split(pipeline, self, text, chunk_size, chunk_overlap))
        return counting.cutting.split(self, text, chunk_size, chunk_overlap)

    def truncate(
        self,
        text: str,
        max_tokens: int,
        keep: Keep = "start",
        marker: str = "…",
        *,
        boundary: Boundary = "character",
        also_fits: AlsoFits = None,
        allowed_special: AllowedSpecial = frozenset(),
    ) -> str:
        """Cut a text to a token budget, with a marker; see `cutline.truncate`.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").truncate("one two three four five", 4, boundary="word")
        'one two three…'
        """
        others = counting.limits.further_limits(also_fits) if also_fits else ()
        counter = self._allowing(allowed_special) if allowed_special else self
        return counting.truncating.truncate(
            counter, text, max_tokens, keep, marker, boundary, others
        ).text

    # Growing texts

    def appender(self, text: str = "") -> Appender:
        """Make an `Appender`: a text that grows at its end, with its token count.

        Args:
            text: the initial text.

        Raises:
            UnsupportedPatternError: the split pattern runs on the `regex` module.
            SurrogateError: (a ValueError) the text has a surrogate code point.

        Cost: like `count`. For the cost of its methods see `cutline.Appender`.
        Source: docs/counting.md, "A text that grows at its end".

        >>> import cutline
        >>> appender = cutline.get_encoding("o200k_base").appender("hello")
        >>> appender.append(" world")
        >>> appender.count
        2
        """
        if self._changes_texts:
            from cutline.counting.recounted import RecountedAppender

            return cast("Appender", RecountedAppender(self, text))  # has all its public methods
        return counting.Appender(self, text)

    def prepender(self, text: str = "") -> Prepender:
        """Make a `Prepender`: a text that grows at its beginning, with its token count.

        Args:
            text: the initial text.

        Raises:
            UnsupportedPatternError: the split pattern runs on the `regex` module.
            SurrogateError: (a ValueError) the text has a surrogate code point.

        Cost: like `count`. For the cost of its methods see `cutline.Prepender`.
        Source: docs/counting.md, "A text that grows at its beginning".

        >>> import cutline
        >>> prepender = cutline.get_encoding("o200k_base").prepender(" world")
        >>> prepender.prepend("hello")
        >>> prepender.count
        2
        """
        if self._changes_texts:
            from cutline.counting.recounted import RecountedPrepender

            return cast("Prepender", RecountedPrepender(self, text))  # has all its public methods
        return counting.Prepender(self, text)

    # Texts that the pipeline changes

    @property
    def _changing_pipeline(self) -> Pipeline | None:
        return self._pipeline if self._changes_texts else None

    def _settled_start(self) -> Settled | None:
        """Begin a text that grows at its end; None: it is counted from safe split points."""
        if self._pipeline is None:
            return None
        if self._is_byte_level:
            from cutline.pipeline.settled_text import settled_text

            return settled_text(self._pipeline, self)
        from cutline.pipeline.settled_words import settled_words

        return settled_words(cast("WordPipeline", self._pipeline), self)

    def _settled_end(self) -> Settled | None:
        """Begin a text that grows at its beginning; None: it is counted up to safe split points."""
        if self._pipeline is None:
            return None
        if self._is_byte_level:
            from cutline.pipeline.settled_text import text_at_end

            return text_at_end(self._pipeline, self)
        from cutline.pipeline.words_at_end import words_at_end

        return words_at_end(cast("WordPipeline", self._pipeline), self)

    @property
    def _slices(self) -> Any:
        """The module that counts slices of texts which the pipeline changes."""
        if self._is_byte_level:
            from cutline.pipeline import slices

            return slices
        from cutline.pipeline import word_slices

        return word_slices

    def _text_cutter(
        self, n: int, min_fill: float, kinds: array[int], overlap: Overlap | None
    ) -> tuple[Callable[[], TextCutter], Callable[[str], bool]] | None:
        """Return what makes a cutter of many texts, and which of them it takes; None: none does."""
        if (pipeline := self._changing_pipeline) is None:
            return None
        slices: Any = self._slices
        found: tuple[Callable[[], TextCutter], Callable[[str], bool]] | None
        found = slices.text_cutter(pipeline, self, n, min_fill, kinds, overlap)
        return found

    @property
    def _is_byte_level(self) -> bool:
        """Whether the model is byte-level BPE."""
        return self._pipeline is None or self._pipeline.spec.model is None

    def _changes(self, text: str) -> bool:
        """See `TextEncoder`."""
        pipeline = self._changing_pipeline
        return pipeline is not None and pipeline.changes(text)

    def _keeps(self, text: str) -> bool:
        return not self._changes(text)

    def _count_after(self, text: str) -> int:
        """Count the tokens of a text that begins at a safe split point."""
        pipeline = self._pipeline
        return self.count(text) if pipeline is None else pipeline.count_after(self, text)

    def _safe_points(self, text: str, begin: int) -> list[int]:
        """List safe split points after `begin`."""
        if self._pipeline is None and not self._has_automaton:
            return []
        return self._points.find(text, begin)

    @property
    def _safe_point_reach(self) -> int:
        """How many characters on each side decide about a safe split point."""
        return 1 if self._is_byte_level else 2

    def _is_safe_point(self, text: str, place: int) -> bool:
        """Return whether a place is a safe split point of every text with these characters."""
        if self._is_byte_level and not self._has_automaton:
            return False
        return self._points.holds_at(text, place)

    @property
    def _points(self) -> SafePoints:
        """What finds safe split points, made once."""
        if self._pipeline is not None:
            return self._pipeline.safe_points

        def make() -> SafePoints:
            from cutline.pipeline.safe_points import SafePoints

            return SafePoints(self._spec)

        points: SafePoints = self._remember("safe points", make)
        return points
