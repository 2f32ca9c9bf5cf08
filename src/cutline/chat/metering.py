"""`Meter`: what a rendering may use, and what each operation of a template pays for it.

Time and memory have one currency, the step. Each operation is paid for by the size of what it is
given before it runs, and by the size of what it makes: a step for 16 characters, and for each
value in a list, as often as a walk through all of it meets that value. What does not depend on
sizes is paid for by the turn of a loop and by the call of a macro: a step for each part of the
body. So a step is some hundred nanoseconds at most, and 64 bytes.
"""

import time
from collections.abc import Callable, Iterator
from threading import local
from typing import Any, Final, NamedTuple

from jinja2 import TemplateError
from jinja2.utils import Namespace

__all__ = [
    *("MAX_ITEMS", "MAX_STEPS", "MAX_TEXT", "METER", "running"),
    *("Meter", "StandIn", "TooMuch", "Walked", "too_long", "value_of", "walk"),
]

MAX_STEPS: Final = 10_000_000
"""The steps of one rendering, and more for a long request: see `_allowance`."""

MAX_TEXT: Final = 1 << 26
"""The most characters of any text that a template makes, and of the whole."""

MAX_ITEMS: Final = 1 << 21
"""The most items of a list that a template makes."""

MAX_DEPTH: Final = 1000
"""The most lists within lists: what walks through them recurs."""

MAX_SECONDS: Final = 30
"""Of the processor: the last resort, if a step ever takes longer than it should."""

METER: Final = "the meter"  # no name that a template could write

_PORTION: Final = 1 << 20  # steps, after which the clock is read
_SHORT: Final = 64  # characters of a text that costs nothing by itself

running = local()
"""Its `meter` is that of the rendering that runs in this thread."""


class TooMuch(TemplateError):  # noqa: N818 (no error of ours)
    """A template that runs or grows without end."""


def too_long() -> TooMuch:
    """Build the error for a value that is too large."""
    return TooMuch(f"it makes a text of more than {MAX_TEXT:,} characters, or {MAX_ITEMS:,} items")


class StandIn:
    """What stands for a value of a template.

    Attributes:
        items: of a list.
        visible: its attributes that a template may read.
    """

    __slots__ = ()
    visible: frozenset[str] = frozenset()

    @property
    def items(self) -> list[Any]:
        return []


def value_of(space: Namespace) -> dict[str, Any]:
    """Return a namespace's attributes."""
    found: dict[str, Any] = object.__getattribute__(space, "_Namespace__attrs")
    return found


class Walked(NamedTuple):
    """What a walk through a value has met: values, characters, and how deep they lay."""

    cells: int
    characters: int
    depth: int


_VIEWS: Final[tuple[type, ...]] = (type({}.keys()), type({}.values()), type({}.items()))
_LISTS: Final[tuple[type, ...]] = (list, tuple, set, frozenset, *_VIEWS)


def walk(value: Any, pay: Callable[[int], None]) -> Walked:
    """Walk through a value as what writes or compares it does: shared parts again each time.

    Args:
        value: any.
        pay: called with steps before they are taken; stops the walk by raising.
    """
    cells = characters = depth = 0
    level: list[Any] = [value]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise TooMuch(f"it nests values more than {MAX_DEPTH:,} deep")
        deeper: list[Any] = []
        for one in level:
            if isinstance(one, str):
                characters += len(one)
                if len(one) >= _SHORT:
                    pay(len(one) >> 4)
                continue
            inner: tuple[Any, ...] = ()
            if isinstance(one, dict):
                inner = (one.keys(), one.values())
            elif isinstance(one, _LISTS):
                inner = (one,)
            elif isinstance(one, Namespace):
                inner = ((value_of(one),),)
            elif isinstance(one, StandIn):
                inner = (one.items,)
            elif isinstance(one, range):
                pay(len(one))
            for part in inner:
                pay(len(part))
                cells += len(part)
                deeper += part
        level = deeper
    return Walked(cells, characters, depth)


def _allowance(given: Any) -> int:
    """Return the steps that a request has by its own size: for each of its values, and text."""
    cells, characters, _ = walk(given, lambda _: None)
    return 1000 * cells + 2 * characters


class Meter:
    """What one rendering has used, and where it is.

    Args:
        given: the request; a long one may take more steps.
        when_told: called when the template asks for the time.

    Attributes:
        steps: left of this portion. Who takes some calls `refill` if it is negative then.
        message: the one that a loop has reached last.
        when_told: as given.
    """

    __slots__ = ("_given", "_left", "_until", "message", "steps", "when_told")

    def __init__(self, given: Any, when_told: Callable[[], None] | None = None) -> None:
        self.steps = min(_PORTION, MAX_STEPS)
        self._left = MAX_STEPS - self.steps
        self._given = given
        self._until = 0.0
        self.message: Any = None
        self.when_told = when_told
        running.meter = self

    def spend(self, steps: int) -> None:
        """Take steps from those that are left."""
        self.steps -= steps
        if self.steps < 0:
            self.refill()

    def refill(self) -> None:
        """Take the next portion.

        Raises:
            TooMuch: nothing is left.
        """
        now = time.thread_time()
        self._until = self._until or now + MAX_SECONDS
        if now > self._until:
            raise TooMuch(f"it takes more than {MAX_SECONDS} seconds")
        if self._left < -self.steps and self._given is not None:
            self._left += _allowance(self._given)
            self._given = None
        if self._left < -self.steps:
            raise TooMuch(f"it takes more than {MAX_STEPS:,} steps, and what the request allows")
        portion = min(self._left, _PORTION - self.steps)
        self._left -= portion
        self.steps += portion

    def weigh(self, value: Any) -> Walked:
        """Pay for a walk through a value."""
        if isinstance(value, str):
            if len(value) >= _SHORT:
                self.spend(len(value) >> 4)
            return Walked(0, len(value), 1)
        return walk(value, self.spend)

    def hash(self, values: Any) -> None:
        """Pay for making keys of values: those that are no texts can be made to collide."""
        self.weigh(values)
        others = sum(not isinstance(value, str) for value in values)
        self.spend(others * others >> 6)

    def made(self, value: Any, item_steps: int = 1) -> Any:
        """Return a value that was made, paid for by its size.

        Args:
            value: any; an iterator is paid for while it runs.
            item_steps: the price of each value that an iterator makes.
        """
        if isinstance(value, str):
            if len(value) >= _SHORT:
                self.spend(len(value) >> 4)
                if len(value) > MAX_TEXT:
                    raise too_long()
        elif isinstance(value, list | tuple | dict):
            if len(value) > MAX_ITEMS:
                raise too_long()
            self.spend(len(value) >> 3)
        elif hasattr(type(value), "__next__"):
            return self._paced(value, item_steps)
        return value

    def _paced(self, values: Iterator[Any], item_steps: int) -> Iterator[Any]:
        for value in values:
            self.spend(item_steps)
            yield value

    def joined(self, pieces: Iterator[str]) -> str:
        """Join what a template yields."""
        kept, length = [], 0
        for piece in pieces:
            kept.append(piece)
            length += len(piece)
            if length > MAX_TEXT:
                raise too_long()
        return "".join(kept)

    def place_in(self, chat: list[dict[str, Any]]) -> str:
        """Say which message a loop has reached last."""
        for index, message in enumerate(chat):
            if message is self.message:
                return f" at message {index}"
        return ""
