"""Normalizers and pre-tokenizers of a `tokenizer.json`, as steps and a split pattern."""

import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from cutline.errors import PatternError
from cutline.formats.huggingface import GPT2_REGEX
from cutline.formats.merges import WRAP_HINT
from cutline.formats.tokenizer_json import Part, refused
from cutline.formats.word_json import word_steps
from cutline.normalizing import SPACE, Form, Lower, Prepend, Replace, Step, Strip
from cutline.pretokenize.analysis import START, Tables
from cutline.pretokenize.charset import CharSet
from cutline.pretokenize.compiled import ACCEPT_HERE
from cutline.pretokenize.composing import DROPPED, Matches, Run, Runs, Stage, compose
from cutline.pretokenize.oniguruma import from_oniguruma
from cutline.pretokenize.pattern import Chars, parse_pattern
from cutline.pretokenize.restricting import ANY, CharClass
from cutline.pretokenize.unicode import find_property
from cutline.spec import AddedToken
from cutline.vocabulary import R50K_PAT_STR

__all__ = ["make_pattern", "make_steps", "never_takes", "without_white_space"]

_ONE_BLANK: Final = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
_MOST_FIXED: Final = 1_000  # characters of a piece: an automaton has a state for each
_AROUND_SPACE: Final = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")

_NEWER_MARKS: Final = (
    "61D 9FD A76 C77 C84 1B4E-1B4F 1B7D-1B7F 2E43-2E4F 2E52-2E5D 10D6E 10EAD 10F55-10F59 "
    "10F86-10F89 113D4-113D5 113D7-113D8 1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9 1183B "
    "11944-11946 119E2 11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11B00-11B09 11BE1 11C41-11C45 "
    "11C70-11C71 11EF7-11EF8 11F43-11F4F 11FFF 12FF1-12FF2 16D6D-16D6F 16E97-16E9A 16FE2 1E5FF "
    "1E95E-1E95F"
)
r"""In `\p{P}`, but not in the pre-tokenizer Punctuation, which has an older Unicode version."""


def make_steps(parts: Sequence[Part], source: str) -> tuple[Step, ...]:
    """Turn normalizers into steps.

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
            case {"type": "Prepend", "prepend": str() as prefix}:
                steps.append(Prepend(prefix))
            case {"type": "Replace", "pattern": {"String": str() as old}, "content": str() as new}:
                if not old:
                    raise refused(source, "normalizer", part, "it replaces nothing")
                steps.append(Replace(old, new))
            case _:
                steps += word_steps(part, source)
    return tuple(steps)


def without_white_space(
    parts: Sequence[Part], pat_str: str | None, added_tokens: Iterable[AddedToken]
) -> list[Part]:
    """Leave out normalizers that have no effect, for they change white space that is dropped.

    Such is the replacement of runs of white space by a blank, where no piece has any of the two,
    no added token is found by it, and later steps change each side of it apart.
    """
    kept: list[Part] = []
    is_dropped = never_takes(pat_str, SPACE) and not any(
        set(token.content) & set(SPACE) for token in added_tokens if token.normalized
    )
    for part in reversed(parts):
        is_dropped = is_dropped and (part["type"] in _AROUND_SPACE or part == _ONE_BLANK)
        if not is_dropped or part != _ONE_BLANK:
            kept.append(part)
    return kept[::-1]


def never_takes(pat_str: str | None, characters: str) -> bool:
    """Return whether no piece of a split pattern has one of these characters."""
    if pat_str is None:
        return False
    tables = Tables(pat_str)
    classes = np.unique(tables.classes_in(characters))
    goes_on = tables.targets[START:, classes] != 0
    ends = tables.accepts[START:, classes] == ACCEPT_HERE
    return not (goes_on | ends).any()


def make_pattern(parts: Sequence[Part], source: str) -> tuple[str | None, bool]:
    """Turn pre-tokenizers into a split pattern.

    Returns:
        The split pattern, and whether texts get a leading blank.

    Raises:
        VocabularyError: text is not turned into bytes, or the order is not supported.
        PatternError: a pattern is not known to mean the same here, or several are not known to
            be equivalent to one pattern.
    """
    *before, last = parts or [{}]
    if last.get("type") != "ByteLevel" or any(part["type"] == "ByteLevel" for part in before):
        why = "byte-level BPE ends with the pre-tokenizer ByteLevel"
        raise refused(source, "pre_tokenizer", list(parts) or None, why)
    prefix_space = bool(last.get("add_prefix_space", True))
    if prefix_space and before:
        why = "a blank would be put before every piece"
        raise refused(source, "pre_tokenizer", list(parts), why)
    try:
        stages = [stage for part in before for stage in _stages(part, source)]
        if last.get("use_regex", True):
            if not stages:
                return R50K_PAT_STR, prefix_space
            stages.append(Matches(GPT2_REGEX, keeps_gaps=True))
        return compose(stages), prefix_space
    except PatternError as error:
        raise type(error)(f"{source}: {error}; {WRAP_HINT}") from error


def _stages(part: Part, source: str) -> Iterator[Stage]:
    if part["type"] == "BertPreTokenizer":
        yield _stage({"type": "WhitespaceSplit"}, source)
        part = {"type": "Punctuation"}
    yield _stage(part, source)


def _stage(part: Part, source: str) -> Stage:
    match part:
        case {"type": "FixedLength", "length": int() as length} if 0 < length <= _MOST_FIXED:
            return Runs((Run(ANY, length),))
        case {"type": "Split", "pattern": {"Regex": str() as pattern}, "behavior": str() as how}:
            return _split(from_oniguruma(pattern), how, bool(part.get("invert")), part, source)
        case {"type": "Split", "pattern": {"String": str() as text}, "behavior": str() as how}:
            return _split(_literal(text), how, bool(part.get("invert")), part, source)
        case {"type": "CharDelimiterSplit", "delimiter": str() as text}:
            return _split(_literal(text), "Removed", False, part, source)
        case {"type": "Digits"}:
            each = 1 if part.get("individual_digits") else None
            return _by_class(_property("N"), each, None)
        case {"type": "WhitespaceSplit"}:
            return _by_class(CharClass(_property("White_Space").chars, r"\s"), DROPPED, None)
        case {"type": "Whitespace"}:
            return Matches(r"\w+|[^\w\s]+", keeps_gaps=False)
        case {"type": "Punctuation"}:
            how = str(part.get("behavior", "Isolated"))
            return _split_class(_punctuation(), how, part, source)
    raise refused(source, "pre_tokenizer", part, "only those that docs/tokenizers.md lists can be")


def _split(pattern: str, how: str, invert: bool, part: Part, source: str) -> Stage:
    """Read how a Split treats the matches of a pattern and the text between them."""
    if how == "Isolated":
        return Matches(pattern, keeps_gaps=True)
    if how == "Removed" and invert:
        return Matches(pattern, keeps_gaps=False)
    atom = _atom(pattern)
    if atom is None or invert:
        why = "other behaviors than Isolated need a pattern for one character"
        raise refused(source, "pre_tokenizer", part, why)
    return _split_class(atom, how, part, source)


def _split_class(members: CharClass, how: str, part: Part, source: str) -> Stage:
    simple: dict[str, Callable[[], Stage]] = {
        "Isolated": lambda: _by_class(members, 1, None),
        "Contiguous": lambda: _by_class(members, None, None),
        "Removed": lambda: _by_class(members, DROPPED, None),
        "MergedWithPrevious": lambda: Matches(
            f"{(~members).source}*{members.source}|{(~members).source}+", keeps_gaps=True
        ),
        "MergedWithNext": lambda: Matches(
            f"{members.source}{(~members).source}*|{(~members).source}+", keeps_gaps=True
        ),
    }
    if how not in simple:
        raise refused(source, "pre_tokenizer", part, f"no behavior is called {how!r}")
    return simple[how]()


def _by_class(members: CharClass, limit: int | None, rest: int | None) -> Runs:
    return Runs((Run(members, limit), Run(~members, rest)))


def _property(name: str) -> CharClass:
    chars = find_property(name)
    assert chars is not None
    return CharClass(chars, rf"\p{{{name}}}")


def _punctuation() -> CharClass:
    newer = [one.split("-") for one in _NEWER_MARKS.split(" ")]
    written = "".join("-".join(rf"\x{{{edge}}}" for edge in one) for one in newer)
    marks = CharSet.from_ranges((int(one[0], 16), int(one[-1], 16) + 1) for one in newer)
    added = CharSet.from_ranges(
        (ord(mark), ord(mark) + 1) for mark in f"{string.punctuation}\u166d\U000111c9"
    )
    chars = (_property("P").chars | added) - marks
    return CharClass(chars, rf"[[\p{{P}}!-/:-@\[-`{{-~\x{{166D}}\x{{111C9}}]&&[^{written}]]")


def _atom(pattern: str) -> CharClass | None:
    """Read a pattern that matches any one character of a set."""
    tree = parse_pattern(pattern)
    return CharClass(tree.chars, tree.source) if isinstance(tree, Chars) else None


def _literal(text: str) -> str:
    """Write a pattern that matches a text."""
    return "".join(rf"\x{{{ord(character):X}}}" for character in text)
