"""The environment that chat templates run in: what transformers gives them, within limits.

Templates come from strangers. jinja2's sandbox keeps them from Python's internals; here their
syntax tree is changed so that each operation pays a `Meter` (metering.py), which stops what runs or
grows without end.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from json import dumps
from typing import Any, Final

from jinja2 import TemplateError, nodes
from jinja2.environment import Template
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, pass_context

from cutline.chat import metering
from cutline.chat.looking_back import stop_early
from cutline.chat.metering import METER, StandIn, TooMuch, running, too_long
from cutline.chat.prices import (
    FREE_FILTERS,
    FREE_TESTS,
    NO_ATTRIBUTES,
    NO_FILTERS,
    check_binop,
    check_json,
    pay_for_filter,
    pay_for_method,
)
from cutline.errors import ChatError

__all__ = ["LOOP_NUMBERS", "ChatEnvironment", "TemplateNamespace", "environment", "stopped"]

MAX_SOURCE: Final = 1 << 18
"""The most characters of a template."""

_CALL_STEPS: Final = 10
_FILTER_STEPS: Final = 10

LOOP_NUMBERS: Final = frozenset(
    {"depth", "depth0", "first", "index", "index0", "last", "length", "revindex", "revindex0"}
)


class Refusal(TemplateError):  # noqa: N818 (no error of ours)
    """A template's own `raise_exception`."""


def _concat(parts: Iterable[str]) -> str:
    """Join the output of a block or a macro."""
    texts = [*parts]
    length = sum(map(len, texts))
    running.meter.spend(length >> 4)
    if length > metering.MAX_TEXT:
        raise too_long()
    return "".join(texts)


class _Generation(Extension):
    """The tag `{% generation %}`, which marks what a model writes: here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012 (as jinja2 declares it)

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_keep"), [], [], body).set_lineno(line)

    @staticmethod
    def _keep(caller: Macro) -> str:
        return caller()


class TemplateNamespace(Namespace):
    """jinja2's `namespace`, without names that lead into Python."""

    def __init__(*args: Any, **values: Any) -> None:
        self, *given = args
        attributes = _dict(*given, **values)
        for name in attributes:
            _check_attribute(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_attribute(name)
        Namespace.__setitem__(self, name, value)


def _check_attribute(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace takes no attribute {name!r}, as it begins with '_'")


def _raise_exception(message: Any) -> None:
    raise Refusal(str(message))


def _meter(context: Context) -> metering.Meter:
    found: metering.Meter = context.parent[METER]
    return found


# What the tree calls in place of operators


@pass_context
def _tojson(
    context: Context,
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON without escapes for HTML, unlike jinja2's filter."""
    meter = _meter(context)
    check_json(meter, value, indent, separators)
    written = dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    meter.made(written)
    return written


@pass_context
def _strftime_now(context: Context, format: str) -> str:  # noqa: A002 (as in transformers)
    meter = _meter(context)
    if meter.when_told is not None:
        meter.when_told()
    if len(format) > 1000:
        raise too_long()
    return datetime.now().strftime(format)


@pass_context
def _step(context: Context, value: Any, steps: int) -> Any:
    """Pay for a turn of a loop; note the message that it is about."""
    meter = context.parent[METER]
    if type(value) is dict and "role" in value:
        meter.message = value
    meter.steps -= steps
    if meter.steps < 0:
        meter.refill()
    return value


@pass_context
def _weighed(context: Context, value: Any) -> Any:
    """Pay for what walks through a value: writing it, comparing it, making a key of it."""
    kind = type(value)
    if kind is not int and kind is not bool and (kind is not str or len(value) > 64):
        context.parent[METER].weigh(value)
    return value


@pass_context
def _searched(context: Context, value: Any) -> Any:
    """Pay for a search by `in`, which finds a key of a dict at once."""
    return value if type(value) is dict else _weighed(context, value)


@pass_context
def _made(context: Context, value: Any) -> Any:
    """Pay for a slice."""
    return _meter(context).made(value)


@pass_context
def _joined(context: Context, parts: list[Any]) -> str:
    """Join what `~` joins."""
    meter, length = _meter(context), 0
    for part in parts:
        length += len(part) if type(part) is str else meter.weigh(part).characters
    if length > metering.MAX_TEXT:
        raise too_long()
    text: str = meter.made("".join(map(str, parts)))
    return text


class _Dict:
    """`dict`, to be called only."""

    def __call__(self, *args: Any, **values: Any) -> dict[Any, Any]:
        return _dict(*args, **values)

    def fromkeys(self, keys: Any, value: Any = None) -> dict[Any, Any]:
        running.meter.hash(keys)
        return dict.fromkeys(keys, value)


def _dict(*given: Any, **values: Any) -> dict[Any, Any]:
    """Make a dict, as `dict` does."""
    for one in given:
        if not isinstance(one, dict):
            running.meter.hash([pair[0] for pair in one])
    return dict(*given, **values)


def _paid_filter(name: str, function: Any) -> Any:
    """Make a filter pay for what it is given and makes."""
    passed = getattr(function, "jinja_pass_arg", None)

    def make(context: Context, value: Any, /, *args: Any, **named: Any) -> Any:
        meter = _meter(context)
        meter.spend(_FILTER_STEPS)
        value, item_steps = pay_for_filter(meter, name, value, args, named)
        first = {"context": context, "eval_context": context.eval_ctx}
        extra = () if passed is None else (first.get(passed.name, context.environment),)
        return meter.made(function(*extra, value, *args, **named), item_steps)

    return pass_context(make)


def _paid_test(name: str, function: Any) -> Any:
    """Make a test pay for what it is given."""
    passes_environment = hasattr(function, "jinja_pass_arg")

    def test(context: Context, value: Any, /, *args: Any) -> bool:
        _meter(context).spend(_CALL_STEPS)
        for one in (value, *args):
            _weighed(context, one)
        if name in ("divisibleby", "even", "odd") and isinstance(value, str):
            raise TypeError(f"{name} tells numbers")
        extra = (context.environment,) if passes_environment else ()
        return bool(function(*extra, value, *args))

    return pass_context(test)


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """Compiles templates and counts what they do; used by any number of threads."""

    concat = staticmethod(_concat)
    intercepted_binops = frozenset({"*", "**", "%", "+", "-", "//"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, loopcontrols],
            finalize=_weighed,
        )
        for name in NO_FILTERS:
            del self.filters[name]
        for name, function in self.filters.items():
            if name not in FREE_FILTERS:
                self.filters[name] = _paid_filter(name, function)
        for name, function in self.tests.items():
            if name not in FREE_TESTS:
                self.tests[name] = _paid_test(name, function)
        self.filters |= {"tojson": _tojson, "cutline_step": _step, "cutline_joined": _joined}
        self.filters |= {"cutline_weighed": _weighed, "cutline_searched": _searched}
        self.filters |= {"cutline_made": _made}
        del self.globals["lipsum"]  # makes any number of words
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_now
        self.globals["dict"] = _Dict()
        self.globals["namespace"] = TemplateNamespace

    def parse_metered(self, source: str) -> nodes.Template:
        """Parse a template, and make all that it does pay.

        Raises:
            TooMuch: it is too long.
        """
        if len(source) > MAX_SOURCE:
            raise TooMuch(f"it has {len(source):,} characters, and the limit is {MAX_SOURCE:,}")
        tree = self.parse(source)
        stop_early(tree)
        _pay_in_loops(tree)
        _pay_in_expressions(tree)
        tree.set_environment(self).set_lineno(1)
        return tree

    def compiled(self, tree: nodes.Template) -> Template:
        """Compile a tree."""
        return Template.from_code(self, self.compile(tree), dict(self.globals))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Refuse what leads into Python, what changes values, and what cannot be paid for."""
        if attr in NO_ATTRIBUTES or (isinstance(obj, StandIn) and attr not in obj.visible):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute what may be large."""
        if operator != "+":
            check_binop(_meter(context), operator, left, right)
        made = self.binop_table[operator](left, right)
        if type(made) is int or (type(made) is str and len(made) < 64):
            return made
        return _meter(context).made(made)

    def call(self, context: Context, function: Any, /, *args: Any, **named: Any) -> Any:
        """Call what a template calls."""
        meter = _meter(context)
        meter.spend(_CALL_STEPS + len(args) + len(named))
        if type(function) is not Macro and type(function) is not LoopContext:
            args = pay_for_method(meter, function, args, named)
        return meter.made(super().call(context, function, *args, **named))


# The tree


_BODIES: Final = (nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)


def _pay_in_loops(tree: nodes.Template) -> None:
    """Make each turn and each call pay for the body's size."""
    parts: list[Any] = [*tree.find_all(_BODIES)]
    for part in parts:
        target = part.target if isinstance(part, nodes.For) else None
        item = (
            nodes.Name(target.name, "load") if isinstance(target, nodes.Name) else nodes.Const(None)
        )
        steps = sum(1 for node in part.body for _ in node.find_all(nodes.Node))
        part.body.insert(0, nodes.ExprStmt(_filter(item, "cutline_step", nodes.Const(steps + 2))))
        if isinstance(part, nodes.For) and part.test is not None:
            steps = sum(1 for _ in part.test.find_all(nodes.Node)) + 2
            paid = _filter(nodes.Const(True), "cutline_step", nodes.Const(steps))
            part.test = nodes.And(paid, part.test)


def _filter(node: nodes.Expr, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, [*args], [], None, None, lineno=node.lineno)


def _pay_in_expressions(node: nodes.Node) -> None:
    """Make operators pay that are no calls."""
    for field, value in node.iter_fields():
        if isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, nodes.Node):
                    _pay_in_expressions(item)
                    value[place] = _paid(item)
        elif isinstance(value, nodes.Node):
            _pay_in_expressions(value)
            setattr(node, field, _paid(value))


def _paid(node: nodes.Node) -> nodes.Node:
    if isinstance(node, nodes.Concat):
        return _filter(nodes.List(node.nodes, lineno=node.lineno), "cutline_joined")
    if isinstance(node, nodes.Compare):
        _pay_in_comparison(node)
    elif isinstance(node, nodes.Pair):
        node.key = _weighing(node.key)
    elif isinstance(node, nodes.Getitem):
        if isinstance(node.arg, nodes.Slice):
            return _filter(node, "cutline_made")
        node.arg = _weighing(node.arg)
    return node


def _pay_in_comparison(node: nodes.Compare) -> None:
    """Pay for both sides, unless one is so small that the comparison ends at once."""
    is_first_small = _is_small(node.expr)
    for operand in node.ops:
        is_small = _is_small(operand.expr)
        if operand.op in ("in", "notin"):
            if not is_small:
                operand.expr = _filter(operand.expr, "cutline_searched")
                node.expr = _weighing(node.expr)
        elif len(node.ops) > 1 or not (is_small or is_first_small):
            operand.expr, node.expr = _weighing(operand.expr), _weighing(node.expr)


def _weighing(node: nodes.Expr) -> nodes.Expr:
    is_paid = isinstance(node, nodes.Filter) and node.name == "cutline_weighed"
    return node if is_paid or _is_small(node) else _filter(node, "cutline_weighed")


def _is_small(node: nodes.Node) -> bool:
    """Return whether a value is a number, or no larger than the template."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return all(map(_is_small, node.items))
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return node.node.name == "loop" and node.attr in LOOP_NUMBERS
    return isinstance(node, nodes.Const | nodes.Compare | nodes.Test | nodes.Not)


@cache
def environment() -> ChatEnvironment:
    """Return the environment, which all templates share."""
    return ChatEnvironment()


def stopped(error: Exception, where: str = "") -> ChatError:
    """Build the error for what a template raised."""
    if isinstance(error, Refusal):
        return ChatError(f"the chat template refuses the messages{where}: {error}")
    if isinstance(error, RecursionError):
        return ChatError(f"the chat template calls itself without end{where}")
    if isinstance(error, TooMuch | OverflowError | MemoryError):
        return ChatError(f"the chat template is stopped{where}: {error}")
    return ChatError(
        f"the chat template fails{where}: {type(error).__name__}: {error}; a field may be missing, "
        "or of a kind that the template does not expect"
    )
