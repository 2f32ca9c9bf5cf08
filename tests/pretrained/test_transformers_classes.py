"""Every class of tokenizers of the transformers that is installed, with small vocabularies.

What a class makes of a text is its own: normalizer, pre-tokenizer, added tokens. A file of it that
loads gives the ids of `tokenizers`, and the counts of slices and cuts.
"""

import importlib
import inspect
import json
import pkgutil
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.texts import NAMED_TEXTS
from tests.words.tokenizers_of import ids_of

tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("transformers")

MUST_LOAD = (
    *("BertTokenizer", "MPNetTokenizer", "XLMRobertaTokenizer", "T5Tokenizer", "GPT2Tokenizer"),
    *("DebertaV2Tokenizer", "RobertaTokenizer", "Qwen2Tokenizer", "GPTNeoXTokenizer"),
    *("CohereTokenizer", "LlamaTokenizer", "GemmaTokenizer", "NllbTokenizer", "MBartTokenizer"),
)
SWITCHES: dict[str, Any] = {
    "do_lower_case": True, "keep_accents": True, "strip_accents": True, "split_by_punct": True,
    "remove_space": False, "add_prefix_space": True, "legacy": False,
}  # fmt: skip
PARTS = (
    *("new york", "The", " the", "ab", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "\u00e9"),
    *("e\u0301", "\u0301", "\u4e2d", "\uac01", "\u1100\u1161", "\U0001f600", "\u0130", "\u00df"),
    *("\ufb01", "\u2460", "can't", "''", "``", "--", "123", "x=y;", "<unk>", "</s>", "[MASK]"),
    *("\u2581", "\u200b", "\u200d", "\u00ad", "\ufeff", "\x07", "\x85", "\u05e9", "\u0939\u093f"),
)


@cache
def classes() -> dict[str, Any]:
    """Return them by name, but for those that cannot be imported here."""
    from transformers import models
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    found: dict[str, Any] = {}
    for model in pkgutil.iter_modules(models.__path__):
        folder = Path(models.__path__[0]) / model.name
        for path in sorted(folder.glob("tokenization_*.py")):
            name = f"{models.__name__}.{model.name}.{path.stem}"
            try:
                module = importlib.import_module(name)
            except (ImportError, NameError):
                continue  # it needs a package that is not here
            found |= {
                name: one
                for name, one in inspect.getmembers(module, inspect.isclass)
                if issubclass(one, TokenizersBackend) and one.__module__ == module.__name__
            }
    return found


@cache
def vocabularies() -> tuple[dict[str, Any], ...]:
    """Return what classes are made of: WordPiece, Unigram, BPE over bytes and over characters."""
    texts = list(NAMED_TEXTS.values())
    pre, models, trainers = tokenizers.pre_tokenizers, tokenizers.models, tokenizers.trainers
    names = ["<unk>", "<pad>", "<s>", "</s>", "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]

    def trained(model: Any, trainer: Any, splitter: Any) -> dict[str, Any]:
        made = tokenizers.Tokenizer(model)
        made.pre_tokenizer = splitter
        made.train_from_iterator(texts, trainer)
        found: dict[str, Any] = json.loads(made.to_str())["model"]
        return found

    options = {"vocab_size": 700, "show_progress": False, "special_tokens": names}
    word_piece = trained(
        models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(**options), pre.Whitespace()
    )
    unigram = trained(
        models.Unigram(), trainers.UnigramTrainer(unk_token="<unk>", **options), pre.Metaspace()
    )
    letters = {**options, "initial_alphabet": pre.ByteLevel.alphabet()}
    bytes_ = trained(models.BPE(), trainers.BpeTrainer(**letters), pre.ByteLevel())
    options["special_tokens"] = [*names, *(f"<0x{byte:02X}>" for byte in range(256))]
    options["vocab_size"] = 1200
    characters = trained(models.BPE(), trainers.BpeTrainer(**options), pre.Metaspace())
    rows = [(text, score) for text, score in unigram["vocab"]]
    pairs = [
        {"vocab": one["vocab"], "merges": [tuple(pair) for pair in one["merges"]]}
        for one in (bytes_, characters)
    ]
    return {"vocab": word_piece["vocab"]}, {"vocab": rows}, *pairs


def made_of(one: Any) -> Iterator[Any]:
    """Yield tokenizers of a class, with each vocabulary and switch that it takes."""
    known = inspect.signature(one.__init__).parameters
    for vocabulary in vocabularies():
        for switch in ({}, *({name: SWITCHES[name]} for name in SWITCHES if name in known)):
            try:
                backend = one(**vocabulary, **switch).backend_tokenizer
                backend.encode("abc")
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # Rust's panics, too
                break  # another vocabulary is asked for, or a package that is not here
            yield backend


def counted(tokenizer: Any, text: str) -> int | None:
    """Count tokens; None where `tokenizers` panics."""
    ids = ids_of(tokenizer, text)
    return None if ids is None else len(ids)


@pytest.mark.parametrize("name", classes())
def test_files_of_a_class_that_load_are_exact(name: str, tmp_path: Path) -> None:
    rng, n_loaded = random.Random(name), 0
    for backend in made_of(classes()[name]):
        document = {**json.loads(backend.to_str()), "padding": None, "truncation": None}
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        try:
            encoding = cutline.load(path)
        except cutline.CutlineError:
            continue
        n_loaded += 1
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
        ordinary = tokenizers.Tokenizer.from_str(json.dumps(document))
        ordinary.encode_special_tokens = True
        for _ in range(20):
            text = "".join(rng.choices(PARTS, k=rng.randint(1, 7)))
            if (want := counted(ordinary, text)) is None or counted(tokenizer, text) is None:
                continue
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            assert encoding.encode(text, allowed_special="all") == ids, text
            assert encoding.count(text) == want, text
            start, end = sorted(rng.choices(range(len(text) + 1), k=2))
            if (part := counted(ordinary, text[start:end])) is not None:
                assert encoding.intervals(text).count(start, end) == part, (text, start, end)
            prefixes = [counted(ordinary, text[:end]) for end in range(len(text) + 1)]
            if None not in prefixes:
                n = rng.randint(0, 5)
                longest = max(at for at, tokens in enumerate(prefixes) if tokens <= n)  # type: ignore[operator]
                assert encoding.split_at(text, n) == longest, (text, n)
    assert n_loaded or name not in MUST_LOAD
