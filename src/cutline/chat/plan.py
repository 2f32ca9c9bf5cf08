"""`Plan`: a chat template in two parts, so that a message more renders little more.

    before   all up to the last loop over messages: run again only if it read what has changed
    after    that loop, which can begin at any turn, and what follows it

What a template reads is watched while it runs: `Messages`, `_Loop` and `_Watched` stand for the
list of messages, for `loop`, and for namespaces and lists. Each turn has a `Reads`, which says for
which numbers of messages, and for which values of variables, it would be the same again. What
cannot be watched raises `Unplanned`; then the template is rendered whole each time.

docs/chat.md, "How a message costs its own length", says why this is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from jinja2 import nodes
from jinja2.environment import Template
from jinja2.runtime import Context, Macro, Undefined
from jinja2.utils import pass_context

from cutline.chat.metering import StandIn, running, value_of
from cutline.chat.sandbox import LOOP_NUMBERS, ChatEnvironment, TemplateNamespace

__all__ = [
    *("WATCH", "Messages", "Plan", "Reads", "Unplanned", "Watch"),
    *("changed", "make_plan", "watched"),
]

LOOP: Final = "cutline_loop"
LOOP_NAMES: Final = LOOP_NUMBERS | {"nextitem", "previtem"}
WATCH: Final = "the watch"  # no name that a template could write


class Unplanned(Exception):  # noqa: N818 (no error, but a way out)
    """The template does what the plan cannot follow."""


class Reads:
    """What one turn, or the part before the loop, has read.

    Attributes:
        needs: it is the same only with at least so many messages.
        exact: it is the same only with as many messages as it had.
        names: the variables, and (variable, attribute), that were read.
    """

    __slots__ = ("exact", "names", "needs")

    def __init__(self) -> None:
        self.needs = 0
        self.exact = False
        self.names: set[Any] = set()


class Watch:
    """One rendering: what it begins with, and what it reads.

    Attributes:
        begin: the turn that the loop begins with.
        turn: called at the start of each turn with its number, and at the end with -1; and with
            the number of the messages that the loop leaves out at the start.
        reads: of the part that runs; None where reading has no effect on what is kept.
        written: attributes of namespaces that the loop has set, with their values.
        has_written: whether it has set one in this turn.
    """

    __slots__ = ("begin", "has_written", "reads", "turn", "written")

    def __init__(self, begin: int, turn: Callable[[int, int], None] | None = None) -> None:
        self.begin = begin
        self.turn = turn
        self.reads: Reads | None = None
        self.written: dict[Any, Any] = {}
        self.has_written = False

    def told(self) -> None:
        """Note that the template asked for the time."""
        if self.reads is not None:
            self.reads.exact = True


def _refused(*_: Any, **__: Any) -> Any:
    raise Unplanned


class _Closed(StandIn):
    """What is the same for all that stand for lists and loops: all that is not watched."""

    __slots__ = ()

    __str__ = __repr__ = __format__ = __hash__ = __eq__ = __ne__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __mul__ = __rmul__ = _refused
    __contains__ = __call__ = __html__ = _refused

    def __getattr__(self, name: str) -> Any:
        raise Unplanned


class Messages(_Closed):
    """The messages from one on."""

    __slots__ = ("all", "offset", "watch")

    def __init__(self, messages: list[dict[str, Any]], offset: int, watch: Watch) -> None:
        self.all = messages
        self.offset = offset
        self.watch = watch

    @property
    def items(self) -> list[dict[str, Any]]:
        return self.all

    def __len__(self) -> int:
        if self.watch.reads is not None:
            self.watch.reads.exact = True
        return max(len(self.all) - self.offset, 0)

    def __bool__(self) -> bool:
        self._need(0)
        return len(self.all) > self.offset

    def _need(self, index: int) -> None:
        reads = self.watch.reads
        if reads is not None:
            if self.offset + index < len(self.all):
                reads.needs = max(reads.needs, self.offset + index + 1)
            else:
                reads.exact = True

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int:
            if index >= 0:
                self._need(index)
                return self.all[self.offset + index]
            return self.all[self.offset :][index] if len(self) else [][index]
        if isinstance(index, slice):
            start, stop, step = index.start, index.stop, index.step
            if type(start) is int and start >= 0 and stop is None and step is None:
                return Messages(self.all, self.offset + start, self.watch)
            len(self)
            return self.all[self.offset :][index]
        raise TypeError(f"list indices must be integers or slices, not {type(index).__name__}")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        len(self)
        return iter(self.all[self.offset :])

    def __reversed__(self) -> Iterator[dict[str, Any]]:
        len(self)
        backwards: Iterator[dict[str, Any]] = reversed(self.all[self.offset :])
        return backwards


class _Watched(_Closed):
    """A list that a template has made before the loop."""

    __slots__ = ("all", "name", "watch")

    def __init__(self, items: list[Any], name: str, watch: Watch) -> None:
        self.all = items
        self.name = name
        self.watch = watch

    def _read(self) -> list[Any]:
        if self.watch.reads is not None:
            self.watch.reads.names.add(self.name)
        return self.all

    @property
    def items(self) -> list[Any]:
        return self.all

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __reversed__(self) -> Iterator[Any]:
        backwards: Iterator[Any] = reversed(self._read())
        return backwards

    def __contains__(self, item: Any) -> bool:
        return item in self._read()


class _WatchedNamespace(TemplateNamespace):
    """A namespace whose reads and writes are noted."""

    def __init__(self, name: str, values: dict[str, Any], watch: Watch) -> None:
        TemplateNamespace.__init__(self, values)
        object.__setattr__(self, "cutline", (name, watch))

    def __getattribute__(self, name: str) -> Any:
        own, watch = object.__getattribute__(self, "cutline")
        if watch.reads is not None and name[:1] != "_":
            watch.reads.names.add((own, name))
        return TemplateNamespace.__getattribute__(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        own, watch = object.__getattribute__(self, "cutline")
        if not _is_plain(value):
            raise Unplanned
        watch.written[own, name] = value
        watch.has_written = True
        TemplateNamespace.__setitem__(self, name, value)


def _is_plain(value: Any) -> bool:
    """Return whether a value is what JSON has."""
    if isinstance(value, dict | list | tuple):
        running.meter.weigh(value)
    return _has_plain(value)


def _has_plain(value: Any) -> bool:
    if value is None or isinstance(value, str | int | float):
        return True
    if isinstance(value, dict):
        return all(map(_has_plain, value.values()))
    return isinstance(value, list | tuple) and all(map(_has_plain, value))


class _Loop(_Closed):
    """`loop`, in the loop over messages."""

    __slots__ = ("index0", "messages")
    visible = LOOP_NAMES

    def __init__(self, index: int, messages: Messages) -> None:
        self.index0 = index
        self.messages = messages

    depth, depth0 = 1, 0

    @property
    def index(self) -> int:
        return self.index0 + 1

    @property
    def first(self) -> bool:
        return self.index0 == 0

    @property
    def length(self) -> int:
        return len(self.messages)

    @property
    def revindex(self) -> int:
        return len(self.messages) - self.index0

    @property
    def revindex0(self) -> int:
        return len(self.messages) - self.index0 - 1

    @property
    def last(self) -> bool:
        messages = self.messages
        messages._need(self.index0 + 1)
        return messages.offset + self.index0 + 1 >= len(messages.all)

    @property
    def previtem(self) -> Any:
        return (
            self.messages[self.index0 - 1]
            if self.index0
            else Undefined("there is no previous item")
        )

    @property
    def nextitem(self) -> Any:
        return Undefined("there is no next item") if self.last else self.messages[self.index0 + 1]


@pass_context
def _turns(context: Context, messages: Any) -> Iterator[tuple[Any, _Loop]]:
    """Yield messages, and `loop`, from the turn on that the rendering begins with."""
    if type(messages) is not Messages:
        raise Unplanned
    watch: Watch = context.parent[WATCH]
    items, offset = messages.all, messages.offset
    for index in range(watch.begin, len(items) - offset):
        assert watch.turn is not None
        watch.turn(index, offset)
        yield items[offset + index], _Loop(index, messages)
    assert watch.turn is not None
    watch.turn(-1, offset)


class Plan:
    """A template in two parts.

    Attributes:
        before: the part before the loop.
        after: the loop, and the part after it.
        thresholds: attributes of namespaces that the loop only compares with its index.
    """

    __slots__ = ("after", "before", "thresholds")

    def __init__(self, before: Template, after: Template, thresholds: frozenset[Any]) -> None:
        self.before = before
        self.after = after
        self.thresholds = thresholds


def watched(variables: dict[str, Any], messages: Messages) -> dict[str, Any]:
    """Make of what the first part has set what the second one is given.

    Raises:
        Unplanned: it has set what cannot be watched.
    """
    watch = messages.watch
    given: dict[str, Any] = {}
    known: set[int] = set()
    for name, value in variables.items():
        if isinstance(value, TemplateNamespace):
            if id(value) in known:
                raise Unplanned  # one namespace by two names
            known.add(id(value))
            inner = {
                attribute: _watched_value(f"{name}.{attribute}", item, messages)
                for attribute, item in value_of(value).items()
            }
            given[name] = _WatchedNamespace(name, inner, watch)
        elif not isinstance(value, Macro):
            given[name] = _watched_value(name, value, messages)
    return given


def _watched_value(name: str, value: Any, messages: Messages) -> Any:
    if type(value) is Messages:
        return Messages(messages.all, value.offset, messages.watch)
    if isinstance(value, list):
        if not _is_plain(value):
            raise Unplanned
        return _Watched(value, name, messages.watch)
    if not (_is_plain(value) or isinstance(value, Undefined)):
        raise Unplanned
    return value


def changed(old: dict[str, Any], new: dict[str, Any]) -> set[Any]:
    """Name the variables, and (variable, attribute), that differ."""
    found: set[Any] = set()
    for name in old.keys() | new.keys():
        one, other = old.get(name, Unplanned), new.get(name, Unplanned)
        if isinstance(one, TemplateNamespace) and isinstance(other, TemplateNamespace):
            inner, others = value_of(one), value_of(other)
            for attribute in inner.keys() | others.keys():
                a, b = inner.get(attribute, Unplanned), others.get(attribute, Unplanned)
                if not _is_same(a, b):
                    found.add(
                        f"{name}.{attribute}" if isinstance(a, list) and isinstance(b, list)
                        else (name, attribute)
                    )  # fmt: skip
        elif not _is_same(one, other):
            is_watched = isinstance(one, list) and isinstance(other, list)
            found.add(name if is_watched else ("", name))
    return found


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two variables are equal, in type, too."""
    if isinstance(other, dict | list | tuple):
        running.meter.weigh(other)
    return _are_same(one, other)


def _are_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Messages):
        return one.offset == other.offset  # type: ignore[no-any-return]
    if isinstance(one, Macro):
        return True
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_are_same, one, other))
    if isinstance(one, dict):
        return [*one] == [*other] and all(map(_are_same, one.values(), other.values()))
    return bool(one == other)


# Reading the template


_STRANGE: Final = (
    *(nodes.Extends, nodes.Block, nodes.Include, nodes.Import, nodes.FromImport),
    *(nodes.FilterBlock, nodes.ScopedEvalContextModifier, nodes.EvalContextModifier),
)
_STRANGE_NAMES: Final = frozenset({"cycler", "joiner", "lipsum", "self", "super", "caller", LOOP})


def make_plan(environment: ChatEnvironment, tree: nodes.Template) -> Plan | None:
    """Cut a template in two; None if it has no place for that.

    Args:
        environment: compiles the parts.
        tree: the parsed template; changed by this.
    """
    if next(tree.find_all(_STRANGE), None) is not None:
        return None
    if any(name.name in _STRANGE_NAMES for name in tree.find_all(nodes.Name)):
        return None
    if any(found.name == "random" for found in tree.find_all(nodes.Filter)):
        return None
    loops = [
        (place, node)
        for place, node in enumerate(tree.body)
        if isinstance(node, nodes.For) and next(node.find_all(nodes.Output), None) is not None
        and _may_be_messages(node.iter)
    ]  # fmt: skip
    if not loops:
        return None
    place, loop = loops[-1]
    before, after = tree.body[:place], tree.body[place + 1 :]
    macros = [node for node in before if isinstance(node, nodes.Macro)]
    if loop.test or loop.else_ or loop.recursive or not isinstance(loop.target, nodes.Name):
        return None
    if next(loop.find_all(nodes.Break), None) is not None:
        return None
    if sum(1 for _ in tree.find_all(nodes.Macro)) != len(macros):
        return None
    if _stored(after) & (_stored(before) | _loaded([loop, *macros])):
        return None
    _rename_loop(loop)
    thresholds = _thresholds([*macros, loop, *after])
    target = nodes.Tuple([loop.target, nodes.Name(LOOP, "store")], "store")
    loop.target = target
    loop.iter = nodes.Filter(loop.iter, "cutline_turns", [], [], None, None)
    environment.filters["cutline_turns"] = _turns
    parts = [nodes.Template(body, lineno=1) for body in (before, [*macros, loop, *after])]
    for part in parts:
        part.set_environment(environment).set_lineno(1)
    first, second = map(environment.compiled, parts)
    return Plan(first, second, thresholds)


def _may_be_messages(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter) and node.name == "cutline_made" and node.node is not None:
        node = node.node  # a slice
    if isinstance(node, nodes.Getitem):
        node = node.node
    return isinstance(node, nodes.Name) and node.name not in ("tools", "documents")


def _stored(parts: list[Any]) -> set[str]:
    """Name the variables that statements set, loops inside left out."""
    found: set[str] = set()
    for part in parts:
        if (isinstance(part, nodes.Name) and part.ctx == "store") or isinstance(part, nodes.Macro):
            found.add(part.name)
        elif not isinstance(part, nodes.For):
            found |= _stored([*part.iter_child_nodes()])
    return found


def _loaded(parts: list[nodes.Node]) -> set[str]:
    return {name.name for part in parts for name in part.find_all(nodes.Name) if name.ctx == "load"}


def _rename_loop(loop: nodes.For) -> None:
    """Give `loop` of this loop a name of its own."""

    def visit(node: nodes.Node) -> None:
        if isinstance(node, nodes.Name) and node.name == "loop":
            node.name = LOOP
        for child in [node.iter] if isinstance(node, nodes.For) else node.iter_child_nodes():
            visit(child)

    for node in loop.body:
        visit(node)


def _thresholds(parts: list[nodes.Node]) -> frozenset[Any]:
    """Name the attributes that are only ever compared with the loop's index."""
    compared: set[int] = set()
    for part in parts:
        for node in part.find_all(nodes.Compare):
            sides = (node.expr, node.ops[0].expr)
            if len(node.ops) == 1 and node.ops[0].op in ("gt", "gteq", "lt", "lteq"):
                for one, other in (sides, sides[::-1]):
                    if _is_index(one) and isinstance(other, nodes.Getattr):
                        compared.add(id(other))
    reads = [node for part in parts for node in part.find_all(nodes.Getattr)]
    reads = [node for node in reads if isinstance(node.node, nodes.Name)]
    inside = {id(node.node) for node in reads}
    loads = [name for part in parts for name in part.find_all(nodes.Name) if name.ctx == "load"]
    # As a whole, a namespace may be read in any way.
    read_whole = {name.name for name in loads if id(name) not in inside}
    other_uses = {_attribute(node) for node in reads if id(node) not in compared}
    other_uses |= {(n.name, n.attr) for part in parts for n in part.find_all(nodes.NSRef)}
    found = {_attribute(node) for node in reads if id(node) in compared} - other_uses
    return frozenset(key for key in found if key[0] not in read_whole)


def _attribute(node: nodes.Getattr) -> tuple[str, str]:
    assert isinstance(node.node, nodes.Name)
    return node.node.name, node.attr


def _is_index(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.Getattr)
        and node.attr == "index0"
        and isinstance(node.node, nodes.Name)
        and node.node.name == LOOP
    )
