"""Precompiled character maps, made by hand: a double array as sentencepiece writes it."""

import struct
from collections.abc import Mapping
from typing import Any

LEAF = -1


def charsmap(mapping: Mapping[str, str] | Mapping[str | bytes, str]) -> bytes:
    """Build the map of some keys. Each node has 256 units of its own: large, but simple."""
    trie: dict[int, Any] = {}
    strings = b""
    for key, value in mapping.items():
        node = trie
        for byte in key.encode() if isinstance(key, str) else key:
            node = node.setdefault(byte, {})
        node[LEAF] = len(strings)
        strings += value.encode() + b"\0"
    units: dict[int, int] = {}
    nodes = 0

    def place(node: dict[int, Any], at: int, label: int) -> None:
        nonlocal nodes
        nodes += 1
        base = nodes * 256
        units[at] = (at ^ base) << 10 | (LEAF in node) << 8 | label
        if LEAF in node:
            units[base] = node[LEAF] | 1 << 31
        for byte, child in node.items():
            if byte != LEAF:
                place(child, base ^ byte, byte)

    place(trie, 0, 0)
    n_units = (max(units) | 255) + 1
    data = struct.pack(f"<{n_units}I", *(units.get(at, 0) for at in range(n_units)))
    return struct.pack("<I", len(data)) + data + strings
