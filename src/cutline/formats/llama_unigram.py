"""Unigram in a `.gguf` file, as llama.cpp encodes with it: its `tokenizer.ggml.model` is "t5".

What it does, and what is refused: docs/tokenizers.md, "Files of llama.cpp".
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from cutline.errors import VocabularyError
from cutline.formats.merges import WRAP_HINT
from cutline.formats.pieces import Piece, PieceType
from cutline.formats.tokenizer_json import Part
from cutline.formats.unigram_pieces import unigram_spec
from cutline.normalizing import Step, StripBlanks
from cutline.spec import TokenizerSpec
from cutline.words.charsmap import CharsMap
from cutline.words.models import UNKNOWN_PENALTY, Unigram
from cutline.words.steps import Collapse

__all__ = ["llama_unigram_spec"]

_FOUND: Final = (PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED)
"""The types of tokens that are found in texts."""

_ADDED: Final = (PieceType.CONTROL, PieceType.UNKNOWN, PieceType.USER_DEFINED)

_MOST_OF_BEGINNINGS: Final = 2**26
"""Twice the characters of all beginnings of added tokens, which are kept."""

_CONTROLS: Final = frozenset({
    "</s>", "<eos>", "[EOS]", "<EOT>", "_<EOT>", "[EOT]", "<PAD>", "[PAD]", "<REPO>", "[e~[",
    "<PRE>", "<SUF>", "<MID>", "▁<PRE>", "▁<SUF>", "▁<MID>", "<end_of_turn>", "<turn|>",
    "<end_of_utterance>", "<reponame>", "<|repo_name|>", "<|file_sep|>", "<|eot_id|>",
    "<|eom_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>", "<|return|>",
    "<|flush|>", "<|prefix|>", "<|suffix|>", "<|middle|>", "<|code_prefix|>", "<|code_suffix|>",
    "<|code_middle|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>",
    "<|fim_repo|>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>", "<fim-prefix>",
    "<fim-suffix>", "<fim-middle>", "<fim-pad>", "<fim-repo>", "<｜end▁of▁sentence｜>",
    "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>",
})  # fmt: skip
"""The texts that make a token a control token, whatever type the file gives it."""

_RETYPING: Final = frozenset({
    "<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|call|>", "<|calls|>",
    "<|tool_response>",
})  # fmt: skip
"""Those that make a token, or one beside it, a token of another type."""

_STRIPPING: Final = {
    "architecture": ("nomic-bert-moe", "jina-bert-v3"),
    "name": ("phi-3", "phi3", "modern-bert"),
    "pre": ("jina-v2-",),
}
"""What parts of fields say that white space beside special tokens is removed."""


def llama_unigram_spec(
    pieces: Sequence[Piece], fields: Part, name: str, source: str
) -> TokenizerSpec:
    """Describe a model, but for the tokens around a text.

    Args:
        pieces: its tokens; their ids are their places, their scores finite.
        fields: the others of the file, with an `unknown_token_id` of a token.
        name: its name.
        source: where it comes from.

    Raises:
        VocabularyError: it cannot be expressed exactly; names the reason.
    """
    unk_id = fields["unknown_token_id"]
    _check_pieces(pieces, unk_id, source)
    _check_overlaps(pieces, source)
    removes_blanks = bool(fields.get("remove_extra_whitespaces", False))
    adds_prefix = bool(fields.get("add_space_prefix", False))
    if adds_prefix and not removes_blanks:
        what = "add_space_prefix without remove_extra_whitespaces, so that blanks alone have none"
        raise _refused(source, what)
    charsmap = _charsmap(fields.get("precompiled_charsmap", []), pieces, source)
    if not (removes_blanks and _blanks_white(charsmap)):
        _check_stripping(fields, source)
    steps: tuple[Step, ...] = () if charsmap is None else (charsmap,)
    if removes_blanks:
        steps = (*steps, StripBlanks(True, True), Collapse(" "))
    return unigram_spec(
        *(pieces, _model(pieces, unk_id), name, source),
        found=_FOUND,
        added=_ADDED,
        steps=steps,
        adds_prefix=removes_blanks,  # each word has a blank before it then, the first as well
        drops_blank=adds_prefix,
    )


def _model(pieces: Sequence[Piece], unk_id: int) -> Unigram:
    """Return the model: the user's tokens score 0, and no bytes are spelled."""
    found = [piece for piece in pieces if piece.kind in _FOUND]
    scores = [0.0 if kind == PieceType.USER_DEFINED else score for _, score, kind in found]
    lowest = min(piece.score for piece in found if piece.kind == PieceType.NORMAL)
    # Sums have double precision, not this.
    unknown = np.float32(lowest) - np.float32(UNKNOWN_PENALTY)
    return Unigram(
        np.array(scores, dtype="<f8").tobytes(),
        unk_id,
        unk_score=np.array(unknown, dtype="<f8").tobytes(),
    )


def _charsmap(values: Any, pieces: Sequence[Piece], source: str) -> CharsMap | None:
    """Read what changes characters; None: nothing does.

    What stays as it is are not the user's tokens but their beginnings, the longest at a place.
    """
    symbols = [piece.text for piece in pieces if piece.kind == PieceType.USER_DEFINED]
    kept = {text[:end] for text in symbols for end in range(1, len(text) + 1)}
    try:
        data = bytes(one & 0xFF for one in values)
        return CharsMap(data, tuple(sorted(kept))) if data else None
    except (TypeError, VocabularyError) as error:
        raise VocabularyError(f"{source}: precompiled_charsmap: {error}") from None


def _blanks_white(charsmap: CharsMap | None) -> bool:
    """Return whether all that C calls white space becomes blanks or nothing, whatever is before."""
    return charsmap is not None and all(
        charsmap.begins(one) and not charsmap.apply(one).strip(" ") for one in " \t\n\v\f\r"
    )


def _check_stripping(fields: Part, source: str) -> None:
    """Refuse models of which white space beside special tokens is removed, where that matters."""
    for key, parts in _STRIPPING.items():
        value = str(fields.get(key, ""))
        if any(part in value.lower() for part in parts):
            what = f"the {key} {value!r}, for which white space beside special tokens is removed"
            raise _refused(source, what)


def _check_pieces(pieces: Sequence[Piece], unk_id: int, source: str) -> None:
    """Refuse tokens of which something else is made, or of which types are not as they are used."""
    if pieces[unk_id].kind not in (PieceType.CONTROL, PieceType.UNKNOWN):
        what = f"an unknown token, {pieces[unk_id].text!r}, of a type that texts may have"
        raise _refused(source, what)
    for text, _, kind in pieces:
        if not text or "\0" in text:
            raise _refused(source, f"the token {text!r}, for which another text is taken")
        if text in _RETYPING or (text in _CONTROLS and kind != PieceType.CONTROL):
            raise _refused(source, f"the token {text!r}, which gets another type by its text")
        if kind == PieceType.USER_DEFINED and not text.isascii():
            what = f"the user-defined token {text!r}: the first bytes of its characters are taken"
            raise _refused(source, f"{what} from others")
    normal = [piece.score for piece in pieces if piece.kind == PieceType.NORMAL]
    if not normal:
        raise _refused(source, "no token of the type normal")
    least = min(normal) - UNKNOWN_PENALTY
    found = [piece for piece in pieces if piece.kind in _FOUND]
    singles = {piece.text for piece in found if len(piece.text) == 1}
    for text, score, _ in found:
        # Else its characters may be unknown ones, and these would be taken for the token. Sums are
        # rounded.
        if score < least * len(text) + 1 and len(text) > 1 and singles.isdisjoint(text):
            raise _refused(source, f"the token {text!r} with the score {score}, which is too low")


def _check_overlaps(pieces: Sequence[Piece], source: str) -> None:
    """Refuse added tokens of which the longest in a text comes first, not the leftmost.

    And the user's inside of control tokens, which may be written as text.
    """
    texts = [piece.text for piece in pieces if piece.kind in _ADDED]
    if sum(len(text) ** 2 for text in texts) > _MOST_OF_BEGINNINGS:
        raise _refused(source, f"{len(texts)} added tokens, which are too long,")
    beginning_so = defaultdict[str, list[str]](list)
    for text in texts:
        for end in range(1, len(text)):
            beginning_so[text[:end]].append(text)
    for text in texts:
        for start in range(1, len(text)):
            other = next((one for one in beginning_so.get(text[start:], ()) if one != text), None)
            if other is not None:
                raise _refused(source, f"the tokens {text!r} and {other!r}, which may overlap")
    symbols = [piece.text for piece in pieces if piece.kind == PieceType.USER_DEFINED]
    controls = "\0".join({*texts} - {*symbols})
    inner = next((text for text in symbols if text in controls), None)
    if inner is not None:
        raise _refused(source, f"the user-defined token {inner!r}, a part of a control token")


def _refused(source: str, what: str) -> VocabularyError:
    return VocabularyError(
        f"{source} has {what}, by the rules of llama.cpp, which is not supported: {WRAP_HINT}"
    )
