"""Splits after the pre-tokenizer ByteLevel, such as Falcon's: they see a letter for each byte.

The letters of ASCII's digits are these digits, so that here texts are split at them. Among the
letters of other bytes are numbers, too, as "²": there the package cuts inside characters, which is
not done here. If no token lies across such a place, the tokens are the same, cut or not. And where
such a byte ends a character, runs of numbers go on with the digits after it, so that nothing is
cut there. The proof: docs/tokenizers.md.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from cutline.formats.tokenizer_json import Part, refused
from cutline.pretokenize.splitting import Splitting
from cutline.vocabulary import Vocabulary
from cutline.vocabulary.letters import as_text

__all__ = ["check_after_bytes", "runs_of_numbers", "splittings_after_bytes"]

_IS_NUMBER: Final = np.array(
    [byte >= 0x80 and unicodedata.category(as_text(bytes([byte])))[0] == "N" for byte in range(256)]
)
"""The bytes beyond ASCII whose letter is one for the pre-tokenizer Digits."""

_IS_DIGIT: Final = np.isin(np.arange(256), np.frombuffer(b"0123456789", dtype=np.uint8))
_OF_DIGITS: Final = re.compile(r"(?:\[0-9\](?:\+|\{\d+(?:,\d+)?\})?)+")


def splittings_after_bytes(parts: Sequence[Part], source: str) -> list[Splitting]:
    """Read the pre-tokenizers after ByteLevel as splittings of the text before it.

    Raises:
        VocabularyError: one looks at more than digits; shows it.
    """
    found = []
    for part in parts:
        match part:
            case {"type": "Digits"}:
                alone = part.get("individual_digits")
                found.append(Splitting("[0-9]" if alone else runs_of_numbers(), "isolated"))
            case {
                "type": "Split",
                "pattern": {"Regex": str() as pattern},
                "behavior": "Isolated",
            } if _OF_DIGITS.fullmatch(pattern) and not part.get("invert"):
                found.append(Splitting(pattern, "isolated"))
            case _:
                why = "what comes after ByteLevel, but for digits, would cut inside characters"
                raise refused(source, "pre_tokenizer", part, why)
    return found


@cache
def runs_of_numbers() -> str:
    """Write the pattern of what Digits keeps together: digits, or text up to the next ones.

    Text whose last byte is a number to it goes on with them.
    """
    last = "".join(rf"\p{{LastByte={byte:02X}}}" for byte in np.flatnonzero(_IS_NUMBER))
    return f"[^0-9]*[{last}][0-9]+|[^0-9]+|[0-9]+"


def check_after_bytes(
    vocabulary: Vocabulary, parts: Sequence[Part], *, ignore_merges: bool, source: str
) -> None:
    """Refuse a vocabulary for which cuts beside the bytes of `_IS_NUMBER` matter.

    Args:
        vocabulary: the tokens that merging makes.
        parts: the pre-tokenizers; the last ones come after ByteLevel.
        ignore_merges: pieces that are tokens are looked up.
        source: where it comes from.

    Raises:
        VocabularyError: says why.
    """
    kinds = [part["type"] for part in parts]
    digits = [part for part in parts[kinds.index("ByteLevel") :] if part["type"] == "Digits"]
    if not digits:
        return
    if ignore_merges:
        why = "with ignore_merges, pieces that Digits cuts inside characters are looked up"
        raise refused(source, "pre_tokenizer", list(parts), why)
    inside = np.ones(len(vocabulary.arena), dtype=bool)
    inside[vocabulary.offsets[:-1]] = False  # where no token starts
    letters = np.frombuffer(vocabulary.arena, dtype=np.uint8)
    is_byte, is_number = _IS_NUMBER[letters], (_IS_NUMBER | _IS_DIGIT)[letters]
    is_cut = is_byte[1:] | is_byte[:-1]
    if not any(part.get("individual_digits") for part in digits):
        is_cut &= is_number[1:] != is_number[:-1]
    across = np.flatnonzero(is_cut & inside[1:])
    if len(across):
        token = vocabulary.token_bytes(
            int(np.searchsorted(vocabulary.offsets, across[0], side="right")) - 1
        )
        why = f"Digits cuts inside characters there, and {token!r} is a token across such a place"
        raise refused(source, "pre_tokenizer", list(parts), why)
