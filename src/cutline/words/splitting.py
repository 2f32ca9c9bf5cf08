"""What splits normalized text into words, as `pre_tokenizer` in a tokenizer.json says."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Behavior", "Metaspace", "SplitClass", "Splitter", "WhitespaceSplit"]


Behavior = Literal["isolated", "contiguous", "removed", "merged with previous", "merged with next"]


@dataclass(frozen=True, slots=True)
class WhitespaceSplit:
    """White space is removed, and ends words."""


@dataclass(frozen=True, slots=True)
class SplitClass:
    r"""Characters of a class are words apart from the others.

    Attributes:
        members: the class: "punctuation", "newer punctuation", "digits", "word" (`\w`) or "newer
            word", or as a split pattern writes it. The newer ones are those of `tokenizers` 1.
        behavior: each of them is a word ("isolated"), each run of them is ("contiguous"), they
            are removed, or each ends a word ("merged with previous") or begins one.
    """

    members: str
    behavior: Behavior


@dataclass(frozen=True, slots=True)
class Metaspace:
    """A blank becomes a replacement, with which words begin.

    Attributes:
        prepend: whether words that do not begin with it get one: "always", only the one at the
            start of a text ("first"), or "never".
        splits: False: the text is one piece.
        replacement: a character.
        leads_all: one is put before a text that begins with it, too; not where it splits.
    """

    prepend: Literal["always", "first", "never"] = "always"
    splits: bool = True
    replacement: str = "\u2581"
    leads_all: bool = False


Splitter = WhitespaceSplit | SplitClass | Metaspace
