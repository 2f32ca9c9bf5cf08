"""Models over characters in a `tokenizer.json`: how their texts are prepared and split.

U+2581 stands for a blank in such models. Here a blank is a blank, so that most texts stay as
they are, and U+2581 in a text is written as one.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from cutline.formats.characters import BLANK, LEADING, read_characters
from cutline.formats.closed_pattern import closed_pattern
from cutline.formats.merges import MergeModel
from cutline.formats.stages import make_steps
from cutline.formats.tokenizer_json import Part, TokenizerJson, refused
from cutline.normalizing import Lead, Prepend, Replace, Step, Unknown, normalize
from cutline.spec import AddedToken, TokenizerSpec
from cutline.words.first_word import found_in_first, keeps_start

__all__ = ["before_bytes", "character_spec", "is_over_characters", "make_character_spec"]

_TO_BLANK: Final = Replace(BLANK, " ")
_FROM_BLANK: Final = Replace(" ", BLANK)


class _Preparation(NamedTuple):
    """How texts are prepared.

    Attributes:
        steps: the normalizer; writes a blank for U+2581 at the end.
        prefix_space: texts get a leading blank.
        prefix_first: but not those after an added token.
        splits: a piece begins at each blank.
    """

    steps: tuple[Step, ...]
    prefix_space: bool = False
    prefix_first: bool = False
    splits: bool = False


def before_bytes(parsed: TokenizerJson, source: str) -> tuple[tuple[Step, ...], Sequence[Part]]:
    """Write a Metaspace before ByteLevel as steps and a Split.

    Returns:
        The steps after the normalizer, and the pre-tokenizers.

    Raises:
        VocabularyError: what it does depends on more than the text between added tokens.
    """
    match parsed.pre_tokenizers:
        case [{"type": "Metaspace", "replacement": str() as written} as part, *others]:
            scheme = _scheme(part, source)
        case others:
            return (), [*others]
    why = "before ByteLevel, with added tokens that are found in normalized text"
    if scheme == "first":
        why = 'before ByteLevel, its prepend_scheme can be "always" or "never"'
    if scheme == "first" or any(token.normalized for token in parsed.added_tokens):
        raise refused(source, "pre_tokenizer", part, why)
    at_each = {"type": "Split", "pattern": {"String": written}, "behavior": "MergedWithNext"}
    steps: tuple[Step, ...] = (Replace(" ", written),)
    if scheme == "always":
        steps = (*steps, Lead(written))
    return steps, [at_each, *others] if part.get("split", True) else others


def is_over_characters(parsed: TokenizerJson) -> bool:
    """Return whether a BPE model is over characters, and not over bytes."""
    if any(part["type"] == "ByteLevel" for part in parsed.pre_tokenizers):
        return False
    texts = parsed.model.ids.texts
    firsts = texts.char_offsets[:-1][texts.lengths > 0]
    return bool((texts.code_points[firsts] == ord(BLANK)).any())


def make_character_spec(parsed: TokenizerJson, name: str, source: str) -> TokenizerSpec:
    """Describe a tokenizer whose model is over characters.

    Raises:
        VocabularyError: names the part that cannot be expressed exactly.
    """
    if parsed.model.ignore_merges:
        raise refused(source, "model: ignore_merges", True, "texts are split into shorter pieces")
    prepared = _prepare(parsed, source)
    spec = character_spec(
        name,
        parsed.model,
        parsed.added_tokens,
        prepared.steps,
        drops_blank=_drops_blank(parsed, source),
        splits_blanks=prepared.splits,
        has_prefix=prepared.prefix_space,
    )
    return spec._replace(
        prefix_space=prepared.prefix_space,
        prefix_first=prepared.prefix_first,
        n_template_tokens=parsed.n_template_tokens,
        trims=parsed.trims,
        template=parsed.template,
    )


def character_spec(
    name: str,
    model: MergeModel,
    added_tokens: tuple[AddedToken, ...],
    steps: tuple[Step, ...],
    *,
    drops_blank: bool,
    splits_blanks: bool = False,
    has_prefix: bool = False,
) -> TokenizerSpec:
    """Describe a tokenizer by its model over characters.

    Args:
        name: its name.
        model: as read.
        added_tokens: those of the file.
        steps: the normalizer, which writes a blank for U+2581 at the end.
        drops_blank: decoding drops a blank at the start.
        splits_blanks: a piece begins at each blank.
        has_prefix: texts get a leading blank that is no step.

    Raises:
        VocabularyError: names the part that cannot be expressed exactly.
    """
    added = {token.content: token.id for token in added_tokens}
    read = read_characters(model, added, drops_blank=drops_blank)
    if not has_prefix and steps == (_TO_BLANK,):
        added_tokens = _needed(added_tokens, read.runs)
    for token in added_tokens:
        text = token.content.replace(BLANK, " ")
        if token.normalized and isinstance(read.step, Unknown) and not read.step.keeps_slices(text):
            why = "its characters would be unknown"
            raise refused(model.source, "added token", token.content, why)
    pat_str = closed_pattern(
        read.texts, read.step.stand_ins, read.runs, splits_blanks=splits_blanks
    )
    return TokenizerSpec(
        name,
        read.vocabulary,
        pat_str,
        added_tokens,
        (*steps, read.step),
        characters=read.characters,
    )


def _needed(
    added_tokens: tuple[AddedToken, ...], runs: Mapping[str, int]
) -> tuple[AddedToken, ...]:
    """Leave out added tokens that the model makes anyway: runs that merge before all else.

    A run in a text is cut into the longest of its tokens by both, if texts get no prefix.
    Searching for them would cut most texts into short parts.
    """
    needed = list(added_tokens)
    for one, most in runs.items():
        longer = {one * n for n in range(1, most + 1)}
        found = [token for token in needed if one in token.content]
        plain = {token.content for token in found if not any(token[2:])}
        if one != " " and plain | {one} == longer and len(found) == len(plain):
            needed = [token for token in needed if token not in found]
    return tuple(needed)


def _prepare(parsed: TokenizerJson, source: str) -> _Preparation:
    is_led_twice = _is_led_twice(parsed)
    steps = make_steps(parsed.normalizers[: -1 if is_led_twice else None], source)
    replaces = _FROM_BLANK in steps
    for token in parsed.added_tokens:
        _check_added(token, steps, source)
    if replaces and steps[-1] != _FROM_BLANK:
        why = "after blanks are replaced, nothing else may be done"
        raise refused(source, "normalizer", list(parsed.normalizers), why)
    match parsed.pre_tokenizers:
        case [part] if is_led_twice:
            return _Preparation(
                (*_with_blanks(steps), Prepend(" ")), splits=part.get("split", True)
            )
        case [] if replaces:
            return _Preparation(_with_blanks(steps))
        case [{"type": "Split", "pattern": {"String": " "}}] if replaces:
            return _Preparation(_with_blanks(steps))  # there is none
        case [{"type": "Metaspace", "replacement": "\u2581"} as part]:
            scheme = _scheme(part, source)
            if scheme == "first" and not all(map(keeps_start, steps)):
                why = "with steps that can remove the first character of a text"
                raise refused(source, "pre_tokenizer", part, why)
            prefixes = [step.prefix[:1] for step in steps if isinstance(step, Prepend)]
            if scheme != "never" and not {" ", BLANK}.issuperset(prefixes):
                why = "with a step that puts another text before each"
                raise refused(source, "pre_tokenizer", part, why)
            if scheme == "first":
                _check_first(parsed.added_tokens, steps, source)
            return _Preparation(
                _with_blanks(steps), scheme != "never", scheme == "first", part.get("split", True)
            )
    raise refused(
        source, "pre_tokenizer", list(parsed.pre_tokenizers) or None,
        "a model over characters needs Metaspace, or blanks replaced by U+2581",
    )  # fmt: skip


def _is_led_twice(parsed: TokenizerJson) -> bool:
    """Return whether each text gets a leading blank by a Metaspace, also if it begins with one.

    So it is if all that the Metaspace sees is whole texts: no added token is found in normalized
    ones.
    """
    return (
        (*parsed.normalizers[-2:],) == LEADING
        and len(parsed.pre_tokenizers) == 1
        and parsed.pre_tokenizers[0].get("replacement") == BLANK
        and _scheme(parsed.pre_tokenizers[0], "") == "always"
        and not any(token.normalized for token in parsed.added_tokens)
    )


def _check_added(token: AddedToken, steps: Sequence[Step], source: str) -> None:
    """Refuse added tokens that are searched for in text with U+2581, where it matters."""
    if not token.normalized:
        return
    replaces = _FROM_BLANK in steps
    looks_around = token.lstrip or token.rstrip or token.single_word
    if looks_around and (replaces or not token.special):
        why = "in normalized text it would strip blanks, or look at words"
        raise refused(source, "added token", token.content, why)
    written = {*token.content, *normalize(token.content, steps)}
    if not replaces and not written.isdisjoint({BLANK, " "}):
        why = "here U+2581 and blanks are the same"
        raise refused(source, "added token", token.content, why)


def _check_first(tokens: Sequence[AddedToken], steps: Sequence[Step], source: str) -> None:
    """Refuse added tokens after which `tokenizers` may see the start of a text once more."""
    normalized = (token.content for token in tokens if token.normalized)
    if (text := found_in_first(steps, normalized)) is not None:
        why = (
            "it is searched for in normalized text and may end inside what a character becomes; "
            'what follows it may be prefixed, by Metaspace with "first"'
        )
        raise refused(source, "added token", text, why)


def _scheme(part: Part, source: str) -> str:
    """Read when Metaspace puts a blank before a text."""
    scheme = part.get("prepend_scheme")
    if scheme is None:  # older files
        scheme = "always" if part.get("add_prefix_space", True) else "never"
    if scheme not in ("always", "first", "never"):
        raise refused(source, "pre_tokenizer", part, "no scheme has this name")
    return str(scheme)


def _with_blanks(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Let the steps end with blanks for U+2581, instead of the other way round."""
    if _FROM_BLANK not in steps:
        return (*steps, _TO_BLANK)
    *before, _ = steps
    if before and isinstance(prefix := before[-1], Prepend):  # written before the blanks are
        return (*before[:-1], _TO_BLANK, Prepend(prefix.prefix.replace(BLANK, " ")))
    return (*before, _TO_BLANK)


def _drops_blank(parsed: TokenizerJson, source: str) -> bool:
    """Read the decoder: whether it drops a blank at the start."""
    drops = is_fused = has_blanks = has_bytes = False
    for decoder in parsed.decoders:
        match decoder:
            case {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}:
                has_blanks = True
            case {"type": "ByteFallback"}:
                has_bytes = has_bytes or not is_fused
            case {"type": "Fuse"}:
                is_fused = True
            case {"type": "Strip", "content": " ", "start": 0 | 1 as start, "stop": 0}:
                if start and not is_fused:
                    raise refused(source, "decoder", decoder, "it drops a blank of each token")
                drops = drops or bool(start)
            case {"type": "Metaspace", "replacement": "\u2581"}:
                has_blanks = True
                drops = _scheme(decoder, source) != "never"
                if drops and is_fused:
                    raise refused(source, "decoder", decoder, "after Fuse it drops all blanks")
            case _:
                raise refused(source, "decoder", decoder, "it is not known to undo the encoding")
    if parsed.decoders and not (has_blanks and (has_bytes or not parsed.model.byte_fallback)):
        why = "it writes U+2581, or the names of bytes, as they are"
        raise refused(source, "decoder", list(parsed.decoders), why)
    return drops
