"""Tokenizers that encode words apart give, count and cut what `tokenizers` gives for each slice.

Input: model, configuration, seed of its vocabulary, start, budget (a byte each), then the text, a
letter a byte.
"""

import random
from functools import lru_cache
from typing import Any

import cutline
from cutline.errors import CutlineError
from fuzz.scratch import scratch
from tests.words.configurations import CONFIGURATIONS
from tests.words.tokenizers_of import LETTERS, MODELS, tokenizer_of

NAMES = tuple(CONFIGURATIONS)
N_VOCABULARIES = 8
MAX_TRIED = 60


def run(data: bytes) -> None:
    if len(data) < 5:
        return
    found = pair(MODELS[data[0] % len(MODELS)], NAMES[data[1] % len(NAMES)], data[2])
    if found is None:
        return
    text = "".join(LETTERS[byte % len(LETTERS)] for byte in data[5:])
    tokenizer, encoding = found
    want = tokenizer.encode(text, add_special_tokens=False).ids
    assert encoding.encode_ordinary(text) == want
    assert encoding.count(text) == len(want)
    start, budget = data[3] % (len(text) + 1), data[4] % 9
    counter = encoding.intervals(text)
    ends = range(start, min(len(text), start + MAX_TRIED) + 1)
    slices = tokenizer.encode_batch([text[start:end] for end in ends], add_special_tokens=False)
    counts = [len(one.ids) for one in slices]
    assert [counter.count(start, end) for end in ends] == counts
    if ends[-1] == len(text):
        fits = [end for end, count in zip(ends, counts, strict=True) if count <= budget]
        assert counter.split_at(start, budget) == max(fits)


def pair(kind: str, name: str, seed: int) -> tuple[Any, cutline.Encoding] | None:
    """Choose a tokenizer, and the encoding of its file; None: that is refused."""
    return _made(kind, name, seed % N_VOCABULARIES)


@lru_cache(maxsize=600)
def _made(kind: str, name: str, number: int) -> tuple[Any, cutline.Encoding] | None:
    rng = random.Random(f"{kind} {name} {number}")
    tokenizer = tokenizer_of(kind, name, rng)
    path = scratch("tokenizer.json")
    tokenizer.save(str(path))
    try:
        return tokenizer, cutline.load(path)
    except CutlineError:
        return None
