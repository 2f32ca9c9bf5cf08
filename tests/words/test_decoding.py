"""Decoded tokens of words, against `tokenizers`: with added tokens between, and one by one."""

import random
from typing import Any

import pytest

import cutline
from tests.words.tokenizers_of import LETTERS, MODELS, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
decoders = tokenizers.decoders

DECODERS = {
    "none": lambda: None,
    "word pieces": lambda: decoders.WordPiece(cleanup=False),
    "word pieces, cleaned up": lambda: decoders.WordPiece(),
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
        expected = oracle.decode(ids, skip_special_tokens=False)
        if oracle.id_to_token(ids[0]).startswith("##"):
            continue  # see docs/words.md
        assert encoding.decode(ids) == expected
        assert encoding.decode_bytes(ids).decode() == expected
        assert encoding.decode_with_offsets(ids)[0] == expected
        stream = encoding.decode_stream()
        assert "".join([*map(stream.feed, ids), stream.finish()]) == expected
