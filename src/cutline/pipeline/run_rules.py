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
    after_lines = _after_lines(neighbours, spell)
    return RunRules(spell.kept_bits, after_lines, spell.stand_ins, written, prefix)


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


def _after_lines(neighbours: Neighbours, spell: Spell) -> NDArray[np.uint8] | None:
    """Tell by a bit for each character whether a text may be cut between a line feed and it."""
    line, *unknown = neighbours.classes_in("\n" + spell.stand_ins).tolist()
    if not neighbours.apart[line, unknown].all():
        return None
    return neighbours.bits_of(neighbours.apart[line])
