"""Counts by runs where a normalizer changes characters: a run is written by their images.

Its tokens depend on it and its leading blanks alone, unless its characters change one another: then
it is normalized as a string each time. Source: docs/tokenizers.md, "Counts by runs".
"""

import re
from functools import partial
from operator import or_
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.errors import PatternError, VocabularyError
from cutline.kernels.words.char_map import CharMap
from cutline.kernels.words.run_images import ImageRules
from cutline.normalizing import SPACE, Form, Lower, Spell, Step, Unknown
from cutline.pipeline.part_normalizer import PartNormalizer
from cutline.pretokenize.neighbours import Neighbours
from cutline.words.char_rules import CharRules
from cutline.words.neighbours import LEFT, RIGHT
from cutline.words.splitting import Metaspace

__all__ = ["NO_CHARACTER", "image_rules"]

_BLANK: Final = " "
_A_BLANK: Final = 1
_WHITE: Final = 32  # of an image: it is a blank of a run that counts as one
_SURROGATES: Final = slice(0xD800, 0xE000)
NO_CHARACTER: Final = "\U0010fffe"
"""Instead of one that is written as a blank."""


def image_rules(
    steps: tuple[Step, ...],
    last: tuple[Step, ...],
    written: str,
    prefix: int,
    neighbours: Neighbours,
) -> ImageRules | None:
    """Return how runs are counted by images; None: their counts might not add up.

    Args:
        steps: of the normalizer, but for
        last: those after which no character changes, but for how it is written.
        written: what is written as a blank then, too; or NO_CHARACTER.
        prefix: what is put before a text, as kernels take it.
        neighbours: which characters are in different pieces.
    """
    blank = int(neighbours.classes_in(_BLANK)[0])
    closes = neighbours.apart[:, blank] & neighbours.in_pieces
    try:
        rules = CharRules(steps, (Metaspace("never", True, written),), None)
    except (VocabularyError, PatternError):
        return None
    if not closes.any() or not neighbours.is_alone(blank) or not rules.keeps_blanks:
        return None
    if rules.collapses:
        if prefix == _A_BLANK:
            return None  # before one that is there already, too
        closes[blank] = False
    spelling = next((one for one in last if isinstance(one, Spell | Unknown)), None)
    ends = neighbours.bits_of(closes)
    made = ImageRules(
        np.zeros(1, dtype=np.uint8),
        None,
        None,
        "",
        _BLANK,
        written,
        prefix,
        CharMap(partial(_characters, rules, spelling, written), rules.maker),
        ends,
        spelling.stand_ins if isinstance(spelling, Unknown) and spelling.fuses else "",
        rules.strips_end,
        PartNormalizer((*steps, *last)),
        _stay_solid(steps) and _all_close(ends),
    )
    return made if made.are_known else None


def _stay_solid(steps: tuple[Step, ...]) -> bool:
    """Return whether a part that ends in no white space becomes such, wherever it begins.

    A normal form removes nothing, and what composes, or is moved among marks, is no white space.
    """
    return all(isinstance(step, Form | Lower) for step in steps)


def _all_close(ends: NDArray[np.uint8]) -> bool:
    """Return whether all characters but white space close runs: have a bit each."""
    closes = np.unpackbits(ends, bitorder="little")
    closes[list(map(ord, SPACE))] = closes[_SURROGATES] = 1
    return bool(closes.all())


def _characters(
    rules: CharRules, spelling: Spell | Unknown | None, written: str, block: int
) -> tuple[list[str], bytearray]:
    """Return what characters of a block become as they are encoded, and how they interact."""
    texts, flags = rules.characters(block)
    if _BLANK in texts:
        white = [_WHITE if text == _BLANK else 0 for text in texts]
        flags = bytearray(map(or_, flags, white))
    if (rules.strips_end or written == NO_CHARACTER) and written in "".join(texts):
        # It is a blank that is not cut off, or none.
        apart = [LEFT | RIGHT if written in text else 0 for text in texts]
        flags = bytearray(map(or_, flags, apart))
    if spelling is None:
        return texts, flags
    others = set("".join(texts)) - spelling.known - {written}
    if not others:
        return texts, flags
    instead = {ord(one): _spelled(spelling, one) for one in others}
    get = instead.get
    texts = [
        get(ord(text), text) if len(text) == 1 else _written(spelling, instead, text)
        for text in texts
    ]
    return texts, flags


def _written(spelling: Spell | Unknown, instead: dict[int, str], text: str) -> str:
    """Write stand-ins for the unknown characters of what becomes of one, if that is not one."""
    made = text.translate(instead)
    if isinstance(spelling, Unknown) and spelling.fuses:
        return re.sub(f"{spelling.stand_ins}{{2,}}", spelling.stand_ins, made)
    return made


def _spelled(spelling: Spell | Unknown, character: str) -> str:
    return spelling.stand_ins if isinstance(spelling, Unknown) else spelling.apply(character)
