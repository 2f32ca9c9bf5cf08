"""Tokenizers of both models over awkward characters, with `tokenizers` as the oracle."""

import random
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.words.configurations import CONFIGURATIONS

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

LETTERS = (
    "abcde5.,`'\"$=\u00e9\u00c9\u0301\u0302\u0915\u0916\u094d\u0600\u1100\u1161\uac00\u200b\u200d"
    "\U0001f600\ufe0f\u4e16\u0627\u0653\u0130\u2581\ufdfa\u302e(c) "
)
MODELS = ("WordPiece", "Unigram", "Unigram with bytes")


def pieces(rng: random.Random, n: int) -> list[str]:
    """Random tokens of one to five characters, without blanks."""
    letters = LETTERS.replace(" ", "").replace("\u2581", "")
    found = {"".join(rng.choices(letters[:12], k=rng.randint(1, 5))) for _ in range(n)}
    found |= {one for one in letters if rng.random() < 0.7}
    return sorted(found)


def model_of(kind: str, rng: random.Random) -> Any:
    """A model over the letters, some of which it does not know."""
    tokens = pieces(rng, 120)
    if kind == "WordPiece":
        written = ["[UNK]", *tokens, *(f"##{one}" for one in pieces(rng, 120))]
        vocab = {text: number for number, text in enumerate(dict.fromkeys(written))}
        return tokenizers.models.WordPiece(
            vocab=vocab, unk_token="[UNK]", max_input_chars_per_word=12
        )
    # Few different scores: many paths are equally good.
    scores = [-1.5, -2.25, -3.1, -3.1000000000000005, -4.7]
    rows = [("<unk>", 0.0), ("\u2581", -2.0)]
    rows += [(one, rng.choice(scores)) for one in tokens]
    rows += [(f"\u2581{one}", rng.choice(scores)) for one in pieces(rng, 60)]
    rows = [*dict(rows).items()]
    if kind == "Unigram with bytes":
        rows += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
        return tokenizers.models.Unigram(rows, 0, True)
    return tokenizers.models.Unigram(rows, 0)


def tokenizer_of(kind: str, name: str, rng: random.Random) -> Any:
    normalizer, splitter = CONFIGURATIONS[name]()
    made = tokenizers.Tokenizer(model_of(kind, rng))
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = splitter
    return made


def both(kind: str, name: str, rng: random.Random, folder: Path) -> tuple[Any, cutline.Encoding]:
    """The tokenizer as the package reads it from a file, and ours."""
    path = folder / "tokenizer.json"
    path.write_text(tokenizer_of(kind, name, rng).to_str(), encoding="utf-8")
    return tokenizers.Tokenizer.from_file(str(path)), cutline.load(path)


def ids_of(tokenizer: Any, text: str) -> list[int] | None:
    """Encode a text; None where `tokenizers` panics, at blanks that two tokens strip."""
    try:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None
    return ids
