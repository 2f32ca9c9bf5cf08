"""A spec that contradicts itself is told apart from those that tokenizers have."""

import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.formats.cutline_file import write_cutline
from cutline.formats.documents import spec_of
from cutline.formats.spec_checks import problem_of
from cutline.normalizing import Form, Replace, Spell, Unknown
from cutline.spec import Characters, TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.words.joining import JoinMetaspace, JoinWordPiece
from cutline.words.models import Unigram, WordPiece
from cutline.words.splitting import Metaspace, WhitespaceSplit
from tests.pipeline import characters, ended_characters, families

WORDS = TokenizerSpec(
    "words", Vocabulary(b"[UNK]a", [5, 1], [0, 1], is_of_words=True), None, model=WordPiece(0)
)


@cache
def spec(kind: str) -> TokenizerSpec:
    """Read a tokenizer: over bytes; characters, unknown ones spelled or not; marked words."""
    if kind == "words":
        return WORDS
    if kind == "bytes":
        document = families.build("gpt 2", 300).to_str()
    elif kind in ("spelled", "unknown"):
        name = "gemma" if kind == "spelled" else "unknown, fused"
        document = characters.make_document(name)
    else:
        document = ended_characters.trained("words", 0).to_str()
    return spec_of(json.loads(document), kind, kind)


def kept(step: Any, less: str = "", more: str = "") -> Any:
    """The step that spells characters, with other ones that it keeps."""
    return type(step)(step.kept.replace(less, "") + more, *vars_of(step)[1:])


def vars_of(step: Any) -> list[Any]:
    return [getattr(step, name) for name in step.__dataclass_fields__]


def last(kind: str) -> Any:
    return spec(kind).normalizer[-1]


def with_last(kind: str, step: Any) -> dict[str, Any]:
    return {"normalizer": (*spec(kind).normalizer[:-1], step)}


def meant(kind: str, token: bytes) -> dict[str, Any]:
    old = spec(kind).characters
    assert old is not None
    return {"characters": old._replace(meanings={**old.meanings, 0: token})}


def inner_from(kind: str, first: int) -> dict[str, Any]:
    old = spec(kind).characters
    assert old is not None
    return {"characters": old._replace(first_inner=first)}


IMPOSSIBLE: dict[str, tuple[str, Any, str]] = {
    "a negative id": ("bytes", lambda: {"unreachable_tokens": {b"x": -1}}, "an impossible id"),
    "fewer tokens than none": ("bytes", lambda: {"max_tokens": -1}, "a negative number of tokens"),
    "a template that is none": ("bytes", lambda: {"template": "{"}, "a template that is no JSON"),
    "nothing replaced": ("bytes", lambda: {"normalizer": (Replace("", "a"),)}, "impossible values"),
    "a mark of two characters": ("words", lambda: {"splitters": (Metaspace("never", True, "ab"),)},
                                 "impossible values"),
    "a joint of two characters": ("words", lambda: {"joiner": JoinMetaspace("never", "ab")},
                                  "impossible values"),
    "bytes that are spelled": ("bytes", lambda: {"normalizer": (last("spelled"),)}, "spells"),
    "characters that nothing spells": ("spelled", lambda: {"normalizer": ()}, "spells"),
    "spelled before something else": (
        "spelled", lambda: {"normalizer": (last("spelled"), Form("NFC"))}, "spells",
    ),
    "ASCII that is spelled": (
        "spelled", lambda: with_last("spelled", kept(last("spelled"), "a")), "impossible values",
    ),
    "a stand-in that is kept": (
        "unknown",
        lambda: with_last("unknown", kept(last("unknown"), more=last("unknown").stand_ins)),
        "impossible values",
    ),
    "a character without a token": (
        "unknown", lambda: with_last("unknown", kept(last("unknown"), more="\U00010400")),
        "a character that no token stands for",
    ),
    "a meaning that is no text": ("unknown", lambda: meant("unknown", b"\xff"), "meaning is no"),
    "inner tokens of text": ("spelled", lambda: inner_from("spelled", 300), "an inner token"),
    "no inner tokens": ("spelled", lambda: inner_from("spelled", 2**31), "an inner token"),
    "characters of bytes": (
        "bytes", lambda: {"characters": Characters({0: b"a"}, 10**6, False), "normalizer":
                          (last("spelled"),)}, "an inner token",
    ),
    "words marked at both ends": ("marked", lambda: {"marks_word_starts": True}, "marks words"),
    "marked words that are no words": ("marked", lambda: {"pat_str": r".+"}, "marks words"),
    "marked words without a pattern": ("marked", lambda: {"pat_str": None}, "marks words"),
    "marked words of another model": (
        "marked", lambda: {"vocabulary": spec("unknown").vocabulary}, "an inner token",
    ),
    "a pattern of words": ("words", lambda: {"pat_str": "a"}, "fields of BPE"),
    "characters of words": (
        "words", lambda: {"characters": Characters({0: b"a"}, 9, False), "normalizer":
                          (last("spelled"),)}, "fields of BPE",
    ),
    "splitters of bytes": ("bytes", lambda: {"splitters": (WhitespaceSplit(),)}, "another model"),
    "a joiner of bytes": ("bytes", lambda: {"joiner": JoinWordPiece()}, "another model"),
    "a word that is no text": (
        "words",
        lambda: {"vocabulary": Vocabulary(b"\xc3\xa9", [1, 1], [0, 1], is_of_words=True)},
        "a token that is no text",
    ),
    "scores of others": ("words", lambda: {"model": Unigram(bytes(8), 0)}, "one score for each"),
    **{
        f"a score of unknown characters, {len(score)} bytes": (
            "words",
            lambda score=score: {
                "model": Unigram(bytes(8 * len(WORDS.vocabulary)), 0, unk_score=score)
            },
            "one score for each",
        )
        for score in (bytes(4), struct.pack("<d", float("-inf")))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_spec_that_contradicts_itself_is_refused_when_it_is_read(
    name: str, tmp_path: Path
) -> None:
    kind, changes, message = IMPOSSIBLE[name]
    assert problem_of(spec(kind)) == ""
    path = tmp_path / "x.cutline"
    write_cutline(spec(kind)._replace(**changes()), path)
    with pytest.raises(VocabularyError, match=message) as caught:
        cutline.load(path)
    assert str(path) in str(caught.value)


def test_steps_that_spell_are_of_two_kinds() -> None:
    assert isinstance(last("spelled"), Spell)
    assert isinstance(last("unknown"), Unknown)
