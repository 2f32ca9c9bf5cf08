"""sentencepiece's character map as files have it: a trie of keys, and what each is mapped to.

The trie is a double array, by bytes of UTF-8; texts end with a zero byte.
"""

from array import array
from collections.abc import Iterable, Iterator
from struct import unpack_from
from sys import byteorder
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.errors import VocabularyError
from cutline.pretokenize.charset import CODE_POINTS

__all__ = ["HAS_VALUE", "NO_LABEL", "Found", "KeyTrie", "offset_of", "read_charsmap", "text_at"]

HAS_VALUE: Final = 0x100
"""This bit of a unit says that its key is mapped."""

NO_LABEL: Final = 0x8000_0000
"""This bit of a unit says that it has a value, and no label."""

_LABEL: Final = NO_LABEL | 0xFF
"""These bits of a unit are the byte that leads to it, if it has a label."""

_KNOWN: Final = 1 << 16  # steps that are kept
_MOST_LEVELS: Final = 1 << 12  # characters of a key
_MOST_NODES: Final = 1 << 22  # at a time, of those that keys end with
_WIDE: Final = 0x80  # bytes from here on are parts of characters
_LEADS: Final = ((0xC0, 1, 0x80), (0xE0, 2, 0x800), (0xF0, 3, 0x10000))
"""First bytes of UTF-8, without what they say, how many follow, and the least such code point."""

_SURROGATES: Final = 0xD800 >> 11


def read_charsmap(data: bytes) -> tuple["array[int]", bytes]:
    """Read the units of the trie, and all texts.

    Raises:
        VocabularyError: the map is damaged.
    """
    size = unpack_from("<I", data)[0] if len(data) >= 4 else 0
    if size % 4 or not 0 < size <= len(data) - 4:
        raise _damaged(f"its trie of {size} bytes does not fit into its {len(data)} bytes")
    strings = data[4 + size :]
    units = array("I", data[4 : 4 + size])
    if byteorder == "big":
        units.byteswap()
    _check(np.frombuffer(units, dtype=np.uint32), strings)
    return units, strings


def _check(units: NDArray[np.uint32], strings: bytes) -> None:
    """Refuse a trie that leads out of itself or of the strings, or to no beginning of one."""
    try:
        strings.decode()
    except UnicodeDecodeError as error:
        raise _damaged(f"a string is not UTF-8: {error}") from None
    has_value = (units & (NO_LABEL | HAS_VALUE)) == HAS_VALUE
    offsets = (units >> 10) << ((units & 0x200) >> 6)
    places = (np.arange(len(units), dtype=np.uint32) ^ offsets)[has_value]
    if (places >= len(units)).any():
        raise _damaged("its trie leads out of itself")
    starts = units[places] & (NO_LABEL - 1)
    if (starts >= max(1, len(strings))).any():
        raise _damaged("its trie leads out of its strings")
    at = np.frombuffer(strings or b"\0", dtype=np.uint8)[starts]
    if ((at & 0xC0) == 0x80).any():
        raise _damaged("its trie leads into the middle of a character")


def _damaged(why: str) -> VocabularyError:
    """Make the error for a map that cannot be used."""
    return VocabularyError(f"a precompiled character map is damaged: {why}; download it again")


def offset_of(unit: int) -> int:
    """Return what leads from a unit to those after it."""
    return (unit >> 10) << ((unit & 0x200) >> 6)


def text_at(strings: bytes, start: int) -> str:
    """Return the text that begins at a place."""
    end = strings.find(b"\0", start)
    return strings[start : None if end < 0 else end].decode()


def _not_utf8() -> VocabularyError:
    return _damaged("a key is not UTF-8")


class Found(NamedTuple):
    """The longest key of several characters at a place of a text.

    Attributes:
        end: where it ends; behind the character at the place, if there is none.
        value: what it is mapped to.
        seen: the text up to here decides; one more than it has: what comes next may do so, too.
    """

    end: int
    value: str
    seen: int


class _Nodes(NamedTuple):
    """Nodes of the trie that end characters: the characters, and what leads on from each."""

    points: NDArray[np.int64]
    bases: NDArray[np.int64]
    have_values: NDArray[np.bool_]


class KeyTrie:
    """The keys of a map.

    Attributes:
        singles: what characters alone are mapped to.
        firsts: characters that begin keys of several.
        seconds: those that come next in such keys; and
        later: all that are in such keys after the first.
        inner: those that are in such keys and neither the first nor the last.
        longest: the characters of the longest key.
        removes: something may be mapped to nothing.
    """

    def __init__(self, data: bytes) -> None:
        self._units, self._strings = read_charsmap(data)
        units = np.frombuffer(self._units, dtype=np.uint32)
        labels = units & np.uint32(_LABEL)
        children = np.flatnonzero((labels > 0) & (labels <= 0xFF))
        bases = children ^ labels[children].astype(np.int64)
        by_base = np.argsort(bases, kind="stable")
        self._children, self._bases = children[by_base], bases[by_base]
        self._labels = labels[self._children].astype(np.int64)
        self._offsets = ((units >> 10) << ((units & 0x200) >> 6)).astype(np.int64)
        self._have_values = (units & HAS_VALUE) != 0
        self._root = offset_of(self._units[0])
        mapped = self._children[self._have_values[self._children]]
        starts = units[self._offsets[mapped] ^ mapped] & np.uint32(NO_LABEL - 1)
        firsts = np.frombuffer(self._strings or b"\0", dtype=np.uint8)[starts]
        self.removes = bool((firsts == 0).any())
        self._known: dict[tuple[int, str], tuple[int, bool] | None] = {}
        nodes = self._after(np.array([self._root]))
        self.singles = {
            chr(point): text_at(self._strings, self._units[base] & (NO_LABEL - 1))
            for point, base, has in zip(*(one.tolist() for one in nodes), strict=True)
            if has
        }
        self._lead_on = frozenset(self._bases.tolist())
        self._find_kinds(nodes)

    def _find_kinds(self, nodes: _Nodes) -> None:
        leads_on = self._n_children(nodes.bases) > 0
        self.firsts = frozenset(map(chr, nodes.points[leads_on].tolist()))
        later, inner, self.longest = set[int](), set[int](), 1
        self.seconds: frozenset[str] = frozenset()
        while leads_on.any():
            if self.longest > _MOST_LEVELS:
                raise _damaged("its trie leads back to where it has been")
            nodes = self._after(np.unique(nodes.bases[leads_on]))
            leads_on = self._n_children(nodes.bases) > 0
            later |= set(nodes.points.tolist())
            self.seconds = self.seconds or frozenset(map(chr, later))
            inner |= set(nodes.points[leads_on].tolist())
            self.longest += 1
        self.later, self.inner = frozenset(map(chr, later)), frozenset(map(chr, inner))

    def _after(self, bases: NDArray[np.int64]) -> _Nodes:
        """Follow one more character from nodes."""
        children, labels = self._children_of(bases)
        nodes, points = [children[labels < _WIDE]], [labels[labels < _WIDE]]
        n_leads = len(nodes[0])
        for lead, more, least in _LEADS:
            leads = (labels & (lead >> 1 | 0x80)) == lead
            n_leads += int(np.count_nonzero(leads))
            found, written = children[leads], labels[leads] & ~lead
            for _ in range(more):
                if self._have_values[found].any():
                    raise _not_utf8()
                owners = self._offsets[found] ^ found
                written = np.repeat(written, self._n_children(owners))
                found, last = self._children_of(owners)
                written = written << 6 | last & 0x3F
                if ((last & 0xC0) != 0x80).any():
                    raise _not_utf8()
            inside = (written >= least) & (written < CODE_POINTS)
            if (~inside | (written >> 11 == _SURROGATES)).any():
                raise _not_utf8()
            nodes.append(found)
            points.append(written)
        if n_leads < len(labels):
            raise _not_utf8()
        found, written = np.concatenate(nodes), np.concatenate(points)
        return _Nodes(written, self._offsets[found] ^ found, self._have_values[found])

    def _n_children(self, bases: NDArray[np.int64]) -> NDArray[np.int64]:
        first, last = (np.searchsorted(self._bases, bases, side) for side in ("left", "right"))
        counts: NDArray[np.int64] = last - first
        return counts

    def _children_of(self, bases: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nodes after some, one after the other, and their labels."""
        counts = self._n_children(bases)
        ends = np.cumsum(counts)
        if len(counts) and ends[-1] > _MOST_NODES:
            raise _damaged("its trie has more keys than a map can have")
        starts = np.searchsorted(self._bases, bases)
        at = np.repeat(starts - ends + counts, counts) + np.arange(counts.sum())
        return self._children[at], self._labels[at]

    def match(self, text: str, start: int) -> Found:
        """Find the longest key of several characters that begins at a place."""
        base, end, mapped = self._root, start + 1, -1
        for place in range(start, len(text)):
            step = self._step(base, text[place])
            if step is None:
                return self._found(end, mapped, place + 1)
            base, has_value = step
            if has_value and place > start:
                end, mapped = place + 1, base
            if base not in self._lead_on:
                return self._found(end, mapped, place + 1)
        return self._found(end, mapped, len(text) + 1)

    def _found(self, end: int, mapped: int, seen: int) -> Found:
        value = "" if mapped < 0 else text_at(self._strings, self._units[mapped] & (NO_LABEL - 1))
        return Found(end, value, seen)

    def _step(self, base: int, character: str) -> tuple[int, bool] | None:
        """Follow a character from a node; None: no key goes on with it."""
        key = base, character
        if key not in self._known:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[key] = self._look(base, character)
        return self._known[key]

    def _look(self, base: int, character: str) -> tuple[int, bool] | None:
        units, has_value = self._units, False
        for byte in character.encode("utf-8", "surrogatepass"):
            place = base ^ byte
            if not byte or place >= len(units) or units[place] & _LABEL != byte:
                return None
            base, has_value = place ^ offset_of(units[place]), bool(units[place] & HAS_VALUE)
        return base, has_value

    def joins(self, before: str, character: str) -> bool:
        """Return whether a key may have two characters side by side."""
        if character not in self.later:
            return False
        return before in self.inner or self.opens(before + character)

    def opens(self, pair: str) -> bool:
        """Return whether a key begins with two characters."""
        first = self._step(self._root, pair[0])
        return first is not None and self._step(first[0], pair[1]) is not None

    def values(self, characters: Iterable[str]) -> Iterator[str]:
        """Yield what all keys of several characters, if these are among some, are mapped to."""
        present = set(characters)
        later = sorted(present & self.later)
        nodes = [(one, self._root) for one in sorted(present & self.firsts)]
        seen = set(nodes)
        for character, base in nodes:  # which grows
            step = self._step(base, character)
            if step is None:
                continue
            if step[1] and base != self._root:
                yield text_at(self._strings, self._units[step[0]] & (NO_LABEL - 1))
            if step[0] in self._lead_on:
                new = {(one, step[0]) for one in later} - seen
                seen |= new
                nodes += new

    @property
    def strings(self) -> str:
        """All texts that keys are mapped to, with zero bytes between."""
        return self._strings.decode()
