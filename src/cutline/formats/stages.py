"""Normalizers and pre-tokenizers of a `tokenizer.json`, as steps and a split pattern."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from cutline.errors import PatternError, UnsupportedPatternError
from cutline.formats.after_bytes import runs_of_numbers, splittings_after_bytes
from cutline.formats.huggingface import GPT2_REGEX
from cutline.formats.merges import WRAP_HINT
from cutline.formats.one_class import literal
from cutline.formats.tokenizer_json import Part, refused
from cutline.formats.word_json import word_steps
from cutline.normalizing import SPACE, Form, Lead, Lower, Prepend, Replace, Step, Strip, StripBlanks
from cutline.pretokenize.analysis import START, Tables
from cutline.pretokenize.charset import CharSet
from cutline.pretokenize.compiled import ACCEPT_HERE
from cutline.pretokenize.composing import DROPPED, Matches, Run, Runs, Stage, compose
from cutline.pretokenize.oniguruma import from_oniguruma, from_oniguruma_for_search
from cutline.pretokenize.pattern import Chars, parse_pattern
from cutline.pretokenize.restricting import CharClass
from cutline.pretokenize.splitting import Behavior, Splitting, has_automaton
from cutline.pretokenize.store import compile_pattern
from cutline.pretokenize.unicode import find_property, unicode_scripts
from cutline.spec import LED_PIECE, AddedToken, TokenizerSpec
from cutline.vocabulary import R50K_PAT_STR
from cutline.words.characters import chars_of
from cutline.words.steps import ByteLetters

__all__ = [
    "Split",
    "letters_first",
    "make_split",
    "make_steps",
    "never_takes",
    "read_pattern",
    "scripts_pattern",
    "without_white_space",
]

_ONE_BLANK: Final = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
_BEHAVIORS: Final[dict[str, Behavior]] = {
    "Isolated": "isolated",
    "Removed": "removed",
    "Contiguous": "contiguous",
    "MergedWithPrevious": "merged with previous",
    "MergedWithNext": "merged with next",
}
_MOST_FIXED: Final = 1_000  # characters of a piece: an automaton has a state for each
_ASCII: Final = CharSet.from_ranges([(0, 0x80)])
_AROUND_SPACE: Final = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")


def make_steps(parts: Sequence[Part], source: str, *, over_bytes: bool = False) -> tuple[Step, ...]:
    """Turn normalizers into steps.

    Args:
        parts: the normalizers.
        source: where they come from.
        over_bytes: the model is over bytes, those of the letters that one may write for bytes.

    Raises:
        VocabularyError: one is not supported; shows it.
    """
    steps: list[Step] = []
    for part in parts:
        match part:
            case {"type": "NFC" | "NFD" | "NFKC" | "NFKD" as name}:
                steps.append(Form(name))
            case {"type": "Lowercase"}:
                steps.append(Lower())
            case {"type": "Strip", "strip_left": bool() as left, "strip_right": bool() as right}:
                steps.append(Strip(left, right))
            case {"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""}:
                steps.append(StripBlanks(True, True))
            case {"type": "Prepend", "prepend": str() as prefix}:
                steps.append(Prepend(prefix))
            case {"type": "Replace", "pattern": {"String": str() as old}, "content": str() as new}:
                if not old:
                    raise refused(source, "normalizer", part, "it replaces nothing")
                steps.append(Replace(old, new))
            case {"type": "ByteLevel"} if over_bytes:
                steps.append(ByteLetters())
            case _:
                steps += word_steps(part, source)
    return tuple(steps)


def without_white_space(
    parts: Sequence[Part], split: "Split", added_tokens: Iterable[AddedToken]
) -> list[Part]:
    """Leave out normalizers that have no effect, for they change white space that is dropped.

    Such is the replacement of runs of white space by a blank, where no piece has any of the two,
    no added token is found by it, and later steps change each side of it apart.
    """
    kept: list[Part] = []
    is_dropped = never_takes(split, SPACE) and not any(
        set(token.content) & set(SPACE) for token in added_tokens if token.normalized
    )
    for part in reversed(parts):
        is_dropped = is_dropped and (part["type"] in _AROUND_SPACE or part == _ONE_BLANK)
        if not is_dropped or part != _ONE_BLANK:
            kept.append(part)
    return kept[::-1]


def never_takes(split: "Split | TokenizerSpec", characters: str) -> bool:
    """Return whether no piece has one of these characters.

    Of several splittings one that drops them suffices: the others cut its pieces, or it theirs.
    """
    if split.splittings:
        return all(has_automaton(one.pat_str) for one in split.splittings) and any(
            one.behavior == "removed" and one.inverted and _never_matches(one.pat_str, characters)
            for one in split.splittings
        )
    return split.pat_str is not None and _never_matches(split.pat_str, characters)


def _never_matches(pat_str: str, characters: str) -> bool:
    tables = Tables(pat_str)
    classes = np.unique(tables.classes_in(characters))
    goes_on = tables.targets[START:, classes] != 0
    ends = tables.accepts[START:, classes] == ACCEPT_HERE
    return not (goes_on | ends).any()


def letters_first(
    parts: Sequence[Part], added_tokens: Iterable[AddedToken], source: str
) -> tuple[tuple[Step, ...], Sequence[Part]]:
    """Write each ByteLevel at the start but the last one of all as steps.

    Returns:
        The steps, and the other pre-tokenizers, which split the letters that these write.

    Raises:
        VocabularyError: texts are split before, or added tokens would be found in the letters.
    """
    steps: tuple[Step, ...] = ()
    while [part["type"] for part in parts].count("ByteLevel") > 1:
        first, leads = parts[0], bool(parts[0].get("add_prefix_space", True))
        if first["type"] != "ByteLevel" or first.get("use_regex", True):
            why = "texts are split before a second ByteLevel, which writes letters for letters"
            raise refused(source, "pre_tokenizer", list(parts), why)
        for token in added_tokens:
            # Others are found in the letters where they are in the text.
            looks = leads or token.lstrip or token.rstrip or token.single_word
            if token.normalized and looks:
                why = "it is searched for before the letters of two ByteLevel are written"
                raise refused(source, "added token", token.content, why)
        steps += (Lead(" "), ByteLetters()) if leads else (ByteLetters(),)
        parts = parts[1:]
    return steps, parts


class Split(NamedTuple):
    """What pre-tokenizers do.

    Attributes:
        pat_str: the split pattern; None: texts are not split.
        prefix_space: texts get a leading blank.
        splittings: what splits texts, where that is not known to be one pattern.
        led_pat_str: splits pieces that get a leading blank each; "": they get none.
    """

    pat_str: str | None
    prefix_space: bool
    splittings: tuple[Splitting, ...] = ()
    led_pat_str: str = ""


def make_split(parts: Sequence[Part], source: str, *, is_newer: bool = False) -> Split:
    """Turn pre-tokenizers into a split pattern, or into several splittings.

    Args:
        parts: as version 1 of the file has them.
        source: where they come from.
        is_newer: the file is of version 2, so that `tokenizers` 1 reads it.

    Raises:
        VocabularyError: text is not turned into bytes, or the order is not supported.
        PatternError: a pattern is not known to mean the same here.
    """
    place = next((at for at, part in enumerate(parts) if part["type"] == "ByteLevel"), None)
    if place is None:
        why = "byte-level BPE has the pre-tokenizer ByteLevel"
        raise refused(source, "pre_tokenizer", list(parts) or None, why)
    before, to_bytes = parts[:place], parts[place]
    after = splittings_after_bytes(parts[place + 1 :], source)
    prefix_space = bool(to_bytes.get("add_prefix_space", True))
    uses_regex = to_bytes.get("use_regex", True)
    if prefix_space and before:
        bare = {**to_bytes, "add_prefix_space": False, "use_regex": False}
        first = make_split([*before, bare], source, is_newer=is_newer)
        if after or not never_takes(first, SPACE):
            why = "a blank would be put before every piece, but pieces can have white space"
            raise refused(source, "pre_tokenizer", list(parts), why)
        return first._replace(led_pat_str=R50K_PAT_STR if uses_regex else LED_PIECE)
    if uses_regex and not before and not after:
        return Split(R50K_PAT_STR, prefix_space)
    try:
        read = [(part, one) for part in before for one in _splittings(part, source, is_newer)]
    except PatternError as error:
        raise type(error)(f"{source}: {error}; {WRAP_HINT}") from error
    try:
        is_own = any(one.pat_str == runs_of_numbers() for one in after)
        if is_own or any(part["type"] == "UnicodeScripts" for part in before):
            raise UnsupportedPatternError("files have no Split for it")
        stages = [_stage(one, is_pattern=part["type"] == "Split") for part, one in read]
        if uses_regex:
            stages.append(Matches(GPT2_REGEX, keeps_gaps=True))
        stages += [_stage(one, is_pattern=False) for one in after]
        return Split(compose(stages), prefix_space)
    except UnsupportedPatternError:
        splittings = [one for _, one in read]
    if uses_regex:
        splittings.append(Splitting(GPT2_REGEX, "isolated"))
    return Split(None, prefix_space, (*splittings, *after))


def _splittings(part: Part, source: str, is_newer: bool) -> Iterator[Splitting]:
    """Read a pre-tokenizer."""
    match part:
        case {"type": "Split", "pattern": {"Regex": str() as pattern}, "behavior": str() as how}:
            inverted = bool(part.get("invert"))
            yield Splitting(read_pattern(pattern), _behavior(how, part, source), inverted)
        case {"type": "Split", "pattern": {"String": str() as text}, "behavior": str() as how}:
            inverted = bool(part.get("invert"))
            yield Splitting(literal(text), _behavior(how, part, source), inverted)
        case {"type": "CharDelimiterSplit", "delimiter": str() as text}:
            yield Splitting(literal(text), "removed")
        case {"type": "Digits"}:
            alone = part.get("individual_digits")
            yield Splitting(_number(), "isolated" if alone else "contiguous")
        case {"type": "WhitespaceSplit"}:
            yield Splitting(r"\s", "removed")
        case {"type": "Whitespace"}:
            more = _newer_word() if is_newer else ""
            word = rf"[\w{more}]" if more else r"\w"
            yield Splitting(rf"{word}+|[^\w\s{more}]+", "removed", inverted=True)
        case {"type": "Punctuation"}:
            how = str(part.get("behavior", "Isolated"))
            newer = is_newer and how in ("Isolated", "Removed")
            yield Splitting(_punctuation(newer), _behavior(how, part, source))
        case {"type": "BertPreTokenizer"}:
            yield Splitting(r"\s", "removed")
            yield Splitting(_punctuation(is_newer), "isolated")
        case {"type": "UnicodeScripts"}:
            yield Splitting(scripts_pattern(), "removed", inverted=True)
        case {"type": "FixedLength", "length": int() as length} if 0 < length <= _MOST_FIXED:
            yield Splitting(rf"[\s\S]{{1,{length}}}", "isolated")
        case {"type": "FixedLength", "length": int() as length} if length > _MOST_FIXED:
            why = f"pieces can have {_MOST_FIXED} characters, for an automaton has a state for each"
            raise refused(source, "pre_tokenizer", part, why)
        case {"type": "Metaspace"}:
            why = "before ByteLevel, it must be the first one"
            raise refused(source, "pre_tokenizer", part, why)
        case _:
            why = "only those that docs/tokenizers.md lists can be"
            raise refused(source, "pre_tokenizer", part, why)


def read_pattern(pattern: str) -> str:
    """Read a pattern, for the automaton if it has one."""
    try:
        pat_str = from_oniguruma(pattern)
        compile_pattern(pat_str)
    except UnsupportedPatternError as error:
        try:
            return from_oniguruma_for_search(pattern)
        except UnsupportedPatternError:
            raise error from None
    return pat_str


def _behavior(how: str, part: Part, source: str) -> Behavior:
    if how not in _BEHAVIORS:
        raise refused(source, "pre_tokenizer", part, f"no behavior is called {how!r}")
    return _BEHAVIORS[how]


def _stage(one: Splitting, *, is_pattern: bool) -> Stage:
    """Write a splitting for `compose`.

    Args:
        one: the splitting.
        is_pattern: it is the pattern of a Split; others are of one character.

    Raises:
        UnsupportedPatternError: it merges matches of several characters, or has no automaton.
    """
    parse_pattern(one.pat_str)
    if one.behavior == "isolated" and is_pattern:
        return Matches(one.pat_str, keeps_gaps=True)
    if one.behavior == "removed" and one.inverted:
        return Matches(one.pat_str, keeps_gaps=False)
    atom = _atom(one.pat_str)
    if atom is not None and not one.inverted:
        return _split_class(atom, one.behavior)
    if one.behavior == "isolated":
        return Matches(one.pat_str, keeps_gaps=True)
    raise UnsupportedPatternError("other behaviors than Isolated need a pattern for one character")


def _split_class(members: CharClass, behavior: Behavior) -> Stage:
    outside = (~members).source
    match behavior:
        case "isolated":
            return _by_class(members, 1, None)
        case "contiguous":
            return _by_class(members, None, None)
        case "removed":
            return _by_class(members, DROPPED, None)
        case "merged with previous":
            return Matches(f"{outside}*{members.source}|{outside}+", keeps_gaps=True)
        case "merged with next":
            return Matches(f"{members.source}{outside}*|{outside}+", keeps_gaps=True)


def _by_class(members: CharClass, limit: int | None, rest: int | None) -> Runs:
    return Runs((Run(members, limit), Run(~members, rest)))


@cache
def scripts_pattern() -> str:
    """Write the pattern of what UnicodeScripts keeps together.

    What has no script goes on with the one before; it is dropped where there is none.
    """
    scripts = (f"UnicodeScripts={one}" for one in unicode_scripts() if one != "Any")
    runs = (
        rf"\p{{{one}}}[\p{{{one}}}\p{{UnicodeScripts=Any}}]*"
        for one in scripts
        if len(find_property(one) or ())
    )
    return "|".join(runs)


@cache
def _number() -> str:
    """Write the set of what the pre-tokenizer Digits takes for one: it has Unicode 17."""
    return rf"[\p{{N}}{_written(chars_of('digits') - _property('N'))}]"


@cache
def _newer_word() -> str:
    r"""Write, for use in a set, what `tokenizers` 1 has in `\w` besides."""
    return _written(chars_of("newer word") - chars_of("word"))


@cache
def _punctuation(is_newer: bool) -> str:
    r"""Write the set of what the pre-tokenizer Punctuation takes for it.

    Without that of `tokenizers` 1 it has an older Unicode version than `\p{P}`.
    """
    members, known = chars_of("newer punctuation" if is_newer else "punctuation"), _property("P")
    more = rf"\p{{P}}!-/:-@\[-`{{-~{_written(members - known - _ASCII)}"
    return f"[{more}]" if is_newer else f"[[{more}]&&[^{_written(known - members)}]]"


def _property(name: str) -> CharSet:
    found = find_property(name)
    assert found is not None
    return found


def _written(chars: CharSet) -> str:
    """Write characters for use in a set."""
    spans = ((start, end - 1) for start, end in chars.ranges())
    return "".join(
        rf"\x{{{first:X}}}" + (rf"-\x{{{last:X}}}" if last > first else "") for first, last in spans
    )


def _atom(pattern: str) -> CharClass | None:
    """Read a pattern that matches any one character of a set."""
    tree = parse_pattern(pattern)
    return CharClass(tree.chars, tree.source) if isinstance(tree, Chars) else None
