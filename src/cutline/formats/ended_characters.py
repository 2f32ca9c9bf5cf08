"""BPE over characters whose tokens say that they end a word, such as GPT-1's.

The last character of a word gets a suffix, and is a symbol of its own. As in word_ends.py, a
blank stands for it. To characters.py this is one more character, with which the last one of a
word merges before all else. Or each character but the first one has a prefix, and the blank stands
for being first, as in word_starts.py. The proofs: docs/tokenizers.md, "Word ends".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cutline.errors import VocabularyError
from cutline.formats.characters import BLANK, CharacterModel, read_characters
from cutline.formats.merges import MergeModel
from cutline.formats.stages import make_split, make_steps, never_takes, without_white_space
from cutline.formats.token_ids import Texts, TokenIds
from cutline.formats.tokenizer_json import Part, TokenizerJson, refused
from cutline.formats.word_ends import problem_of_suffix
from cutline.formats.word_starts import alone, problem_of_prefix, without_prefix
from cutline.spec import TokenizerSpec

__all__ = ["ends_words", "make_ended_spec"]

_AS_IT_IS: Final = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
"""Ends a list of pre-tokenizers, and does nothing."""


def ends_words(parsed: TokenizerJson) -> bool:
    """Return whether a model is over characters and says where words end, or where they start."""
    kinds = {part["type"] for part in parsed.pre_tokenizers}
    model = parsed.model
    return bool(model.end_of_word_suffix or model.continuing_subword_prefix) and (
        "ByteLevel" not in kinds
    )


def make_ended_spec(parsed: TokenizerJson, name: str, source: str) -> TokenizerSpec:
    """Describe a tokenizer whose model is over characters, and has a suffix or a prefix.

    Raises:
        VocabularyError, PatternError: names the part that cannot be expressed exactly.
    """
    suffix, prefix = parsed.model.end_of_word_suffix, parsed.model.continuing_subword_prefix
    split = make_split([*parsed.pre_tokenizers, _AS_IT_IS], source)
    if not never_takes(split, " "):
        raise _refusal(parsed.model, "a blank is written for it here, but words can have blanks")
    if why := _problem(parsed.model):
        raise _refusal(parsed.model, why)
    undoes: Part = {"type": "BPEDecoder", "suffix": suffix}
    if prefix:
        undoes = {"type": "WordPiece", "prefix": prefix, "cleanup": False}
    for decoder in parsed.decoders:
        if decoder != undoes:
            raise refused(source, "decoder", decoder, "it is not known to undo the encoding")
    added = {token.content: token.id for token in parsed.added_tokens}
    read = _read(parsed.model, added)
    normalizers = without_white_space(parsed.normalizers, split, parsed.added_tokens)
    return TokenizerSpec(
        name,
        read.vocabulary,
        split.pat_str,
        parsed.added_tokens,
        make_steps(normalizers, source),
        n_template_tokens=parsed.n_template_tokens,
        trims=parsed.trims,
        characters=read.characters,
        template=parsed.template,
        marks_word_ends=not prefix,
        splittings=split.splittings,
        marks_word_starts=bool(prefix),
    )


def _refusal(model: MergeModel, why: str) -> VocabularyError:
    prefix = model.continuing_subword_prefix
    key = "continuing_subword_prefix" if prefix else "end_of_word_suffix"
    return refused(model.source, f"model: {key}", prefix or model.end_of_word_suffix, why)


def _problem(model: MergeModel) -> str:
    """Say why blanks cannot stand for the suffix, or for no prefix; "": they can."""
    prefix = model.continuing_subword_prefix
    if model.ignore_merges:
        return "with ignore_merges, whole words are looked up without it"
    if model.byte_fallback or model.fuse_unk:
        return "neither byte_fallback nor fuse_unk can be read with it"
    if ord(BLANK) in model.ids.texts.code_points or ord(BLANK) in model.merges.code_points:
        return "a token has U+2581"
    if prefix:
        return problem_of_prefix(prefix, model.all_merges(), model.ids)
    return problem_of_suffix(model)


def _read(model: MergeModel, added: Mapping[str, int]) -> CharacterModel:
    """Read the model with U+2581 for the suffix, and with all characters that are symbols.

    A character that is a token at the end of a word only gets an id above all others, as the
    blank does: they are inner tokens. Likewise at the start, with a prefix.
    """
    suffix, prefix = model.end_of_word_suffix, model.continuing_subword_prefix
    numbers = model.ids.numbers.tolist()
    names = [*model.ids.texts]
    first_inner = max([*numbers, *added.values()]) + 1
    unknown = model.unk_token or ""
    kept = alone(model, {*added, unknown}) if prefix else set[str]()
    if prefix and unknown not in kept:
        raise _refusal(model, "the unknown token is a part of words, or there is none")

    def written(text: str) -> str:
        if prefix:
            return text if text in kept else without_prefix(text, prefix, BLANK)
        return text.removesuffix(suffix) + BLANK if text.endswith(suffix) else text

    ids = dict(zip(map(written, names), numbers, strict=True))
    if len(ids) < len(names):
        raise _refusal(model, "two tokens would be written alike")
    never = ids.pop(BLANK, None)  # the suffix alone: no word is empty
    beside = sorted(text.replace(BLANK, "") for text in ids if len(text) == 2 and BLANK in text)
    for number, one in enumerate(one for one in [BLANK, *beside] if one not in ids):
        ids[one] = first_inner + number
    parts = [part for one in beside for part in ((BLANK, one) if prefix else (one, BLANK))]
    parts += [written(model.merges[place]) for place in range(len(model.merges))]
    changed = replace(
        model, ids=TokenIds.of(ids), merges=Texts.of(parts),
        end_of_word_suffix="", continuing_subword_prefix="",
    )  # fmt: skip
    read = read_characters(changed, added, drops_blank=bool(prefix))
    if read.runs:
        raise _refusal(model, f"runs of {next(iter(read.runs))!r} merge before all else")
    meanings = {key: text for key, text in read.characters.meanings.items() if key < first_inner}
    if never is not None:
        meanings[never] = suffix.encode()
    characters = read.characters._replace(meanings=meanings, first_inner=first_inner)
    return read._replace(characters=characters)
