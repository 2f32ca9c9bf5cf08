"""The Encoding as an object: how it is found, loaded, copied, pickled and shared."""

import base64
import inspect
import multiprocessing
import pickle
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken.model
from tiktoken_ext import openai_public

import cutline
from cutline.errors import (
    PatternError,
    UnknownEncodingError,
    UnknownModelError,
    VocabularyError,
)
from tests.oracles import DISTINCT, PACKAGED, real_tiktoken, tiktoken_of
from tests.texts import SURROGATE_TEXTS, random_texts
from tests.threads import at_once
from tests.vocabularies import with_bytes

WORD_PATTERN = r" ?\w+|\s+|[^\w\s]+"
TOY_RANKS = with_bytes((b"ab", b"bc", b"abc", b"he", b"llo", b"hello"))
TEXT = "hello abc \u4e2d\u6587 <s> end"


def toy(name: str = "toy") -> cutline.Encoding:
    """A small encoding that no registry knows."""
    return cutline.Encoding(
        name, pat_str=WORD_PATTERN, mergeable_ranks=TOY_RANKS, special_tokens={"<s>": 500}
    )


def assert_same_behaviour(ours: cutline.Encoding, other: Any) -> None:
    """Both give the same tokens for ordinary and special text, and the same properties."""
    for text in [TEXT, *random_texts(1, 100)]:
        want = other.encode(text, allowed_special="all")
        assert ours.encode(text, allowed_special="all") == want
        assert ours.encode_ordinary(text) == other.encode_ordinary(text)
        assert ours.decode(want) == text
    assert ours.n_vocab == other.n_vocab
    assert ours.max_token_value == other.max_token_value
    assert ours.special_tokens_set == other.special_tokens_set


# Finding an encoding


def test_the_packaged_encodings_are_listed() -> None:
    assert cutline.list_encoding_names() == sorted(PACKAGED)


@pytest.mark.parametrize("name", PACKAGED)
def test_get_encoding_gives_the_same_object_each_time(name: str) -> None:
    assert cutline.get_encoding(name) is cutline.get_encoding(name)
    assert cutline.get_encoding(name).name == name
    assert repr(cutline.get_encoding(name)) == f"<Encoding {name!r}>"


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_patterns_and_specials_are_tiktokens(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_ranks(*_args: str, **_options: str) -> dict[bytes, int]:
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", no_ranks)
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", no_ranks)
    want = openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = cutline.get_encoding(name)
    assert ours.name == want["name"]
    assert ours._pat_str == want["pat_str"]
    assert dict(ours._special_tokens) == want["special_tokens"]
    assert want.get("explicit_n_vocab", ours.n_vocab) == ours.n_vocab


@pytest.mark.parametrize("name", ["o200k", "cl100k-base", "gpt3", "", "O200K_BASE"])
def test_an_unknown_encoding_is_refused_with_names_that_exist(name: str) -> None:
    with pytest.raises(UnknownEncodingError) as caught:
        cutline.get_encoding(name)
    assert isinstance(caught.value, ValueError)
    assert repr(name) in str(caught.value)
    assert any(known in str(caught.value) for known in PACKAGED)


def test_models_map_to_encodings_as_in_tiktoken() -> None:
    prefixes = [prefix + "2030-01-01" for prefix in tiktoken.model.MODEL_PREFIX_TO_ENCODING]
    for model in [*tiktoken.model.MODEL_TO_ENCODING, *prefixes]:
        want = tiktoken.model.encoding_name_for_model(model)
        assert (model, cutline.encoding_name_for_model(model)) == (model, want)
        assert cutline.encoding_for_model(model) is cutline.get_encoding(want)


@pytest.mark.parametrize("model", ["gpt", "claude", "", "o200k_base", "xgpt-4"])
def test_an_unknown_model_is_refused(model: str) -> None:
    with pytest.raises(KeyError):
        tiktoken.model.encoding_name_for_model(model)
    with pytest.raises(UnknownModelError) as caught:
        cutline.encoding_for_model(model)
    assert isinstance(caught.value, KeyError)
    assert repr(model) in str(caught.value)


# Attributes that other packages read


@pytest.mark.parametrize("name", PACKAGED)
def test_attributes_are_those_of_tiktoken(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    assert ours.n_vocab == real.n_vocab
    assert ours.max_token_value == real.max_token_value
    assert ours.eot_token == real.eot_token
    assert ours.special_tokens_set == real.special_tokens_set
    assert isinstance(ours._pat_str, str)
    assert isinstance(ours._mergeable_ranks, Mapping)
    assert isinstance(ours._special_tokens, Mapping)
    assert ours._mergeable_ranks[b"a"] == ours.encode_single_token("a")


def test_methods_take_what_those_of_tiktoken_take() -> None:
    """All but what docs/migrating.md says."""
    methods = {name for name in dir(tiktoken.Encoding) if not name.startswith("_")}
    assert {name for name in methods if not hasattr(cutline.Encoding, name)} == {
        "encode_with_unstable"
    }
    functions = {"get_encoding", "encoding_for_model", "encoding_name_for_model"}
    pairs = [(getattr(tiktoken, name), getattr(cutline, name)) for name in functions]
    pairs += [
        (getattr(tiktoken.Encoding, name), getattr(cutline.Encoding, name))
        for name in methods - {"encode_with_unstable"}
        if callable(getattr(tiktoken.Encoding, name))
    ]
    for theirs, ours in pairs:
        taken = inspect.signature(ours).parameters
        for name, parameter in inspect.signature(theirs).parameters.items():
            assert taken[name].kind == parameter.kind, (theirs, name)


def test_what_differs_from_tiktoken_is_as_documented() -> None:
    theirs, ours = real_tiktoken(DISTINCT[0]), cutline.get_encoding(DISTINCT[0])
    assert len(theirs.encode_batch("ab")) == 2  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="put it into a list"):
        ours.encode_batch("ab")
    for token in (-1, 2**40):
        with pytest.raises(OverflowError):
            theirs.decode([token])
        with pytest.raises(KeyError, match="token ids must be from 0"):
            ours.decode([token])
    with pytest.raises(TypeError):
        theirs.encode("a", allowed_special=["<|endoftext|>"])  # type: ignore[arg-type]
    assert ours.encode("a", allowed_special=["<|endoftext|>"]) == theirs.encode("a")


def test_an_encoding_without_end_of_text_has_no_eot_token() -> None:
    with pytest.raises(KeyError):
        _ = toy().eot_token


def test_our_ranks_build_a_tiktoken_encoding() -> None:
    ours = toy()
    theirs = tiktoken_of(ours._mergeable_ranks, ours._pat_str, ours._special_tokens)
    assert_same_behaviour(ours, theirs)


# Building encodings


@pytest.mark.parametrize("name", DISTINCT)
def test_from_tiktoken_behaves_as_its_source(name: str) -> None:
    real = real_tiktoken(name)
    ours = cutline.Encoding.from_tiktoken(real)
    assert ours.name == real.name
    assert_same_behaviour(ours, real)


def write_tiktoken_file(path: Path, ranks: Mapping[bytes, int]) -> Path:
    """Write ranks as OpenAI publishes them."""
    lines = [base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()]
    path.write_bytes(b"".join(lines))
    return path


def test_a_tiktoken_file_loads(tmp_path: Path) -> None:
    path = write_tiktoken_file(tmp_path / "toy.tiktoken", TOY_RANKS)
    ours = cutline.load(path, pat_str=WORD_PATTERN, special_tokens={"<s>": 500}, name="toy")
    assert ours.name == "toy"
    assert dict(ours._mergeable_ranks) == TOY_RANKS
    assert_same_behaviour(ours, tiktoken_of(TOY_RANKS, WORD_PATTERN, {"<s>": 500}))
    by_text_path = cutline.load(str(path), pat_str=WORD_PATTERN)
    assert by_text_path.special_tokens_set == set()
    assert by_text_path.encode(TEXT) == ours.encode_ordinary(TEXT)


BAD_RANKS: dict[str, dict[Any, Any]] = {
    "nothing": {},
    "no byte 65": {token: rank for token, rank in TOY_RANKS.items() if token != b"A"},
    "an empty token": TOY_RANKS | {b"": 900},
    "an id twice": TOY_RANKS | {b"xyz": 97},
    "a negative id": TOY_RANKS | {b"xyz": -1},
    "an id of 2**32": TOY_RANKS | {b"xyz": 2**32},
    "an id of 2**32 - 1": TOY_RANKS | {b"xyz": 2**32 - 1},
    "an id of 2**64 + 7": TOY_RANKS | {b"xyz": 2**64 + 7},
    "a fraction": TOY_RANKS | {b"xyz": 300.5},
    "an id as text": TOY_RANKS | {b"xyz": "300"},
    "a token as text": TOY_RANKS | {"xyz": 300},
}


@pytest.mark.parametrize("ranks", BAD_RANKS.values(), ids=BAD_RANKS.keys())
def test_a_vocabulary_without_an_exact_encoder_is_refused(ranks: dict[bytes, int]) -> None:
    with pytest.raises(VocabularyError):
        cutline.Encoding("bad", pat_str=None, mergeable_ranks=ranks, special_tokens={})


def test_the_size_of_the_vocabulary_is_checked_when_given() -> None:
    n_vocab = len(TOY_RANKS) + 1
    special_tokens = {"<s>": n_vocab - 1}
    ours = cutline.Encoding(
        "sized",
        pat_str=None,
        mergeable_ranks=TOY_RANKS,
        special_tokens=special_tokens,
        explicit_n_vocab=n_vocab,
    )
    assert ours.n_vocab == n_vocab
    with pytest.raises(VocabularyError, match=str(n_vocab + 1)):
        cutline.Encoding(
            "sized",
            pat_str=None,
            mergeable_ranks=TOY_RANKS,
            special_tokens=special_tokens,
            explicit_n_vocab=n_vocab + 1,
        )


def test_a_pattern_that_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(PatternError):
        cutline.Encoding("bad", pat_str="(", mergeable_ranks=TOY_RANKS, special_tokens={})


def test_changing_the_arguments_afterwards_changes_no_encoding() -> None:
    ranks, special_tokens = dict(TOY_RANKS), {"<s>": 500}
    ours = cutline.Encoding(
        "kept", pat_str=WORD_PATTERN, mergeable_ranks=ranks, special_tokens=special_tokens
    )
    want = ours.encode(TEXT, allowed_special="all")
    ranks.clear()
    special_tokens.clear()
    assert ours.encode(TEXT, allowed_special="all") == want
    assert ours.special_tokens_set == {"<s>"}
    assert dict(ours._mergeable_ranks) == TOY_RANKS


def test_the_content_hash_is_that_of_all_but_the_name() -> None:
    parts: dict[str, Any] = {
        "pat_str": WORD_PATTERN,
        "mergeable_ranks": TOY_RANKS,
        "special_tokens": {"<s>": 500, "<t>": 501},
    }
    first, *later = TOY_RANKS
    changes: list[dict[str, Any]] = [
        {"pat_str": None},
        {"pat_str": WORD_PATTERN + "|a"},
        {"mergeable_ranks": {**TOY_RANKS, b"zz": 400}},
        {"mergeable_ranks": {**TOY_RANKS, first: 400}},
        {"special_tokens": {"<s>": 500}},
        {"special_tokens": {"<s>": 501, "<t>": 500}},
        {"special_tokens": {"<s>": 500, "<t>": 500}},
        {"special_tokens": {"<t>": 500, "<s>": 500}},  # which of them 500 decodes to
    ]
    hashes = [
        cutline.Encoding("toy", **{**parts, **change}).content_hash for change in [{}, *changes]
    ]
    assert len(set(hashes)) == len(hashes)
    # Written by cutline into pipelines of others: it is to stay the same.
    assert hashes[0] == "ae1f1d2539712427acacbaf79f7195c97724f59d360942a1671c1539f9cc18b4"
    same = cutline.Encoding(
        "other",
        pat_str=WORD_PATTERN,
        mergeable_ranks={token: TOY_RANKS[token] for token in (*reversed(later), first)},
        special_tokens={"<t>": 501, "<s>": 500},
    )
    assert same.content_hash == hashes[0]
    assert pickle.loads(pickle.dumps(same)).content_hash == hashes[0]


def test_packaged_encodings_have_content_hashes_of_their_own() -> None:
    hashes = {cutline.get_encoding(name).content_hash for name in DISTINCT}
    assert len(hashes) == len(DISTINCT)


# Copies, pickles, threads and processes


@pytest.mark.parametrize("attribute", ["name", "_pat_str", "n_vocab", "anything"])
def test_an_encoding_cannot_be_changed(attribute: str) -> None:
    for ours in (toy(), cutline.get_encoding("o200k_base")):
        with pytest.raises(AttributeError):
            setattr(ours, attribute, "other")
    assert cutline.get_encoding("o200k_base").name == "o200k_base"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_encodings_pickle_by_name(name: str, protocol: int) -> None:
    ours = cutline.get_encoding(name)
    pickled = pickle.dumps(ours, protocol)
    assert len(pickled) < 200
    assert pickle.loads(pickled) is ours


def test_other_encodings_pickle_by_content() -> None:
    ours = toy()
    again = pickle.loads(pickle.dumps(ours))
    assert again.name == "toy"
    assert again._pat_str == WORD_PATTERN
    assert_same_behaviour(again, ours)
    assert again.encode(TEXT, allowed_special="all").count(500) == 1


def test_an_encoding_named_like_a_packaged_one_pickles_by_content() -> None:
    again = pickle.loads(pickle.dumps(toy("o200k_base")))
    assert again is not cutline.get_encoding("o200k_base")
    assert again.encode_ordinary(TEXT) == toy().encode_ordinary(TEXT)


def test_an_encoding_without_pattern_pickles() -> None:
    ours = cutline.Encoding("p", pat_str=None, mergeable_ranks=TOY_RANKS, special_tokens={})
    again = pickle.loads(pickle.dumps(ours))
    assert again._pat_str is None
    assert again.encode_ordinary(TEXT) == ours.encode_ordinary(TEXT)


def test_threads_that_ask_first_at_once_get_one_object() -> None:
    found = at_once(lambda _: cutline.get_encoding("p50k_edit"), 8)
    assert len(set(map(id, found))) == 1


def count_in_child(encoding: cutline.Encoding, texts: list[str]) -> list[int]:
    """Count in another process, in batches with threads of its own."""
    return [int(count) for count in encoding.count_batch(texts, num_threads=2)]


# A fork of a process with threads is deprecated from Python 3.12 on; users still do it.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()]
)
def test_other_processes_count_the_same(method: str) -> None:
    packaged = cutline.get_encoding("o200k_base")
    texts = list(random_texts(3, 50))
    want = [packaged.count(text) for text in texts]
    packaged.encode_ordinary_batch(texts, num_threads=2)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(count_in_child, (packaged, texts)) == want
        toy_counts = [toy().count(text) for text in texts]
        assert pool.apply(count_in_child, (toy(), texts)) == toy_counts


# Surrogates


@pytest.mark.parametrize("name", PACKAGED)
def test_surrogates_are_replaced_as_in_tiktoken(name: str) -> None:
    ours, real, rng = cutline.get_encoding(name), real_tiktoken(name), random.Random(4)
    texts = list(SURROGATE_TEXTS.values())
    for text in random_texts(5, 150):
        place = rng.randint(0, len(text))
        texts.append(text[:place] + chr(rng.randrange(0xD800, 0xE000)) + text[place:])
    for text in texts:
        want = real.encode_ordinary(text)
        assert (text, ours.encode_ordinary(text)) == (text, want)
        assert ours.encode_to_numpy(text, disallowed_special=()).tolist() == want
        assert ours.count_batch(["a", text]).tolist() == [1, len(want)]
        special = real.encode(text, allowed_special="all")
        assert ours.encode(text, allowed_special="all") == special


def test_a_name_is_no_split_pattern_but_has_one() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    with pytest.raises(PatternError, match=r"pass get_encoding\('o200k_base'\).pat_str"):
        cutline.Encoding("x", pat_str="o200k_base", mergeable_ranks=ranks, special_tokens={})
    with pytest.raises(PatternError, match="would match itself and nothing else"):
        cutline.train(iter(["text"]), 300, pat_str="gpt2")
    enc = cutline.get_encoding("gpt2")
    assert enc.pat_str == enc._pat_str
    made = cutline.Encoding("x", pat_str=enc.pat_str, mergeable_ranks=ranks, special_tokens={})
    assert made.count("it's") == 4
    with pytest.raises(cutline.UnknownEncodingError, match=r"use cutline.load\('my.cutline'\)"):
        cutline.get_encoding("my.cutline")


@pytest.mark.parametrize("step", [1, -1, 3, -3])
@pytest.mark.parametrize("special_id", [None, 2, 5_000])
def test_highest_id_is_that_of_any_token(step: int, special_id: int | None) -> None:
    first = 0 if step == 1 else 1_000
    ranks = {bytes([byte]): first + step * byte for byte in range(256)}
    special = {} if special_id is None or special_id in ranks.values() else {"<s>": special_id}
    encoding = cutline.Encoding("own", pat_str=None, mergeable_ranks=ranks, special_tokens=special)
    assert encoding.max_token_value == max(*ranks.values(), *special.values())
    assert encoding.n_vocab == encoding.max_token_value + 1


def test_a_name_is_a_str() -> None:
    with pytest.raises(TypeError, match="name must be a str, got int"):
        cutline.Encoding(  # a file with it could not be read again
            5,  # type: ignore[arg-type]
            pat_str=None,
            mergeable_ranks={bytes([byte]): byte for byte in range(256)},
            special_tokens={},
        )
