"""Byte-level BPE whose tokens say that they do not begin a piece: the mirror image of word ends.

A letter inside a piece has a prefix, and is another symbol than a first one. Here a blank stands
before each piece and for what tells first letters from others: tokens inside a piece lose the
prefix, and those that begin one get a blank. Merges of a blank and a byte come before all others.
The proof: docs/tokenizers.md, "Word ends".
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from cutline.formats.merges import Merge, MergeModel
from cutline.formats.stages import Split, never_takes
from cutline.formats.token_ids import Texts, TokenIds
from cutline.formats.tokenizer_json import TokenizerJson, refused
from cutline.vocabulary.letters import as_bytes, as_text

__all__ = [
    "alone",
    "check_prefix",
    "problem_of_prefix",
    "with_leading_blanks",
    "without_prefix",
]

_BLANK: Final = as_text(b" ")
_LETTERS: Final = [as_text(bytes([byte])) for byte in range(256)]
_FIRST: Final = [*_LETTERS[:0x20], *_LETTERS[0x21:0x80], *_LETTERS[0xC2:0xF5]]
"""Those of bytes that begin a character other than a blank."""
_SETTING: Final = "model: continuing_subword_prefix"


def check_prefix(parsed: TokenizerJson, source: str) -> None:
    """Refuse a prefix with a suffix, and either in a file of version 2.

    Raises:
        VocabularyError: it has such.
    """
    prefix, suffix = parsed.model.continuing_subword_prefix, parsed.model.end_of_word_suffix
    if prefix and suffix:
        raise refused(source, _SETTING, prefix, "there is a suffix for the ends of words, too")
    if parsed.is_normalized and (prefix or suffix):
        setting = _SETTING if prefix else "model: end_of_word_suffix"
        raise refused(source, setting, prefix or suffix, "tokenizers 1 takes no notice of it")


def with_leading_blanks(
    model: MergeModel, split: Split, added_tokens: Iterable[str]
) -> tuple[MergeModel, dict[bytes, int]]:
    """Write the tokens of a model without the prefix, and with blanks before first ones.

    Args:
        model: as read.
        split: how texts are split into pieces.
        added_tokens: their texts, found before texts are split. Those that take no part in merging
            are left out.

    Returns:
        The model without a prefix, and the ids of tokens that no text has.

    Raises:
        VocabularyError: pieces can have blanks, or the tokens are not equivalent to those with
            blanks; says why.
    """
    prefix = model.continuing_subword_prefix
    numbers = model.ids.numbers.tolist()
    old = dict(zip(model.ids.texts, numbers, strict=True))
    merges = model.all_merges()
    if why := _problem(model, split, old, merges):
        raise refused(model.source, _SETTING, prefix, why)
    kept = alone(model, added_tokens, _LETTERS)

    def written(text: str) -> str:
        if text == _BLANK and prefix + _BLANK not in old:
            return text
        return without_prefix(text, prefix, _BLANK)

    ids = {written(text): number for text, number in old.items() if text not in kept}
    if len(ids) + len(kept) < len(old):
        raise refused(model.source, _SETTING, prefix, "two tokens would be written alike")
    never = {
        text: ids.pop(text)
        for text in [*ids]
        if text.find(_BLANK, 1) > 0 and set(text) <= {*_LETTERS}
    }
    first = sorted((one for one in _LETTERS if _BLANK + one in ids), key=lambda x: ids[_BLANK + x])
    parts = [part for one in first for part in (_BLANK, one)]
    parts += [
        written(part)
        for left, right in merges
        if _BLANK not in left + right
        for part in (left, right)
    ]
    blanked = replace(
        model, ids=TokenIds.of(ids), merges=Texts.of(parts), continuing_subword_prefix=""
    )
    return blanked, {as_bytes(text): number for text, number in never.items()}


def without_prefix(text: str, prefix: str, blank: str) -> str:
    """Write a token inside a word without the prefix, and one that begins it with a blank."""
    return text.removeprefix(prefix) if text.startswith(prefix) else blank + text


def alone(
    model: MergeModel, texts: Iterable[str], letters: Iterable[str] | None = None
) -> set[str]:
    """Choose the tokens that are no symbols, and take no part in merging.

    Args:
        model: as read; it has a prefix.
        texts: from these; some may be no tokens.
        letters: that are symbols; None: any character is.
    """
    prefix = model.continuing_subword_prefix
    symbols = None if letters is None else {*letters}
    merging = {model.merges[place] for place in range(len(model.merges))}
    merging |= {_joined(prefix, *model.merge(place)) for place in range(len(model.merges) // 2)}

    def is_symbol(text: str) -> bool:
        one = text.removeprefix(prefix)
        return len(one) == 1 and (symbols is None or one in symbols)

    return {text for text in texts if text in model.ids and text not in merging} - {
        text for text in texts if is_symbol(text)
    }


def problem_of_prefix(
    prefix: str, merges: Iterable[Merge], ids: Mapping[str, int] | TokenIds
) -> str:
    """Say why the texts of tokens do not tell whether they begin a word; "": they do."""
    if not prefix.isascii():
        return "letters of several bytes are not cut off as they are put before"
    for left, right in merges:
        whole = _joined(prefix, left, right)
        if not right.startswith(prefix) or left.startswith(prefix) != whole.startswith(prefix):
            return f"the merge of {left!r} and {right!r} does not tell it from letters"
    if prefix in ids:
        return "a token is the prefix alone"
    return ""


def _joined(prefix: str, left: str, right: str) -> str:
    return left + right.removeprefix(prefix)


def _problem(
    model: MergeModel, split: Split, ids: Mapping[str, int], merges: Iterable[Merge]
) -> str:
    """Say why blanks cannot stand before first tokens; "": they can."""
    prefix = model.continuing_subword_prefix
    if not never_takes(split, " "):
        return "a blank is written before words here, but words can have blanks"
    if model.ignore_merges:
        return "with ignore_merges, whole words are looked up as they are"
    if why := problem_of_prefix(prefix, merges, ids):
        return why
    needed = [*_FIRST, *(prefix + one for one in _LETTERS if one != _BLANK)]
    if prefix + _BLANK not in ids:
        needed.append(_BLANK)
    missing = (text for text in needed if text not in ids)
    return next((f"there is no token {text!r}, so that texts lose a byte" for text in missing), "")
