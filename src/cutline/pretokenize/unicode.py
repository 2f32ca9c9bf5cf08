"""Sets of characters by Unicode property, from the packaged tables.

The version is that of the regex engine being matched (tiktoken's), not that of
the running Python. `tools/build_unicode_tables.py` rebuilds the data file; the
tests compare every set with tiktoken over all code points.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutline.container import unpack
from cutline.pretokenize.charset import CharSet, union
from cutline.pretokenize.later_scripts import LATER, MOVED

__all__ = [
    "DATA_PATH",
    "DIGIT",
    "UNICODE_MAGIC",
    "UNICODE_VERSION",
    "WHITE_SPACE",
    "WORD",
    "find_property",
    "fold_closure",
    "script_names",
    "unicode_scripts",
]

UNICODE_VERSION = "16.0.0"
UNICODE_MAGIC = b"cutlnUC1"
WHITE_SPACE = "White_Space"
DIGIT = "Decimal_Number"
WORD = "Word"

DATA_PATH = Path(__file__).with_name("data") / "unicode-16.bin"

# General_Category groups: members' short names start with the letter.
_GROUPS = {
    "L": "Letter",
    "LC": "Cased_Letter",
    "M": "Mark",
    "N": "Number",
    "P": "Punctuation",
    "S": "Symbol",
    "Z": "Separator",
    "C": "Other",
}
_LAST_BYTES = range(0x80, 0xC0)  # of characters of several bytes
_WORD_PARTS = ("Alphabetic", "M", "Nd", "Pc", "Join_Control")


def loose(name: str) -> str:
    """Normalize a property name for loose matching.

    >>> loose("White_Space"), loose("is-Latin")
    ('whitespace', 'latin')
    """
    squeezed = re.sub(r"[\s_-]", "", name).lower()
    return squeezed[2:] if squeezed.startswith("is") and len(squeezed) > 2 else squeezed


@cache
def _tables() -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    return unpack(UNICODE_MAGIC, DATA_PATH.read_bytes())


@cache
def _names() -> dict[str, tuple[str, str]]:
    """Map loose names to the kind of property and its key in the data file."""
    header, _ = _tables()
    names: dict[str, tuple[str, str]] = {}
    for short, long in header["binary"]:
        names |= {loose(short): ("binary", long), loose(long): ("binary", long)}
    for kind in ("script", "category"):
        for short, *others in header[kind]:
            for name in (short, *others):
                names[loose(name)] = names[f"{kind}={loose(name)}"] = (kind, short)
    for short in unicode_scripts():
        names[f"unicodescripts={loose(short)}"] = ("UnicodeScripts", short)
    for byte in map("{:02x}".format, _LAST_BYTES):
        names[f"lastbyte={byte}"] = ("LastByte", byte)
    for short, long in _GROUPS.items():
        for name in (short, long):
            names[loose(name)] = names[f"category={loose(name)}"] = ("category", short)
    for special in ("Any", "ASCII", "Assigned", WORD):
        names[loose(special)] = ("special", special)
    return names


def _category_members(short: str) -> list[str]:
    if short == "LC":
        return ["Lu", "Ll", "Lt"]
    header, _ = _tables()
    return [name for name, *_ in header["category"] if short in (name, name[:1])]


def _partition_set(kind: str, members: list[str]) -> CharSet:
    """Return the code points whose value in a partition is one of the members."""
    header, arrays = _tables()
    starts, values = arrays[f"{kind}_starts"], arrays[f"{kind}_values"]
    wanted = [index for index, (short, *_) in enumerate(header[kind]) if short in members]
    ends = np.append(starts[1:], np.int32(0x110000))
    inside = np.isin(values, wanted)
    pairs = np.column_stack((starts[inside], ends[inside]))
    return CharSet.from_ranges(map(tuple, pairs.tolist()))


def unicode_scripts() -> list[str]:
    """List the values of the property UnicodeScripts; `Any` is that of what has no script."""
    return ["Any", *(short for short, *_ in _tables()[0]["script"] if short != "Zzzz")]


def script_names() -> list[str]:
    """List the names of all scripts, short and long."""
    return [name for short, *others in _tables()[0]["script"] for name in (short, *others)]


def _script_of_unicode_9(key: str) -> CharSet:
    """Return what the pre-tokenizer UnicodeScripts takes for a script: kana are Han to it."""
    none = _load("script", "Zzzz") | _ranges(LATER) | CharSet.of(" ")
    if key == "Any":
        return none
    moved = {script: _ranges(ranges) for script, ranges in MOVED.items()}
    moved["Hani"] = CharSet.of("\u30fc")
    members = {"Hani": ["Hani", "Hira", "Kana"], "Hira": [], "Kana": []}.get(key, [key])
    own = _partition_set("script", members) - union(moved.values())
    return (own | moved[key] if key in moved else own) - none


def _ranges(written: str) -> CharSet:
    """Read ranges of code points."""
    edges = (one.partition("-") for one in written.split(" "))
    return CharSet.from_ranges(
        (int(start, 16), int(last or start, 16) + 1) for start, _, last in edges
    )


@cache
def _load(kind: str, key: str) -> CharSet:
    if kind == "binary":
        return CharSet(_tables()[1][key])
    if kind == "script":
        return _partition_set("script", [key])
    if kind == "category":
        return _partition_set("category", _category_members(key))
    if kind == "LastByte":
        last = int(key, 16) - _LAST_BYTES.start
        return CharSet.from_ranges((at, at + 1) for at in range(last, 0x110000, 64) if at >= 0x80)
    if kind == "UnicodeScripts":
        return _script_of_unicode_9(key)
    if key == WORD:
        return union(_load(*_names()[loose(part)]) for part in _WORD_PARTS)
    if key == "Assigned":
        return ~_load("category", "Cn")
    return CharSet.from_ranges([(0, 0x80 if key == "ASCII" else 0x110000)])


def find_property(name: str) -> CharSet | None:
    r"""Return the set that `\p{name}` stands for, or None if there is no such property.

    Args:
        name: a General_Category value or group (`L`, `Lu`, `Letter`), a Script
            (`Han`), a binary property (`White_Space`, `Alphabetic`), or
            `property=value` for the first two. `UnicodeScripts=Grek` is what the pre-tokenizer
            of this name takes for Greek, `LastByte=B2` what ends with this byte in UTF-8. Case,
            `_`, `-` and blanks are ignored, as is a leading `is`.

    Cost: microseconds after the first call for that set.
    Source: Unicode 16.0, UAX #44.

    >>> len(find_property("L")), len(find_property("Script=Han")), find_property("Klingon")
    (141028, 99030, None)
    """
    prefix, equals, value = name.partition("=")
    if equals:
        kinds = {"gc": "category", "generalcategory": "category", "sc": "script"}
        kind = kinds.get(loose(prefix), loose(prefix))
        found = _names().get(f"{kind}={loose(value)}")
    else:
        found = _names().get(loose(name))
    return None if found is None else _load(*found)


@cache
def _fold_classes() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the sources and targets of simple case folding, and what each folds to."""
    _, arrays = _tables()
    sources, targets = arrays["fold_sources"], arrays["fold_targets"]
    fixed = np.setdiff1d(targets, sources)
    points = np.concatenate((sources, fixed))
    folded = np.concatenate((targets, fixed))
    return points, folded


def fold_closure(characters: CharSet) -> CharSet:
    """Return the set with every character that simple case folding equates with a member.

    Source: Unicode 16.0 CaseFolding.txt, statuses C and S.

    >>> [hex(start) for start, _ in fold_closure(CharSet.of("s")).ranges()]
    ['0x53', '0x73', '0x17f']
    """
    points, folded = _fold_classes()
    reached = np.isin(folded, folded[characters.contains(points)])
    added = points[reached].tolist()
    return characters | CharSet.from_ranges((point, point + 1) for point in added)
