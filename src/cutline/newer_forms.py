"""Normal forms of Unicode 17, which `tokenizers` 1 has, with an older Python or a newer one.

Python's own tables are used for the characters of Unicode 14, which no version changes; the later
ones that a normal form affects are listed here. The tests compare all with `tokenizers` 1.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import groupby
from typing import Final, Literal

__all__ = ["combining", "normalize_newer"]

_Decomposition = Literal["NFD", "NFKD"]

_CANONICAL: Final = (
    "105C9=105D2+307 105E4=105DA+307 11383=11382+113C9 11385=11384+113BB 1138E=1138B+113C2 "
    "11391=11390+113C9 113C5=113C2+113C2 113C7=113C2+113B8 113C8=113C2+113C9 16121=1611E+1611E "
    "16122=1611E+16129 16123=1611E+1611F 16124=16129+1611F 16125=1611E+16120 "
    "16126=1611E+1611E+1611F 16127=1611E+16129+1611F 16128=1611E+1611E+16120 16D68=16D67+16D67 "
    "16D69=16D63+16D67 16D6A=16D63+16D67+16D67"
)
"""What characters decompose into, and are composed of from left to right."""

_COMPATIBLE: Final = {
    0xA7F1: "S",
    0x1CCD6: "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    0x1E030: (
        "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438\u043a\u043b\u043c\u043e\u043f"
        "\u0440\u0441\u0442\u0443\u0444\u0445\u0446\u0447\u0448\u044b\u044d\u044e\ua689\u04d9"
        "\u0456\u0458\u04e9\u04af\u04cf\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438"
        "\u043a\u043b\u043e\u043f\u0441\u0443\u0444\u0445\u0446\u0447\u0448\u044a\u044b\u0491"
        "\u0456\u0455\u045f\u04ab\ua651\u04b1"
    ),
}
"""The first one of some neighbours, and what they become in NFKC and NFKD."""

_CLASSES: Final = {
    9: "113CE-113D0 11F41-11F42 1612F",
    220: "1ADD 1AE6 10EFA-10EFB 10EFD-10EFF 1E4EE 1E5EF",
    230: (
        "897 1ACF-1ADC 1AE0-1AE5 1AE7-1AEA 10D69-10D6D 1E08F 1E4EF 1E5EE 1E6E3 1E6E6 1E6EE-1E6EF "
        "1E6F5"
    ),
    232: "1E4EC-1E4ED",
    234: "1AEB",
}
"""The combining classes of marks."""

_UNKNOWN: Final = (
    "558 58B-58C 5C8-5C9 1ADE-1ADF 1AEC-1AF0 209D-209F 107BB-107BF 10ECB-10ECF 10EF0-10EF9 "
    "1B123-1B126 1D127-1D128 1D250-1D252 1D25B-1D25C 1D25F 1D280-1D281 1D6A6 1DF95 1DFCD-1DFFF"
)
"""Added by Unicode 18: they stay as they are."""


def normalize_newer(name: str, text: str) -> str:
    r"""Normalize a text that has characters which an older Python does not know.

    Args:
        name: NFC, NFD, NFKC or NFKD.
        text: any text.

    Cost: linear, some microseconds for a character; `n log n` for n marks on one letter.

    >>> normalize_newer("NFC", "\U00016d63\U00016d67\U00016d67")
    '\U00016d6a'
    """
    form: _Decomposition = "NFKD" if "K" in name else "NFD"
    parts = _ordered("".join(_decomposed(character, form) for character in text))
    return "".join(parts if name in ("NFD", "NFKD") else _composed(parts))


@cache
def combining(character: str) -> int:
    """Return the combining class of a character."""
    return _classes().get(ord(character), unicodedata.combining(character))


@cache
def _decomposed(character: str, form: _Decomposition) -> str:
    code = ord(character)
    if (whole := _canonical().get(code)) is not None:
        return whole
    for first, parts in _COMPATIBLE.items():
        if first <= code < first + len(parts):
            return parts[code - first] if form == "NFKD" else character
    return character if code in _unknown() else unicodedata.normalize(form, character)


def _ordered(text: str) -> Iterator[str]:
    """Sort marks by combining class."""
    for are_marks, run in groupby(text, lambda one: combining(one) != 0):
        characters = [*run]
        yield from sorted(characters, key=combining) if are_marks else characters


def _composed(characters: Iterable[str]) -> list[str]:
    """Compose characters with the last one before them that is no mark."""
    found: list[str] = []
    base, last = -1, 0  # the place of that one, and the class of the last mark after it
    for character in characters:
        own = combining(character)
        is_blocked = base < len(found) - 1 and last >= own
        if base >= 0 and not is_blocked and (whole := _pair(found[base], character)):
            found[base] = whole
            continue
        if own == 0:
            base, last = len(found), 0
        else:
            last = own
        found.append(character)
    return found


@lru_cache(maxsize=1 << 14)
def _pair(first: str, second: str) -> str:
    """Return what two characters compose to; "": they do not."""
    whole = _composites().get(first + second)
    if whole is None:
        whole = unicodedata.normalize("NFC", first + second)
    return whole if len(whole) == 1 else ""


@cache
def _canonical() -> dict[int, str]:
    rows = (row.split("=") for row in _CANONICAL.split(" "))
    return {
        int(code, 16): "".join(chr(int(one, 16)) for one in parts.split("+"))
        for code, parts in rows
    }


@cache
def _composites() -> dict[str, str]:
    found: dict[str, str] = {}
    for code, parts in sorted(_canonical().items(), key=lambda row: len(row[1])):
        found[found.get(parts[:-1], parts[:-1]) + parts[-1]] = chr(code)
    return found


@cache
def _classes() -> dict[int, int]:
    return {code: number for number, ranges in _CLASSES.items() for code in _codes(ranges)} | (
        dict.fromkeys(_unknown(), 0)
    )


@cache
def _unknown() -> frozenset[int]:
    return frozenset(_codes(_UNKNOWN))


def _codes(ranges: str) -> Iterator[int]:
    for one in ranges.split(" "):
        first, _, last = one.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)
