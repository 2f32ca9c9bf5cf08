r"""Composing a sequence of splittings into one split pattern.

Each splitting cuts the pieces of the one before, whose ends it treats as ends of the text.
Combinations that are proven to be equivalent to one pattern are accepted, all others refused:

- Any number of splittings into runs of character classes. Cutting runs into runs gives the
  runs of the intersections of the classes.
- A pattern as the last one. In runs of a class it matches as if no other character existed
  (restricting.py). In groups of a few characters it must change nothing.
- A pattern after another one, if it leaves all pieces whole (whole.py).
- Text that a pattern does not match is a separate piece, if it is to be kept: filling.py.

The proof, and the families of models that this covers, are in docs/tokenizers.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from cutline.errors import UnsupportedPatternError
from cutline.pretokenize.analysis import Tables
from cutline.pretokenize.filling import fill_gaps
from cutline.pretokenize.pattern import Chars, Choice, Repeat, parse_pattern
from cutline.pretokenize.restricting import ANY, CharClass, restrict
from cutline.pretokenize.whole import leaves_whole

__all__ = ["DROPPED", "Matches", "Run", "Runs", "Stage", "compose"]

DROPPED = 0


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring characters of a class are one piece.

    Attributes:
        members: the class.
        limit: maximum length of a piece, after which the next one begins; None: no limit;
            `DROPPED`: they are dropped.
    """

    members: CharClass
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Runs:
    """A splitting by classes, which are disjoint and cover all characters."""

    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """A splitting into the matches of a pattern.

    Attributes:
        pat_str: the pattern in our dialect.
        keeps_gaps: the text between matches is a piece too, instead of being dropped.
    """

    pat_str: str
    keeps_gaps: bool


Stage = Runs | Matches


def compose(stages: Sequence[Stage]) -> str | None:
    r"""Write a sequence of splittings as one split pattern.

    Args:
        stages: the splittings, in order.

    Returns:
        The pattern; None if the text is not split at all.

    Raises:
        PatternError: a pattern is no regular expression.
        UnsupportedPatternError: a pattern is outside the subset that compiles to an
            automaton, or this is not known to be one pattern; says why.

    >>> digits = Matches(r"\p{N}", keeps_gaps=True)
    >>> compose([digits, Matches(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+", keeps_gaps=True)])
    '\\p{N}| ?\\p{L}+| ?[^\\s\\p{L}\\p{N}]+|\\s+'
    """
    runs: tuple[Run, ...] = (Run(ANY),)
    final: Matches | None = None
    for place, stage in enumerate(stages):
        if final is not None:
            if _is_whole_after(final, stage):
                continue
            raise UnsupportedPatternError(
                f"the pieces of split pattern {final.pat_str!r} are split again, which is not "
                "known to be one pattern"
            )
        by_classes = stage if isinstance(stage, Runs) else _as_runs(stage)
        if by_classes is None or (place == len(stages) - 1 and isinstance(stage, Matches)):
            assert isinstance(stage, Matches)
            final = stage
        else:
            runs = _refine(runs, by_classes)
    if final is not None:
        return _with_matches(runs, final)
    if runs == (Run(ANY),):
        return None
    return "|".join(_written(run) for run in runs if run.limit != DROPPED)


def _is_whole_after(first: Matches, second: Stage) -> bool:
    """Return whether a splitting leaves the pieces of a pattern whole."""
    if not isinstance(second, Matches) or first.keeps_gaps:
        return False
    return leaves_whole(first.pat_str, second.pat_str)


def _as_runs(stage: Matches) -> Runs | None:
    """Read a pattern as runs of character classes, if it is equivalent to that."""
    tree = parse_pattern(stage.pat_str)
    runs = []
    rest = ANY
    for option in tree.options if isinstance(tree, Choice) else (tree,):
        match option:
            case Chars(chars, source):
                run = Run(CharClass(chars, source), 1)
            case Repeat(Chars(chars, source), 1, maximum):
                run = Run(CharClass(chars, source), maximum)
            case _:
                return None
        if chars & rest.chars != chars:
            return None
        runs.append(run)
        rest = CharClass(rest.chars - chars, "")
    if len(rest.chars):
        written = "".join(run.members.source for run in runs)
        rest = CharClass(rest.chars, f"[^{written}]")
        runs.append(Run(rest, None if stage.keeps_gaps else DROPPED))
    return Runs(tuple(runs))


def _refine(runs: tuple[Run, ...], stage: Runs) -> tuple[Run, ...]:
    """Cut runs by the classes of the next splitting."""
    refined = []
    for run in runs:
        shared = [(run.members & by.members, by.limit) for by in stage.runs]
        shared = [(both, limit) for both, limit in shared if len(both.chars)]
        for both, limit in shared:
            refined.append(Run(both, _limit(run, limit, is_cut=len(shared) > 1)))
    return tuple(refined)


def _limit(run: Run, limit: int | None, *, is_cut: bool) -> int | None:
    """Return the limit of pieces in a class of a run that is cut by `limit`."""
    if DROPPED in (run.limit, limit):
        return DROPPED
    if run.limit is None:
        return limit
    if run.limit == 1 or (not is_cut and (limit is None or limit >= run.limit)):
        return run.limit
    if not is_cut and limit is not None and run.limit % limit == 0:
        return limit
    raise UnsupportedPatternError(
        f"groups of up to {run.limit} of {run.members.source} are split again, which is not "
        "known to be one pattern"
    )


def _with_matches(runs: tuple[Run, ...], final: Matches) -> str:
    """Write the pattern equivalent to a last pattern applied to runs."""
    tree = parse_pattern(final.pat_str)
    options = []
    for run in runs:
        if run.limit == DROPPED:
            continue
        inner = final.pat_str if run.members == ANY else restrict(tree, run.members)
        if not inner:  # it never matches: keep the whole run, or nothing
            inner = _written(run) if final.keeps_gaps else ""
        elif run.limit is not None:
            _check_whole(inner, run, final)
            inner = _written(run)
        elif final.keeps_gaps:
            inner = fill_gaps(inner, run.members)
        options.append(inner)
    return "|".join(filter(None, options))


def _written(run: Run) -> str:
    if run.limit is None:
        return f"{run.members.source}+"
    return run.members.source + (f"{{1,{run.limit}}}" if run.limit > 1 else "")


def _check_whole(pattern: str, run: Run, final: Matches) -> None:
    """Refuse a last pattern that splits a group of characters, or drops a part of one."""
    assert run.limit is not None
    tables = Tables(pattern)
    kinds = tables.classes_of(run.members.chars)
    for length in range(1, run.limit + 1):
        for word in product(kinds, repeat=length):
            end = tables.match_end(word)
            if end == length or (end == 0 and length == 1 and final.keeps_gaps):
                continue
            if final.keeps_gaps and not any(tables.match_end(word[k:]) for k in range(length)):
                continue
            raise UnsupportedPatternError(
                f"split pattern {final.pat_str!r} splits groups of up to {run.limit} of "
                f"{run.members.source} again, which is not known to be one pattern"
            )
