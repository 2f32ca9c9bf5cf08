"""The environment that chat templates run in: what transformers gives them, within limits.

Templates come from strangers. jinja2's sandbox keeps them from Python's internals; the limits
here keep them from running or growing without end.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from json import dumps
from threading import local
from typing import Any, Final

from jinja2 import TemplateError, nodes
from jinja2.environment import Template
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, pass_context

from cutline.errors import ChatError

__all__ = [
    *("MAX_STEPS", "MAX_TEXT", "METER", "ChatEnvironment", "Meter", "TemplateNamespace"),
    *("environment", "stopped"),
]

MAX_STEPS: Final = 5_000_000
"""The most steps of one rendering: a turn of a loop, a quarter of a call, a kilobyte made."""

MAX_TEXT: Final = 1 << 27
"""The most characters that a template may make, whole or in any one value."""

MAX_ITEMS: Final = 1 << 21
"""The most items of a list that a template may make."""

_CALL_STEPS: Final = 4

MAX_PADDING: Final = 1 << 16
"""The greatest number that a template may pass to a method or a filter that pads or repeats."""

METER: Final = "the meter"  # no name that a template could write

_WIDTH: Final = re.compile(r"\d{5}|\*|\{[^{}]*\{")
_PADDING_METHODS: Final = frozenset({"center", "expandtabs", "ljust", "rjust", "zfill"})
_PADDING_FILTERS: Final = ("batch", "center", "indent", "round", "slice", "truncate", "wordwrap")


class Refusal(TemplateError):  # noqa: N818 (no error of ours)
    """A template's own `raise_exception`."""


class TooMuch(TemplateError):  # noqa: N818 (likewise)
    """A template that runs or grows without end."""


_running = local()  # its meter is that of the rendering that runs in this thread


def _concat(parts: Iterable[str]) -> str:
    """Join the output of a block or a macro."""
    text = "".join(parts)
    if len(text) > 1024:
        _running.meter.grown(text)
    return text


class Meter:
    """What one rendering has used, and where it is.

    Attributes:
        steps: how many are left.
        message: the one that a loop has reached last.
        when_told: called when the template asks for the time.
    """

    __slots__ = ("message", "steps", "when_told")

    def __init__(self, when_told: Callable[[], None] | None = None) -> None:
        self.steps = MAX_STEPS
        self.message: Any = None
        _running.meter = self
        self.when_told = when_told

    def spend(self, steps: int) -> None:
        """Take steps from those that are left."""
        self.steps -= steps
        if self.steps < 0:
            raise TooMuch(f"it takes more than {MAX_STEPS:,} steps")

    def grown(self, value: Any) -> Any:
        """Return a value that was made, paid for by its size."""
        if isinstance(value, str | list | tuple):
            size = len(value)
            if size > (MAX_TEXT if isinstance(value, str) else MAX_ITEMS):
                raise _too_long()
            if size > 1024:
                self.spend(size >> 10)
        return value

    def joined(self, pieces: Iterator[str]) -> str:
        """Join what a template yields."""
        kept, length = [], 0
        for piece in pieces:
            kept.append(piece)
            length += len(piece)
            if length > MAX_TEXT:
                raise _too_long()
        return "".join(kept)

    def place_in(self, chat: list[dict[str, Any]]) -> str:
        """Say which message a loop has reached last."""
        for index, message in enumerate(chat):
            if message is self.message:
                return f" at message {index}"
        return ""


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
        attributes = dict(*given, **values)
        for name in attributes:
            _check_attribute(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_attribute(name)
        Namespace.__setitem__(self, name, value)


def _check_attribute(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace takes no attribute {name!r}, as it begins with '_'")


class _Dict:
    """`dict`, to be called only."""

    def __call__(self, *args: Any, **values: Any) -> dict[Any, Any]:
        return dict(*args, **values)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


def _raise_exception(message: Any) -> None:
    raise Refusal(str(message))


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
    _check_padding([indent])
    written = dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    context.parent[METER].grown(written)
    return written


@pass_context
def _strftime_now(context: Context, format: str) -> str:  # noqa: A002 (as in transformers)
    meter = context.parent[METER]
    if meter.when_told is not None:
        meter.when_told()
    return datetime.now().strftime(format)


@pass_context
def _step(context: Context, value: Any) -> Any:
    """Pay for a turn of a loop; note the message that it is about."""
    meter = context.parent[METER]
    if type(value) is dict and "role" in value:
        meter.message = value
    meter.steps -= 1
    if meter.steps < 0:
        meter.spend(1)
    return value


@pass_context
def _joined(context: Context, parts: list[Any]) -> str:
    """Join what `~` joins."""
    text = "".join(map(str, parts))
    context.parent[METER].grown(text)
    return text


def _metered(filter_name: str, function: Any) -> Any:
    """Make a filter pay for what it makes."""
    pads = filter_name in _PADDING_FILTERS

    def make(context: Context, value: Any, *args: Any, **named: Any) -> Any:
        given = [*args, *named.values()]
        if pads:
            _check_padding(given)
        if filter_name == "indent":
            _check_lines(str(value), given)
        if filter_name == "replace" and len(given) > 1:
            new = args[1] if len(args) > 1 else named.get("new", "")
            _check_replacing(str(value), args[0] if args else named.get("old", ""), new)
        if filter_name == "join":
            _check_joining(value, *args[:1])
        if filter_name == "format":
            _check_widths(str(value))
        passed = getattr(function, "jinja_pass_arg", None)
        first = {"context": context, "eval_context": context.eval_ctx}
        extra = () if passed is None else (first.get(passed.name, context.environment),)
        result = function(*extra, value, *args, **named)
        return context.parent[METER].grown(result)

    return pass_context(make)


def _check_padding(values: Any) -> None:
    for value in values:
        size = len(value) if isinstance(value, str) else value
        if isinstance(size, int) and abs(size) > MAX_PADDING:
            raise TooMuch(f"it pads or repeats by {size}, and the limit is {MAX_PADDING:,}")


def _check_lines(text: str, widths: list[Any]) -> None:
    wide = max((len(one) if isinstance(one, str) else int(one) for one in widths), default=4)
    if (text.count("\n") + 1) * wide > MAX_TEXT:
        raise _too_long()


def _check_replacing(text: str, old: Any, new: Any, *_: Any) -> None:
    old, new = str(old), str(new)
    if len(new) > len(old) and len(text) + text.count(old) * len(new) > MAX_TEXT:
        raise _too_long()


def _check_joining(parts: Any, between: Any = "") -> None:
    if hasattr(parts, "__len__") and len(parts) * len(str(between)) > MAX_TEXT:
        raise _too_long()


def _check_translating(text: str, table: Any) -> None:
    made = table.values() if isinstance(table, dict) else table
    longest = max((len(one) for one in made if isinstance(one, str)), default=1)
    if len(text) * longest > MAX_TEXT:
        raise _too_long()


def _check_widths(pattern: str) -> None:
    if _WIDTH.search(pattern):
        raise TooMuch(f"it formats with {pattern[:40]!r}, whose width may be of any size")


def _too_long() -> TooMuch:
    return TooMuch(f"it makes a text of more than {MAX_TEXT:,} characters, or {MAX_ITEMS:,} items")


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """Compiles templates and counts what they do; used by any number of threads."""

    concat = staticmethod(_concat)
    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
        )
        self.filters["tojson"] = _tojson
        for name in ("replace", "join", "format", "list", *_PADDING_FILTERS):
            self.filters[name] = _metered(name, self.filters[name])
        self.filters["cutline_step"] = _step
        self.filters["cutline_joined"] = _joined
        del self.globals["lipsum"]  # makes any number of words
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_now
        self.globals["dict"] = _Dict()
        self.globals["namespace"] = TemplateNamespace

    def parse_metered(self, source: str) -> nodes.Template:
        """Parse a template, and make its loops and macros pay for each turn and call."""
        tree = self.parse(source)
        loops: list[nodes.For | nodes.Macro] = [*tree.find_all(nodes.For)]
        for loop in [*loops, *tree.find_all(nodes.Macro)]:
            target = loop.target if isinstance(loop, nodes.For) else None
            item = (
                nodes.Name(target.name, "load")
                if isinstance(target, nodes.Name)
                else nodes.Const(None)
            )
            paid = nodes.Filter(item, "cutline_step", [], [], None, None)
            loop.body.insert(0, nodes.ExprStmt(paid))
        _join_metered(tree)
        tree.set_environment(self).set_lineno(1)
        return tree

    def compiled(self, tree: nodes.Template) -> Template:
        """Compile a tree."""
        return Template.from_code(self, self.compile(tree), dict(self.globals))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute what may be large."""
        if operator == "+":
            pass
        elif operator == "*":
            for text, times in ((left, right), (right, left)):
                is_repeated = hasattr(text, "__len__") and isinstance(times, int)
                most = MAX_TEXT if isinstance(text, str) else MAX_ITEMS
                if is_repeated and len(text) * times > most:
                    raise _too_long()
            _check_numbers(operator, left, right)
        elif operator == "**":
            _check_numbers(operator, left, right)
        elif operator == "%" and isinstance(left, str):
            _check_widths(left)
        made = self.binop_table[operator](left, right)
        if type(made) is str and len(made) <= 1024:
            return made
        return context.parent[METER].grown(made)

    def call(self, context: Context, function: Any, /, *args: Any, **named: Any) -> Any:
        """Call what a template calls."""
        meter = context.parent[METER]
        meter.spend(_CALL_STEPS)
        method = getattr(function, "__wrapped__", function)  # jinja2 wraps `format`
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str):
            name = method.__name__
            if name in _PADDING_METHODS:
                _check_padding([*args, *named.values()])
                if (
                    name == "expandtabs"
                    and owner.count("\t") * [*args, *named.values(), 8][0] > MAX_TEXT
                ):
                    raise _too_long()
            elif name == "replace" and len(args) > 1:
                _check_replacing(owner, *args)
            elif name == "join" and args:
                _check_joining(args[0], owner)
            elif name == "translate" and args:
                _check_translating(owner, args[0])
            elif name in ("format", "format_map"):
                _check_widths(owner)
        return meter.grown(super().call(context, function, *args, **named))


def _check_numbers(operator: str, left: Any, right: Any) -> None:
    for number in (left, right):
        if isinstance(number, int) and number.bit_length() > 64:
            raise TooMuch(f"it computes {operator} with numbers of more than 64 bits")
    if operator == "**" and isinstance(right, int) and abs(right) > 64:
        raise TooMuch(f"it raises to the power of {right}")


def _join_metered(node: nodes.Node) -> None:
    """Replace `a ~ b` by a filter that pays for the text."""
    for field, value in node.iter_fields():
        if isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, nodes.Node):
                    _join_metered(item)
                    value[place] = _joining(item)
        elif isinstance(value, nodes.Node):
            _join_metered(value)
            setattr(node, field, _joining(value))


def _joining(node: nodes.Node) -> nodes.Node:
    if not isinstance(node, nodes.Concat):
        return node
    parts = nodes.List(node.nodes, lineno=node.lineno)
    return nodes.Filter(parts, "cutline_joined", [], [], None, None, lineno=node.lineno)


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
