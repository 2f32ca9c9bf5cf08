"""Building the kernels' tables from vocabulary and split pattern."""

from cutline.tables.bpe_tables import MAX_TOKEN_BYTES, build_bpe_tables, recover_left_lengths
from cutline.tables.decoder import build_decoder
from cutline.tables.scan_tables import WHOLE_TEXT_PATTERN, build_scan_tables, build_scanner

__all__ = [
    "MAX_TOKEN_BYTES",
    "WHOLE_TEXT_PATTERN",
    "build_bpe_tables",
    "build_decoder",
    "build_scan_tables",
    "build_scanner",
    "recover_left_lengths",
]
