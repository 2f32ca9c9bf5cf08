"""Every string is a split pattern or a `PatternError`, and both engines split alike.

Input: pattern, NUL, text, as UTF-8.
"""

from contextlib import suppress

from cutline.errors import PatternError
from cutline.kernels.scan.lanes import find_ends
from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.pretokenize import regex_spans
from cutline.tables import build_scan_tables

MAX_TEXT_CHARACTERS = 20  # the backtracking engine can take time exponential in it


def run(data: bytes) -> None:
    pattern, _, text = data.decode("utf-8", "ignore").partition("\0")
    text = text[:MAX_TEXT_CHARACTERS]
    found = None
    with suppress(PatternError):
        found = scan(build_scan_tables(pattern), text)
    want = None
    with suppress(PatternError):
        starts, ends = regex_spans(pattern, text)
        want = list(zip(starts.tolist(), ends.tolist(), strict=True))
    if found is not None and want is not None:
        assert found == want


def scan(tables: ScanTables, text: str) -> list[tuple[int, int]]:
    """Return the spans of all pieces in code points."""
    encoded = text.encode()
    starts, ends, examined = scan_pieces(tables, encoded)
    assert all(examined >= ends), "a piece ends beyond what was looked at"
    if tables.lane_table is not None:
        for n_repeats in (1, 5):
            want = scan_pieces(tables, encoded * n_repeats)[1].tolist()
            assert find_ends(tables, encoded * n_repeats, 24)[0] == want
    return [
        (len(encoded[:start].decode()), len(encoded[:end].decode()))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
