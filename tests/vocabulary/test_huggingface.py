"""Hugging Face's files: what is written, and what is refused when it is read."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutline.errors import VocabularyError
from cutline.formats import documents
from cutline.formats.huggingface import (
    GPT2_REGEX,
    SplitRegex,
    read_json,
    read_vocab_and_merges,
    vocab_path,
    write_tokenizer_json,
    write_vocab_and_merges,
)
from cutline.formats.merges import (
    MergeModel,
    check_merges,
    list_merges,
    list_texts,
    may_merge_in,
    read_tokens,
)
from cutline.formats.token_ids import Texts, TokenIds
from cutline.formats.tokenizer_json import check_byte_level, parse_tokenizer_json
from cutline.spec import AddedToken, TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.vocabulary.letters import as_text
from tests.vocabularies import with_bytes
from tests.vocabulary.samples import SINGLE_BYTES

SPECIAL = {"<s>": 400, "<pad>": 401}


def vocabulary_of(left_lengths: dict[bytes, int]) -> Vocabulary:
    """The single bytes, then tokens with the length of the left part of their last merge."""
    vocabulary = Vocabulary.from_ranks(with_bytes(tuple(left_lengths)))
    return vocabulary.with_left_lengths([0] * 256 + list(left_lengths.values()))


def model_of(
    ids: dict[str, int],
    merges: list[tuple[str, str]],
    *,
    ignore_merges: bool = False,
    source: str = "x.json",
) -> MergeModel:
    return MergeModel(TokenIds.of(ids), Texts.of(chain(*merges)), ignore_merges, source)


def merges_of(model: MergeModel) -> list[tuple[str, str]]:
    return [model.merge(place) for place in range(len(model.merges) // 2)]


def ranks_of(model: MergeModel, special: dict[str, int]) -> dict[bytes, int]:
    read = read_tokens(model, special)
    tokens = map(read.tokens.bytes_of, range(len(read.tokens)))
    return dict(zip(tokens, model.ids.numbers[read.places].tolist(), strict=True))


REACHED = vocabulary_of({b"th": 1, b" a": 1, b"the": 2, "é".encode(): 1})
UNREACHED = vocabulary_of({b"th": 1, b"xyz": 0})


# Tokens as text


def test_letters_are_those_of_gpt2() -> None:
    assert as_text(b"Az ~\n\x00\x7f\xad\xa0\xff") == "AzĠ~ĊĀġŃłÿ"
    assert len(set(map(as_text, SINGLE_BYTES))) == 256
    assert not any(as_text(token).isspace() for token in SINGLE_BYTES)
    assert list_texts(REACHED)[256:] == ["th", "Ġa", "the", "Ã©"]


def test_tokens_are_read_back_without_the_special_ones() -> None:
    ids = dict(zip(list_texts(REACHED), range(260), strict=True))
    model = model_of(ids | SPECIAL, [])
    assert ranks_of(model, SPECIAL) == REACHED.to_ranks()
    with pytest.raises(VocabularyError, match=r"^x\.json: special token '<s>' has id 400 in the"):
        read_tokens(model, {"<s>": 402, "<pad>": 401})


@pytest.mark.parametrize("text", ["▁the", "the cat", "\n", "日"])
def test_a_token_in_other_letters_is_named(text: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        read_tokens(model_of({text: 300}, []), {})
    assert str(caught.value).startswith(f"x.json: token {text!r} (id 300) is not written in GPT-2")


# Merges


def test_merges_are_listed_in_the_order_of_ids() -> None:
    assert list_merges(REACHED) == [("t", "h"), ("Ġ", "a"), ("th", "e"), ("Ã", "©")]
    assert list_merges(UNREACHED) == [("t", "h")]


ABC = vocabulary_of({b"ab": 1, b"cd": 1, b"abcd": 2})
MERGES = [("a", "b"), ("c", "d"), ("ab", "cd")]


def check(
    vocabulary: Vocabulary, merges: list[tuple[str, str]], *, ignore_merges: bool = False
) -> None:
    ids = dict(zip(list_texts(vocabulary), vocabulary.ids.tolist(), strict=True))
    model = model_of(ids, merges, ignore_merges=ignore_merges, source="x.txt")
    check_merges(vocabulary, np.arange(len(vocabulary)), model)


def test_merges_in_the_order_of_ids_are_accepted() -> None:
    check(ABC, MERGES)
    check(UNREACHED, [("t", "h")], ignore_merges=True)


def test_merges_that_never_apply_do_not_matter() -> None:
    tokens = vocabulary_of({b"ab": 1, b"bc": 1, b"abc": 2})
    merges = [("a", "bc"), ("a", "b"), ("b", "c"), ("ab", "c")]
    check(tokens, merges)


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        (MERGES[:2], "no merge of 'ab' and 'cd' makes the token 'abcd' (id 258)"),
        ([], "no merge of 'a' and 'b' makes the token 'ab' (id 256)"),
        (
            [MERGES[1], MERGES[0], MERGES[2]],
            "merge 1 makes 'cd' (id 257), but merge 2 makes 'ab'",
        ),
        ([*MERGES, ("c", "d")], "merge 4 of 'c' and 'd' repeats merge 2"),
        ([*MERGES, ("c", "de")], "merge 4 of 'c' and 'de' needs the token 'de'"),
        ([*MERGES, ("c", "c")], "merge 4 of 'c' and 'c' needs the token 'cc'"),
    ],
)
def test_other_merges_are_refused_by_name(merges: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        check(ABC, merges)
    assert str(caught.value).startswith(f"x.txt: {message}")


def test_a_token_that_merging_never_makes_is_refused_without_ignore_merges() -> None:
    with pytest.raises(
        VocabularyError, match=r"x\.txt: merging never makes token b'xyz' \(id 257\)"
    ):
        check(UNREACHED, [("t", "h")])


def merged_or_why(model: MergeModel) -> tuple[Vocabulary, dict[bytes, int]] | str:
    try:
        return documents.merged(model, {})
    except VocabularyError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(300))
def test_orders_that_are_not_tried_would_be_refused(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = random.Random(seed)
    tokens, merges = ["a", "b"], dict[tuple[str, str], None]()
    for _ in range(chooser.randint(1, 8)):
        left, right = chooser.choice(tokens), chooser.choice(tokens)
        if len(left + right) < 8 and (chooser.random() < 0.3 or left + right not in tokens):
            merges[left, right] = None
            tokens.append(left + right)
    texts = [*dict.fromkeys([*map(as_text, SINGLE_BYTES), *tokens, *["abba"] * (seed % 2)])]
    numbers = [*range(len(texts))]
    if chooser.random() < 0.7:
        chooser.shuffle(numbers)
    if chooser.random() < 0.2:
        numbers[chooser.randrange(len(numbers))] = chooser.choice(numbers)
    ids = dict(zip(texts, numbers, strict=True))
    model = model_of(ids, [*merges], ignore_merges=chooser.random() < 0.3)
    found = merged_or_why(model)
    monkeypatch.setattr(documents, "may_merge_in", lambda *_: True)
    assert merged_or_why(model) == found


def test_an_order_of_ids_that_no_merges_have_is_not_tried() -> None:
    ids = dict(zip(list_texts(ABC), ABC.ids.tolist(), strict=True))
    for merges, may in ((MERGES, True), ([MERGES[1], MERGES[0], MERGES[2]], False)):
        model = model_of(ids, merges)
        assert may_merge_in(model, read_tokens(model, {}), np.arange(len(ids))) == may
    ignoring = replace(model, ignore_merges=True)
    assert may_merge_in(ignoring, read_tokens(ignoring, {}), np.arange(len(ids)))


# vocab.json and merges.txt


def spec_of(
    vocabulary: Vocabulary, special_tokens: Mapping[str, int] | None = None
) -> TokenizerSpec:
    return TokenizerSpec.plain("x", vocabulary, None, special_tokens or {})


def test_the_pair_is_written_as_gpt2_has_it(tmp_path: Path) -> None:
    write_vocab_and_merges(spec_of(REACHED, SPECIAL), tmp_path / "vocab.json")
    ids = json.loads((tmp_path / "vocab.json").read_bytes())
    assert list(ids)[-6:] == ["th", "Ġa", "the", "Ã©", "<s>", "<pad>"]
    merges = (tmp_path / "merges.txt").read_text(encoding="utf-8")
    assert merges == "#version: 0.2\nt h\nĠ a\nth e\nÃ ©\n"
    model = read_vocab_and_merges(tmp_path / "vocab.json")
    assert ranks_of(model, SPECIAL) == REACHED.to_ranks()
    assert merges_of(model) == list_merges(REACHED)


def test_both_files_are_found_from_either_or_their_folder(tmp_path: Path) -> None:
    for name in ("vocab.json", "merges.txt", ""):
        assert vocab_path(tmp_path / name) == tmp_path / "vocab.json"
    assert vocab_path(tmp_path / "my-merges.txt") == tmp_path / "my-vocab.json"
    write_vocab_and_merges(spec_of(REACHED), tmp_path / "my-vocab.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my-merges.txt", "my-vocab.json"]


def test_the_pair_cannot_hold_a_token_that_merging_never_makes(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"merging never makes token b'xyz' \(id 257\)"):
        write_vocab_and_merges(spec_of(UNREACHED), tmp_path / "vocab.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        (
            b"#version: 0.2\nt h\nth\n",
            ", line 3: expected two tokens with a space between, got 'th'",
        ),
        (b"t h e\n", ", line 1: expected two tokens with a space between, got 't h e'"),
        (b"t h\n#version: 0.2\n h\n", ", line 3: expected two tokens"),
        (b"t h\n\xff\n", " is not UTF-8 at byte 4"),
    ],
)
def test_errors_in_merges_name_the_path_and_the_line(
    merges: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "vocab.json").write_text("{}")
    (tmp_path / "merges.txt").write_bytes(merges)
    with pytest.raises(VocabularyError) as caught:
        read_vocab_and_merges(tmp_path / "vocab.json")
    assert str(caught.value).startswith(f"{tmp_path / 'merges.txt'}{message}")


def test_empty_lines_and_line_endings_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text("{}")
    (tmp_path / "merges.txt").write_bytes(b"#version: 0.2\r\nt h\r\n\r\n\nth e")
    model = read_vocab_and_merges(tmp_path / "vocab.json")
    assert merges_of(model) == [("t", "h"), ("th", "e")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ", line 1, column 1: not JSON: expecting value"),
        (b'{"a": 1,\n"b"', ", line 2, column 4: not JSON: expecting ':' delimiter"),
        (b'{"\xff": 1}', " is not UTF-8 at byte 2"),
        (b"[1]", " contains [1] instead of a JSON object"),
        (b"[" * 100_000, " contains no readable JSON: "),
        (b'{"a": ' + b"1" * 10_000 + b"}", " contains no readable JSON: "),
    ],
)
def test_errors_in_json_name_the_path_and_the_place(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(VocabularyError) as caught:
        read_json(path)
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(("content", "got"), [('{"a": "1"}', 'id "1"'), ('{"a": true}', "id true")])
def test_an_id_that_is_none_is_named(content: str, got: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(content)
    with pytest.raises(VocabularyError, match=f"token 'a' has {got}"):
        read_vocab_and_merges(tmp_path / "vocab.json")


# tokenizer.json

SPLITS: dict[str, SplitRegex | None] = {
    "not split": None,
    "gpt2": SplitRegex(GPT2_REGEX, keeps_gaps=True),
    "gaps kept": SplitRegex(r"\S+", keeps_gaps=True),
    "gaps dropped": SplitRegex(r"\S+", keeps_gaps=False),
}


def document_of(path: Path, split: SplitRegex | None = SPLITS["gpt2"]) -> dict[str, Any]:
    write_tokenizer_json(spec_of(REACHED, SPECIAL), split, path / "tokenizer.json")
    document: dict[str, Any] = json.loads((path / "tokenizer.json").read_bytes())
    return document


@pytest.mark.parametrize("name", SPLITS)
def test_a_tokenizer_json_gives_back_what_was_written(name: str, tmp_path: Path) -> None:
    document_of(tmp_path, SPLITS[name])
    parsed = parse_tokenizer_json(read_json(tmp_path / "tokenizer.json"), "x")
    assert {token.content: token.id for token in parsed.added_tokens} == SPECIAL
    assert all(token == AddedToken(token.content, token.id) for token in parsed.added_tokens)
    assert merges_of(parsed.model) == list_merges(REACHED)
    assert ranks_of(parsed.model, SPECIAL) == REACHED.to_ranks()
    assert not parsed.model.ignore_merges


def test_ignore_merges_is_said_where_it_is_needed(tmp_path: Path) -> None:
    write_tokenizer_json(spec_of(UNREACHED), None, tmp_path / "x.json")
    assert parse_tokenizer_json(read_json(tmp_path / "x.json"), "x").model.ignore_merges


def test_special_tokens_that_the_file_cannot_hold_are_refused_by_name(tmp_path: Path) -> None:
    for special_tokens, message in (
        ({"<s>": 400, "</s>": 400}, "special tokens '<s>' and '</s>' share the id 400"),
        ({"the": 400}, "special token 'the' is written like the ordinary token with id 258"),
        ({"Ġa": 400}, "special token 'Ġa' is written like the ordinary token with id 257"),
    ):
        with pytest.raises(VocabularyError) as caught:
            write_tokenizer_json(spec_of(REACHED, special_tokens), None, tmp_path / "x.json")
        assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


def changed(*keys: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one place in a document."""

    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


SPLIT = {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Isolated", "invert": False}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
ACCEPTED: dict[str, Callable[[dict[str, Any]], None]] = {
    "byte-level post-processor": changed("post_processor", to={"type": "ByteLevel"}),
    "unknown token": changed("model", "unk_token", to="<s>"),
    "empty suffix": changed("model", "end_of_word_suffix", to=""),
    "no dropout": changed("model", "dropout", to=0.0),
    "merges as pairs": changed(
        "model", "merges", to=[["t", "h"], ["Ġ", "a"], ["th", "e"], ["Ã", "©"]]
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_changes_no_token_is_accepted(name: str, tmp_path: Path) -> None:
    document = document_of(tmp_path)
    expected = parse_tokenizer_json(document, "x")
    ACCEPTED[name](document)
    found = parse_tokenizer_json(document, "x")
    assert merges_of(found.model) == merges_of(expected.model)
    assert ranks_of(found.model, SPECIAL) == ranks_of(expected.model, SPECIAL)
    # Trims are of spans, not of tokens, and no byte is unknown.
    model = expected.model
    alike = replace(found.model, ids=model.ids, merges=model.merges, unk_token=model.unk_token)
    same = {"trims": expected.trims, "template": expected.template}
    assert replace(found, model=alike, **same) == expected


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "template": (
        changed("post_processor", to={"type": "TemplateProcessing"}),
        'post_processor is {"type": "TemplateProcessing"}',
    ),
    "decoder": (changed("decoder", to={"type": "Metaspace"}), "decoder is"),
    "no model": (changed("model", to=None), "it has no model, so it is no tokenizer.json"),
    "other model": (changed("model", "type", to="Unigram"), 'model: type is "Unigram"'),
    "dropout": (changed("model", "dropout", to=0.1), "model: dropout is 0.1"),
    "no vocabulary": (changed("model", "vocab", to=None), "vocab contains null"),
    "a fraction as id": (changed("model", "vocab", "a", to=1.5), "vocab: token 'a' has id 1.5"),
    "no merges": (changed("model", "merges", to={}), "model: merges is {}"),
    "three in a merge": (
        changed("model", "merges", 1, to="a b c"),
        'merge 2 is "a b c" instead of two',
    ),
    "a number as merge": (changed("model", "merges", 0, to=7), "merge 1 is 7 instead of two"),
    "added token without id": (changed("added_tokens", 0, "id", to=None), "added_tokens, place 0"),
    "added tokens are none": (changed("added_tokens", to=7), "added_tokens, place 0"),
    "another id": (
        changed("added_tokens", 0, "id", to=402),
        "added token '<s>' has id 402, but `tokenizers` would give it 400",
    ),
    "unknown to the vocabulary": (
        changed("added_tokens", 0, "content", to="<x>"),
        "added token '<x>' has id 400, but `tokenizers` would give it 262",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_by_name(name: str, tmp_path: Path) -> None:
    document = document_of(tmp_path)
    change, message = REFUSED[name]
    change(document)
    with pytest.raises(VocabularyError) as caught:
        check_byte_level(parse_tokenizer_json(document, "x.json"), "x.json")
    assert str(caught.value).startswith(
        f"x.json{',' if message.startswith('vocab') else ':'} {message}"
    )
