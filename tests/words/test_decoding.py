"""Decoded tokens of words, against `tokenizers`: with added tokens between, and one by one."""

import random
from collections import deque
from itertools import product
from typing import Any

import numpy as np
import pytest

import cutline
from tests.words.tokenizers_of import LETTERS, MODELS, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
decoders = tokenizers.decoders

DECODERS = {
    "none": lambda: None,
    "no steps": lambda: decoders.Sequence([]),
    "word pieces": lambda: decoders.WordPiece(cleanup=False),
    "word pieces, cleaned up": lambda: decoders.WordPiece(),
    "word pieces without prefix": lambda: decoders.WordPiece("", cleanup=False),
    "metaspace": lambda: decoders.Metaspace(),
    "metaspace, never": lambda: decoders.Metaspace(prepend_scheme="never"),
}


def pair(kind: str, decoder: str) -> tuple[Any, cutline.Encoding]:
    made = tokenizer_of(kind, "nothing, at white space", random.Random(f"{kind}{decoder}"))
    if (chosen := DECODERS[decoder]()) is not None:
        made.decoder = chosen
    made.add_special_tokens(["[CLS]", "[SEP]"])
    made.add_tokens([tokenizers.AddedToken("=.", normalized=False)])
    return made, cutline.Encoding.from_tokenizers(made)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_tokens_are_joined_as_tokenizers_joins_them(kind: str, decoder: str) -> None:
    oracle, encoding = pair(kind, decoder)
    rng = random.Random(5)
    for _ in range(200):
        words = ["".join(rng.choices(LETTERS, k=rng.randint(1, 5))) for _ in range(6)]
        text = "[CLS]" + rng.choice((" ", "=.")).join(words) + "[SEP]" * rng.randint(0, 2)
        text = text[rng.choice((0, 5)) :]
        ids = oracle.encode(text, add_special_tokens=False).ids
        ids = ids[rng.choice((0, 0, 1, 2)) :]
        expected = oracle.decode(ids, skip_special_tokens=False)
        assert encoding.decode(ids) == expected
        assert encoding.decode_bytes(ids).decode() == expected
        assert encoding.decode_with_offsets(ids)[0] == expected
        stream = encoding.decode_stream()
        assert "".join([*map(stream.feed, ids), stream.finish()]) == expected
        skipped = oracle.decode(ids, skip_special_tokens=True)
        assert encoding.decode(ids, skip_special_tokens=True) == skipped
        stream = encoding.decode_stream(skip_special_tokens=True)
        assert "".join([*map(stream.feed, ids), stream.finish()]) == skipped


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_first_token_writes_what_it_writes_there(decoder: str) -> None:
    """Any token of a vocabulary may be the first one, as where a slice of ids is decoded."""
    texts = ["[UNK]", "a", "##a", "##.", ".", "'s", "##n't", "##", "\u2581", "\u2581\u2581"]
    texts += ["\u2581a\u2581b", "a\u2581", "## a", " ", "do not"]
    oracle = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({text: at for at, text in enumerate(texts)}, unk_token="[UNK]")
    )
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    if (chosen := DECODERS[decoder]()) is not None:
        oracle.decoder = chosen
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for ids in product(range(len(texts)), repeat=2):
        expected = oracle.decode([*ids], skip_special_tokens=False)
        assert encoding.decode(ids) == expected
        assert encoding.decode(iter(ids)) == encoding.decode(deque(ids)) == expected
        assert encoding.decode_bytes(np.array(ids)).decode() == expected
        text, starts = encoding.decode_with_offsets(ids)
        first = oracle.decode([ids[0]], skip_special_tokens=False)
        assert (text, starts) == (expected, [0, len(first)])
        stream = encoding.decode_stream()
        for _ in range(2):
            assert stream.feed([]) + "".join([*map(stream.feed, ids), stream.finish()]) == expected
    assert encoding.decode([]) == encoding.decode(iter(())) == ""
