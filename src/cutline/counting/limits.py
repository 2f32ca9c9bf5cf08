"""Further budgets that a text fits at once: by other tokenizers, in characters, in bytes.

They are the option `also_fits` of chunkers, cuts, `truncate`, `pack` and `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from cutline.checks import checked_integer
from cutline.chunks import model_size
from cutline.counting.units import UNITS, Unit
from cutline.errors import BudgetError, UnknownEncodingError, shown
from cutline.text_encoder import TextEncoder

if TYPE_CHECKING:
    from cutline.protocols import GrowsAtEnd, GrowsAtStart, SliceCounter

__all__ = [
    "AlsoFits",
    "Limit",
    "Measure",
    "further_limits",
    "measure_key",
    "over_limit",
    "unit_of",
]

AlsoFits: TypeAlias = Mapping[Any, int | Literal["model"]] | None
"""From encodings, wrapped tokenizers and names to maximum numbers.

"model" is the limit of the encoding's model, less its special tokens.
"""


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """Its name."""


class Measure(Protocol):
    """What a limit needs of a token counter; the units have it, too."""

    @property
    def name(self) -> str:
        """Its name."""

    def count(self, text: str, /) -> int:
        """Count the tokens of a text."""

    def count_till_limit(self, text: str, limit: int, /) -> int | None:
        """Count the tokens, or return None if there are more than `limit`."""

    def intervals(self, text: str) -> SliceCounter:
        """Return a counter for the slices of a text."""

    def appender(self, text: str = "") -> GrowsAtEnd:
        """Begin a text that grows at its end."""

    def prepender(self, text: str = "") -> GrowsAtStart:
        """Begin a text that grows at its beginning."""

    def _max_bytes_of(self, n: int, /) -> int | None:
        """Return an upper bound in bytes of a text with n tokens; None: unbounded."""


class Limit(NamedTuple):
    """A maximum number of one measure."""

    measure: Measure
    most: int


def further_limits(
    also_fits: AlsoFits, least: int = 0, find: Callable[[Any], Any] | None = None
) -> tuple[Limit, ...]:
    """Return the limits that `also_fits` asks for.

    Args:
        also_fits: maximum numbers by encoding, wrapped tokenizer or name, or "model" for what its
            model takes; the names "characters" and "bytes" (of UTF-8) stand for these units.
        least: a smaller number is refused.
        find: finds the measure of a key that is no unit; by default a token counter.

    Raises:
        TypeError: it is no mapping, a key is no token counter, or a number no integer.
        ValueError: a number is below `least`, a name unknown, or a model's limit.
    """
    if also_fits is None:
        return ()
    if not isinstance(also_fits, Mapping):
        raise TypeError(
            "also_fits must be a mapping from encodings to numbers of tokens, such as "
            f"{{'o200k_base': 2000}}, got {type(also_fits).__name__}"
        )
    found: dict[Measure, int] = {}
    for key, value in also_fits.items():
        measure = _measure(key, find or TextEncoder._find_counter)
        most = _most(measure, key, value)
        if most < least:
            raise ValueError(
                f"also_fits must have numbers of {least} or more, got {shown(most)} of "
                f"{measure.name!r}"
            )
        found[measure] = min(most, found.get(measure, most))
    return tuple(map(Limit, found, found.values()))


def _measure(key: Any, find: Callable[[Any], Any]) -> Any:
    unit = UNITS.get(key) if isinstance(key, str) else key if isinstance(key, Unit) else None
    try:
        return unit or find(key)
    except UnknownEncodingError as error:
        raise UnknownEncodingError(
            f"also_fits: {error} (units are {' and '.join(map(repr, UNITS))})"
        ) from None


def _most(measure: Any, key: Any, value: Any) -> int:
    if isinstance(value, str) and value == "model":
        return model_size(measure, "also_fits with 'model'")
    try:
        return checked_integer(value, "it")
    except TypeError:
        raise TypeError(
            f"also_fits must have integers or 'model' as values, got {shown(value)} for {key!r}"
        ) from None


def over_limit(character: str, offset: int, limits: Iterable[Limit]) -> BudgetError:
    """Build the error for a character that is over one of the limits alone; it names which."""
    measure, most = next(one for one in limits if one.measure.count(character) > one.most)
    tokens = measure.count(character)
    return BudgetError(
        f"character {character!r} at offset {offset} has {tokens} {unit_of(measure)} on its own, "
        f"more than the {most} of also_fits; it takes {tokens}"
    )


def measure_key(measure: Measure) -> object:
    """Return what is equal for measures of the same class and name that count alike.

    Without a `content_hash` it is the measure itself.
    """
    content_hash = getattr(measure, "content_hash", None)
    return measure if content_hash is None else (type(measure), measure.name, content_hash)


def unit_of(measure: Named) -> str:
    """Return what a measure counts, for messages."""
    return measure.name if measure in UNITS.values() else f"tokens of {measure.name!r}"
