"""Every version of the `tokenizers` package that is supported, 0.x and 1.x.

Of the package, only what both have is used here; the tokenizers are those of `made.py` and
`tests/pipeline/families.py`, written to files.
"""

import copy
import json
import pickle
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.texts import NAMED_TEXTS

tokenizers = pytest.importorskip("tokenizers")

DATA = Path(__file__).with_name("data")
WRAPPED = ("word_piece", "unigram", "sentence_piece")
NATIVE = ("byte_level", "normalized")
TEXTS = [
    "The unaffable, unbelievable story of an e-mail to someone@example.com. " * 3,
    *(text[:400] for text in NAMED_TEXTS.values() if text.isprintable()),
    "",
]


def loaded(name: str) -> Any:
    return tokenizers.Tokenizer.from_file(str(DATA / f"{name}.json"))


def ids_of(tokenizer: Any, text: str) -> list[int]:
    """The ids of a tokenizer that neither truncates nor pads."""
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


def unlimited(name: str) -> Any:
    document = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    tokenizer_json = json.dumps({**document, "truncation": None, "padding": None})
    path = DATA / f"{name}.json"
    if hasattr(tokenizers.Tokenizer, "from_str"):
        return tokenizers.Tokenizer.from_str(tokenizer_json)
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.truncation = tokenizer.padding = None
    return tokenizer


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_counts_are_those_of_the_tokenizer(name: str) -> None:
    ours, real = cutline.wrap(loaded(name)), unlimited(name)
    for text in TEXTS:
        want = ids_of(real, text)
        assert ours.encode(text) == want
        assert ours.count(text) == len(want)
        counter = ours.intervals(text)
        rng = random.Random(len(text))
        for _ in range(20):
            start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
            assert counter.count(start, end) == len(ids_of(real, text[start:end]))


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("size", [6, 16])
def test_wrapped_chunks_keep_their_budget_and_lose_nothing(name: str, size: int) -> None:
    ours, real = cutline.wrap(loaded(name)), unlimited(name)
    for text in (*TEXTS[:: 4 if size == 6 else 1], ""):
        for make in (cutline.TokenChunker, cutline.TextChunker):
            for overlap in (0, 2):
                chunks = make(ours, size, overlap)(text)
                for chunk in chunks:
                    assert chunk.token_count == len(ids_of(real, chunk.text)) <= size
                if not overlap:
                    assert "".join(chunk.text for chunk in chunks) == text
                assert all(a.end_index < b.end_index for a, b in pairwise(chunks))


@pytest.mark.parametrize("name", WRAPPED)
def test_a_cut_fits_and_leaves_no_room_for_what_follows(name: str) -> None:
    ours = cutline.wrap(loaded(name))
    for text in TEXTS:
        for n in (0, 1, 5, 12):
            assert ours.count(text[: ours.split_at(text, n)]) <= n
    text = TEXTS[0]
    for n in (1, 5, 12, 30):
        end = ours.split_at(text, n)
        assert all(ours.count(text[:place]) > n for place in range(end + 1, end + 9))


def test_what_the_model_puts_around_a_text_is_counted() -> None:
    ours = cutline.wrap(loaded("word_piece"))
    assert ours.num_special_tokens_to_add() == 2
    assert ours.num_special_tokens_to_add(pair=True) == 0  # its template for two has none
    assert cutline.wrap(loaded("sentence_piece")).num_special_tokens_to_add() == 0


def test_seams_are_found_in_every_version() -> None:
    assert cutline.wrap(loaded("word_piece")).safe_points is not None
    assert cutline.wrap(loaded("unigram")).safe_points is None


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_tokenizers_have_names_and_pickle(name: str) -> None:
    ours = cutline.wrap(loaded(name))
    assert ours.name in ("WordPiece", "Unigram", "BPE")
    for again in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert (again.name, again.encode(TEXTS[0])) == (ours.name, ours.encode(TEXTS[0]))


def test_the_given_tokenizer_stays_as_it_is() -> None:
    tokenizer = loaded("word_piece")
    before = list(tokenizer.encode(TEXTS[0]).ids)
    cutline.wrap(tokenizer).count(TEXTS[0])
    assert list(tokenizer.encode(TEXTS[0]).ids) == before
    assert len(before) == 8  # truncated, as it says


@pytest.mark.parametrize("name", NATIVE)
def test_byte_level_tokenizers_are_read_from_objects(name: str) -> None:
    ours = cutline.Encoding.from_tokenizers(loaded(name), "mine")
    real = loaded(name)
    assert ours.name == "mine"
    from_file = cutline.load(DATA / f"{name}.json")
    for text in TEXTS:
        want = ids_of(real, text)
        assert ours.encode(text, allowed_special="all") == want
        assert from_file.encode(text, allowed_special="all") == want


def metaspace(scheme: str, *, split: bool) -> dict[str, Any]:
    return {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": scheme,
        "split": split,
    }


SPACES: dict[str, tuple[Any, Any]] = {
    "as it is": (None, None),
    "prefix": (
        [{"type": "Prepend", "prepend": "\u2581"},
         {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}],
        None,
    ),
    "no prefix": (
        [{"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}],
        None,
    ),
    **{
        f"{scheme}, {split}": ([], metaspace(scheme, split=split))
        for scheme in ("always", "first", "never")
        for split in (True, False)
    },
}  # fmt: skip


@pytest.mark.parametrize("spaces", SPACES)
@pytest.mark.parametrize("name", WRAPPED)
def test_words_and_characters_are_read_and_written(name: str, spaces: str, tmp_path: Path) -> None:
    """From objects, which version 1 writes otherwise, and from files of ours."""
    document = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    document |= {"truncation": None, "padding": None}
    normalizers, splitter = SPACES[spaces]
    if normalizers is not None:
        if name == "word_piece":
            pytest.skip("has no blanks in tokens")
        if name == "unigram" and splitter is None:
            pytest.skip("is for words")
        document["normalizer"] = {"type": "Sequence", "normalizers": normalizers}
        document["pre_tokenizer"] = splitter
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    real = tokenizers.Tokenizer.from_file(str(path))
    ours, from_file = cutline.Encoding.from_tokenizers(real), cutline.load(path)
    from_file.save(tmp_path / "y.json")
    saved = tokenizers.Tokenizer.from_file(str(tmp_path / "y.json"))
    assert ours.num_special_tokens_to_add() == from_file.num_special_tokens_to_add()
    for text in TEXTS:
        want = ids_of(real, text)
        assert ours.encode(text, allowed_special="all") == want
        assert from_file.encode(text, allowed_special="all") == want
        assert ids_of(saved, text) == want
    ours.save(tmp_path / "x.cutline")
    assert cutline.load(tmp_path / "x.cutline")._spec == ours._spec


def test_what_is_no_tokenizer_is_refused() -> None:
    for nothing in (object(), 5, b"gpt2"):
        with pytest.raises(TypeError, match="tokenizer must"):
            cutline.Encoding.from_tokenizers(nothing)
        with pytest.raises(TypeError, match="tokenizer must"):
            cutline.wrap(nothing)


def test_a_folder_has_the_tokens_that_its_configuration_adds(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((DATA / "word_piece.json").read_bytes())
    config = {"added_tokens_decoder": {"9999": {"content": "<new>", "normalized": False}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    if hasattr(tokenizers.Tokenizer, "add_tokens"):
        n_tokens = loaded("word_piece").get_vocab_size()
        assert cutline.wrap(tmp_path).encode("<new>") == [n_tokens]
    else:
        with pytest.raises(cutline.VocabularyError, match=r"has the token '<new>', .* adds none"):
            cutline.wrap(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert cutline.wrap(tmp_path).count("The story") == cutline.wrap(loaded("word_piece")).count(
        "The story"
    )
