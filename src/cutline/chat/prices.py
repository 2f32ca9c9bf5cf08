"""What filters, tests and methods of a template pay beforehand, and which sizes are refused.

By default an operation pays for a walk through each thing that it is given. Here are those that
make more than they are given, or take longer than a walk.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from cutline.chat import metering
from cutline.chat.metering import MAX_ITEMS, Meter, TooMuch, Walked, too_long

__all__ = ["FREE_FILTERS", "FREE_TESTS", "METHODS", "NO_ATTRIBUTES", "NO_FILTERS"]
__all__ += ["check_binop", "check_json", "pay_for_filter", "pay_for_method"]

MAX_PADDING: Final = 1 << 16
"""The greatest number that a template may pass to what pads or repeats."""

FREE_FILTERS: Final = frozenset(
    {"abs", "attr", "count", "d", "default", "first", "last", "length", "random"}
)
FREE_TESTS: Final = frozenset(
    {"boolean", "callable", "defined", "escaped", "false", "float", "integer", "iterable"}
    | {"mapping", "none", "number", "sameas", "sequence", "string", "true", "undefined"}
)
NO_FILTERS: Final = frozenset({"pprint", "striptags", "urlize", "wordwrap"})
"""Those whose cost does not follow from what they are given; requests have no use for them."""

NO_ATTRIBUTES: Final = frozenset({"encode", "from_bytes", "fromhex", "striptags", "to_bytes"})
"""The same of methods; and there are no bytes."""

_WIDTH: Final = re.compile(r"\d{5}|\*|\{[^{}]*\{")
_NUMBER: Final = re.compile(r"\d+")
_LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

Named = Mapping[str, Any]


def _check_text(characters: int) -> None:
    if characters > metering.MAX_TEXT:
        raise too_long()


def _check_items(count: int) -> None:
    if count > MAX_ITEMS:
        raise too_long()


def _pad(meter: Meter, values: Any) -> None:
    """Pay for what is as wide as a number says."""
    for value in values:
        size = len(value) if isinstance(value, str) else value
        if isinstance(size, int):
            if abs(size) > MAX_PADDING:
                raise TooMuch(f"it pads or repeats by {size}, and the limit is {MAX_PADDING:,}")
            meter.spend(abs(size) >> 3)


def _format(meter: Meter, pattern: str, values: Any, mark: str) -> None:
    """Pay for what a pattern makes of values, all of which any field may contain."""
    if _WIDTH.search(pattern):
        raise TooMuch(f"it formats with {pattern[:40]!r}, whose width may be of any size")
    fields = pattern.count(mark)
    cells, characters, _ = meter.weigh(values)
    widest = max(map(int, _NUMBER.findall(pattern)), default=0)
    _check_text(len(pattern) + fields * (characters + 8 * cells + widest + 8))
    meter.spend(16 * fields)


def _join(meter: Meter, between: str, parts: Any) -> None:
    characters = meter.weigh(parts).characters
    if hasattr(parts, "__len__"):
        _check_text(len(parts) * len(between) + characters)


def _replace(text: str, old: Any = "", new: Any = "", *_: Any) -> None:
    old, new = str(old), str(new)
    if len(new) > len(old):
        _check_text(len(text) + text.count(old) * len(new))


# Methods of texts: their own text and their arguments have been paid for


def _split(meter: Meter, text: str, args: Any, named: Named) -> None:
    between = args[0] if args else named.get("sep")
    parts = text.count(between) if isinstance(between, str) else len(text) // 2
    _check_items(parts)
    meter.spend(parts)


def _split_lines(meter: Meter, text: str, args: Any, named: Named) -> None:
    parts = sum(map(text.count, _LINE_ENDS))
    _check_items(parts)
    meter.spend(parts)


def _search_backwards(meter: Meter, text: str, args: Any, named: Named) -> None:
    """Pay for comparing at each place: this search of Python's can be that slow."""
    wanted = args[0] if args else named.get("sep")
    meter.spend((len(text) * len(wanted) if isinstance(wanted, str) else 0) >> 6)


def _split_backwards(meter: Meter, text: str, args: Any, named: Named) -> None:
    _search_backwards(meter, text, args, named)
    _split(meter, text, args, named)


def _expand_tabs(meter: Meter, text: str, args: Any, named: Named) -> None:
    width = [*args, *named.values(), 8][0]
    _pad(meter, [width])
    _check_text(text.count("\t") * width)


def _translate(meter: Meter, text: str, args: Any, named: Named) -> None:
    table = args[0] if args else ()
    made = table.values() if isinstance(table, dict) else table
    _check_text(len(text) * max((len(one) for one in made if isinstance(one, str)), default=1))
    meter.spend(len(text))


def _pad_all(meter: Meter, text: str, args: Any, named: Named) -> None:
    _pad(meter, [*args, *named.values()])


METHODS: Final[Mapping[str, Callable[[Meter, str, Any, Named], None]]] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), _pad_all),
    "expandtabs": _expand_tabs,
    "format": lambda meter, text, args, named: _format(meter, text, [args, named], "{"),
    "format_map": lambda meter, text, args, named: _format(meter, text, args, "{"),
    "join": lambda meter, text, args, named: _join(meter, text, args[0] if args else ()),
    "replace": lambda meter, text, args, named: _replace(text, *args, *named.values()),
    "rfind": _search_backwards,
    "rindex": _search_backwards,
    "rpartition": _search_backwards,
    "rsplit": _split_backwards,
    "split": _split,
    "splitlines": _split_lines,
    "translate": _translate,
}


def pay_for_method(
    meter: Meter, function: Any, args: tuple[Any, ...], named: Named
) -> tuple[Any, ...]:
    """Pay for a call of what Python has; return its arguments, iterators as lists."""
    method = getattr(function, "__wrapped__", function)  # jinja2 wraps `format`
    owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
    args = tuple([*one] if hasattr(type(one), "__next__") else one for one in args)
    for given in (*args, *named.values()):
        meter.weigh(given)
    if isinstance(owner, str):
        meter.weigh(owner)
        if (check := METHODS.get(name)) is not None:
            check(meter, owner, args, named)
    elif isinstance(owner, list | tuple) or name == "copy":
        meter.weigh(owner)
    return args


# Filters


_SORTING: Final = frozenset({"dictsort", "groupby", "max", "min", "sort"})
_CONSUMING: Final = frozenset({"join", "sum", "unique", *_SORTING} - {"dictsort"})
_LAZY: Final = frozenset({"items", "map", "reject", "rejectattr", "select", "selectattr"})
_PADDING: Final = frozenset({"batch", "center", "indent", "round", "slice", "truncate"})


def pay_for_filter(
    meter: Meter, name: str, value: Any, args: tuple[Any, ...], named: Named
) -> tuple[Any, int]:
    """Pay for a filter.

    Returns:
        The value, a list if it was an iterator that the filter uses up; and what each value costs
        that it yields.
    """
    given = [*args, *named.values()]
    step = 1 + sum(len(one) >> 4 for one in given if isinstance(one, str))
    for one in given:
        meter.weigh(one)
    if name in _CONSUMING and hasattr(type(value), "__next__"):
        value = [*value]
    if name in _PADDING:
        _pad(meter, given)
    if name in _LAZY:
        return value, step
    if name in ("batch", "list", "slice") or (name == "reverse" and not isinstance(value, str)):
        count = len(value) if hasattr(value, "__len__") else 0
        _check_items(count)
        meter.spend(count)
        return value, step
    walked = meter.weigh(value)
    if name in _CONSUMING and hasattr(value, "__len__"):
        meter.spend(len(value) * step)
    _check_filter(meter, name, value, walked, args, named)
    return value, step


def _check_filter(
    meter: Meter, name: str, value: Any, walked: Walked, args: tuple[Any, ...], named: Named
) -> None:
    cells, characters, _ = walked
    if name in _SORTING:
        meter.spend(32 * (cells + (characters >> 4)))
    elif name == "sum" and len(args) + len(named) > 0:
        meter.spend((len(value) if hasattr(value, "__len__") else 0) * cells)
    elif name == "unique":
        meter.hash(value)
    elif name == "join":
        _join(meter, str(args[0] if args else named.get("d", "")), value)
    elif name == "format":
        _format(meter, str(value), [args, named], "%")
    elif name == "replace":
        _replace(str(value), *args, *named.values())
    elif name == "indent":
        wide = [len(one) if isinstance(one, str) else int(one) for one in (*args, *named.values())]
        _check_text((str(value).count("\n") + 1) * max(wide, default=4))
    elif name == "int" and characters > 1000:
        raise TooMuch("it reads a number of more than 1,000 digits")


# Operators, and what writes JSON


def check_binop(meter: Meter, operator: str, left: Any, right: Any) -> None:
    """Refuse an operation whose result is too large; pay for one that takes long."""
    most = 64 if operator in ("*", "**") else 4096
    for number in (left, right):
        if isinstance(number, int) and number.bit_length() > most:
            raise TooMuch(f"it computes {operator} with numbers of more than {most} bits")
    if operator == "*":
        for one, times in ((left, right), (right, left)):
            if hasattr(one, "__len__") and isinstance(times, int):
                check = _check_text if isinstance(one, str) else _check_items
                check(len(one) * times)
    elif operator == "**" and isinstance(right, int) and abs(right) > 64:
        raise TooMuch(f"it raises to the power of {right}")
    elif operator == "%" and isinstance(left, str):
        _format(meter, left, right, "%")
    elif operator == "-" and hasattr(left, "__len__"):
        meter.hash(left)
        meter.hash(right)


def check_json(meter: Meter, value: Any, indent: Any, separators: Any) -> None:
    """Pay for a value that is written as JSON."""
    _pad(meter, [indent])
    cells, characters, depth = meter.weigh(value)
    if indent is not None:  # then Python's own writer runs, not the compiled one
        width = len(indent) if isinstance(indent, str) else int(indent)
        _check_text(2 * cells * depth * width)
        meter.spend(8 * cells)
    longest = meter.weigh(separators).characters
    _check_text(characters + 2 * cells * longest)
