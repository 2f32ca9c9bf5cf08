"""Cuts within two limits are the greatest, and chunks those of the definition, every end tried.

Input: two subjects, two budgets, overlap (a byte each), then the text as UTF-8.
"""

from fuzz.subjects import subject
from tests.chunking.test_also_fits import check_cuts

MAX_CHARACTERS = 48


def run(data: bytes) -> None:
    if len(data) < 6:
        return
    own, other = subject(data[0]), subject(data[1])
    n, most = data[2] % 12 + 1, data[3] % 12 + 1
    text = own.text(0, data[5:])[:MAX_CHARACTERS]
    check_cuts(text, (own.ours, own.count), [(other.ours, other.count, most)], n, data[4] % n)
