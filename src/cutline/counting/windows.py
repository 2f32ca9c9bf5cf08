"""The longest prefix that fits a budget, of a text that is read in windows: most are short."""

from cutline.checks import utf8_of
from cutline.kernels.cut.windows import Cutter
from cutline.text_encoder import TextEncoder

__all__ = ["longest_fit"]

_CHARACTERS_OF_A_TOKEN = 8  # more than it has nearly always
_LEAST = 64  # characters of a window


def longest_fit(encoding: TextEncoder, text: str, start: int, limit: int, n: int) -> int:
    """Find the greatest end, up to `limit`, such that `text[start:end]` has at most n tokens.

    Args:
        encoding: its split pattern has an automaton, and it does not change texts.
        text: any text; from `start` on, what is read has no surrogates.
        start: in code points.
        limit: at most the text's length.
        n: 0 or more.

    Cost: linear in the text up to that end, and up to the end of the piece behind it if the split
    pattern leaves out characters. Else in what n tokens cover at all, for a piece of more.
    """
    bound = encoding._max_normalized_bytes_of(n)
    most = limit if bound is None else min(limit, start + bound)
    width = _CHARACTERS_OF_A_TOKEN * n + _LEAST
    while True:
        stop = min(most, start + width)
        owner = utf8_of(text[start:stop], start)
        cutter = Cutter(encoding, owner)
        # A token has at least one byte.
        end = cutter.longest_fit(0, min(n, len(owner)), stop < most)
        cutter.close()
        if end >= 0:
            return start + (end if isinstance(owner, str) else len(owner[:end].decode()))
        width *= 4
