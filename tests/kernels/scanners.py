"""Split patterns that kernels scan by, and random ones that leave no text between pieces."""

import random
from collections.abc import Iterator

from cutline.errors import UnsupportedPatternError
from cutline.kernels.scan.scan import ScanTables
from cutline.tables import WHOLE_TEXT_PATTERN, build_scan_tables
from cutline.vocabulary.openai import CL100K_PAT_STR, O200K_PAT_STR, R50K_PAT_STR
from tests.pretokenize.patterns import PATTERNS
from tests.pretokenize.test_random_patterns import random_pattern

PACKAGED = {"r50k": R50K_PAT_STR, "cl100k": CL100K_PAT_STR, "o200k": O200K_PAT_STR}
WITHOUT_GAPS = PACKAGED | {
    "words joined by blanks": PATTERNS["exaone moe"],
    "whole text": WHOLE_TEXT_PATTERN,
    "a match that is taken back": r"ab*c|[\s\S]",
}
SCANNED = WITHOUT_GAPS | {
    "gaps": PATTERNS["deepseek v3, words"],
    "gaps decided far ahead": r"\p{L}+!|\d{2}|\s+$",
}


def gapless_tables(source: random.Random, count: int) -> Iterator[ScanTables]:
    """So many random patterns without gaps."""
    while count:
        # Without the last choice nearly every pattern has gaps.
        pattern = "|".join([*(random_pattern(source) for _ in range(source.randint(1, 3))), r"\S"])
        try:
            tables = build_scan_tables(pattern)
        except UnsupportedPatternError:
            continue
        if not tables.has_gaps:
            count -= 1
            yield tables
