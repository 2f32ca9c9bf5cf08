"""How the words of decoded tokens are put together, as `decoder` in a tokenizer.json says."""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["JOINED", "JoinMetaspace", "JoinWordPiece", "Joiner"]


@dataclass(frozen=True, slots=True)
class JoinWordPiece:
    """Tokens get a blank before them, but for the first and those that continue a word.

    Attributes:
        prefix: what tokens begin with that continue a word.
        cleanup: blanks before punctuation and before English contractions are removed.
    """

    prefix: str = "##"
    cleanup: bool = True


@dataclass(frozen=True, slots=True)
class JoinMetaspace:
    """The replacement becomes a blank, but for that before the first word.

    Attributes:
        prepend: as in `Metaspace`; "never" keeps the first blank.
        replacement: a character.
        has_bytes: tokens `<0x00>` to `<0xFF>` are bytes.
        drops_blank: of the text, a blank at the start is dropped.
    """

    prepend: Literal["always", "first", "never"] = "always"
    replacement: str = "\u2581"
    has_bytes: bool = False
    drops_blank: bool = False


JOINED: Final = JoinMetaspace("never", " ")
"""Nothing is put between tokens, and a blank stays one: a sequence of no decoders."""

Joiner = JoinWordPiece | JoinMetaspace
