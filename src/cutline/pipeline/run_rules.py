"""Which encodings count texts by their runs: what lies between two blanks, with those before it.

Their tokens add up where no piece goes on across a blank after another character, and where each
character is changed on its own: docs/tokenizers.md, "Counts by runs".
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.run_counts import RunRules
from cutline.normalizing import Lead, Prepend, Replace, Spell, Step, Unknown
from cutline.pipeline.run_images import NO_CHARACTER, image_rules
from cutline.pretokenize.neighbours import Neighbours
from cutline.pretokenize.splitting import has_automaton
from cutline.spec import TokenizerSpec

__all__ = ["run_rules"]

_BLANK: Final = " "
_STOPS: Final = "\u3002\uff0c\u3001"
"""The most frequent ones of Chinese and Japanese."""
_LETTERS: Final = "\u4e00\u306e"
"""One of each of their scripts."""
_NO_PREFIX, _A_BLANK, _A_BLANK_IF_NONE = range(3)


def run_rules(spec: TokenizerSpec) -> RunRules | None:
    """Return how texts without added tokens are counted by runs.

    None: the counts of runs might not add up.
    """
    if spec.pat_str is None or not has_automaton(spec.pat_str):
        return None
    if any(token.normalized and not token.special for token in spec.added_tokens):
        return None  # the text that they are searched for in is not there
    steps, last, prefix = _divided(spec)
    neighbours = Neighbours(spec.pat_str)
    match last:
        case [Replace(written, " "), *_, Spell() as spell] if not steps:
            pass
        case [Replace(written, " "), *_]:
            return image_rules(steps, last, written, prefix, neighbours)
        case _:
            if not steps and prefix == _NO_PREFIX:
                return None
            return image_rules(steps, last, NO_CHARACTER, prefix, neighbours)
    (blank,) = neighbours.classes_in(_BLANK).tolist()
    others = np.arange(neighbours.n_classes) != blank
    if not neighbours.is_alone(blank) or not neighbours.apart[others, blank].all():
        return None
    stops = _stops(neighbours, spell)
    after_lines, after_stops = (_after(neighbours, spell, one) for one in ("\n", stops))
    return RunRules(
        spell.kept_bits, after_lines, after_stops, stops, spell.stand_ins, written, prefix
    )


def _divided(spec: TokenizerSpec) -> tuple[tuple[Step, ...], tuple[Step, ...], int]:
    """Divide the steps before and from where blanks are replaced on; and say what is put first."""
    steps, last = spec.normalizer, tuple[Step, ...]()
    prefix = _A_BLANK_IF_NONE if spec.prefix_space else _NO_PREFIX
    if steps and isinstance(steps[-1], Spell | Unknown):
        steps, last = steps[:-1], steps[-1:]
    if steps and isinstance(steps[-1], Prepend) and steps[-1].prefix == _BLANK and not prefix:
        prefix = _A_BLANK_IF_NONE if isinstance(steps[-1], Lead) else _A_BLANK
        steps, last = steps[:-1], (steps[-1], *last)
    match steps:
        case [*_, Replace(written, " ") as one] if len(written) == 1 and spec.characters:
            steps, last = steps[:-1], (one, *last)
    return steps, last, prefix


def _stops(neighbours: Neighbours, spell: Spell) -> str:
    """Return the stops that a text may be cut after where most of what comes next begins."""
    letters = [neighbours.classes_in(spell.apply(one))[0] for one in _LETTERS]
    return "".join(stop for stop in _STOPS if _row(neighbours, spell, stop)[letters].all())


def _row(neighbours: Neighbours, spell: Spell, character: str) -> NDArray[np.bool_]:
    """Tell for each class whether a text may be cut between a character, as written, and it."""
    row: NDArray[np.bool_] = neighbours.apart[neighbours.classes_in(spell.apply(character))[-1]]
    return row


def _after(neighbours: Neighbours, spell: Spell, stops: str) -> NDArray[np.uint8] | None:
    """Tell by a bit for each character whether a text may be cut between each of some and it."""
    if not stops:
        return None
    rows = [_row(neighbours, spell, stop) for stop in stops]
    apart: NDArray[np.bool_] = np.logical_and.reduce(rows)
    kept = spell.kept_bits
    bits = neighbours.bits_of(apart) & kept
    # What is written by its bytes begins with one of their stand-ins.
    return bits | ~kept if apart[neighbours.classes_in(spell.stand_ins)].all() else bits
