"""The normalization steps of WordPiece and Unigram that BPE has not. See `normalizing.Step`."""

import re
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from cutline.checks import without_surrogates
from cutline.kernels.words.classes import change_members
from cutline.normalizing import SPACE, StripBlanks, Traced, blocks, of_each
from cutline.vocabulary.letters import as_text
from cutline.words.characters import ClassName, chars_of, members_of

__all__ = [
    "ByCharacter",
    "ByteLetters",
    "Collapse",
    "CollapseWhite",
    "Kind",
    "ReplaceEach",
    "part_of_file",
    "removes_accents",
]

Kind = Literal["bert clean text", "bert chinese", "bert accents", "accents", "nmt"]

# What is written instead of the members of classes; None: they are put between blanks.
_CHANGES: Final[dict[Kind, tuple[tuple[ClassName, str | None], ...]]] = {
    "bert clean text": (("bert controls", ""), ("white space", " ")),
    "bert chinese": (("chinese", None),),
    "bert accents": (("bert accents", ""),),
    "accents": (("accents", ""),),
    "nmt": (("nmt controls", ""), ("nmt blanks", " ")),
}


class _Alone:
    """A step that changes each character alone."""

    __slots__ = ()

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        raise NotImplementedError

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        lengths = of_each(traced.text, lambda one: len(self.apply(one)))
        return traced.rewritten(self.apply(traced.text), np.arange(len(lengths)), lengths)

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return self.apply(character) == character

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return self.apply(text) == text


@dataclass(frozen=True, slots=True)
class ByCharacter(_Alone):
    """Removes some characters, makes blanks of others, or puts blanks around them.

    Attributes:
        kind: which: a switch of BertNormalizer ("bert accents" comes after NFD), StripAccents
            or Nmt.
    """

    kind: Kind

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return "".join(map(self._apply, blocks(text)))

    def _apply(self, text: str) -> str:
        text = without_surrogates(text)
        for name, instead in _CHANGES[self.kind]:
            text = change_members(text, chars_of(name).edges, instead)
        return text


def removes_accents(step: object) -> bool:
    """Return whether a step removes accents that one before it has taken off."""
    return isinstance(step, ByCharacter) and step.kind in ("bert accents", "accents")


@dataclass(frozen=True, slots=True)
class ReplaceEach(_Alone):
    """Replaces each character of a class.

    Attributes:
        members: the class, as a split pattern writes it.
        new: what is written instead.
    """

    members: str
    new: str

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return change_members(without_surrogates(text), members_of(self.members).edges, self.new)


@dataclass(frozen=True, slots=True)
class ByteLetters(_Alone):
    """Writes GPT-2's letters for the bytes of each character, where ByteLevel does so once more."""

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return as_text(without_surrogates(text).encode())


_BLANKS: Final = re.compile("  +")
_WHITE: Final = re.compile(f"[{SPACE}]{{2,}}")
_OTHER_WHITE: Final = re.compile(f"[{SPACE.replace(' ', '')}]")


def _traced_runs(runs: re.Pattern[str], new: str, traced: Traced) -> Traced:
    """Replace runs; what comes of one is at its first character."""
    lengths = np.ones(len(traced.text), dtype=np.int64)
    begins = np.ones(len(traced.text), dtype=np.bool_)
    for found in runs.finditer(traced.text):
        begins[found.start() + 1 : found.end()] = False
        lengths[found.start()] = len(new)
    starts = np.flatnonzero(begins)
    return traced.rewritten(runs.sub(lambda _: new, traced.text), starts, lengths[starts])


@dataclass(frozen=True, slots=True)
class Collapse:
    """Replaces each run of two or more blanks.

    Attributes:
        new: by this.
    """

    new: str

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return _BLANKS.sub(lambda _: self.new, text)

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        return _traced_runs(_BLANKS, self.new, traced)

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return character != " "

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return "  " not in text


@dataclass(frozen=True, slots=True)
class CollapseWhite:
    """Replaces each run of two or more characters of white space by a blank; one alone stays."""

    def apply(self, text: str) -> str:
        """See `Step.apply`."""
        return _WHITE.sub(" ", text)

    def trace(self, traced: Traced) -> Traced:
        """See `Step.trace`."""
        return _traced_runs(_WHITE, " ", traced)

    def keeps(self, character: str) -> bool:
        """See `Step.keeps`."""
        return character not in SPACE

    def keeps_slices(self, text: str) -> bool:
        """See `Step.keeps_slices`."""
        return _WHITE.search(text) is None

    @staticmethod
    def acts_alone(text: str) -> bool:
        """Return whether all white space is blanks: then it does what `Collapse` does."""
        return _OTHER_WHITE.search(text) is None


def part_of_file(step: object) -> str:
    """Return how a tokenizer's file names a part, for messages."""
    match step:
        case Collapse():
            return f"Replace of runs of blanks by {step.new!r}"
        case CollapseWhite():
            return "Replace of runs of white space by a blank"
        case StripBlanks():
            return r"Replace of \A +| +\z by nothing"
        case ByCharacter():
            return {"accents": "StripAccents", "nmt": "Nmt"}.get(step.kind, "BertNormalizer")
    return repr(step)
