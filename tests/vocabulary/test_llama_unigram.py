"""`.gguf` files of Unigram, `tokenizer.ggml.model` "t5", give the ids of llama.cpp."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.formats.pieces import Piece, PieceType
from tests.vocabulary.test_gguf import NAMED, write
from tests.vocabulary.test_sentencepiece import (
    BLANK,
    NASTY,
    check_slices,
    needs_rule_of_sums,
    package,
    trained,
)
from tests.words.charsmaps import charsmap
from tests.words.test_charsmap import found_at

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = PieceType
FIRST = [Piece("<pad>", 0, CONTROL), Piece("</s>", 0, CONTROL), Piece("<unk>", 0, UNKNOWN)]
LETTERS = [
    "a", "b", "c", BLANK, BLANK, " ", "  ", "é", "<", "x", ">", "日", "\0", "\u0301", "<x>", "ab",
    "a b", "bca", "</s>", " a", "<0x61>",
]  # fmt: skip


class Llama:
    """What llama.cpp does (`llm_tokenizer_ugm`), read from its source: the rule, in a few lines."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        keys: Mapping[str, str],
        *,
        removes_blanks: bool,
        unk_id: int = 2,
    ) -> None:
        self.pieces, self.keys, self.removes_blanks = pieces, keys, removes_blanks
        self.unk_id = unk_id
        self.symbols = [piece.text for piece in pieces if piece.kind == USER_DEFINED]
        self.kept = tuple({one[:end] for one in self.symbols for end in range(1, len(one) + 1)})
        lowest = min(piece.score for piece in pieces if piece.kind == NORMAL)
        self.longest = max(len(piece.text) for piece in pieces)
        self.unknown = float(np.float32(lowest) - np.float32(10))
        self.scores = {
            piece.text: (0.0 if piece.kind == USER_DEFINED else float(np.float32(piece.score)), n)
            for n, piece in enumerate(pieces)
            if piece.kind in (NORMAL, USER_DEFINED, UNUSED)
        }

    def encode(self, text: str, *, parses_special: bool = False) -> list[int]:
        kinds = (CONTROL, UNKNOWN, USER_DEFINED) if parses_special else (USER_DEFINED,)
        added = [(piece.text, n) for n, piece in enumerate(self.pieces) if piece.kind in kinds]
        parts: list[str | int] = [text]
        for symbol, number in sorted(added, key=lambda one: -len(one[0].encode())):
            split = list[str | int]()
            for part in parts:
                texts = part.split(symbol) if isinstance(part, str) else [part]
                for place, one in enumerate(texts):
                    split += [number, one] if place else [one]
            parts = split
        found = (self.best(self.normal(one)) if isinstance(one, str) else [one] for one in parts)
        return [number for ids in found for number in ids]

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def normal(self, text: str) -> str:
        made, at = "", 0
        while at < len(text):
            taken, value = found_at(text, at, self.keys, self.kept)
            made += value
            at += len(taken)
        if self.removes_blanks:
            return "".join(BLANK + word for word in made.split(" ") if word)
        return made.replace(" ", BLANK)

    def best(self, text: str) -> list[int]:
        unk = self.unk_id
        paths: list[tuple[float, int, int]] = [(0.0, 0, unk), *[(-1e308, 0, unk)] * len(text)]
        for start in range(len(text)):
            ends = range(start + 1, min(len(text), start + self.longest) + 1)
            found = [
                (end, *self.scores[part])
                for end in ends
                if (part := text[start:end]) in self.scores
            ]
            if not found or found[0][0] > start + 1:
                found.append((start + 1, self.unknown, unk))
            for end, score, number in found:
                if paths[start][0] + score > paths[end][0]:
                    paths[end] = (paths[start][0] + score, start, number)
        ids, at = list[int](), len(text)
        while at:
            _, at, number = paths[at]
            if not (number == unk and ids[-1:] == [unk]):
                ids.append(number)
        return ids[::-1]


def fields_of(pieces: Sequence[Piece], **more: Any) -> dict[str, Any]:
    return {
        "tokenizer_model": "t5",
        "token_list": [piece.text for piece in pieces],
        "token_scores": [float(piece.score) for piece in pieces],
        "token_types": [int(piece.kind) for piece in pieces],
        **more,
    }


HAND_MADE = [
    *FIRST, Piece(BLANK, -2, NORMAL), Piece("a", -3, NORMAL), Piece("b", -3, NORMAL),
    Piece("ab", -6, NORMAL), Piece(BLANK + "a", -5, NORMAL), Piece("ca", -4, UNUSED),
    Piece("<x>", -1000, USER_DEFINED), Piece("e", -4.1, NORMAL), Piece("<0x7A>", 0, BYTE),
    Piece("ea", -7.1, NORMAL), Piece("[PAD1]", -10000, UNUSED), Piece("TH", -3, NORMAL),
    Piece(BLANK + "<", -8.25, NORMAL), Piece("<", -7, NORMAL), Piece("1", -5.3, NORMAL),
]  # fmt: skip
KEYS = {
    "é": "e",
    "＜": "<",
    "ｘ": "x",
    "＞": ">",
    "<\u0338": "b",
    "th": "TH",
    "the": "a b",
    "\t": " ",
    "\x01": "",
}


# By llama.cpp b9190 (cyllama 0.2.18), with HAND_MADE and KEYS; blanks are removed.
IDS = [
    ("ab", [3, 6]),
    ("ab b", [3, 6, 3, 5]),
    (" a  b ", [7, 3, 5]),
    ("ca", [3, 8]),
    ("cab", [3, 8, 5]),
    ("a<x>b", [7, 9, 3, 5]),
    ("<x>", [9]),
    ("<x", [15, 2]),
    ("<x\u0338", [15, 2]),
    ("<\u0338x", [15, 2]),
    ("＜ｘ＞", [3, 9]),
    ("b<\u0338", [3, 5, 16, 2]),
    (f"a{BLANK} ", [7, 3]),
    (f"{BLANK}a", [3, 7]),
    ("ea", [3, 12]),
    ("éa", [3, 12]),
    ("the th", [7, 3, 5, 3, 14]),
    ("\x01 \t", []),
    ("zz", [3, 2]),
    ("zzaz", [3, 2, 4, 2]),
    ("[PAD1]", [3, 2, 17, 2]),
    ("</s>a", [15, 2, 4]),
    ("<0x7A>", [15, 2]),
    ("a\0b", [7, 2, 5]),
    ("a\tb", [7, 3, 5]),
    ("", []),
]


def loaded(folder: Path, pieces: Sequence[Piece], **more: Any) -> cutline.Encoding:
    return cutline.load(write(folder / "x.gguf", **fields_of(pieces, **more)))


def by_texts(encoding: cutline.Encoding, text: str) -> list[int]:
    return encoding.encode_ordinary(text)


def test_ids_are_those_of_llama_cpp(tmp_path: Path) -> None:
    more = {"add_space_prefix": True, "remove_extra_whitespaces": True}
    encoding = loaded(tmp_path, HAND_MADE, precompiled_charsmap=charsmap(KEYS), **more)
    rule = Llama(HAND_MADE, KEYS, removes_blanks=True)
    for text, ids in IDS:
        assert by_texts(encoding, text) == rule.encode(text) == ids, ascii(text)
        assert encoding.count(text) == len(ids)
    assert encoding.encode("</s>a", allowed_special="all") == [1, 7]
    assert encoding.decode([7, 3, 5]) == "a b"
    encoding.save(tmp_path / "x.cutline")
    assert cutline.load(tmp_path / "x.cutline").content_hash == encoding.content_hash
    with pytest.raises(VocabularyError, match=r"save as \.cutline"):
        encoding.save(tmp_path / "x.json")


def test_the_score_of_unknown_characters_has_single_precision(tmp_path: Path) -> None:
    """A token's score lies between the sums with it and with the number that it is rounded from."""
    chooser, n_between = random.Random(3), 0
    for _ in range(100):
        lowest = np.float32(chooser.uniform(-12, 0))
        exact = 2 * float(lowest) - 10
        rounded = float(lowest) + float(np.float32(lowest - np.float32(10)))
        if exact <= np.float32(exact) < rounded:
            n_between += 1
            token = Piece("ax", float(np.float32(exact)), UNUSED)
            pieces = [*FIRST, Piece("a", float(lowest), NORMAL), token]
            assert Llama(pieces, {}, removes_blanks=False).encode("ax") == [3, 2]
            assert by_texts(loaded(tmp_path, pieces), "ax") == [3, 2]
    assert n_between > 2


def random_model(chooser: random.Random) -> tuple[list[Piece], dict[str, str]]:
    """Make a model with ties, odd types and scores, and a map of keys."""

    def some(most: int, among: Sequence[str] = LETTERS) -> str:
        return "".join(chooser.choices(among, k=chooser.randint(1, most))).replace("\0", "")

    score = chooser.choice((
        lambda: -float(chooser.randint(0, 4)),
        lambda: chooser.uniform(-12, 1),
        lambda: chooser.choice((-10000.0, -1.0, -3.5, 0.0)),
        lambda: chooser.choice((0.1, 0.2, 0.3)) * -chooser.randint(1, 30),
    ))  # fmt: skip
    kinds = [*[NORMAL] * 5, UNUSED]
    texts = {some(3) or "q": chooser.choice(kinds) for _ in range(chooser.randint(4, 25))}
    for text in chooser.choices(["<x>", "ab", "a b", "ac", "cc", "b  c"], k=chooser.randint(0, 2)):
        texts[text] = USER_DEFINED
    pieces = [Piece(text, score(), kind) for text, kind in texts.items()]
    keys = {some(2): chooser.choice(["", " ", "  ", some(2)]) for _ in range(chooser.randint(0, 7))}
    first = [piece for piece in FIRST if piece.text not in texts]
    return [*first, *pieces, Piece("<0x61>", score(), BYTE)], {k: v for k, v in keys.items() if k}


@pytest.mark.parametrize("removes_blanks", [True, False])
def test_texts_slices_and_growing_texts_are_encoded_by_the_rule(
    removes_blanks: bool, tmp_path: Path
) -> None:
    n_read = 0
    for seed in range(40):
        chooser = random.Random(seed)
        pieces, keys = random_model(chooser)
        more = {"precompiled_charsmap": charsmap(keys)} if keys else {}
        try:
            encoding = loaded(tmp_path, pieces, remove_extra_whitespaces=removes_blanks, **more)
        except VocabularyError:
            continue
        n_read += 1
        rule = Llama(pieces, keys, removes_blanks=removes_blanks)
        for _ in range(40):
            text = "".join(chooser.choices(LETTERS, k=chooser.randint(0, 14)))
            assert by_texts(encoding, text) == rule.encode(text), (seed, ascii(text))
            ids = encoding.encode(text, allowed_special="all")
            assert ids == rule.encode(text, parses_special=True), (seed, ascii(text))
        check_slices(encoding, rule.count, LETTERS, chooser, 2)
    assert n_read > 20


def of_sentencepiece(data: bytes) -> tuple[list[Piece], Any]:
    """The tokens of a trained model, with the types that llama.cpp's converters give."""
    processor = package.SentencePieceProcessor(model_proto=data)
    kinds = {UNKNOWN: processor.is_unknown, CONTROL: processor.is_control, BYTE: processor.is_byte}
    pieces = [
        Piece(
            processor.id_to_piece(n),
            processor.get_score(n),
            next((kind for kind, is_of in kinds.items() if is_of(n)), NORMAL),
        )
        for n in range(processor.vocab_size())
    ]
    return pieces, processor


def map_of(data: bytes) -> bytes:
    from cutline.formats.sentencepiece_model import _fields, _joined

    return dict(_fields(_joined([*_fields(data)], 3)))[2]


@pytest.mark.parametrize("kind", ["T5", "XLM-R", "XLM-R, no prefix"])
def test_converted_models_have_the_ids_of_sentencepiece(kind: str, tmp_path: Path) -> None:
    needs_rule_of_sums("unigram")
    data = trained("defaults", model_type="unigram")
    pieces, processor = of_sentencepiece(data)
    shift, more = 0, {"unk_token_id": 0, "add_eos_token": True}
    if kind != "T5":
        first = [Piece("<s>", 0, CONTROL), Piece("<pad>", 0, CONTROL), Piece("</s>", 0, CONTROL)]
        pieces = [*first, Piece("<unk>", 0, UNKNOWN), *pieces[3:]]
        pieces += [Piece(f"[PAD{len(pieces)}]", -10000, UNUSED), Piece("<mask>", 0, CONTROL)]
        shift = 1
        more = {"unk_token_id": 3, "bos_token_id": 0, "eos_token_id": 2, "add_bos_token": True}
    encoding = loaded(
        tmp_path,
        pieces,
        precompiled_charsmap=map_of(data),
        remove_extra_whitespaces=True,
        add_space_prefix=kind != "XLM-R, no prefix",
        **more,
    )
    assert encoding.num_special_tokens_to_add() == 1 + shift
    chooser = random.Random(kind)
    random_ones = ["".join(chooser.choices(NASTY, k=chooser.randint(0, 25))) for _ in range(400)]
    rule = Llama(pieces, {}, removes_blanks=True, unk_id=more["unk_token_id"])
    rule.normal = processor.normalize  # whose sums are rounded
    for text in [*NAMED, *random_ones]:
        if "\0" not in text:
            assert by_texts(encoding, text) == rule.encode(text), ascii(text)
    if shift:
        assert encoding.encode("a<mask>", allowed_special="all")[-1] == len(pieces) - 1
    check_slices(encoding, rule.count, NASTY, chooser, 9)


def refused(*pieces: Piece, **more: Any) -> dict[str, Any]:
    return fields_of([*FIRST, Piece("a", -1, NORMAL), *pieces], **more)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (fields_of(FIRST), "no token of the type normal"),
        (fields_of(FIRST[:2]), "has no unknown token"),
        (refused() | {"token_types": [1] * 4}, "an unknown token, '<unk>', of a type that texts"),
        (refused() | {"token_scores": [0.0, 0.0, 0.0, float("-inf")]}, "a score for each"),
        (refused(Piece("a", -2, NORMAL)), "pieces that occur twice"),
        (refused(Piece("", -2, NORMAL)), "the token '', for which another text"),
        (refused(Piece("b\0", -2, NORMAL)), "for which another text"),
        (refused(Piece("<|im_end|>", 0, USER_DEFINED)), r"'<\|im_end\|>', which gets another type"),
        (refused(Piece("<|start|>", 0, CONTROL)), r"'<\|start\|>', which gets another type"),
        (refused(Piece(f"{BLANK}<x>", 0, USER_DEFINED)), "the first bytes of its characters"),
        (refused(Piece("<s", 0, USER_DEFINED), Piece("sa", 0, USER_DEFINED)), "may overlap"),
        (refused(Piece("x" * 9000, 0, CONTROL)), "4 added tokens, which are too long"),
        (refused(Piece("s", 0, USER_DEFINED)), "'s', a part of a control token"),
        (refused(Piece("[P]", -10000, UNUSED)), "with the score -10000.0, which is too low"),
        (refused(add_space_prefix=True), "add_space_prefix without remove_extra_whitespaces"),
        (refused(precompiled_charsmap=b"12345"), "precompiled_charsmap: a precompiled character"),
        (refused(name="Phi-3 T5"), "the name 'Phi-3 T5', for which white space beside"),
    ],
)
def test_what_llama_cpp_makes_something_else_of_is_refused_by_name(
    fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=rf"x\.gguf.*{message}"):
        cutline.load(write(tmp_path / "x.gguf", **fields))


def test_white_space_that_is_removed_anyway_may_be_stripped(tmp_path: Path) -> None:
    keys = dict.fromkeys("\t\n\r", " ") | dict.fromkeys("\v\f", "")
    more = {"remove_extra_whitespaces": True, "precompiled_charsmap": charsmap(keys)}
    fields = refused(Piece("<mask>", 0, CONTROL), name="modern-bert-t5", **more)
    encoding = cutline.load(write(tmp_path / "x.gguf", **fields))
    assert encoding.encode("a \n<mask> a", allowed_special="all") == [2, 3, 4, 2, 3]
    keys["a\n"] = "a"
    fields |= {"precompiled_charsmap": charsmap(keys)}
    with pytest.raises(VocabularyError, match="the name 'modern-bert-t5', for which white space"):
        cutline.load(write(tmp_path / "x.gguf", **fields))
