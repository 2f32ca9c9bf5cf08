"""The steps that normalize a text before it is split, with offsets into the original.

`tokenizers` 0.x uses Unicode 9 for normal forms: characters added later are left unchanged and
compose with nothing (the tests compare all code points); 1.x has Unicode 17. Lower case is that of
Unicode 17, character by character.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cutline.checks import without_surrogates
from cutline.kernels.base.spelling import SpelledPlaces, first_other, spell
from cutline.kernels.words.classes import first_member
from cutline.newer_forms import normalize_newer

if TYPE_CHECKING:
    import regex

__all__ = [
    "SPACE",
    "Form",
    "Lead",
    "Lower",
    "NewerForm",
    "Prepend",
    "Replace",
    "Spell",
    "Step",
    "Strip",
    "StripBlanks",
    "StripPieces",
    "Traced",
    "Unknown",
    "blocks",
    "later_characters",
    "normalize",
    "of_each",
    "trace",
]

SPACE: Final = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""The characters that `tokenizers` treats as white space."""

_LATER = (
    "558 58B-58C 5C8-5C9 7FD 897-89F 8CA-8D3 9FE C3C D3B-D3C EBA 1715 1ABF-1AF0 1DF6-1DFA "
    "209D-209F 32FF A7F1-A7F4 A82C AB69 105C9 105D2 105DA 105E4 10781-10785 10787-107B0 "
    "107B2-107BF 10D24-10D27 10D69-10D6D 10EAB-10EAC 10ECB-10ECF 10EF0-10EFB 10EFD-10EFF "
    "10F46-10F50 10F82-10F85 11070 1133B 11382-11385 1138B 1138E 11390-11391 113B8 113BB 113C2 "
    "113C5 113C7-113C9 113CE-113D0 1145E 11839-1183A 11935 11938 1193D-1193E 11943 119E0 11A34 "
    "11A47 11A99 11D42 11D44-11D45 11D97 11F41-11F42 1611E-16129 1612F 16D63 16D67-16D6A "
    "16FF0-16FF1 1B123-1B126 1CCD6-1CCF9 1D127-1D128 1D250-1D252 1D25B-1D25C 1D25F 1D280-1D281 "
    "1D6A6 1DF95 1DFCD-1DFFF 1E030-1E06D 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF "
    "1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5 1F16C 1FBF0-1FBF9"
)
"""Added after Unicode 9, and affected by some normal form of Unicode 18."""

# From U+1C89 on: capitals of Unicode 14 to 17, which an older Python lacks.
_CAPITALS = {
    0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7CE: 0xA7CF, 0xA7D2: 0xA7D3,
    0xA7D4: 0xA7D5, 0xA7DA: 0xA7DB, 0xA7DC: 0x19B,
    **{capital: capital + 0x20 for capital in range(0x10D50, 0x10D66)},
    **{capital: capital + 0x1B for capital in range(0x16EA0, 0x16EB9)},
}  # fmt: skip
_MANY_MARKS = 32

_COMPOSING: Final = re.compile(
    "[\u0300-\u0304\u0306-\u030c\u030f\u0311\u0313\u0314\u031b\u0323-\u0328\u032d\u032e\u0330"
    "\u0331\u0338\u0342\u0345\u0653-\u0655\u093c\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56"
    "\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf\u102e\u1160-\u11ff\u1b35\u3099\u309a"
    "\ud7b0-\ud7ff\U000110ba\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd"
    "\U000115af\U00011930]"
)
"""Matches what composes with a character before it: it ends a primary composite, or is a jamo."""


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A text, and for each of its characters the span of the original that it came from.

    Attributes:
        text: the text.
        spans: int64, shape (characters, 2).
    """

    text: str
    spans: NDArray[np.int64]

    @classmethod
    def of(cls, text: str) -> "Traced":
        """Trace a text to itself."""
        ends = np.arange(1, len(text) + 1)
        return cls(text, np.stack([ends - 1, ends], axis=1))

    def part(self, start: int, end: int) -> "Traced":
        """Take a slice."""
        return Traced(self.text[start:end], self.spans[start:end])

    def spans_of(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the spans of the original that parts of the text came from.

        Args:
            parts: int64, shape (n, 2); spans of the text, none empty.
        """
        spans = np.empty((len(parts), 2), dtype=np.int64)
        spans[:, 0] = self.spans[parts[:, 0], 0]
        spans[:, 1] = self.spans[parts[:, 1] - 1, 1]
        return spans

    def rewritten(
        self, text: str, starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> "Traced":
        """Replace the text part by part: each new character came from the whole of its part.

        Args:
            text: the new text.
            starts: where the parts of the old one start; the first at 0.
            lengths: the characters of the new text for each part.
        """
        parts = np.stack([starts, np.append(starts, len(self.text))[1:]], axis=1)
        return Traced(text, np.repeat(self.spans_of(parts), lengths, axis=0))


def of_each(
    text: str, value_of: Callable[[str], int], dtype: type[np.generic] = np.int64
) -> NDArray[Any]:
    """Return a value for each character of a text; asks once for each that occurs."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    known = np.zeros(int(codes.max(initial=0)) + 1, dtype=dtype)
    for character in set(text):
        known[ord(character)] = value_of(character)
    values: NDArray[Any] = known[codes]
    return values


class Step(Protocol):
    """One normalization step."""

    def apply(self, text: str) -> str:
        """Change a text."""

    def trace(self, traced: Traced) -> Traced:
        """Change a text and keep each character's span of the original."""

    def keeps(self, character: str) -> bool:
        """Return whether a character stays unchanged, whatever its neighbours are.

        The text on one side of it then has no effect on the other side.
        """

    def keeps_slices(self, text: str) -> bool:
        """Return whether a text and all its slices stay unchanged."""


_BLOCK: Final = 1 << 13  # to see whether one changes takes long only where it has marks
_APART: Final = re.compile("[\0-\u02ff]")
"""Matches what no form changes together with what is before it; and no surrogate."""


def blocks(text: str) -> Iterator[str]:
    """Cut a long text into blocks that normal forms change one by one.

    Between two of them Ctrl-C is looked for.
    """
    start = 0
    while len(text) - start > _BLOCK and (found := _APART.search(text, start + _BLOCK)):
        yield text[start : found.start()]
        start = found.start()
    yield text[start:]


_FROM_MARKS_ON: Final = re.compile("[\u0300-\U0010ffff]")
"""Matches where there may be a mark, without a library for most texts."""


def _later_ranges() -> list[list[int]]:
    """Return the first and the last one of ranges of characters that are newer than NFC's."""
    return [[int(edge, 16) for edge in one.split("-")] for one in _LATER.split(" ")]


@cache
def _later_edges() -> NDArray[np.int32]:
    edges = [edge for one in _later_ranges() for edge in (one[0], one[-1] + 1)]
    return np.array(edges, dtype=np.int32)


@cache
def later_characters() -> re.Pattern[str]:
    """Match a character that is newer than the normal forms of `tokenizers`."""
    ranges = ("-".join(map(chr, one)) for one in _later_ranges())
    return re.compile(f"[{''.join(ranges)}]")


@cache
def _later_capitals() -> NDArray[np.int32]:
    return np.array([edge for one in _CAPITALS for edge in (one, one + 1)], dtype=np.int32)


@cache
def _marks(compatible: bool) -> "regex.Pattern[str]":
    """Match long runs of characters that have a combining class, or decompose into such."""
    import regex

    made = r"\u0f73\u0f75\u0f81" + r"\uff9e\uff9f" * compatible
    return regex.compile(rf"[\P{{ccc=0}}{made}]{{{_MANY_MARKS},}}+")


def _opening(character: str) -> str:
    """Return what a character decomposes into at first; nothing if normal forms leave it alone."""
    if character < "\u0300" or later_characters().match(character):
        return ""
    # A letter can decompose into something that begins with a mark or with a jamo.
    return unicodedata.normalize("NFKD", character)[0]


@cache
def _composites() -> dict[str, str]:
    """Return of each letter what it may become with marks, or jamo, after it."""
    found: dict[str, str] = {}
    for whole in map(chr, chain(range(0xC0, 0x3100), range(0x11000, 0x12000))):
        if unicodedata.decomposition(whole) and unicodedata.is_normalized("NFC", whole):
            parts = unicodedata.normalize("NFD", whole)
            found[parts[0]] = found.get(parts[0], "") + whole
    for number in range(19):  # initial consonants, of which each begins 588 syllables
        first = 0xAC00 + 588 * number
        found[chr(0x1100 + number)] = "".join(map(chr, range(first, first + 588)))
    return found


@dataclass(frozen=True, slots=True)
class Form:
    """A normal form of Unicode."""

    name: Literal["NFC", "NFD", "NFKC", "NFKD"]

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        if self.keeps_slices(text):
            return text
        return "".join(map(self._apply, blocks(text)))

    def _apply(self, text: str) -> str:
        if first_member(text, _later_edges()) < 0:
            return self._normalize(text)
        parts, done = [], 0
        for found in later_characters().finditer(text):
            parts += [self._normalize(text[done : found.start()]), found.group()]
            done = found.end()
        return "".join([*parts, self._normalize(text[done:])])

    def _normalize(self, text: str) -> str:
        # `unicodedata` takes quadratic time for many unordered marks, so they are sorted first.
        if len(text) >= _MANY_MARKS and _FROM_MARKS_ON.search(text):
            text = _marks(self.name in ("NFKC", "NFKD")).sub(self._in_order, text)
        return unicodedata.normalize(self.name, text)

    def _in_order(self, found: "regex.Match[str]") -> str:
        """Decompose marks, and sort them by combining class."""
        form: Final = "NFD" if self.name in ("NFC", "NFD") else "NFKD"
        marks = found.group()
        few = (marks[at : at + _MANY_MARKS] for at in range(0, len(marks), _MANY_MARKS))
        written = "".join(unicodedata.normalize(form, part) for part in few)
        return "".join(sorted(written, key=unicodedata.combining))

    def trace(self, traced: Traced) -> Traced:
        """Trace each changed stretch, between characters that compose with nothing, as a whole.

        Cost: linear. What changes alone costs no Python object for a character; a stretch of
        several costs a look into a dictionary.
        """
        text = traced.text
        if self.keeps_slices(text):
            return traced
        written = self.apply(text)
        lengths = of_each(text, lambda one: len(self.apply(one)))
        begins = of_each(text, self.begins, np.bool_)
        begins[0] = True
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(text))
        several = ends - starts > 1
        apply = cache(self.apply)
        for start, end in zip(starts[several].tolist(), ends[several].tolist(), strict=True):
            part = text[start:end]
            made = apply(part)
            if made == part:
                begins[start:end] = True
                lengths[start:end] = 1
            else:
                lengths[start] = len(made)
        starts = np.flatnonzero(begins)
        return traced.rewritten(written, starts, lengths[starts])

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return self.begins(character) and self.apply(character) == character

    def begins(self, character: str) -> bool:
        """Return whether a character is independent of the text before it."""
        return not (self.composes(character) or self.is_ordered(character))

    def composes(self, character: str) -> bool:
        """Return whether a character may compose with one before it."""
        opening = _opening(character)
        return bool(opening) and bool(_COMPOSING.match(character) or _COMPOSING.match(opening))

    def composites(self, character: str) -> str:
        """Return what a character may become through those after it."""
        if self.name in ("NFD", "NFKD"):
            return ""
        return _composites().get(unicodedata.normalize("NFD", character)[0], "")

    def is_ordered(self, character: str) -> bool:
        """Return whether a character may change places with marks before it."""
        opening = _opening(character)
        return bool(opening) and bool(
            unicodedata.combining(character) or unicodedata.combining(opening)
        )

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        # A later Unicode version only has more changes: see docs/tokenizers.md.
        if len(text) <= _BLOCK:
            return text.isascii() or unicodedata.is_normalized(self.name, text)
        return all(unicodedata.is_normalized(self.name, block) for block in blocks(text))


@dataclass(frozen=True, slots=True)
class NewerForm(Form):
    """A normal form of Unicode 17, which `tokenizers` 1 has.

    It differs where a text has `later_characters`, which here depend on both their neighbours.
    """

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        if first_member(text, _later_edges()) < 0:
            return self._normalize(text)
        parts, done = [], 0
        for found in later_characters().finditer(text):
            start, end = found.span()
            if start < done:
                continue
            while start > done and not self.begins(text[start]):
                start -= 1
            while end < len(text) and not self.begins(text[end]):
                end += 1
            newer = normalize_newer(self.name, text[start:end])
            parts += [self._normalize(text[done:start]), newer]
            done = end
        return "".join([*parts, self._normalize(text[done:])])

    def composes(self, character: str) -> bool:
        """See `Form.composes`."""
        return bool(later_characters().match(character)) or Form.composes(self, character)

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return first_member(text, _later_edges()) < 0 and Form.keeps_slices(self, text)


@dataclass(frozen=True, slots=True)
class Lower:
    """Lowercases each character on its own."""

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return "".join(map(self._apply, blocks(text)))

    @staticmethod
    def _apply(text: str) -> str:
        if text.isascii():
            return text.lower()
        if first_member(text, _later_capitals()) >= 0:
            text = text.translate(_CAPITALS)
        # str.lower makes this letter depend on its position, and no other.
        return "\u03c3".join(part.lower() for part in text.split("\u03a3"))

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        lengths = of_each(traced.text, lambda character: len(_lower(character)))
        return traced.rewritten(self.apply(traced.text), np.arange(len(lengths)), lengths)

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return _lower(character) == character

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return self.apply(text) == text


def _lower(character: str) -> str:
    later = _CAPITALS.get(ord(character))
    return character.lower() if later is None else chr(later)


@dataclass(frozen=True, slots=True)
class Strip:
    """Removes white space at the ends."""

    left: bool
    right: bool

    @property
    def white(self) -> str:
        """The characters that are removed."""
        return SPACE

    @property
    def white_at_end(self) -> str:
        """Those that are removed at the end."""
        return self.white

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        if self.left:
            text = text.lstrip(self.white)
        return text.rstrip(self.white_at_end) if self.right else text

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        n = len(traced.text)
        start = n - len(traced.text.lstrip(self.white)) if self.left else 0
        end = len(traced.text.rstrip(self.white_at_end)) if self.right else n
        return traced.part(start, max(start, end))

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return character not in self.white + self.white_at_end

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return not any(space in text for space in self.white + self.white_at_end)


@dataclass(frozen=True, slots=True)
class StripBlanks(Strip):
    """Removes blanks at the ends, and no other white space."""

    @property
    def white(self) -> str:
        """The characters that are removed."""
        return " "


@dataclass(frozen=True, slots=True)
class StripPieces(StripBlanks):
    """Removes blanks at the ends, and U+2581 at the end, as sentencepiece does."""

    @property
    def white_at_end(self) -> str:
        """Those that are removed at the end."""
        return " \u2581"


@dataclass(frozen=True, slots=True)
class Replace:
    """Replaces one string by another."""

    old: str
    new: str

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return text.replace(self.old, self.new)

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        found = [match.start() for match in re.finditer(re.escape(self.old), traced.text)]
        lengths = np.ones(len(traced.text), dtype=np.int64)
        begins = np.ones(len(traced.text), dtype=np.bool_)
        lengths[found] = len(self.new)
        for place in range(1, len(self.old)):
            begins[np.array(found, dtype=np.int64) + place] = False
        starts = np.flatnonzero(begins)
        return traced.rewritten(self.apply(traced.text), starts, lengths[starts])

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return character not in self.old

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return self.old not in text


@dataclass(frozen=True, slots=True)
class Prepend:
    """Puts a prefix before a text that is not empty."""

    prefix: str

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return self.prefix + text if text else text

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        if not traced.text:
            return traced
        first = np.repeat(traced.spans[:1], len(self.prefix), axis=0)
        first[:, 1] = first[:, 0] + 1  # though it may come before several that became one
        return Traced(self.prefix + traced.text, np.concatenate([first, traced.spans]))

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return True

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return not text


@dataclass(frozen=True, slots=True)
class Lead(Prepend):
    """Puts a prefix before a text that is not empty and does not begin with it."""

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return text if text.startswith(self.prefix) else Prepend.apply(self, text)

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        return traced if traced.text.startswith(self.prefix) else Prepend.trace(self, traced)


@cache
def _bits_of(kept: str) -> NDArray[np.uint8]:
    """Return a set of characters as a bit for each code point."""
    inside = np.zeros(0x110000, dtype=np.bool_)
    inside[list(map(ord, kept))] = True
    return np.packbits(inside, bitorder="little")


@cache
def _set_of(kept: str) -> frozenset[str]:
    return frozenset(kept)


@dataclass(frozen=True, slots=True)
class _Keeping:
    """A step that keeps some characters, whatever their neighbours are.

    Attributes:
        kept: these characters.
        stand_ins: what it writes for the others: neighbours among code points.
    """

    kept: str
    stand_ins: str

    @property
    def kept_bits(self) -> NDArray[np.uint8]:
        """A bit for each code point, the lowest first: whether it is kept."""
        return _bits_of(self.kept)

    @property
    def known(self) -> frozenset[str]:
        """What is kept, as a set."""
        return _set_of(self.kept)

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return self.keeps_slices(character)

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return first_other(text, self.kept_bits) < 0

    def outline(self, text: str) -> str:
        """Write one stand-in for each of the other characters."""
        if self.keeps_slices(text):
            return text
        # `translate` takes ten times as long, for each character that stays.
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        is_kept = self.kept_bits[points >> 3] >> (points & 7).astype(np.uint8) & 1
        written = np.where(is_kept, points, np.uint32(ord(self.stand_ins[0])))
        return written.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Spell(_Keeping):
    """Spells characters by their bytes of UTF-8, with a stand-in for each.

    Keeps all of ASCII; the stand-ins are for the bytes from 128 on.
    """

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        if text.isascii():
            return text
        return self.spelled(text)[0]

    def spelled(self, text: str) -> tuple[str, SpelledPlaces]:
        """Return what `apply` makes of a text, and where each of its characters begins there."""
        places = SpelledPlaces(text, self.kept_bits)
        written = spell(text, places, self.stand_ins)
        return (written, places) if written is not None else self.spelled(without_surrogates(text))

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        if self.keeps_slices(traced.text):
            return traced
        lengths = of_each(traced.text, lambda one: len(self.apply(one)))
        return traced.rewritten(self.apply(traced.text), np.arange(len(lengths)), lengths)

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return text.isascii() or first_other(text, self.kept_bits) < 0


@dataclass(frozen=True, slots=True)
class Unknown(_Keeping):
    """Writes one stand-in for each unknown character.

    Attributes:
        fuses: or for each run of them.
    """

    fuses: bool

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        if self.keeps_slices(text):
            return text
        written = self.outline(without_surrogates(text))
        if self.fuses:
            written = re.sub(f"{self.stand_ins}{{2,}}", self.stand_ins, written)
        return written

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        if self.keeps_slices(traced.text):
            return traced
        lengths = np.ones(len(traced.text), dtype=np.int64)
        begins = np.ones(len(traced.text), dtype=np.bool_)
        if self.fuses:
            unknown = ~of_each(traced.text, self.keeps, np.bool_)
            begins[1:] = ~(unknown[1:] & unknown[:-1])
        starts = np.flatnonzero(begins)
        return traced.rewritten(self.apply(traced.text), starts, lengths[starts])


def normalize(text: str, steps: Iterable[Step], *, at_start: bool = True) -> str:
    """Normalize a text that has no added tokens.

    Args:
        text: the text.
        steps: the steps, in order.
        at_start: whether it is at the start of the text or after an added token.
    """
    for step in steps:
        if at_start or not isinstance(step, Prepend):
            text = step.apply(text)
    return text


def trace(text: str | Traced, steps: Iterable[Step]) -> Traced:
    """Normalize a text at the start, and keep each character's span of the original."""
    traced = Traced.of(text) if isinstance(text, str) else text
    for step in steps:
        traced = step.trace(traced)
    return traced
