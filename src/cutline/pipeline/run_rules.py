"""Which encodings count texts by their runs: what lies between two blanks, with those before it.

Their tokens add up where no piece goes on across a blank after another character, and where each
character is changed on its own: docs/tokenizers.md, "Counts by runs".
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.run_counts import RunRules
from cutline.normalizing import Lead, Prepend, Replace, Spell
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
    if spec.characters is None or spec.pat_str is None or not has_automaton(spec.pat_str):
        return None
    if any(token.normalized and not token.special for token in spec.added_tokens):
        return None  # the text that they are searched for in is not there
    match spec.normalizer:
        case [Replace(written, " "), Spell() as spell] if len(written) == 1:
            prefix = _A_BLANK_IF_NONE if spec.prefix_space else _NO_PREFIX
        case [Replace(written, " "), Prepend(" "), Spell() as spell] if (
            len(written) == 1 and not spec.prefix_space
        ):
            prefix = _A_BLANK_IF_NONE if isinstance(spec.normalizer[1], Lead) else _A_BLANK
        case _:
            return None
    neighbours = Neighbours(spec.pat_str)
    (blank,) = neighbours.classes_in(_BLANK).tolist()
    others = np.arange(neighbours.n_classes) != blank
    if not neighbours.is_alone(blank) or not neighbours.apart[others, blank].all():
        return None
    after_lines = _after_lines(neighbours, spell)
    return RunRules(spell.kept_bits, after_lines, spell.stand_ins, written, prefix)


def _after_lines(neighbours: Neighbours, spell: Spell) -> NDArray[np.uint8] | None:
    """Tell by a bit for each character whether a text may be cut between a line feed and it."""
    line, *unknown = neighbours.classes_in("\n" + spell.stand_ins).tolist()
    if not neighbours.apart[line, unknown].all():
        return None
    class_of, _ = neighbours.tables_of(neighbours.apart)
    return np.packbits(neighbours.apart[line][class_of], bitorder="little")
