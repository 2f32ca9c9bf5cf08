"""Descriptions of chunkers as plain data, for frameworks that serialize pipelines.

Frameworks also compare descriptions, to know whether a step is the same as before. So objects
that cannot be restored are described too, each with a unique identity.
"""

import json
import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

import regex

from cutline.chunking import CodeChunker, DataChunker, MarkdownChunker, TextChunker, TokenChunker
from cutline.chunking.chunker import Chunker
from cutline.chunking.dictionary_words import DictionaryWordLevel
from cutline.chunking.level_choice import make_levels
from cutline.chunking.levels import (
    EntryLevel,
    FunctionLevel,
    Level,
    LineLevel,
    Lines,
    ParagraphLevel,
    PatternLevel,
    PhraseLevel,
    SentenceLevel,
    WholeGraphemes,
    WordLevel,
)
from cutline.counting.limits import Limit, Measure
from cutline.counting.units import UNITS, Unit
from cutline.encoding import Encoding
from cutline.protocols import TokenCounter
from cutline.registry import from_pretrained, get_encoding, load
from cutline.template import Template
from cutline.vocabulary import list_encoding_names
from cutline.wrapping import WrappedTokenizer

__all__ = ["checked_rendered", "chunker_for", "chunker_from", "chunker_of", "describe", "naming"]

_KINDS: Final[dict[str, type[Chunker]]] = {
    "token": TokenChunker,
    "text": TextChunker,
    "markdown": MarkdownChunker,
    "code": CodeChunker,
    "data": DataChunker,
}
_NAMED: Final = (
    *(ParagraphLevel, EntryLevel, LineLevel, SentenceLevel),
    *(PhraseLevel, WordLevel, DictionaryWordLevel),
)
_HINT: Final = "make it in code where the pipeline is loaded, or pickle it"

_identities: dict[int, str] = {}


def describe(chunker: Chunker) -> dict[str, Any]:
    """Describe a chunker for `chunker_from`, in strings, numbers and lists.

    Chunkers that cut differently have different descriptions. An encoding that is not packaged is
    described by its content hash and the file that it was loaded from, a regular expression by
    its source. A function or another object of a user is described by its name and an identity
    that is unique across processes: `chunker_from` refuses it.

    >>> describe(TextChunker("o200k_base", 256, levels=["paragraph", "sentence"]))
    ... # doctest: +NORMALIZE_WHITESPACE
    {'kind': 'text', 'encoding': 'o200k_base', 'chunk_size': 256, 'chunk_overlap': 0,
     'boundary': 'grapheme', 'strip': False, 'min_fill': 0.25, 'balance': False, 'stable': False,
     'levels': ['paragraph', 'sentence'], 'lines': 'auto'}
    """
    kinds = {made: name for name, made in _KINDS.items()}
    if type(chunker) not in kinds:
        return _write_object(chunker)
    rules = chunker._rules
    boundary = rules.boundary
    described: dict[str, Any] = {
        "kind": kinds[type(chunker)],
        "encoding": _write_encoding(chunker.encoding),
        "chunk_size": rules.chunk_size,
        "chunk_overlap": rules.chunk_overlap,
        "boundary": boundary,
        "strip": bool(rules.strip),
        "min_fill": float(rules.min_fill),
        "balance": bool(rules.balance),
        "stable": bool(rules.stable),
    }
    if isinstance(chunker, TextChunker):
        described["levels"] = [
            _write_level(level, boundary, chunker.lines) for level in rules.chosen_levels
        ]
        described["lines"] = chunker.lines
    if isinstance(chunker, CodeChunker):
        described["language"] = chunker.language
    if isinstance(chunker, DataChunker):
        described["data_format"] = chunker.data_format
    if isinstance(chunker, CodeChunker | MarkdownChunker):
        described["isolated"] = bool(chunker.isolated)
    if rules.line_numbers:
        described["line_numbers"] = True
    if rules.template is not None:
        described["template"] = _write_template(rules.template)
    if rules.count_text is not None:
        described["count_text"] = _write_object(rules.count_text)
    if rules.also_fits:
        described["also_fits"] = [_write_limit(limit) for limit in rules.also_fits]
    if chunker.never_across is not None:
        described["never_across"] = _write_never_across(chunker.never_across)
    return described


def chunker_from(description: Mapping[str, Any]) -> Chunker:
    """Restore a chunker from its description.

    Raises:
        ValueError: it has a function or an encoding that cannot be restored; the file of an
            encoding is missing or has changed; or it is no result of `describe`.
    """
    options = _checked(description)
    kind = options.pop("kind")
    try:
        options["encoding"] = _read_encoding(options.get("encoding"))
        if "levels" in options:
            options["levels"] = _read_levels(options["levels"])
        if "also_fits" in options:
            options["also_fits"] = dict(map(_read_limit, options["also_fits"]))
        if "template" in options:
            options["template"] = _read_template(options["template"])
        if "never_across" in options:
            options["never_across"] = _read_never_across(options["never_across"])
        made = _KINDS[kind](**options)
    except (AttributeError, TypeError) as error:
        raise ValueError(f"the description of a {kind} chunker is damaged: {error}") from error
    _check_same(describe(made), description)
    return made


def chunker_of(
    chunker: Chunker | None, kind: Callable[..., Chunker] = TextChunker, /, **options: Any
) -> Chunker:
    """Return the given chunker, or one of a kind with the options that are not None.

    Raises:
        TypeError: both were given, or it is no chunker.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if chunker is None:
        return kind(**{"encoding": "o200k_base", **given})
    if not isinstance(chunker, Chunker):
        raise TypeError(
            f"chunker must be one of cutline's chunkers, got {type(chunker).__name__}: "
            "for instance cutline.TextChunker('o200k_base', 512)"
        )
    if given:
        raise TypeError(
            f"{', '.join(given)} and chunker are both given: set it in the chunker only"
        )
    return chunker


def chunker_for(chunker: Chunker, metadata: Mapping[Any, Any]) -> Chunker:
    """Return the chunker with its template filled for a document.

    Raises:
        ValueError: the template has a field that the metadata lacks.
    """
    template = chunker.template
    if template is None or not template.missing:
        return chunker
    return chunker.with_template(template.fill_from(metadata))


@contextmanager
def naming(document: object) -> Iterator[None]:
    """Note which document it was that cannot be cut: one of many, perhaps.

    >>> try:
    ...     with naming("a.md"):
    ...         raise ValueError("no room")
    ... except ValueError as error:
    ...     print(error.__notes__)
    ["in the document 'a.md'"]
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        error.add_note(f"in the document {document!r}")
        raise


def checked_rendered(rendered: bool, chunker: Chunker) -> bool:
    """Return whether documents get what is sent as their content.

    Raises:
        ValueError: they should, and the chunker has no template.
    """
    if rendered and chunker.template is None:
        raise ValueError("rendered=True needs a template: pass template=, or to the chunker")
    return bool(rendered)


def _checked(description: Any) -> dict[str, Any]:
    """Copy a description; refuse descriptions of no chunker, or of one with a user's parts."""
    match description:
        case {"object": kind}:
            raise _lost(f"a chunker of {kind}", "that is no class of cutline's")
        case {"count_text": {"object": function}}:
            raise _lost(f"a chunker with the count_text {function}", "that is a function")
        case {"kind": kind} if kind in list(_KINDS):
            return dict(description)
    got = description.get("kind") if isinstance(description, Mapping) else description
    raise ValueError(f"kind of a chunker must be one of {', '.join(_KINDS)}, got {got!r}")


def _check_same(made: Mapping[str, Any], description: Mapping[str, Any]) -> None:
    """Refuse a description with missing keys, or values that are not those of the restored one."""
    if missing := made.keys() - description.keys():
        raise ValueError(
            f"the description of a chunker is damaged: it lacks {', '.join(sorted(missing))}"
        )
    for key, value in description.items():
        compared = key not in ("encoding", "levels", "also_fits")
        if key not in made or (compared and made[key] != value):
            raise ValueError(f"the description of a chunker is damaged: {key} cannot be {value!r}")


def _lost(what: str, why: str) -> ValueError:
    return ValueError(f"{what} cannot be restored: {why}; {_HINT}")


def _is_ours(thing: Any) -> bool:
    """Return whether an object's class is cutline's, not a user's subclass."""
    return type(thing).__module__.partition(".")[0] == "cutline"


# Encodings


def _write_encoding(encoding: TokenCounter | Measure) -> str | dict[str, Any]:
    content_hash = None
    if isinstance(encoding, Encoding | WrappedTokenizer) and _is_ours(encoding):
        content_hash = encoding.content_hash
    if content_hash is None:
        return {"name": encoding.name, **_write_object(encoding)}
    name = encoding.name
    if name in list_encoding_names() and get_encoding(name).content_hash == content_hash:
        return name
    source = encoding._source if isinstance(encoding, Encoding) else {}
    return {"name": name, "content_hash": content_hash, **deepcopy(source)}


def _read_encoding(written: Any) -> Encoding:
    match written:
        case str():
            return get_encoding(written)
        case {"name": str(name), "object": str(kind)}:
            raise _lost(f"encoding {name!r}", f"it is an object of {kind}")
        case {"name": str(name), "content_hash": str(content_hash)}:
            arguments = {key: value for key, value in written.items() if key != "content_hash"}
        case _:
            raise ValueError(f"the description of an encoding is damaged: {written!r}")
    if not arguments.keys() & {"hub", "path"}:
        why = f"it came from no file that cutline.load reads (content hash {content_hash})"
        raise _lost(f"encoding {name!r}", why)
    try:
        if "hub" in arguments:
            del arguments["name"]
            encoding = from_pretrained(arguments.pop("hub"), **arguments)
        else:
            encoding = load(**arguments)
    except (ImportError, OSError, TypeError, ValueError) as error:
        raise _lost(f"encoding {name!r}", f"its file cannot be loaded, {error}") from error
    if encoding.content_hash != content_hash:
        where = arguments.get("path", name)
        why = f"{where} has changed: its content hash is {encoding.content_hash}"
        raise _lost(f"encoding {name!r}", f"{why}, and {content_hash} is written")
    return encoding


def _write_limit(limit: Limit) -> dict[str, Any]:
    measure, most = limit
    if isinstance(measure, Unit):
        return {"unit": measure.name, "most": most}
    return {"encoding": _write_encoding(measure), "most": most}


def _read_limit(written: Any) -> tuple[Encoding | str, int]:
    match written:
        case {"unit": str(name), "most": int(most)} if name in UNITS:
            return name, most
        case {"encoding": encoding, "most": int(most)}:
            return _read_encoding(encoding), most
    raise ValueError(f"the description of a limit is damaged: {written!r}")


# Templates


def _write_template(template: Template) -> dict[str, Any]:
    if type(template) is not Template:
        return _write_object(template)
    return {
        "pattern": template.pattern,
        "joined_by": template.joined_by,
        "special_tokens": template.special_tokens,
        "values": dict(template.values),
    }


def _read_template(written: Any) -> Template:
    match written:
        case {"object": kind}:
            raise _lost(f"the template {kind}", "that is no class of cutline's")
        case {"pattern": str(), "joined_by": _, "special_tokens": _, "values": Mapping()}:
            return Template(**{str(name): value for name, value in written.items()})
    raise ValueError(f"the description of a template is damaged: {written!r}")


# Levels


def _write_level(level: Level, boundary: str, lines: Lines) -> str | dict[str, Any]:
    """Write a level as it was given to `make_levels`, without `WholeGraphemes`."""
    given = level._level if isinstance(level, WholeGraphemes) else level
    if type(make_levels([given], boundary)[0]) is not type(level):
        return _write_object(level)
    if type(given) in _NAMED and getattr(given, "lines", lines) == lines:
        return given.name
    if type(given) is PatternLevel:
        return _write_pattern(given)
    if type(given) is FunctionLevel:
        return {"name": given.name, **_write_object(given._function)}
    return _write_object(given)


def _read_levels(written: Any) -> list[str | Level]:
    if not isinstance(written, list):
        raise ValueError(f"levels must be a list, got {written!r}")
    return [_read_level(level) for level in written]


def _read_level(written: Any) -> str | Level:
    match written:
        case str():
            return written
        case {"object": kind}:
            raise _lost(f"the level {kind}", "it is a function or an object")
    return _read_pattern(written)


def _read_pattern(written: Any) -> PatternLevel:
    match written:
        case {"name": str(name), "module": "re" | "regex" as module, "pattern": str(pattern)}:
            flags, lists = written.get("flags"), written.get("named_lists", {})
        case _:
            raise ValueError(f"the description of a level is damaged: {written!r}")
    compiler = {"re": re, "regex": regex}[module]
    # A KeyError is what `regex` before 2026.11 says to flags of both its versions.
    wrong = (KeyError, OverflowError, RecursionError, TypeError, ValueError)
    try:
        level = PatternLevel(name, compiler.compile(pattern, flags, **lists))
    except (re.error, regex.error, *wrong) as error:
        raise ValueError(f"the level {name!r} cannot be restored: {error}") from error
    if _write_pattern(level) != written:
        raise ValueError(f"the description of the level {name!r} is damaged: {written!r}")
    return level


def _write_pattern(level: PatternLevel) -> dict[str, Any]:
    pattern = level._pattern
    written = {
        "name": level.name,
        "module": "re" if isinstance(pattern, re.Pattern) else "regex",
        "pattern": pattern.pattern,
        "flags": pattern.flags,
    }
    if lists := getattr(pattern, "named_lists", None):
        written["named_lists"] = {name: sorted(texts) for name, texts in lists.items()}
    # LlamaIndex removes what looks like a memory address before it compares.
    return {**written, "content_hash": sha256(json.dumps(written).encode()).hexdigest()}


# Barriers


def _write_never_across(given: Any) -> str | list[int] | dict[str, Any]:
    if isinstance(given, str):
        return given
    if isinstance(given, tuple):
        return list(given)
    if hasattr(given, "finditer"):
        return _write_pattern(PatternLevel(given.pattern, given))
    return _write_object(given)


def _read_never_across(written: Any) -> Any:
    match written:
        case str() | list():
            return written
        case {"object": kind}:
            raise _lost(f"never_across={kind}", "it is a function")
    return _read_pattern(written)._pattern


# Objects


def _write_object(thing: Any) -> dict[str, Any]:
    """Describe an object without comparable content, such as a function, which has globals."""
    named = thing if isinstance(getattr(thing, "__qualname__", None), str) else type(thing)
    module = getattr(named, "__module__", None) or "builtins"
    return {"object": f"{module}.{named.__qualname__}", "identity": _identity(thing)}


def _identity(thing: Any) -> str:
    """Return an identity that is unique across processes, and constant while the object lives."""
    if id(thing) not in _identities:
        identity = uuid4().hex
        try:
            weakref.finalize(thing, _identities.pop, id(thing), None)
        except TypeError:  # not weakly referenceable: a new identity each time
            return identity
        _identities[id(thing)] = identity
    return _identities[id(thing)]
