"""The normalizer Precompiled: sentencepiece's character map, as `tokenizers` applies it.

The map is a trie (a double array of units) with normalized strings. A grapheme cluster of fewer
than six bytes is looked up as a whole: the shortest key that it begins with decides, and what
follows the key is lost with it. Every other character is looked up on its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.checks import without_surrogates
from cutline.kernels.words.classes import first_member
from cutline.normalizing import Traced, of_each
from cutline.pretokenize.charset import CharSet, union
from cutline.words.characters import ClassName, chars_of, class_pattern
from cutline.words.map_trie import HAS_VALUE, NO_LABEL, offset_of, read_charsmap, text_at

__all__ = ["Precompiled"]

_SHORT: Final = 6
"""Clusters with fewer bytes are looked up as a whole."""

_WIDE: Final = 0xC2  # the first lead byte that is not ASCII
_LEADS: Final = (0, 0xF5, 0xF0, 0xE0, _WIDE)
"""Of a character of so many bytes, where lead bytes end of what makes a short cluster with it."""

_LAST: Final = 3
"""Of a long cluster that goes on, so many characters are told apart by their places."""

_KNOWN_CLUSTERS: Final = 4096
_KNOWN_WORDS: Final = 8192
_LONGEST_WORD: Final = 32  # characters of one that is kept
_BY_WORDS: Final = 32  # characters of a text in which words may repeat
_LAST_BYTES: Final = 64  # values of the last byte of UTF-8, but for ASCII
_THREE_BYTES: Final = "\u0800"  # from here on groups are worth a look of their own
_LOOKED_THROUGH: Final = 4096  # characters at a time, for one that is changed

_FIRST_SYLLABLE: Final = 0xAC00
_SYLLABLES: Final = 11172
_SYLLABLES_OF_PAIR: Final = 28

_JAMO: Final = (
    "\u1100-\u115f\ua960-\ua97c",
    "\u1160-\u11a7\ud7b0-\ud7c6",
    "\u11a8-\u11ff\ud7cb-\ud7fb",
)
"""Initial consonants, vowels and final consonants of syllables, as ranges of a class."""


@cache
def _telltales() -> NDArray[np.int32]:
    """Return a class of which each cluster of several characters has one, first or second."""
    jamo = CharSet.from_ranges([(0x1100, 0x1200), (0xA960, 0xA97D), (0xD7B0, 0xD7FC)])
    return union([chars_of("joins"), chars_of("prepends"), jamo, CharSet.of("\r")]).edges


@cache
def _hangul() -> re.Pattern[str]:
    """Match a syllable or a part of one."""
    return re.compile("[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb]")


@cache
def _parted_hangul() -> re.Pattern[str]:
    """Match two syllables, or parts of one, that are in two clusters."""
    initial, vowel, final = _JAMO
    return re.compile(
        rf"[^{initial}][{initial}\uac00-\ud7a3]|[{final}][{vowel}]"
        rf"|(?![{_pairs()}])[\uac00-\ud7a3][{vowel}]"
    )


@cache
def _pairs() -> str:
    """Return the syllables of an initial and a vowel."""
    last = _FIRST_SYLLABLE + _SYLLABLES
    return "".join(map(chr, range(_FIRST_SYLLABLE, last, _SYLLABLES_OF_PAIR)))


def _clusters(text: str) -> Iterator[re.Match[str]]:
    """Yield each grapheme cluster of several characters, and some of one."""
    done, telltales = 0, _telltales()
    while (start := first_member(text, telltales, done)) >= 0:
        cluster = start > done and _cluster().match(text, start - 1)
        cluster = cluster or _cluster().match(text, start)
        if cluster:
            yield cluster
        done = cluster.end() if cluster else start + 1


@cache
def _cluster() -> re.Pattern[str]:
    """Match each grapheme cluster of several characters, and some of one.

    Regional indicators are left out: two of them have eight bytes, and one with what joins it
    has six.
    """
    joins, prepends, consonants, linkers, pictographs, breaks, spacing = map(
        class_pattern,
        (
            "joins", "prepends", "consonants", "linkers", "pictographs", "breaks",
            "spacing marks",
        ),
    )  # fmt: skip
    initial, vowel, final = (f"[{one}]" for one in _JAMO)
    syllable = (
        rf"{initial}*+(?:{vowel}++{final}*+|[{_pairs()}]{vowel}*+{final}*+|[\uac00-\ud7a3]{final}*+)"
        rf"|{initial}++|{final}++"
    )
    inside = rf"(?![{spacing}])[{joins}]"
    conjunct = (
        rf"[{consonants}](?:(?:(?![{linkers}]){inside})*+[{linkers}](?:{inside})*+"
        rf"[{consonants}])++"
    )
    between = rf"(?:(?![{spacing}\u200d])[{joins}]|\u200c)"
    emoji = rf"[{pictographs}](?:{between}*+\u200d[{pictographs}])++"
    joined = rf"{syllable}|{conjunct}|{emoji}"
    return re.compile(
        rf"\r\n|[{prepends}]++(?:(?:{joined}|[^{breaks}])[{joins}]*+)?+"
        rf"|(?:{joined})[{joins}]*+|[^{breaks}][{joins}]++"
    )


class _CharsMap:
    """The parsed map, with what it makes of single characters, kept when first asked for."""

    def __init__(self, data: bytes) -> None:
        self._units, self._strings = read_charsmap(data)
        self.known = _Known(self)
        self.singles = _Singles(self.known)
        self.find_short = lru_cache(_KNOWN_CLUSTERS)(self._find_short)
        self.words = _Words(self)

    def _walk(self, key: bytes) -> tuple[str | None, int | None]:
        """Follow a key up to its shortest part that is mapped.

        Returns:
            What it is mapped to, and the place in the trie where the whole key leads, unless a
            part of it is mapped.
        """
        units = self._units
        place = offset_of(units[0])
        for byte in key:
            if byte == 0:
                return None, None
            place ^= byte
            if place >= len(units):
                return None, None
            unit = units[place]
            if unit & 0x8000_00FF != byte:
                return None, None
            place ^= offset_of(unit)
            if unit & HAS_VALUE:
                return text_at(self._strings, units[place] & (NO_LABEL - 1)), None
        return None, place

    def _find_short(self, cluster: str) -> str | None:
        """Return what the shortest mapped beginning of a short cluster is mapped to."""
        key = cluster.encode("utf-8", "surrogatepass")
        return self._walk(key)[0] if len(key) < _SHORT else None

    def whole(self, cluster: str) -> str | None:
        """Return what a cluster is mapped to as a whole; None: its characters are, one by one."""
        return None if len(cluster) >= _SHORT else self.find_short(cluster)

    def apply(self, text: str) -> str:
        """Map a text without surrogates."""
        singles = self.singles
        parts, done = list[str](), 0
        for found in _clusters(text):
            made = self.whole(found.group())
            if made is not None:
                parts += [text[done : found.start()].translate(singles), made]
                done = found.end()
        return "".join([*parts, text[done:].translate(singles)])

    def values(self) -> frozenset[str]:
        """Return all texts of the map."""
        return frozenset(self._strings.decode().split("\0"))

    def begins_none_like(self, character: str) -> bool:
        """Return whether nothing is mapped that begins like a character, but for its last byte."""
        lead = character.encode("utf-8", "surrogatepass")[:-1]
        return self._walk(lead) == (None, None)

    def look(self, character: str) -> tuple[str, bool]:
        """Return what becomes of a character, and whether clusters it begins can be mapped."""
        key = character.encode("utf-8", "surrogatepass")
        found, place = self._walk(key)
        if found is not None:
            return found, _LEADS[len(key)] > _WIDE
        if place is None:
            return character, False
        units = self._units
        return character, any(
            place ^ byte < len(units) and units[place ^ byte] & 0x8000_00FF == byte
            for byte in range(_WIDE, _LEADS[len(key)])  # no ASCII joins another, but for \r\n
        )


class _Known(dict[str, tuple[str, bool]]):
    """What `look` tells of each character."""

    def __init__(self, charsmap: _CharsMap) -> None:
        super().__init__()
        self._charsmap = charsmap
        self._looked_at: set[int] = set()  # groups of characters that differ in their last byte

    def __missing__(self, character: str) -> tuple[str, bool]:
        group = ord(character) // _LAST_BYTES
        if group not in self._looked_at:
            self._looked_at.add(group)
            if character >= _THREE_BYTES and self._charsmap.begins_none_like(character):
                first = group * _LAST_BYTES
                self.update(
                    (one, (one, False)) for one in map(chr, range(first, first + _LAST_BYTES))
                )
                return character, False
        found = self[character] = self._charsmap.look(character)
        return found


class _Singles(dict[int, str]):
    """What each character on its own becomes, as `str.translate` wants it."""

    def __init__(self, known: _Known) -> None:
        super().__init__()
        self._known = known

    def __missing__(self, code_point: int) -> str:
        value = self[code_point] = self._known[chr(code_point)][0]
        return value


class _Words(dict[str, str]):
    """What words become, with the blank before them: the last ones that are short."""

    def __init__(self, charsmap: _CharsMap) -> None:
        super().__init__()
        self._charsmap = charsmap

    def __missing__(self, word: str) -> str:
        made = self._charsmap.apply(f" {word}")
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _KNOWN_WORDS:
                self.clear()
            self[word] = made
        return made


@cache
def _parsed(data: bytes) -> _CharsMap:
    return _CharsMap(data)


@dataclass(frozen=True, slots=True, repr=False)
class Precompiled:
    """Maps grapheme clusters and characters as sentencepiece's character map says.

    Attributes:
        charsmap: the map, as a .model file and (in base64) a tokenizer.json have it.

    Raises:
        VocabularyError: the map is damaged.
    """

    charsmap: bytes

    def __post_init__(self) -> None:
        _parsed(self.charsmap)

    def __repr__(self) -> str:
        return f"Precompiled({self.charsmap!r})"

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        charsmap = _parsed(self.charsmap)
        text = without_surrogates(text)
        if len(text) == 1:
            return text.translate(charsmap.singles)
        if len(text) < _BY_WORDS or first_member(text, chars_of("prepends").edges) >= 0:
            return charsmap.apply(text)
        first, *words = text.split(" ")  # a cluster begins with each blank, as nothing leads it
        return "".join([charsmap.apply(first), *map(charsmap.words.__getitem__, words)])

    def apart(self, text: str) -> str:
        """Return what characters become that are looked up one by one."""
        return text.translate(_parsed(self.charsmap).singles)

    @staticmethod
    def clusters(text: str) -> Iterator[tuple[int, int, int]]:
        """Yield the clusters of a text, but for some of one character.

        Of each: where it starts, from where on what is before is too long to be looked up as a
        whole, and where it ends.
        """
        for found in _clusters(text):
            start, end = found.span()
            sizes = accumulate(len(one.encode()) for one in text[start : min(end, start + _SHORT)])
            n = next((n for n, size in enumerate(sizes, 1) if size >= _SHORT), end + 1 - start)
            yield start, start + n, end

    @staticmethod
    def stand_in(text: str) -> str | None:
        """Return what stands for a text before others; None: it does not end in a long cluster.

        What joins the cluster depends on its last character that joins none and on which ones
        follow, whatever their order and number, up to the last ones.
        """
        joins = chars_of("joins")
        places = [at for at, one in enumerate(text) if ord(one) not in joins]
        for base in reversed(places or [0]):
            few = text[base + 1 : -_LAST]
            if few and places and base < places[-1]:
                return None
            found = text[base : base + 1] + "".join(dict.fromkeys(few)) + text[base + 1 :][-_LAST:]
            if len(found.encode()) >= _SHORT:
                last = next(Precompiled.clusters(found), None)
                return (
                    found if last is not None and last[0] == 0 and last[2] == len(found) else None
                )
        return None

    @staticmethod
    def all_join(text: str) -> bool:
        """Return whether all characters join the cluster before them, if there is one."""
        joins = chars_of("joins")
        return all(ord(one) in joins for one in text)

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        text = traced.text
        lengths = of_each(text, lambda one: len(self.apply(one)))
        begins = np.ones(len(text), dtype=np.bool_)
        for found in _clusters(text):
            made = _parsed(self.charsmap).whole(found.group())
            if made is not None:
                begins[found.start() + 1 : found.end()] = False
                lengths[found.start()] = len(made)
        starts = np.flatnonzero(begins)
        return traced.rewritten(self.apply(text), starts, lengths[starts])

    def opens(self, character: str) -> bool:
        """Return whether what joins a character ("joins") can change, or change it."""
        return _parsed(self.charsmap).known[character][1]

    def each(self, texts: list[str]) -> list[str]:
        """Apply the step to each of some texts on its own."""
        known = _parsed(self.charsmap).known
        return [known[text][0] if len(text) == 1 else self.apply(text) for text in texts]

    def values(self) -> frozenset[str]:
        """Return all that characters and clusters are mapped to."""
        return _parsed(self.charsmap).values()

    def open_each(self, texts: list[str]) -> list[bool]:
        """Return for each of some texts whether one of its characters opens clusters."""
        known = _parsed(self.charsmap).known
        return [
            known[text][1] if len(text) == 1 else any(known[one][1] for one in text)
            for text in texts
        ]

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        code_point = ord(character)
        kinds = ("joins", "prepends", "pictographs")
        return (
            not any(code_point in chars_of(kind) for kind in kinds)
            and not self.opens(character)
            and character not in "\r\n"
            and not self._a_prefix_opens()
        )

    @staticmethod
    def begins(character: str) -> bool:
        """Return whether a character begins a cluster, whatever is before it but Prepend."""
        code_point = ord(character)
        kinds: tuple[ClassName, ...] = ("joins", "pictographs", "consonants")
        return not (
            any(code_point in chars_of(kind) for kind in kinds)
            or _hangul().match(character)
            or character == "\n"
        )

    @staticmethod
    def begins_after(before: str, character: str) -> bool:
        """Return whether a character begins a cluster after another, whatever is before both."""
        joins, one = chars_of("joins"), ord(character)
        if character == "\n":
            return before != "\r"
        if one in joins or ord(before) in chars_of("prepends"):
            return False
        if _hangul().match(character):
            return not _hangul().match(before) or bool(_parted_hangul().match(before + character))
        # Only what joins a cluster can join another letter, or pictograph, to it.
        return ord(before) not in joins

    @classmethod
    def begins_between(cls, before: str, character: str) -> bool:
        """Return whether a cluster ends and one begins between two, whatever is around them."""
        if cls.begins(character):
            return ord(before) not in chars_of("prepends")
        return cls.begins_after(before, character)

    def is_apart(self, text: str) -> bool:
        """Return whether a text becomes the same after any other one, and is one with no blank.

        Of a short cluster, all but the first character join it, or a prefix or CR comes first.
        """
        first, last = text[0], text[-1]
        begins = self.begins(first) if len(text) > 1 else first != "\n"
        joins = ord(first) in chars_of("joins") or ord(last) in chars_of("prepends")
        return begins and not joins and not self._a_prefix_opens()

    def depends_on_next(self, character: str) -> bool:
        """Return whether what a character becomes may depend on what joins it."""
        found, opens = _parsed(self.charsmap).known[character]
        return opens and found == character and not self._is_key(character)

    def _is_key(self, text: str) -> bool:
        return _parsed(self.charsmap).find_short(text) is not None

    def _a_prefix_opens(self) -> bool:
        return any(
            self.opens(chr(code_point))
            for start, end in chars_of("prepends").ranges()
            for code_point in range(start, end)
        )

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        singles, found = _parsed(self.charsmap).singles, set[str]()
        for start in range(0, len(text), _LOOKED_THROUGH):
            part = set(text[start : start + _LOOKED_THROUGH]) - found
            if any(singles[ord(one)] != one for one in part):
                return False
            found |= part
        if all(map(self.keeps, found)):
            return True
        if self.apply(text) != text or text.translate(_parsed(self.charsmap).singles) != text:
            return False
        return self.acts_alone(text)

    def acts_alone(self, text: str) -> bool:
        """Return whether each character of a text and of its slices is changed on its own."""
        if not any(map(self.opens, set(text))):
            return True
        return not any(
            self.opens(character) for found in _clusters(text) for character in found.group()[:-1]
        )
