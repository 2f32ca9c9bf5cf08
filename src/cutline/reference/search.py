"""Finding all tokens in a text with the Aho-Corasick automaton, part by part.

pyahocorasick works on `str`; in latin-1 every byte is one character, so positions in the
string are positions in the bytes.

Cost: linear in the text and in the tokens found.
Source: A. V. Aho, M. J. Corasick, "Efficient string matching", Communications of the ACM, 1975.
"""

from collections.abc import Iterable, Iterator

from ahocorasick import Automaton

__all__ = ["Automaton", "Search", "automaton_of"]

PART_BYTES = 1 << 12  # pyahocorasick copies its input at four bytes a character


def automaton_of(tokens: Iterable[bytes]) -> Automaton:
    """Build the automaton that finds these tokens."""
    automaton = Automaton()
    for token in tokens:
        automaton.add_word(token.decode("latin-1"), token)
    automaton.make_automaton()
    return automaton


class Search:
    """One pass over a text that may come in several parts.

    Args:
        automaton: finds the tokens.
        place: the position in the text at which the search begins.

    >>> search = Search(automaton_of([b"a", b"b", b"ab", b"bab"]))
    >>> list(search.read(b"ba")), list(search.read(b"b"))
    ([(1, b'b'), (2, b'a')], [(3, b'bab'), (3, b'ab'), (3, b'b')])
    """

    def __init__(self, automaton: Automaton, place: int = 0) -> None:
        self._place = place
        self._ends = automaton.iter("")

    def read(self, text: bytes | memoryview) -> Iterator[tuple[int, bytes]]:
        """Continue with more text: yield the end and the bytes of each token found.

        Ends are increasing; tokens with the same end come longest first. The search is
        lazy.
        """
        for start in range(0, len(text), PART_BYTES):
            self._ends.set(str(text[start : start + PART_BYTES], "latin-1"))
            for last, token in self._ends:
                yield self._place + last + 1, token
