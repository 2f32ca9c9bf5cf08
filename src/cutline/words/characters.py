"""Classes of characters as `tokenizers` has them, whatever the Unicode version of Python.

Its parts follow different versions: the crate unicode_categories has 8, unicode-normalization
9, the standard library of Rust and unicode-segmentation 17. Each class is written as its
differences from Unicode 16, whose tables the package has; `tests/words/test_characters.py`
compares all code points with `tokenizers`.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, Literal, get_args

from cutline.pretokenize.atoms import AtomReader
from cutline.pretokenize.charset import CharSet, union
from cutline.pretokenize.unicode import WHITE_SPACE, WORD, find_property

__all__ = ["ClassName", "chars_of", "class_pattern", "members_of"]

ClassName = Literal[
    "white space",
    "word",
    "newer word",
    "digits",
    "punctuation",
    "newer punctuation",
    "marks",
    "bert controls",
    "bert accents",
    "accents",
    "chinese",
    "nmt controls",
    "nmt blanks",
    "joins",
    "prepends",
    "pictographs",
    "consonants",
    "linkers",
    "spacing marks",
    "breaks",
]
r"""Classes that steps and splitters name.

- "white space" and "digits": `char::is_whitespace` and `char::is_numeric` of Rust; "word": `\w`.
- "marks": of Unicode 16.
- "punctuation": of BertPreTokenizer and Punctuation. `tokenizers` 1 has newer ones.
- "bert controls", "bert accents", "chinese": what BertNormalizer removes or puts blanks around;
  "accents": what StripAccents removes; "nmt controls" and "nmt blanks": what Nmt does.
- "joins": joins the grapheme cluster before it; "prepends": joins the one after it;
  "pictographs", "consonants" and "linkers" join across some of the first; "spacing marks": of
  "joins", those that no conjunct of consonants has inside it; "breaks": no cluster contains it
  (without those of four bytes, which are in no short cluster anyway).
"""

_NEWER_PUNCTUATION: Final = (
    "61D 9FD A76 C77 C84 1B4E-1B4F 1B7D-1B7F 2E43-2E4F 2E52-2E5D 10D6E 10EAD 10F55-10F59 "
    "10F86-10F89 113D4-113D5 113D7-113D8 1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9 1183B "
    "11944-11946 119E2 11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11B00-11B09 11BE1 11C41-11C45 "
    "11C70-11C71 11EF7-11EF8 11F43-11F4F 11FFF 12FF1-12FF2 16D6D-16D6F 16E97-16E9A 16FE2 1E5FF "
    "1E95E-1E95F"
)
"""Added after Unicode 8, or classified so since."""

_WORD_17: Final = (
    "88F C5C CDC 1ACF-1ADD 1AE0-1AEB A7CE-A7CF A7D2 A7D4 A7F1 10940-10959 10EC5-10EC7 "
    "10EFA-10EFB 11B60-11B67 11DB0-11DDB 11DE0-11DE9 16EA0-16EB8 16EBB-16ED3 16FF2-16FF6 "
    "187F8-187FF 18D09-18D1E 18D80-18DF2 1E6C0-1E6DE 1E6E0-1E6F5 1E6FE-1E6FF 2B73A-2B73F "
    "2CEA2-2CEAD 323B0-33479"
)
r"""What Unicode 17 adds to `\w`."""

_NEWER_MN: Final = (
    "7FD 897-89F 8CA-8E1 9FE AFA-AFF B55 C04 C3C D00 D3B-D3C D81 EBA ECE 180F 1885-1886 1ABF-1ACE "
    "1DF6-1DFB A82C A8C5 A8FF A9BD 10D24-10D27 10D69-10D6D 10EAB-10EAC 10EFC-10EFF 10F46-10F50 "
    "10F82-10F85 11070 11073-11074 110C2 111C9 111CF 1123E 11241 1133B 113BB-113C0 113CE 113D0 "
    "113D2 113E1-113E2 11438-1143F 11442-11444 11446 1145E 1182F-11837 11839-1183A 1193B-1193C "
    "1193E 11943 119D4-119D7 119DA-119DB 119E0 11A01-11A0A 11A33-11A38 11A3B-11A3E 11A47 "
    "11A51-11A56 11A59-11A5B 11A8A-11A96 11A98-11A99 11C30-11C36 11C38-11C3D 11C3F 11C92-11CA7 "
    "11CAA-11CB0 11CB2-11CB3 11CB5-11CB6 11D31-11D36 11D3A 11D3C-11D3D 11D3F-11D45 11D47 "
    "11D90-11D91 11D95 11D97 11EF3-11EF4 11F00-11F01 11F36-11F3A 11F40 11F42 11F5A 13440 "
    "13447-13455 1611E-16129 1612D-1612F 16F4F 16FE4 1CF00-1CF2D 1CF30-1CF46 1E000-1E006 "
    "1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF "
    "1E4EC-1E4EF 1E5EE-1E5EF 1E944-1E94A"
)
"""The same for nonspacing marks."""

_NEWER_MARKS: Final = (
    "7FD 897-89F 8CA-8D3 9FE AFA-AFF B55 C04 C3C CF3 D00 D3B-D3C D81 EBA ECE 1715 180F 1ABF-1ACE "
    "1CF7 1DF6-1DFA A82C A8FF 10D24-10D27 10D69-10D6D 10EAB-10EAC 10EFC-10EFF 10F46-10F50 "
    "10F82-10F85 11070 11073-11074 110C2 11145-11146 111C9 111CE-111CF 11241 1133B 113B8-113C0 "
    "113C2 113C5 113C7-113CA 113CC-113D0 113D2 113E1-113E2 1145E 1182C-1183A 11930-11935 "
    "11937-11938 1193B-1193E 11940 11942-11943 119D1-119D7 119DA-119E0 119E4 11A01-11A0A "
    "11A33-11A39 11A3B-11A3E 11A47 11A51-11A5B 11A8A-11A99 11D31-11D36 11D3A 11D3C-11D3D "
    "11D3F-11D45 11D47 11D8A-11D8E 11D90-11D91 11D93-11D97 11EF3-11EF6 11F00-11F01 11F03 "
    "11F34-11F3A 11F3E-11F42 11F5A 13440 13447-13455 1611E-1612F 16F4F 16F7F-16F87 16FE4 "
    "16FF0-16FF1 1CF00-1CF2D 1CF30-1CF46 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF "
    "1E5EE-1E5EF"
)
"""Marks added after Unicode 9, or classified so since."""

_NOT_JOINING: Final = (
    "102B-102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63-1A64 AA7B AA7D "
    "11720-11721"
)
"""Spacing marks that join nothing."""

_JOINING: Final = (
    "E33 EB3 1ACF-1ADD 1AE0-1AEB 200C-200D FF9E-FF9F 10EFA-10EFB 11B60-11B67 1E6E3 1E6E6 "
    "1E6EE-1E6EF 1E6F5 1F3FB-1F3FF E0020-E007F"
)
"""What joins without being a mark of Unicode 16."""

_EXTENDING: Final = (
    "9BE 9D7 B3E B57 BBE BD7 CC0 CC2 CC7-CC8 CCA-CCB CD5-CD6 D3E D57 DCF DDF 1715 1734 1B35 1B3B "
    "1B3D 1B43-1B44 1BAA 1BF2-1BF3 302E-302F A953 A9C0 111C0 11235 1133E 1134D 11357 113B8 113C2 "
    "113C5 113C7-113C9 113CF 114B0 114BD 115AF 116B6 11930 1193D 11F41 16FF0-16FF1 1D165-1D166 "
    "1D16D-1D172"
)
"""Of category Mc, but no spacing marks of clusters."""

_CONSONANTS: Final = (
    "915-939 958-95F 978-97F 995-9A8 9AA-9B0 9B2 9B6-9B9 9DC-9DD 9DF 9F0-9F1 A95-AA8 AAA-AB0 "
    "AB2-AB3 AB5-AB9 AF9 B15-B28 B2A-B30 B32-B33 B35-B39 B5C-B5D B5F B71 C15-C28 C2A-C39 C58-C5A "
    "D15-D3A 1000-102A 103F 1050-1055 105A-105D 1061 1065-1066 106E-1070 1075-1081 108E 1780-17B3 "
    "1A20-1A54 1B0B-1B0C 1B13-1B33 1B45-1B4C 1B83-1BA0 1BAE-1BAF 1BBB-1BBD A989-A98B A98F-A9B2 "
    "A9E0-A9E4 A9E7-A9EF A9FA-A9FE AA60-AA6F AA71-AA73 AA7A AA7E-AA7F AAE0-AAEA ABC0-ABDA"
)
"""Indic_Conjunct_Break=Consonant."""

_LINKERS: Final = (
    "94D 9CD ACD B4D C4D D4D 1039 17D2 1A60 1B44 1BAB A9C0 AAF6 10A3F 11133 113D0 1193E 11A47 "
    "11A99 11F42"
)
"""Indic_Conjunct_Break=Linker."""

_PICTOGRAPHS: Final = (
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 "
    "25AA-25AB 25B6 25C0 25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 "
    "262A 262E-262F 2638-263A 2640 2642 2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F "
    "2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8 "
    "26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 2708-270D 270F 2712 "
    "2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797 "
    "27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004 1F02C-1F02F "
    "1F094-1F09F 1F0AF-1F0B0 1F0C0 1F0CF-1F0D0 1F0F6-1F0FF 1F170-1F171 1F17E-1F17F 1F18E "
    "1F191-1F19A 1F1AE-1F1E5 1F201-1F20F 1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F25F "
    "1F266-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F3FA "
    "1F400-1F4FD 1F4FF-1F53D 1F549-1F54E 1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D "
    "1F590 1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE "
    "1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 1F6D5-1F6E5 1F6E9 "
    "1F6EB-1F6F0 1F6F3-1F6FF 1F7DA-1F7FF 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F "
    "1F8AE-1F8AF 1F8BC-1F8BF 1F8C2-1F8CF 1F8D9-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1F9FF "
    "1FA58-1FA5F 1FA6E-1FAFF 1FC00-1FFFD"
)
"""Extended_Pictographic."""


def _ranges(written: str) -> CharSet:
    edges = [[int(edge, 16) for edge in one.split("-")] for one in written.split(" ")]
    return CharSet.from_ranges((one[0], one[-1] + 1) for one in edges)


def _property(name: str) -> CharSet:
    found = find_property(name)
    assert found is not None
    return found


_CLASSES: Final[dict[ClassName, Callable[[], CharSet]]] = {
    "white space": lambda: _property(WHITE_SPACE),
    "word": lambda: _property(WORD),
    "newer word": lambda: _property(WORD) | _ranges(_WORD_17),
    "marks": lambda: _property("M"),
    "digits": lambda: _property("N") | _ranges("11DE0-11DE9 16FF4-16FF6"),
    "punctuation": lambda: (
        (_property("P") - _ranges(_NEWER_PUNCTUATION))
        | _ranges("24 2B 3C-3E 5E 60 7C 7E 166D 111C9")
    ),
    "newer punctuation": lambda: _property("P") | _ranges("24 2B 3C-3E 5E 60 7C 7E 10ED0"),
    "bert controls": lambda: (
        (union(map(_property, ("Cc", "Cf", "Co"))) - _ranges("9-A D 890-891 8E2 110CD 13430-1343F"))
        | _ranges("FFFD")
    ),
    "bert accents": lambda: (_property("Mn") - _ranges(_NEWER_MN)) | _ranges("1734 1171E"),
    "accents": lambda: (_property("M") - _ranges(_NEWER_MARKS)) | _ranges("1CF2-1CF3"),
    "chinese": lambda: _ranges(
        "3400-4DBF 4E00-9FFF F900-FAFF 20000-2A6DF 2A700-2B81F 2B920-2CEAF 2F800-2FA1F"
    ),
    "nmt controls": lambda: _ranges("1-8 B E-1F 7F 8F 9F"),
    "nmt blanks": lambda: _ranges("9-A C-D 20 1680 200B-200F 2028-2029 2581 FEFF FFFD"),
    "joins": lambda: (_property("M") - _ranges(_NOT_JOINING)) | _ranges(_JOINING),
    "prepends": lambda: _ranges(
        "600-605 6DD 70F 890-891 8E2 D4E 110BD 110CD 111C2-111C3 113D1 1193F 11941 11A84-11A89 "
        "11D46 11F02"
    ),
    "pictographs": lambda: _ranges(_PICTOGRAPHS),
    "consonants": lambda: _ranges(_CONSONANTS),
    "linkers": lambda: _ranges(_LINKERS),
    "spacing marks": lambda: (
        (_property("Mc") - _ranges(_NOT_JOINING) - _ranges(_EXTENDING))
        | _ranges("E33 EB3 200C 11B61 11B65 11B67")
    ),
    "breaks": lambda: _ranges(
        "0-1F 7F-9F AD 61C 180E 200B 200E-200F 2028-202E 2060-206F FEFF FFF0-FFFB"
    ),
}


@cache
def chars_of(name: ClassName) -> CharSet:
    """Return a class. Cost: some milliseconds at the first use."""
    return _CLASSES[name]()


@cache
def class_pattern(name: ClassName) -> str:
    """Write a class for use inside the brackets of a pattern of `re`."""
    return "".join(_written(chars_of(name)))


def _written(chars: CharSet) -> Iterator[str]:
    edges = chars.edges.tolist()
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        yield f"\\U{start:08X}-\\U{end - 1:08X}"


@cache
def members_of(written: str) -> CharSet:
    """Return a class by its name, or as a split pattern writes it.

    Raises:
        PatternError: it is neither.
    """
    if written in get_args(ClassName):
        return chars_of(written)
    reader = AtomReader(written)
    found = reader.read_atom()
    if reader.peek():
        raise reader.invalid("more than one character", reader.position)
    return found
