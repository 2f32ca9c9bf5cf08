"""What a `tokenizer.json` describes, of whatever kind its model is."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from cutline.errors import VocabularyError
from cutline.formats.after_bytes import check_after_bytes
from cutline.formats.ended_characters import ends_words, make_ended_spec
from cutline.formats.merges import (
    WRAP_HINT,
    ByteTokens,
    MergeModel,
    check_merges,
    may_merge_in,
    merge_order,
    never_made,
    read_tokens,
)
from cutline.formats.metaspace import before_bytes, is_over_characters, make_character_spec
from cutline.formats.stages import letters_first, make_split, make_steps, without_white_space
from cutline.formats.tokenizer_json import (
    Part,
    TokenizerJson,
    check_byte_level,
    is_newer,
    parse_tokenizer_json,
    parts_before_model,
    refused,
)
from cutline.formats.word_ends import with_blanks
from cutline.formats.word_json import (
    done_by_metaspace,
    is_word_model,
    make_splitters,
    read_word_model,
)
from cutline.formats.word_starts import check_prefix, with_leading_blanks
from cutline.normalizing import Form, NewerForm, normalize
from cutline.spec import TokenizerSpec, checked_special_tokens
from cutline.tables import recover_left_lengths
from cutline.vocabulary import Vocabulary

__all__ = ["checked", "merged", "spec_of"]


def spec_of(document: Part, name: str, source: str) -> TokenizerSpec:
    """Describe the tokenizer of a `tokenizer.json`.

    Args:
        document: what the file contains.
        name: the tokenizer's name.
        source: where it comes from.

    Raises:
        VocabularyError, PatternError: names the part that is damaged or not supported.
    """
    _check_texts(document, source)
    if is_word_model(document):
        normalizers, splitters = parts_before_model(document, source)
        added = document.get("added_tokens") or []
        before, leads_all = done_by_metaspace(normalizers, splitters, added)
        steps = make_steps(before, source)
        splits = make_splitters(splitters, source, is_newer=is_newer(document), leads_all=leads_all)
        spec = read_word_model(document, name, source, steps, splits)
        return checked(spec, source, is_done=is_newer(document))
    parsed = parse_tokenizer_json(document, source)
    check_prefix(parsed, source)
    if ends_words(parsed):
        spec = make_ended_spec(parsed, name, source)
    elif is_over_characters(parsed):
        spec = make_character_spec(parsed, name, source)
    else:
        spec = _byte_level_spec(parsed, name, source)
    return checked(spec, source, is_done=parsed.is_normalized)


def _check_texts(document: Part, source: str) -> None:
    """Refuse lone surrogates: no tokenizer could encode or decode them, or be stored with them.

    Tokens and merges are checked where they are read.
    """
    model = document.get("model")
    if isinstance(model, dict):
        model = {key: part for key, part in model.items() if key not in ("vocab", "merges")}
    for key, part in {**document, "model": model}.items():
        try:
            json.dumps(part, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError as error:
            raise VocabularyError(
                f"{source}: {key} has the surrogate {error.object[error.start]!r}, which is no "
                "text: correct the file"
            ) from None


def _byte_level_spec(parsed: TokenizerJson, name: str, source: str) -> TokenizerSpec:
    check_byte_level(parsed, source)
    spaces, splitters = before_bytes(parsed, source)
    letters, splitters = letters_first(splitters, parsed.added_tokens, source)
    split = make_split(splitters, source, is_newer=parsed.is_normalized)
    added = {token.content: token.id for token in parsed.added_tokens}
    normalizers: Sequence[Part] = parsed.normalizers
    if not (spaces or letters):  # which keep blanks in pieces, as other letters
        normalizers = without_white_space(normalizers, split, parsed.added_tokens)
    model, never = parsed.model, dict[bytes, int]()
    if split.led_pat_str and (model.end_of_word_suffix or model.continuing_subword_prefix):
        why = "a blank would be put before every piece, and tokens say where pieces are"
        raise refused(source, "pre_tokenizer", list(parsed.pre_tokenizers), why)
    if model.end_of_word_suffix:
        model, never = with_blanks(model, split)
    elif model.continuing_subword_prefix:
        model, never = with_leading_blanks(model, split, added)
        added = {}
    vocabulary, unreachable = merged(model, added)
    check_after_bytes(vocabulary, splitters, ignore_merges=model.ignore_merges, source=source)
    if parsed.model.ignore_merges:
        for token in parsed.added_tokens:
            if token.single_word and token.content in parsed.model.ids:
                why = "where other words touch it, the text would be this token all the same"
                raise refused(source, "added token", token.content, why)
    return TokenizerSpec(
        name,
        vocabulary,
        split.pat_str,
        parsed.added_tokens,
        (*make_steps(normalizers, source, over_bytes=True), *spaces, *letters),
        split.prefix_space,
        unreachable | never,
        parsed.n_template_tokens,
        parsed.trims,
        template=parsed.template,
        marks_word_ends=bool(parsed.model.end_of_word_suffix),
        splittings=split.splittings,
        marks_word_starts=bool(split.led_pat_str or parsed.model.continuing_subword_prefix),
        led_pat_str=split.led_pat_str,
    )


def checked(spec: TokenizerSpec, source: str, *, is_done: bool) -> TokenizerSpec:
    """Refuse added tokens that cannot be found exactly; see `_check_normalized`.

    Args:
        spec: as read.
        source: where it comes from.
        is_done: the file is of version 2, so that added tokens are stored normalized, and normal
            forms are those of `tokenizers` 1.
    """
    if is_done:
        steps = (NewerForm(one.name) if isinstance(one, Form) else one for one in spec.normalizer)
        spec = spec._replace(normalizer=tuple(steps))
    checked_special_tokens(spec.vocabulary, spec.own_tokens)
    _check_normalized(spec, source, is_done=is_done)
    return spec


def _check_normalized(spec: TokenizerSpec, source: str, *, is_done: bool) -> None:
    """Refuse added tokens that become empty or equal to another one when normalized.

    If they are stored in their normal form, refuse those that normalizing would change.
    """
    seen: dict[str, str] = {}
    for token in spec.added_tokens:
        if not token.normalized or not token.content:
            continue
        text = normalize(token.content, spec.normalizer)
        if not text:
            raise refused(source, "added token", token.content, "normalizing leaves nothing of it")
        if is_done and text != token.content:
            why = "normalized once more it would be another one"
            raise refused(source, "added token", token.content, why)
        if text in seen:
            why = f"normalizing makes it the same as {seen[text]!r}"
            raise refused(source, "added token", token.content, why)
        seen[text] = token.content


def merged(
    model: MergeModel, added_tokens: Mapping[str, int]
) -> tuple[Vocabulary, dict[bytes, int]]:
    """Make the vocabulary of a model, and list its unreachable tokens.

    Tokens merge in the order of ids or in that of the list of merges; other models are
    refused. Without `ignore_merges`, no text encodes to a token that merging does not make.
    """
    read = read_tokens(model, added_tokens)
    unreachable: dict[bytes, int] = {}
    if not model.ignore_merges:
        never = never_made(model, read)
        unreachable = {
            read.tokens.bytes_of(at): int(model.ids.numbers[read.places[at]])
            for at in np.flatnonzero(never).tolist()
        }
        read = read.only(~never)
    by_id = np.argsort(model.ids.numbers[read.places], kind="stable")
    if may_merge_in(model, read, by_id):
        with suppress(VocabularyError):  # another order may do
            return _checked_order(model, read.only(by_id)), unreachable
    return _checked_order(model, read.only(merge_order(model, read))), unreachable


def _checked_order(model: MergeModel, read: ByteTokens) -> Vocabulary:
    """Make the vocabulary of tokens that merge in the order in which they are given.

    Raises:
        VocabularyError: no text would be encoded as the merges do it.
    """
    vocabulary = _ordered(model, read)
    check_merges(vocabulary, read.places, model)
    return vocabulary


def _likely_left_lengths(model: MergeModel, read: ByteTokens) -> NDArray[np.int64]:
    """Return the lengths of the left parts of tokens by their first merges; 0: they have none."""
    left = np.append(model.ids.texts.char_lengths[model.joins.left], 0)
    lengths: NDArray[np.int64] = left[model.first_merges[read.places]]
    return lengths


def _ordered(model: MergeModel, read: ByteTokens) -> Vocabulary:
    """Make the vocabulary of tokens that are in merge order."""
    ids = model.ids.numbers[read.places]
    try:
        try:
            vocabulary = Vocabulary(read.tokens.arena, read.tokens.lengths, ids)
        except VocabularyError:  # now by name
            by_id = np.lexsort((read.places, ids))
            tokens = map(read.tokens.bytes_of, by_id.tolist())
            Vocabulary.from_ranks(dict(zip(tokens, ids[by_id].tolist(), strict=True)))
            raise
        lefts = recover_left_lengths(vocabulary, _likely_left_lengths(model, read))
        return vocabulary.with_left_lengths(lefts, are_recovered=True)
    except VocabularyError as error:
        raise VocabularyError(f"{model.source}: {error}; {WRAP_HINT}") from error
