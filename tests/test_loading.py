"""Encodings saved and loaded: every format, with the `tokenizers` package as oracle."""

import contextlib
import copy
import errno
import functools
import gzip
import json
import os
import pickle
import random
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import PatternError, UnsupportedPatternError, VocabularyError
from cutline.formats.cutline_file import write_cutline
from cutline.formats.huggingface import read_vocab_and_merges
from cutline.formats.tokenizer_json import parse_tokenizer_json
from cutline.spec import AddedToken, TokenizerSpec
from cutline.vocabulary import Vocabulary
from tests.conftest import exhaustive, short_or_long
from tests.texts import NAMED_TEXTS, random_texts
from tests.vocabularies import TOY_TOKENS, random_ranks, with_bytes

WORD_PATTERN = r" ?\w+|\s+|[^\w\s]+"
GAPPY_PATTERN = r"[ab]+|c{1,3}+"
TOY_RANKS = with_bytes((b"ab", b"bc", b"he", b"abc", b"llo", b"hello", "中".encode()))
TEXT = "hello <s>abc中文 hello<|é|> end"
REACHED_RANKS = with_bytes((b"ab", b"he", b"ll", b"abc", b"llo", b"hello"))
FORMATS = ("cutline", "tiktoken", "tokenizer.json", "vocab.json")
NAMES = {"cutline": "x.cutline", "tiktoken": "x.tiktoken", "tokenizer.json": "x.json"}


def toy(pat_str: str | None = WORD_PATTERN) -> cutline.Encoding:
    return cutline.Encoding(
        "toy",
        pat_str=pat_str,
        mergeable_ranks=REACHED_RANKS,
        special_tokens={"<s>": 500, "<|é|>": 7000},
    )


def reloaded(
    encoding: cutline.Encoding, path: Path, file_format: str, name: str | None = None
) -> cutline.Encoding:
    """Save, and load again with what the format does not hold."""
    path = path / NAMES.get(file_format, "vocab.json")
    encoding.save(path, file_format)  # type: ignore[arg-type]
    if file_format in ("cutline", "tokenizer.json"):
        return cutline.load(path, name=name)
    return cutline.load(
        path, pat_str=encoding._pat_str, special_tokens=encoding._special_tokens, name=name
    )


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The tokenizer.json of a packaged encoding: to find the merges takes seconds."""
    folder = tmp_path_factory.mktemp("packaged")

    @functools.cache
    def write(name: str) -> Path:
        cutline.get_encoding(name).save(folder / f"{name}.json")
        return folder / f"{name}.json"

    return write


def assert_equal(found: cutline.Encoding, expected: cutline.Encoding) -> None:
    assert found._vocabulary == expected._vocabulary
    assert found._pat_str == expected._pat_str
    assert found._special_tokens == expected._special_tokens


def tokenizer_of(path: Path) -> Any:
    return pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))


@functools.cache
def packaged_tokenizer(path: Path) -> Any:
    return tokenizer_of(path)


def assert_same_tokens(tokenizer: Any, encoding: cutline.Encoding, text: str) -> None:
    """With special tokens, and with their text as ordinary text."""
    tokenizer.encode_special_tokens = False
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert ids == encoding.encode(text, allowed_special="all")
    tokenizer.encode_special_tokens = True
    assert tokenizer.encode(text, add_special_tokens=False).ids == encoding.encode_ordinary(text)


# Every encoding, every format


def test_special_tokens_that_share_an_id_have_no_tokenizer_json(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="share the id 200018"):
        cutline.get_encoding("o200k_harmony").save(tmp_path / "x.json")


SMALL = ("r50k_base", "p50k_edit")


@pytest.mark.parametrize(
    ("name", "file_format"),
    [
        *product(("o200k_base", "o200k_harmony", *SMALL), ("cutline", "tiktoken")),
        *product(SMALL, ("tokenizer.json", "vocab.json")),
        ("o200k_base", "tokenizer.json"),
        *(exhaustive(name, kind) for name in ("cl100k_base", "p50k_base") for kind in FORMATS),
        *(exhaustive(name, "vocab.json") for name in ("o200k_base", "o200k_harmony")),
    ],
)
def test_packaged_encodings_load_as_they_were_saved(
    name: str, file_format: str, tmp_path: Path, written: Callable[[str], Path]
) -> None:
    encoding = cutline.get_encoding(name)
    if file_format == "tokenizer.json":
        loaded = cutline.load(written(name))
    else:
        loaded = reloaded(encoding, tmp_path, file_format)
    assert_equal(loaded, encoding)
    text = "".join(NAMED_TEXTS.values())
    assert loaded.encode(text, allowed_special="all") == encoding.encode(
        text, allowed_special="all"
    )


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("pat_str", [WORD_PATTERN, None, GAPPY_PATTERN])
def test_an_encoding_of_ones_own_loads_as_it_was_saved(
    pat_str: str | None, file_format: str, tmp_path: Path
) -> None:
    encoding = toy(pat_str)
    loaded = reloaded(encoding, tmp_path, file_format)
    assert loaded._vocabulary == encoding._vocabulary
    assert loaded._special_tokens == encoding._special_tokens
    for text in [TEXT, *NAMED_TEXTS.values(), *random_texts(43, 50)]:
        tokens = loaded.encode(text, allowed_special="all")
        assert tokens == encoding.encode(text, allowed_special="all")
        if pat_str != GAPPY_PATTERN:
            assert loaded.decode(tokens) == text


def test_a_loaded_encoding_counts_cuts_copies_and_pickles(tmp_path: Path) -> None:
    for file_format in FORMATS:
        loaded = reloaded(toy(), tmp_path, file_format)
        again = pickle.loads(pickle.dumps(loaded))
        assert_equal(again, loaded)
        assert copy.deepcopy(loaded) is loaded
        assert again.count(TEXT) == len(toy().encode_ordinary(TEXT))
        assert again.split(TEXT, 5) == toy().split(TEXT, 5)
        assert again.intervals(TEXT).count(3, 20) == toy().count(TEXT[3:20])


def test_names_are_kept_or_given_or_those_of_the_file(tmp_path: Path) -> None:
    found = {kind: reloaded(toy(), tmp_path, kind).name for kind in FORMATS}
    assert found == {
        "cutline": "toy",
        "tiktoken": "x",
        "tokenizer.json": "x",
        "vocab.json": "vocab",
    }
    for file_format in FORMATS:
        assert reloaded(toy(), tmp_path, file_format, name="mine").name == "mine"


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for file_format, name in NAMES.items():
        toy().save(tmp_path / name)
        first = (tmp_path / name).read_bytes()
        reloaded(toy(), tmp_path, file_format).save(tmp_path / name)
        if file_format != "tokenizer.json":  # there, \w comes back spelled out
            assert (tmp_path / name).read_bytes() == first


def test_a_pattern_without_automaton_is_kept_in_a_native_file(tmp_path: Path) -> None:
    with pytest.warns(cutline.PatternFallbackWarning):
        encoding = toy(r"\b\w+?\b|.")
    encoding.save(tmp_path / "x.cutline")
    with pytest.warns(cutline.PatternFallbackWarning):
        assert_equal(cutline.load(tmp_path / "x.cutline"), encoding)
    with pytest.raises(UnsupportedPatternError) as caught:
        encoding.save(tmp_path / "x.json")
    assert any("save as .cutline" in note for note in caught.value.__notes__)
    assert not (tmp_path / "x.json").exists()


# The tokenizers package


@pytest.mark.parametrize("name", ["r50k_base", "p50k_edit", "cl100k_base", "o200k_base"])
def test_tokenizers_gives_the_same_tokens_for_packaged_encodings(
    name: str, written: Callable[[str], Path]
) -> None:
    encoding, tokenizer = cutline.get_encoding(name), packaged_tokenizer(written(name))
    special = "".join(f" {text}{text}x" for text in encoding.special_tokens_set)
    for text in [special, *NAMED_TEXTS.values(), *random_texts(47, 300)]:
        assert_same_tokens(tokenizer, encoding, text)
    ids = encoding.encode(special, allowed_special="all")
    assert tokenizer.decode(ids, skip_special_tokens=False) == special
    assert tokenizer.get_vocab_size() == len(encoding._vocabulary) + len(encoding._special_tokens)


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
@short_or_long("most", 60_000, 300_000)
def test_tokenizers_gives_the_same_tokens_on_corpora(
    name: str, most: int, corpus: str, written: Callable[[str], Path]
) -> None:
    tokenizer = packaged_tokenizer(written(name))
    assert_same_tokens(tokenizer, cutline.get_encoding(name), corpus[:most])


@pytest.mark.parametrize("pat_str", [WORD_PATTERN, None, GAPPY_PATTERN, r"\p{L}{2,4}+|(?s:.)"])
@short_or_long("n_drawn", 5, 50)
def test_tokenizers_gives_the_same_tokens_for_random_vocabularies(
    pat_str: str | None, n_drawn: int, tmp_path: Path
) -> None:
    """With tokens that merging never makes, ids with gaps, and ids against their lengths."""
    pytest.importorskip("tokenizers")
    numbers = random.Random(53)
    vocabularies = [with_bytes(tokens) for tokens in TOY_TOKENS.values()]
    vocabularies += [random_ranks(numbers, b"abc \xb8\xad") for _ in range(n_drawn)]
    for ranks in vocabularies:
        free = [number for number in range(300, 900) if number not in ranks.values()]
        special_tokens = dict(zip(("<s>", "<|é|>", " x"), numbers.sample(free, 3), strict=True))
        encoding = cutline.Encoding(
            "random", pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special_tokens
        )
        loaded = reloaded(encoding, tmp_path, "tokenizer.json")
        tokenizer = tokenizer_of(tmp_path / "x.json")
        for _ in range(40):
            text = "".join(numbers.choices(["a", "b", "c", " ", "中", "<s>", "\n"], k=25))
            assert_same_tokens(tokenizer, encoding, text)
            assert loaded.encode_ordinary(text) == encoding.encode_ordinary(text)


@pytest.mark.parametrize("pat_str", [None, r"\p{N}{1,3}| ?\p{L}+|\s+|[^\s\p{L}\p{N}]+"])
def test_what_tokenizers_trains_loads_and_gives_the_same_tokens(
    pat_str: str | None, tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pre = tokenizers.pre_tokenizers
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.decoder = tokenizers.decoders.ByteLevel()
    trained.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    trained.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    if pat_str is not None:
        split = pre.Split(tokenizers.Regex(pat_str), "isolated")
        byte_level = pre.ByteLevel(add_prefix_space=False, use_regex=False)
        trained.pre_tokenizer = pre.Sequence([split, byte_level])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|endoftext|>", "<pad>"],
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [*NAMED_TEXTS.values(), *random_texts(59, 1_000)]
    trained.train_from_iterator(texts, trainer)
    trained.save(str(tmp_path / "tokenizer.json"))
    loaded = cutline.load(tmp_path)
    assert loaded.name == tmp_path.name
    assert loaded.special_tokens_set == {"<|endoftext|>", "<pad>"}
    for text in ["a<pad>b<|endoftext|>", *texts]:
        assert_same_tokens(trained, loaded, text)
    trained.model.save(str(tmp_path), "my")
    pair = cutline.load(
        tmp_path / "my-vocab.json",
        pat_str=loaded._pat_str,
        special_tokens={"<|endoftext|>": 0, "<pad>": 1},
    )
    assert_equal(pair, loaded)


def test_tokenizers_reads_the_pair(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    encoding = cutline.get_encoding("r50k_base")
    encoding.save(tmp_path)
    files = (str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    tokenizer = tokenizers.ByteLevelBPETokenizer.from_file(*files)
    for text in random_texts(61, 100):
        assert tokenizer.encode(text).ids == encoding.encode_ordinary(text)


# Which format


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("a.cutline", {"a.cutline"}),
        ("a.tiktoken", {"a.tiktoken"}),
        ("a.json", {"a.json"}),
        ("tokenizer.json", {"tokenizer.json"}),
        ("a-vocab.json", {"a-vocab.json", "a-merges.txt"}),
        ("merges.txt", {"vocab.json", "merges.txt"}),
        ("", {"vocab.json", "merges.txt"}),
    ],
)
def test_the_path_tells_the_format(path: str, written: set[str], tmp_path: Path) -> None:
    toy().save(str(tmp_path / path))
    assert {file.name for file in tmp_path.iterdir()} == written
    with_all = {"pat_str": WORD_PATTERN, "special_tokens": toy()._special_tokens}
    given = {} if path in ("a.cutline", "a.json", "tokenizer.json") else with_all
    assert cutline.load(tmp_path / path, **given)._vocabulary == toy()._vocabulary  # type: ignore[arg-type]


def test_a_format_that_is_named_counts_whatever_the_path(tmp_path: Path) -> None:
    for file_format in ("cutline", "tokenizer.json"):
        path = tmp_path / f"{file_format} without an ending it is known by.bin"
        toy().save(path, format=file_format)  # type: ignore[arg-type]
        assert cutline.load(path)._vocabulary == toy()._vocabulary
    path = tmp_path / "ranks"
    toy().save(path, format="tiktoken")
    assert cutline.load(path, pat_str=None)._vocabulary == toy()._vocabulary
    toy().save(tmp_path, format="tokenizer.json")
    assert cutline.load(tmp_path)._special_tokens == toy()._special_tokens


def test_a_path_or_a_format_that_tells_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"cannot infer the format from .*: let it end in \.cutline"
    ):
        toy().save(tmp_path / "x")
    with pytest.raises(ValueError, match="unknown format 'gguf'; known are cutline, tiktoken"):
        toy().save(tmp_path / "x", format="gguf")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"without tokenizer\.json, tekken\.json, vocab"):
        cutline.load(tmp_path)


def test_what_a_file_lacks_must_be_given_and_nothing_else(tmp_path: Path) -> None:
    for name in ("x.tiktoken", "x-vocab.json"):
        toy().save(tmp_path / name)
        with pytest.raises(TypeError, match="does not contain the split pattern: pass pat_str="):
            cutline.load(tmp_path / name)
    for name in ("x.cutline", "x.json"):
        toy().save(tmp_path / name)
        for given in ({"pat_str": None}, {"special_tokens": {}}):
            with pytest.raises(TypeError, match="leave pat_str and special_tokens out"):
                cutline.load(tmp_path / name, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["x.cutline", "x.json", "x.tiktoken", "vocab.json", "x"])
def test_a_missing_file_is_file_not_found(name: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"pat_str": None} if name in ("x.tiktoken", "vocab.json") else {}
    with pytest.raises(FileNotFoundError):
        cutline.load(tmp_path / name, **given)


MISTAKEN = {
    "o200k_base": r"; that is a packaged encoding: cutline\.get_encoding\('o200k_base'\)",
    "gpt-4o": r"; that is a model: cutline\.encoding_for_model\('gpt-4o'\)",
    "GPT-4o": r"; did you mean the model 'gpt-4o'\? Its encoding is 'o200k_base': 'GPT-4o'",
    "o200k": r"; did you mean 'o200k_base'\?: 'o200k'",
    "BAAI/bge-m3": r"; a model of the .* is loaded by cutline\.from_pretrained\('BAAI/bge-m3'\)",
    "~/x.cutline": r"; for a home folder pass Path\(...\)\.expanduser\(\): '~/x\.cutline'",
    "nothing.json": r"No such file or directory: 'nothing\.json'",
    "./gpt2.cutline": r"No such file or directory: 'gpt2\.cutline'",
}


@pytest.mark.parametrize("name", MISTAKEN)
def test_a_name_that_is_no_path_is_told_where_it_belongs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=MISTAKEN[name]) as caught:
        cutline.load(name)
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(Path(name))


def test_a_home_folder_is_a_path_for_the_hub_too() -> None:
    with pytest.raises(FileNotFoundError, match="for a home folder pass Path"):
        cutline.from_pretrained("~/none")


@pytest.mark.parametrize("name", ["o200k_base", "gpt-4o"])
def test_the_hub_is_not_asked_for_names_of_openai(name: str) -> None:
    with pytest.raises(cutline.UnknownEncodingError, match=rf"has no model '{name}'; that is a "):
        cutline.from_pretrained(name)


@pytest.mark.parametrize("wrong", [None, 5, b"gpt2", ["gpt2"]])
def test_what_is_no_path_is_named(wrong: Any) -> None:
    kind = type(wrong).__name__
    with pytest.raises(TypeError, match=f"path must be a str or a path, got {kind}"):
        cutline.load(wrong)
    with pytest.raises(TypeError, match=f"name must be a str or a path, got {kind}"):
        cutline.from_pretrained(wrong)


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "a.model", "a.gguf", "a.tiktoken", "vocab.txt", "a.cutline", "a"]
)
def test_a_pointer_of_git_lfs_is_named(name: str, tmp_path: Path) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9085698\n"
    (tmp_path / name).write_text(text)
    with pytest.raises(VocabularyError, match=rf"{name} is a pointer of Git LFS to the file, not"):
        cutline.load(tmp_path / name)


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "a.model", "a.gguf", "a.tiktoken", "vocab.txt", "a.cutline", "a"]
)
def test_an_empty_file_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(VocabularyError, match=rf"{name} is empty: was it downloaded in full\?"):
        cutline.load(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files")
def test_a_file_may_come_from_a_pipe(tmp_path: Path) -> None:
    cutline.get_encoding("gpt2").save(tmp_path / "a.json")
    content = (tmp_path / "a.json").read_bytes()
    os.mkfifo(tmp_path / "b.json")
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit((tmp_path / "b.json").write_bytes, content)
        assert cutline.load(tmp_path / "b.json").count("wood glue") == 2
        assert written.result() == len(content)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.json.gz", "a.tiktoken.gz"])
def test_a_packed_file_is_told_to_be_unpacked(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"{}"))
    with pytest.raises(VocabularyError, match=f"{name} is packed: unpack it first"):
        cutline.load(tmp_path / name, pat_str=None)


def test_a_path_instead_of_an_encoding_is_told_to_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"got \w+Path: use cutline\.load\('.*x\.json'\)"):
        cutline.TextChunker(tmp_path / "x.json", 12)  # type: ignore[arg-type]


def test_a_missing_half_of_the_pair_is_named(tmp_path: Path) -> None:
    toy().save(tmp_path)
    (tmp_path / "merges.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"merges\.txt"):
        cutline.load(tmp_path, pat_str=None)


# What cannot be loaded


def test_a_model_of_sentencepiece_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02\n\x0c\n\x03<s>")
    with pytest.raises(VocabularyError, match=r"perhaps a SentencePiece model.* cutline\.wrap\("):
        cutline.load(path)


def test_a_special_token_of_the_pair_that_is_not_named_is_refused(tmp_path: Path) -> None:
    toy().save(tmp_path)
    with pytest.raises(VocabularyError, match=r"b'<s>' \(id 500\).* it must be listed as one"):
        cutline.load(tmp_path, pat_str=None, special_tokens={"<|é|>": 7000})


Change = Callable[[dict[str, Any]], None]


def set_pattern(pattern: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": pattern}

    return change


def two_ways(document: dict[str, Any]) -> None:
    """Let `abc` come from `a` and `bc`, which `ab` and `c` come before."""
    document["model"]["vocab"]["bc"] = 900
    merges = document["model"]["merges"]
    merges[merges.index(["ab", "c"])] = ["a", "bc"]
    merges.append(["b", "c"])


REFUSED: dict[str, tuple[Change, type[ValueError], str]] = {
    "a byte missing": (
        lambda document: document["model"]["vocab"].pop("Ġ"),
        VocabularyError,
        r"1 single byte has no token: b' '",
    ),
    "an id twice": (
        lambda document: document["model"]["vocab"].update({"ab": 97}),
        VocabularyError,
        "id 97 is given to two tokens",
    ),
    "a token that merges in two ways": (
        two_ways,
        VocabularyError,
        "only vocabularies in which a token merges in one way can be read",
    ),
    "a pattern that is none": (set_pattern("("), PatternError, "is not closed"),
    "another dialect": (set_pattern(r"\h+"), UnsupportedPatternError, r"escape '\\h'"),
    "a pattern that is too deep": (
        set_pattern("(" * 3_000 + "a" + ")" * 3_000),
        UnsupportedPatternError,
        "a group nested too deeply",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_tokenizer_json_without_an_exact_encoder_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    toy().save(path)
    document = json.loads(path.read_bytes())
    change, error, message = REFUSED[name]
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(error, match=message) as caught:
        cutline.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "cutline.wrap(tokenizer) " in str(caught.value)


def test_a_cut_tokenizer_json_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    toy().save(path)
    data = path.read_bytes()
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        with pytest.raises(VocabularyError) as caught:
            cutline.load(path)
        assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("place", ["model", "normalizer", "pre_tokenizer", "decoder", "more"])
@pytest.mark.parametrize("kind", ["list", "sequence", "object"])
@short_or_long("step", 39, 13)
def test_a_deeply_nested_tokenizer_json_is_read_or_refused_by_name(
    place: str, kind: str, step: int, tmp_path: Path
) -> None:
    """Near the limit of recursion, too: whatever reads goes deeper than the parser did."""
    path = tmp_path / "tokenizer.json"
    toy().save(path)
    document = json.loads(path.read_bytes())
    around = {
        "list": ("[", "]"),
        "object": ('{"a":', "}"),
        "sequence": (
            '{"type":"Sequence","normalizers":[{"type":"NFC"}],"pretokenizers":[',
            '],"decoders":[]}',
        ),
    }[kind]
    for depth in (50, 200, 300, 350, 450, *range(880, 1_000, step), 5_000):
        text = json.dumps({**document, place: "here"})
        path.write_text(text.replace('"here"', around[0] * depth + "null" + around[1] * depth))
        try:
            enc = cutline.load(path)
        except VocabularyError as error:
            message = str(error)
        else:
            with contextlib.suppress(VocabularyError):  # such a file cannot say all that it is
                enc.save(tmp_path / "again.json")
            continue
        assert message.startswith(str(path))


@pytest.mark.parametrize("name", ["x.tiktoken", "x-vocab.json", "tokenizer.json", "x.cutline"])
def test_a_token_that_is_too_long_is_refused_by_the_files_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    toy().save(path)
    giant = b"a" * 40_000
    if name == "x.tiktoken":
        path.write_bytes(path.read_bytes() + b64encode(giant) + b" 99999\n")
    elif name == "x.cutline":
        vocabulary = Vocabulary.from_ranks(dict(TOY_RANKS) | {giant: 99_999})
        write_cutline(TokenizerSpec("x", vocabulary, None), path)
    else:
        document = json.loads(path.read_bytes())
        ids = document.get("model", {}).get("vocab", document)
        ids["a" * 40_000] = 99_999
        if "model" in document:
            document["model"]["ignore_merges"] = True
            path.write_text(json.dumps(document))
        else:
            path.write_text(json.dumps(document))
            merges = path.with_name("x-merges.txt")
            merges.write_text(merges.read_text() + f"a {'a' * 39_999}\n")
    holds_all = name in ("tokenizer.json", "x.cutline")
    with pytest.raises(VocabularyError) as caught:
        cutline.load(path) if holds_all else cutline.load(path, pat_str=None)
    assert str(path) in str(caught.value)


def test_a_forged_native_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.cutline"
    vocabulary = toy()._vocabulary
    wrong = vocabulary.with_left_lengths([0] * 256 + [1, 1, 1, 1, 2, 2])  # hello is not he and llo
    for stored, message in (
        (TokenizerSpec("x", vocabulary, None, (AddedToken("<s>", 97),)), "'<s>' has id 97"),
        (TokenizerSpec("x", wrong, None), "the stored split of token b'abc'"),
    ):
        write_cutline(stored, path)
        with pytest.raises(VocabularyError) as caught:
            cutline.load(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("pat_str", "message"),
    [
        ("(", "is not closed"),
        (r"(a)\1", r"escape '\\1' at position 3"),
        ("(" * 5_000 + "a" + ")" * 5_000, "a group nested too deeply"),
    ],
)
def test_a_native_file_with_a_pattern_that_no_engine_runs_is_refused(
    pat_str: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.cutline"
    write_cutline(TokenizerSpec("x", toy()._vocabulary, pat_str), path)
    with pytest.raises(PatternError, match=message) as caught:
        cutline.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    with pytest.raises(PatternError, match=message):
        toy(pat_str)
    with pytest.raises(PatternError, match=message):
        cutline.count_pieces(iter(["a"]), pat_str=pat_str)


@pytest.mark.parametrize("skipped", ["#version: 0.2", "#version x y", "#version", "#versions 1"])
def test_merges_that_begin_as_the_header_are_skipped_as_by_tokenizers(
    skipped: str, tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    texts = ("#", "1", "s", "a", "b", "c", "#version", "#versions", "#versions1", "ab", "abc")
    ids = {text: number for number, text in enumerate(texts)}
    merges = ["#version: 0.2", "a b", skipped, "ab c"]
    paths = tmp_path / "vocab.json", tmp_path / "merges.txt"
    paths[0].write_text(json.dumps(ids))
    paths[1].write_text("\n".join(merges))
    model = read_vocab_and_merges(paths[0])
    ours = [model.merge(place) for place in range(2)]
    assert ours == tokenizers.models.BPE.read_file(*map(str, paths))[1] == [("a", "b"), ("ab", "c")]
    toy().save(tmp_path / "x.json")
    document = json.loads((tmp_path / "x.json").read_bytes())
    document["model"].update(vocab=ids, merges=merges)
    document["added_tokens"] = []
    model = parse_tokenizer_json(document, "x").model
    theirs = json.loads(tokenizers.Tokenizer.from_str(json.dumps(document)).to_str())["model"]
    ours = [list(model.merge(place)) for place in range(2)]
    assert ours == theirs["merges"] == [["a", "b"], ["ab", "c"]]


def test_merges_that_look_like_a_header_are_kept(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    text = "#version 330\n" * 100 + "#version1 " * 50 + "#versioned " * 30
    encoding = cutline.train(iter([text]), 285, pat_str=r"\S+|\s+")
    path = tmp_path / "tokenizer.json"
    encoding.save(path)
    sample = "#versioned #version1"
    assert tokenizers.Tokenizer.from_file(str(path)).encode(sample).ids == encoding.encode(sample)
    assert cutline.load(path).encode(sample) == encoding.encode(sample)
    with pytest.raises(cutline.VocabularyError, match="'#version'"):
        encoding.save(tmp_path / "vocab.json")
