"""A table file that anybody may have written is refused, or is safe to scan with.

Input: the kind (a byte), then: 0: the file; 1: what comes after its checksum; 2: the
same before compression; 3: triples of place (2 bytes) and value that change the
numbers of a good automaton.
"""

import zlib

from cutline.container import _digest
from cutline.errors import CorruptDataError
from cutline.kernels.scan.lanes import find_ends
from cutline.kernels.scan.scan import scan_pieces
from cutline.pretokenize import Automaton
from cutline.pretokenize.automaton import generate
from cutline.pretokenize.splitting import scan_tables_of
from cutline.pretokenize.store import _identity, dump, load

PATTERN = r"a+b?|\s+(?!\S)|[^a]"
GOOD = generate(PATTERN)
GOOD_FILE = dump(GOOD, PATTERN)
MAGIC = GOOD_FILE[:8]
TEXT = "aab a\n  é中😀\u2028aaa  ".encode()


def run(data: bytes) -> None:
    if not data:
        return
    kind, body = data[0] % 4, data[1:]
    if kind == 3:
        body = changed(body)
    if kind >= 2:
        body = zlib.compress(body)
    file = body if kind == 0 else MAGIC + _digest(body, _identity(PATTERN)) + body
    try:
        automaton = load(file, PATTERN)
    except CorruptDataError:
        return
    scan(automaton)


def changed(body: bytes) -> bytes:
    """Replace some bytes of the good automaton's payload."""
    payload = bytearray(zlib.decompress(GOOD_FILE[40:]))
    # From the end: there are the transitions and the header of the arrays is at the front.
    for place in range(0, len(body) - 2, 3):
        offset = int.from_bytes(body[place : place + 2])
        payload[-1 - offset % len(payload)] = body[place + 2]
    return bytes(payload)


def scan(automaton: Automaton) -> None:
    """Scan to the end; pieces must be half-open spans in order."""
    tables = scan_tables_of(automaton)
    starts, ends, _ = scan_pieces(tables, TEXT)
    assert (starts < ends).all()
    assert (ends[:-1] <= starts[1:]).all()
    assert not len(ends) or ends[-1] <= len(TEXT)
    if tables.lane_table is not None:
        found, _, _ = find_ends(tables, TEXT * 9, 48)
        assert found == sorted(set(found))
        assert found[-1] == len(TEXT) * 9
