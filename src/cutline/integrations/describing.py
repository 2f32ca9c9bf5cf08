"""Chunkers as plain data, for frameworks that write their pipelines to JSON or YAML."""

from collections.abc import Mapping
from typing import Any, Final

from cutline.chunking import CodeChunker, MarkdownChunker, TextChunker, TokenChunker
from cutline.chunking.chunkers import Chunker
from cutline.chunking.levels import make_levels
from cutline.encoding import Encoding
from cutline.registry import is_registered

__all__ = ["chunker_from", "chunker_of", "describe"]

_KINDS: Final[dict[str, type[Chunker]]] = {
    "token": TokenChunker,
    "text": TextChunker,
    "markdown": MarkdownChunker,
    "code": CodeChunker,
}
_ALWAYS_THERE: Final = ("grapheme", "character")


def describe(chunker: Chunker) -> dict[str, Any]:
    """Return what makes the same chunker again with `chunker_from`: strings, numbers and lists.

    Raises:
        ValueError: the chunker counts with what is no packaged encoding, or has functions,
            patterns or a `count_text`: these have no name.

    >>> describe(TextChunker("o200k_base", 256, levels=["paragraph", "sentence"]))
    ... # doctest: +NORMALIZE_WHITESPACE
    {'kind': 'text', 'encoding': 'o200k_base', 'chunk_size': 256, 'chunk_overlap': 0,
     'boundary': 'grapheme', 'strip': False, 'min_fill': 0.25, 'balance': False, 'stable': False,
     'levels': ['paragraph', 'sentence']}
    """
    kinds = {made: name for name, made in _KINDS.items()}
    encoding, rules = chunker.encoding, chunker._rules
    if type(chunker) not in kinds:
        raise _not_plain(chunker, f"of class {type(chunker).__name__}")
    if not (isinstance(encoding, Encoding) and is_registered(encoding)):
        raise _not_plain(chunker, f"with {encoding!r}, which get_encoding does not give")
    if rules.count_text is not None:
        raise _not_plain(chunker, "with a count_text")
    names = [level.name for level in rules.levels if level.name not in _ALWAYS_THERE]
    boundary = rules.levels[-2].name if len(rules.levels) > len(names) + 1 else "character"
    described = {
        "kind": kinds[type(chunker)],
        "encoding": encoding.name,
        "chunk_size": rules.chunk_size,
        "chunk_overlap": rules.chunk_overlap,
        "boundary": boundary,
        "strip": rules.strip,
        "min_fill": rules.min_fill,
        "balance": rules.balance,
        "stable": rules.stable,
    }
    if isinstance(chunker, TextChunker):
        described["levels"] = _known(chunker, names, boundary)
    if isinstance(chunker, CodeChunker):
        described["language"] = chunker.language
    if isinstance(chunker, CodeChunker | MarkdownChunker):
        described["isolated"] = chunker.isolated
    return described


def chunker_from(description: Mapping[str, Any]) -> Chunker:
    """Make a chunker of what `describe` returned.

    Raises:
        ValueError: it is of no known kind.
    """
    options = dict(description)
    kind = options.pop("kind", None)
    if kind not in _KINDS:
        raise ValueError(f"kind of a chunker must be one of {', '.join(_KINDS)}, got {kind!r}")
    return _KINDS[kind](**options)


def chunker_of(chunker: Chunker | None, options: Mapping[str, Any]) -> Chunker:
    """Return the chunker that was given, or a `TextChunker` by options; None is not given.

    Raises:
        TypeError: both were given, or it is no chunker.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if chunker is None:
        return TextChunker(**{"encoding": "o200k_base", **given})
    if not isinstance(chunker, Chunker):
        raise TypeError(
            f"chunker must be one of cutline's chunkers, got {type(chunker).__name__}: "
            "for instance cutline.TextChunker('o200k_base', 512)"
        )
    if given:
        raise TypeError(
            f"{', '.join(given)} and chunker are both given: say it to the chunker alone"
        )
    return chunker


def _known(chunker: Chunker, names: list[str], boundary: str) -> list[str]:
    """Refuse levels that no name makes."""
    for name, level in zip(names, chunker._rules.levels, strict=False):
        try:
            made = make_levels([name], boundary)[0]
        except ValueError:
            made = None
        if type(made) is not type(level):
            raise _not_plain(chunker, f"with the level {name!r}, a pattern or a function")
    return names


def _not_plain(chunker: Chunker, what: str) -> ValueError:
    return ValueError(
        f"{chunker!r} cannot be written down: it is a chunker {what}; "
        "make it in code where the pipeline is loaded, or pickle it"
    )
