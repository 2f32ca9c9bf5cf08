"""Building a nondeterministic automaton with prioritized branches from the syntax tree.

Nodes are numbered. Node 0 is the match, node 1 the match one character ago;
every other node either consumes a character of a set (or the end of the text)
and continues, or splits into an ordered list of nodes, the preferred one first.
A look-ahead consumes the next character and then matches one character ago.
"""

from dataclasses import dataclass, field

from cutline.errors import UnsupportedPatternError
from cutline.pretokenize.charset import CharSet, union
from cutline.pretokenize.pattern import Chars, Choice, LookAhead, Node, Repeat, Sequence

__all__ = ["MATCH", "MATCH_ONE_AGO", "Nfa", "build_nfa"]

MATCH = 0
MATCH_ONE_AGO = 1
_MAX_NODES = 20_000
_MAX_VISITED = 5_000_000  # by all closures: a second


@dataclass(slots=True)
class Nfa:
    """The automaton: parallel lists over the nodes.

    Attributes:
        chars: the set of a consuming node; None for other nodes.
        at_end: whether a consuming node consumes the end of the text too.
        targets: the next nodes: one after consuming, several of a split.
        start: the start node.
        n_visited: nodes that all closures looked at.
    """

    chars: list[CharSet | None] = field(default_factory=lambda: [None, None])
    at_end: list[bool] = field(default_factory=lambda: [False, False])
    targets: list[tuple[int, ...]] = field(default_factory=lambda: [(), ()])
    start: int = MATCH
    n_visited: int = 0

    def add(self, chars: CharSet | None, at_end: bool, targets: tuple[int, ...]) -> int:
        """Append a node and return its number."""
        if len(self.targets) >= _MAX_NODES:
            raise UnsupportedPatternError(
                f"the split pattern needs more than {_MAX_NODES} automaton nodes: "
                "lower its {m,n} repetitions"
            )
        self.chars.append(chars)
        self.at_end.append(at_end)
        self.targets.append(targets)
        return len(self.targets) - 1

    def closure(self, node: int) -> list[int]:
        """Return the consuming and matching nodes reached without input, by priority."""
        found: list[int] = []
        seen: set[int] = set()
        stack = [node]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            if current in (MATCH, MATCH_ONE_AGO) or self.chars[current] is not None:
                found.append(current)
            else:
                stack.extend(reversed(self.targets[current]))
        self.n_visited += len(seen)
        if self.n_visited > _MAX_VISITED:
            raise UnsupportedPatternError(
                "the split pattern has too many optional parts one after another for an automaton"
            )
        return found


def build_nfa(tree: Node, pattern: str) -> Nfa:
    """Build the automaton of a parsed pattern, back to front.

    Args:
        tree: from `parse_pattern`.
        pattern: the text it was parsed from, for messages.

    Raises:
        UnsupportedPatternError: the pattern can match the empty string, has a
            look-ahead before its end, repeats something empty without limit, or
            has a possessive quantifier that differs from the greedy one.
    """
    builder = _Builder(pattern)
    nfa = builder.nfa
    nfa.start = builder.build(tree, MATCH)
    first = nfa.closure(nfa.start)
    if MATCH in first or any(nfa.targets[node] == (MATCH_ONE_AGO,) for node in first):
        raise UnsupportedPatternError(f"split pattern {pattern!r} can match the empty string")
    builder.check_possessives()
    return nfa


class _Builder:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.nfa = Nfa()
        self.possessives: list[tuple[Repeat, int]] = []

    def refuse(self, construct: str, position: int) -> UnsupportedPatternError:
        return UnsupportedPatternError(
            f"{construct} at position {position} of split pattern {self.pattern!r} is not supported"
        )

    def build(self, tree: Node, following: int) -> int:
        """Add the nodes of a tree that continues at `following`; return its first node."""
        match tree:
            case Chars(chars):
                return self.nfa.add(chars, False, (following,))
            case Sequence(parts):
                for part in reversed(parts):
                    following = self.build(part, following)
                return following
            case Choice(options):
                return self.nfa.add(None, False, tuple(self.build(o, following) for o in options))
            case LookAhead(chars, at_end, position):
                if following != MATCH:
                    raise self.refuse("a look-ahead or '$' that something follows", position)
                return self.nfa.add(chars, at_end, (MATCH_ONE_AGO,))
            case Repeat():
                return self.repeat(tree, following)

    def repeat(self, tree: Repeat, following: int) -> int:
        """Bounded repetition by copying, unbounded by a loop."""
        if tree.possessive:
            self.possessives.append((tree, following))
        required = tree.minimum
        entry = following
        if tree.maximum is None:
            if _is_nullable(tree.body):
                raise self.refuse("an endless repetition of the empty string", tree.position)
            loop = self.nfa.add(None, False, ())
            body = self.build(tree.body, loop)
            self.nfa.targets[loop] = (body, following)
            entry = body if required else loop
            required = max(required - 1, 0)
        else:
            for _ in range(tree.maximum - required):
                entry = self.nfa.add(None, False, (self.build(tree.body, entry), following))
        for _ in range(required):
            before, entry = entry, self.build(tree.body, entry)
            if entry == before:  # an empty body: more copies change nothing
                break
        return entry

    def check_possessives(self) -> None:
        """Refuse a possessive quantifier that is not equivalent to the greedy one.

        They are equivalent if the rest can match the empty string, so that it never
        fails; or, for a repeated character, if the rest cannot begin with that
        character, so that giving one back never helps.
        """
        for tree, following in self.possessives:
            reached = self.nfa.closure(following)
            if MATCH in reached:
                continue
            if isinstance(tree.body, Chars):
                begins = union(self.nfa.chars[node] or union([]) for node in reached)
                if tree.minimum == tree.maximum or not len(begins & tree.body.chars):
                    continue
            raise self.refuse(
                "a possessive quantifier or atomic group that differs from the greedy form",
                tree.position,
            )


def _is_nullable(tree: Node) -> bool:
    match tree:
        case Chars():
            return False
        case Sequence(parts):
            return all(map(_is_nullable, parts))
        case Choice(options):
            return any(map(_is_nullable, options))
        case Repeat(body, minimum):
            return minimum == 0 or _is_nullable(body)
        case LookAhead():
            return True
