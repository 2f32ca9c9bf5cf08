"""Chunking a text, whole or window by window."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cutline.checks import plain_text, utf8_of
from cutline.chunking.chunk_finder import ChunkFinder, Cut
from cutline.chunking.chunk_run import ChunkRun, each_chunk
from cutline.chunking.decided import decided_until, least_window
from cutline.chunking.levels import LOOK_AHEAD
from cutline.chunking.line_numbers import LineNumbers
from cutline.chunking.plain_finder import asks_few
from cutline.chunking.rules import Rules
from cutline.chunking.stretch import END
from cutline.chunks import Chunk
from cutline.counting.few_slices import few_slices
from cutline.errors import SurrogateError

if TYPE_CHECKING:
    from cutline.protocols import SliceCounter, TokenCounter

__all__ = ["ChunkStream", "chunk_parts", "counter_for", "window_finder"]

WINDOW_CHARACTERS = 1 << 19  # fit a cache
_SHARE = 8  # of a text that has come, a chunk waits for no more than this part


class ChunkStream:
    """Cuts a text chunk by chunk. All places are offsets in the whole text.

    Args:
        rules: the chunker's options.
        start: where the first chunk begins.
        index: its index.
    """

    def __init__(self, rules: Rules, start: int = 0, index: int = 0) -> None:
        self._rules = rules
        self._index = index
        self._start = start  # of the last chunk
        self._floor = start  # its end
        self._held: list[Cut] = []  # for `balance`: the last two

    @property
    def needed_from(self) -> int:
        """Text before this offset is no longer needed."""
        if self._held:
            return min(self._held[0].fresh, self._held[0].start)
        return self._start if self._rules.chunk_overlap else self._floor

    def chunks(self, finder: ChunkFinder, base: int, until: int, *, final: bool) -> Iterator[Chunk]:
        """Yield the next chunks one by one: see `runs`."""
        return each_chunk(self.runs(finder, base, until, final=final))

    def runs(
        self, finder: ChunkFinder, base: int, until: int, *, final: bool
    ) -> Iterator[Chunk | ChunkRun]:
        """Yield the next chunks; many at a time where no search is needed.

        Args:
            finder: cuts a window of the text.
            base: the offset of the window.
            until: only chunks that add text before this place.
            final: the window is the rest of the text.
        """
        while True:
            start, floor = self._start - base, self._floor - base
            index = self._index + len(self._held)
            if run := finder.next_chunks(start, floor, until - base, index):
                self._start, self._floor = run.last
                yield from self._taken(finder, run, base)
                continue
            floor = base + finder.skip_space(self._floor - base)
            if floor >= until:
                break
            cut = finder.next_cut(self._start - base, floor - base, index)
            self._start, self._floor = base + cut.start, base + cut.end
            if self._rules.balance:
                yield from self._hold(finder, cut, base)
            else:
                yield self._numbered(finder, cut)
        if not final:
            self._floor = floor
        elif self._held:
            cuts = [_moved(cut, -base) for cut in self._held]
            if len(cuts) == 2:
                first, last = cuts
                cuts = [*finder.evened(first.fresh, first, last, self._index)]
            for cut in cuts:
                yield self._numbered(finder, cut)

    def _taken(self, finder: ChunkFinder, run: ChunkRun, base: int) -> Iterator[Chunk | ChunkRun]:
        """Yield the chunks of a run; with `balance`, the last two are held back."""
        n_sure = max(len(run) - 2, 0) if self._rules.balance else len(run)
        if n_sure:
            for cut in self._held:
                yield self._numbered(finder, _moved(cut, -base))
            self._held = []
            self._index += n_sure
            sure = run if n_sure == len(run) else run.part(0, n_sure)
            if run.outline is None:
                yield sure
            else:
                yield from sure
        for row in run.cuts(n_sure):
            yield from self._hold(finder, Cut(*row), base)

    def _hold(self, finder: ChunkFinder, cut: Cut, base: int) -> Iterator[Chunk]:
        """Hold a chunk back; yield the one that is none of the last two any more."""
        self._held.append(_moved(cut, base))
        if len(self._held) > 2:
            yield self._numbered(finder, _moved(self._held.pop(0), -base))

    def _numbered(self, finder: ChunkFinder, cut: Cut) -> Chunk:
        """Make the next chunk, from a cut in the finder's window."""
        self._index += 1
        return finder.chunk(cut, self._index - 1)


def _moved(cut: Cut, by: int) -> Cut:
    if not by:
        return cut
    return Cut(cut.start + by, cut.end + by, cut.tokens, cut.boundary, cut.fresh + by)


def chunk_parts(
    parts: Iterable[str], encoding: "TokenCounter", rules: Rules
) -> Iterator[Chunk | ChunkRun]:
    """Yield the chunks of a text that comes in parts, each as soon as it is determined.

    Args:
        parts: the parts of the text, in order.
        encoding: counts its tokens.
        rules: the chunker's options.

    Cost: linear. Memory is bounded by the maximum length of some chunks: the end of the next
    chunk depends on no later character.
    """
    if not rules.line_numbers:
        yield from _chunk_windows(parts, encoding, rules)
        return
    lines = LineNumbers()
    for chunk in each_chunk(_chunk_windows(parts, encoding, rules, lines)):
        yield lines.number(chunk)


def _chunk_windows(
    parts: Iterable[str],
    encoding: "TokenCounter",
    rules: Rules,
    lines: LineNumbers | None = None,
) -> Iterator[Chunk | ChunkRun]:
    """Yield the chunks; give `lines` the text up to each, and beyond."""
    stream = ChunkStream(rules)
    ahead = _ahead(encoding, rules)
    least = least_window(encoding, ahead)
    base, gathered, n_gathered, n_kept = 0, [""], 0, 0
    for number, part in enumerate(parts, start=1):
        if not isinstance(part, str):
            raise TypeError(f"parts of a text must be str, part {number} is {type(part).__name__}")
        gathered.append(part := plain_text(part))
        n_gathered += len(part)
        if lines is not None:
            lines.feed(part)
        # The kept tail may be long (white space): rescan it only when enough new text has come. A
        # long text is read in large windows, which cost less.
        window = min(WINDOW_CHARACTERS, (base + n_gathered) // _SHARE)
        if least is None or n_gathered < max(window, least, 2 * n_kept):
            continue
        text = "".join(gathered)
        until = decided_until(text, encoding, rules.chunk_size, ahead)
        if until > 0:
            finder = window_finder(text, encoding, rules, base)
            yield from stream.runs(finder, base, base + until, final=False)
            text = text[stream.needed_from - base :]
            base = stream.needed_from
        gathered, n_gathered, n_kept = [text], len(text), len(text)
    text = "".join(gathered)
    finder = window_finder(text, encoding, rules, base)
    yield from stream.runs(finder, base, base + len(text), final=True)


def _ahead(encoding: "TokenCounter", rules: Rules) -> int | None:
    """Return how far the end of a chunk may depend on the text after its start; None: unbounded."""
    limits = ((encoding, rules.chunk_size), *rules.also_fits)
    bounds = [measure._max_bytes_of(most) for measure, most in limits]
    known = [bound for bound in bounds if bound is not None]
    return max(known) + LOOK_AHEAD if len(known) == len(bounds) else None


def counter_for(text: str, encoding: "TokenCounter", rules: Rules) -> "SliceCounter":
    """Make what counts the slices of a text that is cut once."""
    few = few_slices(encoding, text) if asks_few(rules) else None
    return encoding.intervals(text) if few is None else few


def window_finder(
    text: str, encoding: "TokenCounter", rules: Rules, base: int, end_name: str = END
) -> ChunkFinder:
    """Make what cuts a window once; it begins at `base`: errors name offsets in the whole text."""
    try:
        counter = counter_for(text, encoding, rules)
        return ChunkFinder(text, counter, rules, offset=base, encoding=encoding, end_name=end_name)
    except SurrogateError:
        utf8_of(text, base)
        raise
