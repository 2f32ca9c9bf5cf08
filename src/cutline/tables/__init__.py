"""Building the kernels' tables from vocabulary and split pattern."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutline.tables.bpe_tables import MAX_TOKEN_BYTES, build_bpe_tables, recover_left_lengths
    from cutline.tables.decoder import build_decoder
    from cutline.tables.scan_tables import WHOLE_TEXT_PATTERN, build_scan_tables, build_scanner

__all__ = [
    "MAX_TOKEN_BYTES",
    "WHOLE_TEXT_PATTERN",
    "build_bpe_tables",
    "build_decoder",
    "build_decoder_by_id",
    "build_scan_tables",
    "build_scanner",
    "recover_left_lengths",
]

# Imported when first asked for: the packaged encodings come with their tables.
_LATE = {
    "MAX_TOKEN_BYTES": "bpe_tables",
    "WHOLE_TEXT_PATTERN": "scan_tables",
    "build_bpe_tables": "bpe_tables",
    "build_decoder": "decoder",
    "build_decoder_by_id": "decoder",
    "build_scan_tables": "scan_tables",
    "build_scanner": "scan_tables",
    "recover_left_lengths": "bpe_tables",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    return found
