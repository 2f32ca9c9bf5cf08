"""Byte-level BPE whose tokens say that they end a piece, such as CLIP's.

The last letter of a piece gets a suffix, and is a symbol of its own. Here a blank stands for the
suffix: pieces get one at their end (pipeline/word_ends.py), and merges of a byte and a blank
come before all others. They make the symbols that the model begins with, so that all else is
byte-level BPE as usual. Pieces must not have blanks of their own. The proof: docs/tokenizers.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from cutline.formats.merges import Merge, MergeModel, as_bytes, as_text
from cutline.formats.stages import Split, never_takes
from cutline.formats.token_ids import Texts, TokenIds
from cutline.formats.tokenizer_json import refused

__all__ = ["with_blanks"]

_BLANK: Final = as_text(b" ")
_LAST_BYTES: Final = range(0xC0)  # the last byte of a character is none that begins a longer one


def with_blanks(model: MergeModel, split: Split) -> tuple[MergeModel, dict[bytes, int]]:
    """Write the tokens of a model with a blank for the suffix.

    Args:
        model: as read.
        split: how texts are split into pieces.

    Returns:
        The model without a suffix, and the ids of tokens that no text has.

    Raises:
        VocabularyError: pieces can have blanks, or the tokens are not equivalent to those with
            blanks; says why.
    """
    suffix = model.end_of_word_suffix
    old = dict(zip(model.ids.texts, model.ids.numbers.tolist(), strict=True))
    old_merges = model.all_merges()
    if why := _problem(model, split, old, old_merges):
        raise refused(model.source, "model: end_of_word_suffix", suffix, why)

    def written(text: str) -> str:
        return text[: -len(suffix)] + _BLANK if text.endswith(suffix) else text

    of_blanks = {text for text in old if _BLANK in text and text != _BLANK}
    ids = {written(text): number for text, number in old.items() if text not in of_blanks}
    lasts = (as_text(bytes([byte])) for byte in range(256))
    first = sorted((x for x in lasts if x + _BLANK in ids), key=lambda x: ids[x + _BLANK])
    parts = [part for one in first for part in (one, _BLANK)]
    parts += [
        written(part) for merge in old_merges if _BLANK not in "".join(merge) for part in merge
    ]
    never = {as_bytes(written(text)): old[text] for text in of_blanks}
    blanked = replace(model, ids=TokenIds.of(ids), merges=Texts.of(parts), end_of_word_suffix="")
    return blanked, never


def _problem(
    model: MergeModel, split: Split, ids: Mapping[str, int], merges: Iterable[Merge]
) -> str:
    """Say why blanks cannot stand for the suffix; "": they can."""
    suffix = model.end_of_word_suffix
    if not never_takes(split, " "):
        return "a blank is written for it here, but words can have blanks"
    if model.ignore_merges:
        return "with ignore_merges, whole words are looked up without it"
    for left, right in merges:
        if left.endswith(suffix) or right.endswith(suffix) != (left + right).endswith(suffix):
            return f"the merge of {left!r} and {right!r} does not tell it from letters"
    for byte in _LAST_BYTES:
        if (last := as_text(bytes([byte])) + suffix) not in ids:
            return f"there is no token {last!r}, so that texts lose a byte"
    blanks = (text.removesuffix(_BLANK) for text in ids if text.endswith(_BLANK))
    if suffix in ids or any(text + suffix in ids for text in blanks if text):
        return "a token with a blank is written like one with the suffix"
    return ""
