"""The tokens and merges of a tokenizer.json, against the standard library."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutline.errors import CutlineError
from cutline.formats.huggingface import float_of_serde
from cutline.kernels.base.json_model import read_model

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def split(arena: bytes, lengths: Any) -> list[str]:
    ends = np.cumsum(lengths).tolist()
    return [
        arena[start:end].decode() for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ] if ends else []  # fmt: skip


def check(written: str) -> bool:
    """Compare with the standard library; False: it was left to that."""
    found = read_model(written.encode())
    if found is None:
        return False
    rest, (arena, lengths, numbers), merges = found
    document = json.loads(written, parse_float=float_of_serde)
    model = document["model"]
    vocab, pairs = model.pop("vocab"), model.pop("merges", None)
    left = json.loads(rest, parse_float=float_of_serde)
    assert left["model"].pop("vocab") is None
    assert left["model"].pop("merges", None) is None
    assert left == document
    rows = list(vocab.items()) if isinstance(vocab, dict) else vocab
    assert split(arena, lengths) == [text for text, _ in rows]
    of_kind = int if isinstance(vocab, dict) else float
    assert numbers.tolist() == [of_kind(number) for _, number in rows]
    assert (merges is None) == (pairs is None)
    if merges is not None:
        fields = [one.split(" ") if isinstance(one, str) else one for one in pairs]
        assert split(*merges) == [part for one in fields for part in one]
    return True


def document(vocab: Any, merges: Any = None, **others: Any) -> dict[str, Any]:
    model = {"type": "BPE", **others, "vocab": vocab, "unk_token": None}
    return {
        "version": "1.0",
        "added_tokens": [{"id": 0, "content": '"}],{'}],
        "model": model if merges is None else model | {"merges": merges},
        "decoder": {"type": "Sequence", "decoders": [{"model": {"vocab": [1]}}]},
    }


@given(
    st.dictionaries(TEXTS, st.integers(0, 10**18 - 1), min_size=1),
    st.lists(st.tuples(TEXTS, TEXTS)),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_ids_and_pairs(
    vocab: dict[str, int], merges: list[tuple[str, str]], ascii_only: bool, indent: int | None
) -> None:
    assert check(json.dumps(document(vocab, merges), ensure_ascii=ascii_only, indent=indent))


SCORES = st.one_of(st.floats(-1e307, 1e307), st.integers(0, (1 << 64) - 1), st.integers(-9, -1))


@given(st.lists(st.tuples(TEXTS, SCORES), min_size=1))
def test_scores(rows: list[tuple[str, float]]) -> None:
    assert check(json.dumps(document(rows)))


DIGITS = st.text(st.sampled_from("0123456789"), min_size=1, max_size=24)


@given(DIGITS, DIGITS, st.one_of(st.none(), st.integers(-400, 400)), st.booleans())
def test_numbers_are_read_as_tokenizers_reads_them(
    whole: str, fraction: str, exponent: int | None, is_negative: bool
) -> None:
    whole = whole.lstrip("0") or "0"
    power = "" if exponent is None else f"e{exponent}"
    number = f"{'-' * is_negative}{whole}.{fraction}{power}"
    found = read_model(json.dumps(document([["a", 0.5]])).replace("0.5", number).encode())
    if found is not None:
        assert found[1][2].tolist() == [float_of_serde(number)]
    else:
        assert int(whole) >= 1 << 64 or abs(float(number)) > 1e307 or (exponent or 0) > 280


@pytest.mark.parametrize("merge", ["a b", "é ü", '\\ "', "#versio n", "a "])
def test_merges_as_text(merge: str) -> None:
    assert check(json.dumps(document({"a": 0}, [merge, "c d"])))


def test_merges_that_begin_as_the_header_are_left_out() -> None:
    found = read_model(json.dumps(document({"a": 0}, ["#version: 0.2", "a b"])).encode())
    assert found is not None
    assert found[2] is not None
    assert split(*found[2]) == ["a", "b"]


USUAL = json.dumps(document({"a": 0}, ["a b"]))


def test_the_usual_form_is_read() -> None:
    assert check(USUAL)
    assert check(json.dumps(document({"a": 0})))
    assert check(json.dumps(document({"a": 0}, [])))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"a": 0', ""),  # no tokens
        ('"a": 0', '"a": -1'),
        ('"a": 0', '"a": 01'),
        ('"a": 0', '"a": 1.0'),
        ('"a": 0', '"a": 1e3'),
        ('"a": 0', '"a": 1000000000000000000'),
        ('"a": 0', '"a": null'),
        ('"a": 0', '"a": 0,'),
        ('"a": 0', '"a" 0'),
        ('"a": 0', '"\\ud800": 0'),
        ('"a": 0', '"\\udc00": 0'),
        ('"a": 0', '"\\ud800\\u0041": 0'),
        ('"a": 0', '"\\u00g0": 0'),
        ('"a": 0', '"\\x": 0'),
        ('"a": 0', '"\t": 0'),
        ('"a b"', '"ab"'),
        ('"a b"', '"a b c"'),
        ('"a b"', '["a"]'),
        ('"a b"', '["a", "b", "c"]'),
        ('"a b"', "1"),
        ('"a b"', '"a b",'),
        ('"merges"', '"vocab"'),  # twice
        ('"decoder"', '"model"'),
        ('"decoder"', '"\\u006dodel"'),
        ('"merges"', '"\\u006d"'),
        ('"vocab": {"a": 0}', '"vocab": 1'),
        ('"vocab"', '"tokens"'),
        ('"model"', '"models"'),
    ],
)
def test_what_is_unusual_is_left_to_the_standard_library(old: str, new: str) -> None:
    assert USUAL.count(old) in (1, 2)
    assert read_model(USUAL.replace(old, new, 1).encode()) is None


def test_a_document_that_ends_early_or_is_another_value() -> None:
    scores = json.dumps(document([["a", -1.5e-9]]))
    for written in (USUAL, scores):
        for end in range(len(written)):
            assert read_model(written[:end].encode()) is None
    for other in ("", " ", "[]", '"model"', "{}", '{"model": {}}', '{"model": 1}', "\\"):
        assert read_model(other.encode()) is None


@pytest.mark.parametrize("inside", [b'{"\xc3": 0, "\xa9": 1}', b'[["\xc3", 0.5], ["\xa9", 0.5]]'])
def test_a_character_in_two_texts_is_no_text(inside: bytes, tmp_path: Path) -> None:
    import cutline

    path = tmp_path / "x.json"
    path.write_bytes(b'{"model": {"type": "BPE", "merges": [], "vocab": ' + inside + b"}}")
    with pytest.raises(CutlineError, match="is not UTF-8 at byte"):
        cutline.load(path)


@pytest.mark.parametrize("kind", ["BPE", "WordPiece", "WordLevel", "Unigram", None, 1])
@pytest.mark.parametrize("vocab", [{"a": 0, "[UNK]": 1}, [["a", 0.5], ["[UNK]", 0.0]]])
def test_errors_are_the_same_with_and_without_it(
    kind: Any, vocab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cutline
    from cutline.formats import huggingface

    path = tmp_path / "x.json"
    path.write_text(json.dumps({"model": {"type": kind, "vocab": vocab, "merges": ["a b"]}}))
    outcomes = []
    for _ in range(2):
        try:
            outcomes.append(cutline.load(path).content_hash)
        except CutlineError as error:
            outcomes.append(str(error))
        monkeypatch.setattr(huggingface, "read_model", lambda data: None)
    assert outcomes[0] == outcomes[1]


def test_a_file_is_read_the_same_with_and_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cutline
    from cutline.formats import huggingface

    path = tmp_path / "x.json"
    cutline.get_encoding("r50k_base").save(path)
    fast = cutline.load(path)
    monkeypatch.setattr(huggingface, "read_model", lambda data: None)
    assert cutline.load(path).content_hash == fast.content_hash
