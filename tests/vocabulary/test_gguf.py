"""`.gguf` files give what the same tokenizer gives from its own file."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex

import cutline
from cutline.errors import VocabularyError
from cutline.formats.gguf import _PRE, _tokenizer_fields
from cutline.formats.pieces import PieceType
from tests.pipeline.families import build, texts_with, tokenizers
from tests.pretokenize.patterns import PATTERNS
from tests.texts import NAMED_TEXTS, random_texts
from tests.vocabulary.test_sentencepiece import OPTIONS, package, trained
from tests.words.tokenizers_of import LETTERS

gguf = pytest.importorskip("gguf", reason="writes the files of these tests")

NAMED = [text[:500].encode(errors="ignore").decode() for text in NAMED_TEXTS.values()]
PIECES = PieceType
# What `tokenizer.ggml.pre` says, the family of tests/pipeline/families.py, and ignore_merges.
FAMILIES = {
    "gpt-2": ("gpt 2", False),
    "llama-bpe": ("llama 3", True),
    "qwen2": ("qwen 2.5", False),
    "deepseek-v3": ("deepseek v3", False),
    "starcoder": ("starcoder", False),
    "olmo": ("gpt neox, olmo", False),
    "command-r": ("command-r", False),
    "bloom": ("bloom", False),
    "tekken": ("mistral nemo", True),
}
WORDS = {
    "llama-bpe": "llama 3", "qwen2": "qwen 2 and 3", "tekken": "mistral tekken", "bloom": "bloom",
}  # fmt: skip


def write(path: Path, **fields: Any) -> Path:
    """Write a file with a tensor; the fields are those of the writer's methods."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(4096)
    for name, value in fields.items():
        getattr(writer, f"add_{name}")(value)
    writer.add_tensor("weights", np.zeros((32, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def rows_of(tokenizer: Any) -> tuple[list[str], list[int]]:
    """Every token and its type, with some that fill the vocabulary."""
    added_tokens = tokenizer.get_added_tokens_decoder()
    by_id = {number: text for text, number in tokenizer.get_vocab(with_added_tokens=True).items()}
    tokens, types = [], []
    for number in range(max(by_id) + 6):
        text = by_id.get(number)
        found = added_tokens.get(number)
        tokens.append(f"[PAD{number}]" if text is None else text)
        types.append(
            PIECES.UNUSED if text is None
            else PIECES.NORMAL if found is None
            else PIECES.CONTROL if found.special else PIECES.USER_DEFINED
        )  # fmt: skip
    return tokens, list(map(int, types))


def write_bpe(path: Path, tokenizer: Any, pre: str, **more: Any) -> Path:
    tokens, types = rows_of(tokenizer)
    merges = [" ".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
    fields = {"tokenizer_model": "gpt2", "tokenizer_pre": pre, "token_list": tokens}
    return write(path, **fields, token_types=types, token_merges=merges, **more)


@pytest.mark.parametrize("pre", FAMILIES)
def test_byte_level_files_give_what_the_tokenizer_gives(pre: str, tmp_path: Path) -> None:
    name, ignores = FAMILIES[pre]
    tokenizer = build(name, ignore_merges=ignores)
    loaded = cutline.load(write_bpe(tmp_path / "x.gguf", tokenizer, pre))
    other = cutline.Encoding.from_tokenizers(tokenizer)
    assert loaded.max_tokens == 4096
    assert loaded._spec.special_tokens == other._spec.special_tokens
    for text in [*texts_with(tokenizer, 9), *NAMED, *random_texts(3, 200)]:
        text = text.encode(errors="ignore").decode()
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        assert loaded.encode(text, allowed_special="all") == tokens, text
        assert loaded.encode_ordinary(text) == other.encode_ordinary(text)
        assert loaded.count(text) == other.count(text)
        assert loaded.decode(tokens) == other.decode(tokens)


def test_patterns_are_those_of_the_published_files() -> None:
    for pre, name in WORDS.items():
        assert _PRE[pre].patterns == (PATTERNS[name],)
    names = ("numbers", "cjk", "words")
    assert _PRE["deepseek-v3"].patterns == tuple(PATTERNS[f"deepseek v3, {one}"] for one in names)
    pattern = _PRE["gpt-4o"].patterns[0]
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    for text in NAMED:
        pieces = [piece for piece, _ in split.pre_tokenize_str(text)]
        assert pieces == regex.findall(PATTERNS["o200k"], text)


def test_templates(tmp_path: Path) -> None:
    tokenizer = build("llama 3", ignore_merges=True)
    bos = tokenizer.token_to_id("<|begin_of_text|>")
    more = {"bos_token_id": bos, "eos_token_id": bos, "add_bos_token": True, "add_eos_token": True}
    loaded = cutline.load(write_bpe(tmp_path / "x.gguf", tokenizer, "llama-bpe", **more))
    assert loaded.num_special_tokens_to_add(), loaded.num_special_tokens_to_add(pair=True) == (2, 4)
    loaded.save(tmp_path / "x.json")
    read = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    assert read.encode("the").ids == [bos, *loaded.encode("the"), bos]


@pytest.mark.parametrize("name", OPTIONS)
def test_sentencepiece_files_give_what_the_model_gives(name: str, tmp_path: Path) -> None:
    data = trained(name)
    (tmp_path / "x.model").write_bytes(data)
    other = cutline.load(tmp_path / "x.model")
    processor = package.SentencePieceProcessor(model_proto=data)
    n = processor.vocab_size()
    types = [
        PIECES.UNKNOWN if processor.is_unknown(k)
        else PIECES.CONTROL if processor.is_control(k)
        else PIECES.BYTE if processor.is_byte(k)
        else PIECES.NORMAL
        for k in range(n)
    ]  # fmt: skip
    tokens = [processor.id_to_piece(k) for k in range(n)]
    for text in OPTIONS[name].get("user_defined_symbols", []):
        types[processor.piece_to_id(text)] = PIECES.USER_DEFINED
    path = write(
        tmp_path / "x.gguf",
        tokenizer_model="llama",
        token_list=[*tokens, "[PAD1]", "[PAD2]"],
        token_scores=[*(processor.get_score(k) for k in range(n)), -1e4, -1e4],
        token_types=[*map(int, types), 5, 5],
        add_space_prefix=OPTIONS[name].get("add_dummy_prefix", True),
        bos_token_id=1,
    )
    loaded = cutline.load(path)
    assert loaded.num_special_tokens_to_add() == 1
    same = loaded._spec._replace(n_template_tokens=(0, 0), template="", max_tokens=None)
    assert same == other._spec
    for text in NAMED:
        if "\0" not in text:
            assert loaded.encode_ordinary(text) == processor.encode(text)


def bert(folder: Path) -> tuple[list[str], Any]:
    texts = [*NAMED, "wood glue sets in half an hour"] * 3
    made = tokenizers.BertWordPieceTokenizer(lowercase=True)
    made.train_from_iterator(texts, vocab_size=900, show_progress=False)
    made.save(str(folder / "bert.json"))
    vocab = made.get_vocab()
    return sorted(vocab, key=vocab.__getitem__), made


def test_bert_files_give_what_the_tokenizer_gives(tmp_path: Path) -> None:
    tokens, made = bert(tmp_path)
    is_control = [text in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") for text in tokens]
    written = [
        text if control else text[2:] if text.startswith("##") else f"\u2581{text}"
        for text, control in zip(tokens, is_control, strict=True)
    ]
    fields = {"tokenizer_model": "bert", "token_list": written}
    types = [3 if control else 1 for control in is_control]
    made.add_special_tokens(["<E>"])
    made.add_tokens([tokenizers.AddedToken("of the", normalized=False)])
    written += ["\u2581<E>", "\u2581of the"]  # the converter marks these, too
    types += [3, 4]
    loaded = cutline.load(write(tmp_path / "x.gguf", **fields, token_types=types))
    rng = random.Random(2)
    letters = [*LETTERS, "<E>", "of the"]
    random_ones = ["".join(rng.choices(letters, k=rng.randint(0, 20))) for _ in range(300)]
    for text in [*NAMED, *random_ones]:
        tokens_of = made.encode(text, add_special_tokens=False).ids
        assert loaded.encode(text, allowed_special="all") == tokens_of, text
    assert loaded.num_special_tokens_to_add() == 2
    written[-3] = "\u2581Capital"
    with pytest.raises(VocabularyError, match=r"capitals, 'Capital'.*cutline\.wrap"):
        cutline.load(
            write(tmp_path / "y.gguf", **fields | {"token_list": written}, token_types=types)
        )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tokenizer_model": "rwkv"}, "tokenizer.ggml.model is 'rwkv'.*tokenizer.json may be"),
        ({"tokenizer_model": "t5", "token_list": ["a"]}, "a score for each"),
        ({}, "tokenizer.ggml.model is 'None'"),
        ({"tokenizer_model": "gpt2"}, "has no tokens"),
        ({"tokenizer_model": "gpt2", "token_list": ["a"], "token_types": [1, 1]}, "a type for"),
        (
            {"tokenizer_model": "gpt2", "token_list": ["a"], "tokenizer_pre": "who"},
            "tokenizer.ggml.pre is 'who'.*qwen2",
        ),
        ({"tokenizer_model": "gpt2", "token_list": ["a"]}, "tokenizer.ggml.pre is None"),
        ({"tokenizer_model": "gpt2", "token_list": ["a"], "tokenizer_pre": "gpt-2"}, "no merges"),
        (
            {"tokenizer_model": "gpt2", "token_list": ["a", "a"], "tokenizer_pre": "gpt-2"},
            "a token twice",
        ),
        ({"tokenizer_model": "llama", "token_list": ["a"]}, "a score for each"),
        (
            {"tokenizer_model": "llama", "token_list": ["a"], "token_scores": [float("nan")]},
            "a score for each",
        ),
        ({"tokenizer_model": "bert", "token_list": ["a", "a"]}, "a token twice"),
        ({"tokenizer_model": "bert", "token_list": ["a"]}, r"no token '\[UNK\]'"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=rf"x\.gguf.*{message}"):
        cutline.load(write(tmp_path / "x.gguf", **fields))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    data = write_bpe(tmp_path / "x.gguf", build("gpt 2"), "gpt-2").read_bytes()
    path = tmp_path / "y.gguf"
    for end in (0, 3, 10, 30, 100, 5000):
        path.write_bytes(data[:end])
        with pytest.raises(VocabularyError, match=r"y\.gguf"):
            cutline.load(path)
    numbers = random.Random(4)
    for _ in range(300):
        damaged = bytearray(data[:3000] + data[-100:])
        damaged[numbers.randrange(300)] = numbers.randrange(256)
        path.write_bytes(damaged)
        with pytest.raises(VocabularyError, match=r"y\.gguf"):
            cutline.load(path)
    path.write_bytes(b"GGUF" + (1).to_bytes(4, "little") + bytes(40))
    with pytest.raises(VocabularyError, match="versions 2 and 3"):
        cutline.load(path)


def test_fields_are_those_that_the_package_reads(tmp_path: Path) -> None:
    path = write_bpe(
        tmp_path / "x.gguf", build("gpt 2"), "gpt-2", bos_token_id=3, add_bos_token=True,
        precompiled_charsmap=bytes(range(256)), token_scores=[-1.5, 0.25],
    )  # fmt: skip
    read = gguf.GGUFReader(path)
    expected = {
        name.removeprefix("tokenizer.ggml."): field.contents()
        for name, field in read.fields.items()
        if name.startswith("tokenizer.")
    }
    assert _tokenizer_fields(path, "x") == expected | {
        "context_length": 4096,
        "architecture": "llama",
    }


def test_tensors_are_not_read(tmp_path: Path) -> None:
    path = write_bpe(tmp_path / "x", build("gpt 2"), "gpt-2")
    path = path.rename(tmp_path / "weights")  # found by its first bytes
    with path.open("r+b") as file:
        try:
            file.truncate(40 << 30)
        except OSError:
            pytest.skip("the file system has no holes")
    assert cutline.load(path).count("the theme") == cutline.Encoding.from_tokenizers(
        build("gpt 2")
    ).count("the theme")
