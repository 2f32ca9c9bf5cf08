"""sentencepiece's character map, as sentencepiece applies it: the longest key from the left.

`tokenizers` applies the same map otherwise: see `precompiled.py`. What it means for slices and
cuts: docs/words.md, "Longest keys".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.checks import without_surrogates
from cutline.errors import VocabularyError
from cutline.kernels.words.classes import first_member
from cutline.normalizing import Traced, of_each
from cutline.pretokenize.charset import CharSet
from cutline.words.map_trie import Found, KeyTrie

__all__ = ["CharsMap"]

_KNOWN: Final = 1 << 14  # pairs of characters
_LOOKED_THROUGH: Final = 4096  # characters at a time, for one that is changed


class _Singles(dict[int, str]):
    """What each character on its own becomes, as `str.translate` wants it."""

    def __missing__(self, code_point: int) -> str:
        value = self[code_point] = chr(code_point)
        return value


class _Openings(dict[str, bool]):
    """Of two characters each, whether a key of several begins with them."""

    def __init__(self, keys: "_Keys") -> None:
        super().__init__()
        self._decide = keys.opens

    def __missing__(self, pair: str) -> bool:
        if len(self) >= _KNOWN:
            self.clear()
        value = self[pair] = self._decide(pair)
        return value


class _Keys:
    """The keys of a map, and the symbols, which are keys that are mapped to themselves.

    Attributes:
        singles: what each character on its own becomes.
        firsts: the characters that begin keys of several;
        later: those that are in such after the first; and
        later_in_map: of these, those in keys of the map.
        lasting: those that are in such before the last.
        longest: the characters of the longest key.
        texts: all that keys are mapped to, with zero bytes between.
        removes: a key may be mapped to nothing.
    """

    def __init__(self, data: bytes, symbols: tuple[str, ...]) -> None:
        self._trie = trie = KeyTrie(data)
        self._symbols = dict[str, list[str]]()
        for symbol in sorted(symbols, key=len, reverse=True):
            self._symbols.setdefault(symbol[0], []).append(symbol)
        self._pairs = {pair for symbol in symbols for pair in pairwise(symbol)}
        self.singles = _Singles({ord(one): text for one, text in trie.singles.items()})
        self.singles.update((ord(symbol), symbol) for symbol in symbols if len(symbol) == 1)
        self.firsts = trie.firsts | {symbol[0] for symbol in symbols if len(symbol) > 1}
        self.later_in_map = trie.later
        self.later = trie.later.union(*(symbol[1:] for symbol in symbols))
        self.lasting = (trie.firsts | trie.inner).union(*(symbol[:-1] for symbol in symbols))
        seconds = trie.seconds.union(symbol[1:2] for symbol in symbols) - {""}
        ranges = ((ord(one), ord(one) + 1) for one in seconds)
        self._second_edges = CharSet.from_ranges(ranges).edges
        self.longest = max(trie.longest, *map(len, symbols), 1)
        self.texts = "\0".join([trie.strings, *symbols])
        self.removes = trie.removes
        self._openings = _Openings(self)

    def opens(self, pair: str) -> bool:
        """Return whether a key begins with two characters."""
        return self._trie.opens(pair) or any(
            symbol.startswith(pair) for symbol in self._symbols.get(pair[0], ())
        )

    def match(self, text: str, start: int) -> Found:
        """Find the key of several characters that is taken at a place."""
        symbols = self._symbols.get(text[start])
        if symbols is None:
            return self._trie.match(text, start)
        rest = text[start : start + len(symbols[0])]
        seen = start + len(symbols[0])
        if seen > len(text):
            may_go_on = any(len(one) > len(rest) and one.startswith(rest) for one in symbols)
            seen = len(text) + may_go_on
        symbol = next((one for one in symbols if rest.startswith(one)), None)
        if symbol is not None:
            return Found(start + len(symbol), symbol, seen)
        found = self._trie.match(text, start)
        return found._replace(seen=max(found.seen, seen))

    def matches(self, text: str, *, overlapping: bool = False) -> Iterator[tuple[int, Found]]:
        """Look for keys at all places that may begin one of several characters.

        Args:
            text: it.
            overlapping: inside of what is found, too.
        """
        at = 0
        while (at := first_member(text, self._second_edges, at + 1)) >= 0:
            if self._openings[text[at - 1 : at + 1]]:
                found = self.match(text, at - 1)
                yield at - 1, found
                if not overlapping:
                    at = max(at, found.end)

    def joins(self, before: str, character: str) -> bool:
        """Return whether a key may have two characters side by side."""
        return (before, character) in self._pairs or self._trie.joins(before, character)

    def values(self, characters: Iterable[str]) -> Iterator[str]:
        """Yield what keys whose characters are all among some may be mapped to."""
        present = set(characters)
        yield from (self.singles[ord(one)] for one in present)
        yield from self._trie.values(present)
        for symbols in self._symbols.values():
            yield from (one for one in symbols if present.issuperset(one))


@cache
def _keys_of(data: bytes, symbols: tuple[str, ...]) -> _Keys:
    return _Keys(data, symbols)


@dataclass(frozen=True, slots=True, repr=False)
class CharsMap:
    """Maps the longest key at each place, from the left, as sentencepiece does.

    Attributes:
        charsmap: the map, as a .model file has it.
        symbols: texts that are found before keys, the longest at a place, and stay as they are.

    Raises:
        VocabularyError: the map is damaged, or a symbol is empty.
    """

    charsmap: bytes
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(self.symbols):
            raise VocabularyError("a symbol that a character map leaves as it is has no text")
        _keys_of(self.charsmap, self.symbols)

    def __repr__(self) -> str:
        return f"CharsMap({self.charsmap!r}, {self.symbols!r})"

    @property
    def _keys(self) -> _Keys:
        return _keys_of(self.charsmap, self.symbols)

    @property
    def longest(self) -> int:
        """The characters of the longest key."""
        return self._keys.longest

    @property
    def texts(self) -> str:
        """All that keys are mapped to, with zero bytes between."""
        return self._keys.texts

    @property
    def removes(self) -> bool:
        """Whether a key may be mapped to nothing."""
        return self._keys.removes

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        keys, parts, done = self._keys, list[str](), 0
        text = without_surrogates(text)
        for start, found in keys.matches(text):
            if found.end > start + 1:
                parts += [text[done:start].translate(keys.singles), found.value]
                done = found.end
        return "".join([*parts, text[done:].translate(keys.singles)])

    def each(self, texts: list[str]) -> list[str]:
        """Apply the step to each of some texts on its own."""
        singles = self._keys.singles
        return [singles[ord(text)] if len(text) == 1 else self.apply(text) for text in texts]

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        text, singles = traced.text, self._keys.singles
        lengths = of_each(text, lambda one: len(singles[ord(one)]))
        begins = np.ones(len(text), dtype=np.bool_)
        for start, found in self._keys.matches(text):
            if found.end > start + 1:
                begins[start + 1 : found.end] = False
                lengths[start] = len(found.value)
        starts = np.flatnonzero(begins)
        return traced.rewritten(self.apply(text), starts, lengths[starts])

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        keys = self._keys
        return (
            character not in keys.firsts
            and character not in keys.later
            and keys.singles[ord(character)] == character
        )

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        singles, found = self._keys.singles, set[str]()
        for start in range(0, len(text), _LOOKED_THROUGH):
            part = set(text[start : start + _LOOKED_THROUGH]) - found
            if any(singles[ord(one)] != one for one in part):
                return False
            found |= part
        return self.acts_alone(text)

    def acts_alone(self, text: str) -> bool:
        """Return whether each character of a text and of its slices is changed on its own."""
        matches = self._keys.matches(text, overlapping=True)
        return all(found.end == start + 1 for start, found in matches)

    def begins(self, character: str) -> bool:
        """Return whether no key goes on with a character: what is before it has no effect on it."""
        return character not in self._keys.later

    def ends_alike(self, character: str) -> bool:
        """Return whether a character that ends a key or none becomes the same whatever is before.

        Most that are in keys after the first are in symbols, of which they are left as they are.
        """
        keys = self._keys
        if character in keys.later_in_map:
            return False
        return character not in keys.later or keys.singles[ord(character)] == character

    def goes_on(self, character: str) -> bool:
        """Return whether a key may go on after a character."""
        return character in self._keys.lasting

    def joins(self, before: str, character: str) -> bool:
        """Return whether a key may have two characters side by side."""
        return self._keys.joins(before, character)

    def values(self, characters: Iterable[str]) -> frozenset[str]:
        """Return all that may become of some characters, in any order."""
        return frozenset(self._keys.values(characters))

    def cuts(self, text: str) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Find the places of a text that are inside of no key that is found.

        Returns:
            For each place, from 0 to the text's length, whether it is one; and up to where the
            text decides that, and what is found before. One more than it has: what follows does.
        """
        keys = self._keys
        is_cut = np.ones(len(text) + 1, dtype=np.bool_)
        seen = np.arange(len(text) + 1)
        seen[1:] += of_each(text, keys.firsts.__contains__, np.bool_)
        for start, found in keys.matches(text):
            is_cut[start + 1 : found.end] = False
            seen[start + 1 : found.end + 1] = found.seen
        return is_cut, np.maximum.accumulate(seen)
