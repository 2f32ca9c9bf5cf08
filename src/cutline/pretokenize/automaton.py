"""Compiling a split pattern to the tables of the scanner kernel.

A state is the ordered list of threads of the nondeterministic automaton that
are still alive, truncated after the first match: a thread after a match loses
against it, a thread before it may still override it. So the last end that an
accepting transition reported before the dead state is the match of a
backtracking engine (leftmost, first alternative preferred).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cutline.errors import UnsupportedPatternError
from cutline.pretokenize.charset import CharSet
from cutline.pretokenize.classes import block_tables, partition
from cutline.pretokenize.compiled import (
    ACCEPT_HERE,
    ACCEPT_ONE_AGO,
    BLOCK_SIZE,
    MAX_CLASSES,
    MAX_STATES,
    Automaton,
    meets_match,
)
from cutline.pretokenize.nfa import MATCH, MATCH_ONE_AGO, Nfa, build_nfa
from cutline.pretokenize.pattern import parse_pattern

__all__ = ["generate"]

DEAD = 0
START = 1
_MAX_WORK = 20_000_000  # nodes looked at, for all states and symbols: two seconds


@dataclass(slots=True)
class _Machine:
    """A transition table under construction: both arrays of shape (states, symbols)."""

    targets: NDArray[np.int64]
    accepts: NDArray[np.int64]


def generate(pattern: str) -> Automaton:
    r"""Compile a split pattern, without any cache.

    Args:
        pattern: the regular expression.

    Raises:
        PatternError: not a regular expression.
        UnsupportedPatternError: outside the subset, or over 250 classes or 4,000 states.

    Cost: 15-50 ms for the patterns in public use.

    >>> automaton = generate(r"\p{L}+|\P{L}")
    >>> automaton.n_classes, automaton.has_gaps
    (3, False)
    """
    nfa = build_nfa(parse_pattern(pattern), pattern)
    sets = list(dict.fromkeys(chars for chars in nfa.chars if chars is not None))
    parts = partition(sets)
    n_classes = parts.members.shape[1]
    if n_classes > MAX_CLASSES:
        raise UnsupportedPatternError(
            f"split pattern {pattern!r} distinguishes {n_classes} classes of characters; "
            f"an automaton has at most {MAX_CLASSES}"
        )
    machine = _determinize(nfa, _symbols(nfa, sets, parts.members), n_classes + 1)
    scalar = np.arange(n_classes + 1) != parts.surrogate_class
    sure = meets_match(machine.targets, machine.accepts, scalar)
    has_gaps = not sure[START, scalar][:-1].all()
    machine = _minimize(machine, pattern)
    machine, merged = _merge_columns(machine)
    block_index, block_class = block_tables(parts.starts, merged[parts.classes].astype(np.uint8))
    stride = machine.targets.shape[1]
    entries = (machine.targets * stride) << 2 | machine.accepts
    tables = (
        block_class.reshape(-1, BLOCK_SIZE)[block_index[:2]].ravel(),
        block_index,
        block_class,
        entries.astype(np.uint32).ravel(),
    )
    for table in tables:
        table.flags.writeable = False
    return Automaton(*tables[:3], stride - 1, tables[3], stride, has_gaps)


def _symbols(nfa: Nfa, sets: list[CharSet], members: NDArray[np.bool_]) -> list[list[bool]]:
    """Return for each node which symbols it consumes; the end of the text comes last."""
    rows = dict(zip(sets, members.tolist(), strict=True))
    nothing = [False] * members.shape[1]
    return [
        [*(nothing if chars is None else rows[chars]), at_end]
        for chars, at_end in zip(nfa.chars, nfa.at_end, strict=True)
    ]


def _determinize(nfa: Nfa, symbols: list[list[bool]], n_symbols: int) -> _Machine:
    """Run the ordered subset construction."""
    closures = {
        node: nfa.closure(nfa.targets[node][0])
        for node, chars in enumerate(nfa.chars)
        if chars is not None
    }
    start = tuple(nfa.closure(nfa.start))
    numbers: dict[tuple[int, ...], int] = {(): DEAD, start: START}
    pending = [start]
    work = 0
    targets = [[DEAD] * n_symbols]
    accepts = [[0] * n_symbols]
    for threads in pending:
        rows = [_step(threads, symbols, closures, symbol) for symbol in range(n_symbols)]
        for reached, _, n_read in rows:
            work += n_read
            if reached not in numbers:
                numbers[reached] = len(numbers)
                pending.append(reached)
        if len(numbers) > MAX_STATES or work > _MAX_WORK:
            raise UnsupportedPatternError(
                f"the split pattern needs more than {MAX_STATES} automaton states, or too many "
                "threads in each"
            )
        targets.append([numbers[reached] for reached, _, _ in rows])
        accepts.append([accept for _, accept, _ in rows])
    machine = _Machine(np.array(targets), np.array(accepts))
    # At the end symbol, "one character ago" is the end of the text.
    machine.accepts[:, -1] = machine.accepts[:, -1] != 0
    return machine


def _step(
    threads: tuple[int, ...], symbols: list[list[bool]], closures: dict[int, list[int]], symbol: int
) -> tuple[tuple[int, ...], int, int]:
    """Read one symbol.

    Returns:
        The remaining threads, how the match ended, if it did, and how many nodes were looked at.
    """
    alive: dict[int, None] = {}
    n_read = len(threads)
    for thread in threads:
        if symbols[thread][symbol]:
            n_read += len(closures[thread])
            for node in closures[thread]:
                if node == MATCH:
                    return tuple(alive), ACCEPT_HERE, n_read
                if node == MATCH_ONE_AGO:
                    return tuple(alive), ACCEPT_ONE_AGO, n_read
                alive[node] = None
    return tuple(alive), 0, n_read


def _minimize(machine: _Machine, pattern: str) -> _Machine:
    """Merge equivalent states, and number them breadth first."""
    blocks = np.zeros(len(machine.targets), dtype=np.int64)
    count = 1
    while True:
        rows = machine.accepts + 4 * blocks[machine.targets]
        blocks = _number_rows(rows)
        if blocks.max() + 1 == count:
            break
        count = int(blocks.max()) + 1
    if blocks[START] == blocks[DEAD]:
        raise UnsupportedPatternError(f"split pattern {pattern!r} matches no text at all")
    first_of_block = {int(block): state for state, block in reversed(list(enumerate(blocks)))}
    order = [int(blocks[DEAD]), int(blocks[START])]
    for block in order:
        for target in blocks[machine.targets[first_of_block[block]]].tolist():
            if target not in order:
                order.append(target)
    position = np.empty(count, dtype=np.int64)
    position[order] = np.arange(len(order))
    states = [first_of_block[block] for block in order]
    return _Machine(position[blocks[machine.targets[states]]], machine.accepts[states])


def _merge_columns(machine: _Machine) -> tuple[_Machine, NDArray[np.int64]]:
    """Merge classes with equal columns; return the new number of each old class."""
    merged = _number_rows((machine.targets * 4 + machine.accepts).T[:-1])
    _, first = np.unique(merged, return_index=True)
    columns = np.append(first, machine.targets.shape[1] - 1)
    return _Machine(machine.targets[:, columns], machine.accepts[:, columns]), merged


def _number_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each row: equal for equal rows, in order of appearance."""
    numbers: dict[bytes, int] = {}
    keyed = (numbers.setdefault(row.tobytes(), len(numbers)) for row in np.ascontiguousarray(rows))
    return np.fromiter(keyed, dtype=np.int64, count=len(rows))
