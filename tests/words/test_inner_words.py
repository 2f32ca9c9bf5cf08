"""Cuts where characters become several words, of which one goes on with that of the next."""

import random
from pathlib import Path

import pytest

from tests.words.tokenizers_of import MODELS, both

# NFKC makes four words of the first.
POOLS = ("\ufdfa", "\ufdfaa", "\ufdfa ", "\ufdfa\u200b", "\ufdfa\u0301a ", "\ufdfa5.\u00a8 ")
NAMES = ("NFKC, Lowercase", "NFKC, bert", "deberta", "t5", "many blanks", "long replacements")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", MODELS)
def test_the_longest_slice_that_fits(kind: str, name: str, tmp_path: Path) -> None:
    rng = random.Random(f"{kind} {name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    for pool in POOLS:
        # The kernel reads some 64 words at once.
        text = "".join(rng.choices(pool, k=rng.choice((8, 30, 60))))
        counts = [
            len(oracle.encode(text[:end], add_special_tokens=False).ids)
            for end in range(len(text) + 1)
        ]
        counter = encoding.intervals(text)
        for n in {1, 2, 3, 7, counts[-1] // 2, counts[-1] - 1} & {*range(counts[-1])}:
            want = max(end for end, count in enumerate(counts) if count <= n)
            assert counter.split_at(0, n) == want, (ascii(text), n)
            assert encoding.split_at(text, n) == want, (ascii(text), n)
