"""The structure of subtitles and transcripts: cuts between turns of speakers and between cues."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

from cutline.chunking.structure import Structure, line_starts, nested_bitmaps, tidy_units

__all__ = ["transcript_structure"]

_NAMES: Final = ("turn", "cue")
_TIME: Final = r"(?:(?P<{0}h>\d{{1,3}}):)?(?P<{0}m>\d{{1,2}}):(?P<{0}s>\d{{2}}(?:[.,]\d{{1,6}})?)"
_TIMING: Final = re.compile(rf"\s*{_TIME.format('a')}\s*-->\s*{_TIME.format('b')}")
_NAME: Final = r"(?P<name>[^\W\d_][\w .,'\u2019&#-]{0,60}?)\s*"
# A time may stand in brackets before the speaker, or after.
_SPEAKER: Final = re.compile(
    rf"\s*(?:[-\u2013>]\s*)?(?:[\[(]?{_TIME.format('a')}[\])]?\s*[-\u2013|]?\s*)?"
    r"(?:<v(?:\.[^ >]*)? (?P<voice>[^>\n]{1,80})>"
    rf"|{_NAME}(?:[\[(]{_TIME.format('b')}[\])])?\s*:(?=\s|\Z))"
)
# Or a date and a time of day before the speaker, as in chats that were exported.
_DATED: Final = re.compile(
    r"\u200e?[\[(]?\d{1,4}([./-])\d{1,2}\1\d{1,4},?\s+\d{1,2}[:.]\d{2}(?:[:.]\d{2})?"
    rf"(?:\s?[AaPp]\.?\s?[Mm]\.?)?[\])]?\s*[-\u2013|]?\s*{_NAME}:(?=\s|\Z)"
)
# Or a speaker and a time are all that a line has: "Ann  0:01", "Ann [00:00:01]".
_TURN: Final = re.compile(
    rf"\s*{_NAME}(?:[\[(]{_TIME.format('a')}[\])]|(?:\t|[ ]{{2}})\s*{_TIME.format('b')})\s*\Z"
)
_STAMP: Final = re.compile(rf"\s*[\[(]{_TIME.format('a')}[\])]")
_MOST_WORDS: Final = 6  # of a speaker's name
_LINE_BYTES: Final = 200  # a line's beginning, in which its speaker is looked for
_OFFSET: Final = itemgetter(0)


class _Transcript(Structure):
    """A structure whose places have times, and whose chunks say them.

    Args:
        times: offsets with seconds from the beginning, sorted.
        **values: as of `Structure`.
    """

    def __init__(self, times: tuple[tuple[int, float], ...], *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.times: Final = times

    def metadata(self, start: int, end: int) -> dict[str, Any]:
        """Return what `Structure.metadata` does, with "start_time" and "end_time" in seconds.

        They are the last time up to the chunk's start, or else its first, and the last in it.
        """
        found = super().metadata(start, end)
        first = bisect_right(self.times, start, key=_OFFSET) - 1
        last = bisect_left(self.times, end, key=_OFFSET) - 1
        if last >= 0:
            found["start_time"] = self.times[max(first, 0)][1]
            found["end_time"] = max(self.times[last][1], found["start_time"])
        return found


class _Cue(NamedTuple):
    """A cue, or a line that begins with its speaker.

    Attributes:
        start: where it begins.
        speaker: who speaks from there on; "" if that is not said.
        times: offsets in it, with seconds.
        is_stamped: the speaker's line has a time or a date itself.
    """

    start: int
    speaker: str
    times: list[tuple[int, float]]
    is_stamped: bool = False

    def merged(self, other: "_Cue") -> "_Cue":
        """Return one for two that begin at the same place: a speaker's line above a timing."""
        return _Cue(self.start, other.speaker or self.speaker, [*self.times, *other.times])


def transcript_structure(text: str) -> Structure:
    r"""Find where subtitles (SRT, WebVTT) or a transcript may be cut.

    The levels, best first: "turn" where another speaker begins, "cue" where a cue begins, or a line
    with a speaker or a time. A cue begins with its number or name. A speaker is what stands before
    a colon at the beginning of a line, or in a tag as `<v Ann>`; a time may stand before or after
    it: "[00:01:02] Ann: ...". Or the line has a name and a time alone: "Ann  0:01". Where more
    speakers have a time or a date in their line than not, as in chats, the others are none: a
    message may have a line as "Note: ...". Units are turns and cues.

    The heading of a place is its speaker, except where the turn begins. A chunk's metadata has
    "start_time" and "end_time" in seconds, where there are times.

    Cost: linear.

    >>> structure = transcript_structure("Ann: Hi.\nHow are you?\nBob: Fine.\n")
    >>> [list(bits.search(1)) for bits in structure.bitmaps], structure.headings_at(9)
    ([[22], [22]], ('Ann',))
    """
    cues: list[_Cue] = []
    for cue in _without_notes([*_cues(text)], text):
        same = cues.pop() if cues and cues[-1].start == cue.start else None
        cues.append(cue if same is None else same.merged(cue))
    turns: list[_Cue] = []
    for cue in cues:
        if not turns or (cue.speaker and cue.speaker != turns[-1].speaker):
            turns.append(cue)
    levels = [[cue.start for cue in group] for group in (turns, cues)]
    units = [span for starts in levels for span in pairwise([*starts, len(text)])]
    headings = [
        part
        for turn in turns
        for part in ((turn.start, ()), (turn.start + 1, (turn.speaker,) if turn.speaker else ()))
    ]
    return _Transcript(
        tuple(time for cue in cues for time in cue.times),
        _NAMES,
        nested_bitmaps(len(text), levels),
        tidy_units(units),
        tuple(headings),
    )


def _without_notes(cues: list[_Cue], text: str) -> list[_Cue]:
    """Leave out speakers without a time where most have one, unless timings have them all."""
    spoken = [cue for cue in cues if cue.speaker]
    if "-->" in text or 2 * sum(cue.is_stamped for cue in spoken) <= len(spoken):
        return cues
    return [cue for cue in cues if cue.is_stamped or not cue.speaker]


def _cues(text: str) -> Iterator[_Cue]:
    """Yield the cues of a text."""
    starts = line_starts(text)
    is_blank_above, above, waiting = True, 0, None
    timed: _Cue | None = None  # whose speaker the next line may name
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line = text[start : min(end, start + _LINE_BYTES)]
        timing = _TIMING.match(line)
        if timing:
            # The line above is the cue's number or name, unless the text before ends there.
            begin = above if waiting == above and not is_blank_above else start
            if timed is not None:
                yield timed
            times = [(begin, _seconds(timing, "a")), (end - 1, _seconds(timing, "b"))]
            timed = _Cue(begin, "", times)
        else:
            speaker, seconds, is_stamped = _speaker(line) or ("", _stamp(line), False)
            times = [] if seconds is None else [(start, seconds)]
            if timed is not None:
                yield timed._replace(speaker=speaker, times=[*timed.times, *times])
                timed = None
            elif speaker or times:
                yield _Cue(start, speaker, times, is_stamped)
        # What follows a blank line may be the number of a cue.
        waiting = start if is_blank_above else None
        is_blank_above = not line.strip()
        above = start
    if timed is not None:
        yield timed


def _speaker(line: str) -> tuple[str, float | None, bool] | None:
    """Return who speaks in a line, when, and whether the line has a time or a date."""
    if (found := _DATED.match(line)) is not None:
        return found["name"].strip(), None, True
    found = _SPEAKER.match(line) or _TURN.match(line)
    if found is None:
        return None
    voice = found.groupdict().get("voice")
    name = (voice or found["name"]).strip()
    if not voice and len(name.split()) > _MOST_WORDS:
        return None
    group = next((one for one in "ab" if found[f"{one}m"]), None)
    return name, None if group is None else _seconds(found, group), group is not None


def _stamp(line: str) -> float | None:
    """Return the time at the beginning of a line."""
    found = _STAMP.match(line)
    return None if found is None else _seconds(found, "a")


def _seconds(found: re.Match[str], group: str) -> float:
    hours, minutes, seconds = (found[group + part] or "0" for part in "hms")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
