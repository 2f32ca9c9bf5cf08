"""Find what has got another script since Unicode 9, which the pre-tokenizer UnicodeScripts knows.

    python tools/find_later_scripts.py

Prints the two lists of src/cutline/pretokenize/later_scripts.py. Needs `tokenizers`.
"""

import tokenizers

from cutline.pretokenize.unicode import find_property, unicode_scripts

KANA = {"Hira": "Hani", "Kana": "Hani"}  # one script to UnicodeScripts
BLANK, LONG = 0x20, 0x30FC  # so are these: of none, and of Han


def main() -> None:
    splitter = tokenizers.pre_tokenizers.UnicodeScripts()

    def joined(text: str) -> bool:
        return len(splitter.pre_tokenize_str(text)) == 1

    scripts: dict[int, str] = {}
    for name in unicode_scripts()[1:]:
        members = find_property(f"Script={name}")
        assert members is not None
        for start, end in members.ranges():
            scripts |= dict.fromkeys(range(start, end), KANA.get(name, name))
    examples: dict[str, str] = {}
    later, moved = [], {}
    for point in range(0x110000):
        if 0xD800 <= point < 0xE000 or point in (BLANK, LONG):
            continue
        character, script = chr(point), scripts.get(point)
        if not splitter.pre_tokenize_str(character):
            later.append((point, script is not None))
        elif script is None or not joined(examples.setdefault(script, character) + character):
            moved[point] = next(name for name, one in examples.items() if joined(one + character))
    print("LATER:", ranges_of(later))
    print("MOVED:", {f"{point:X}": script for point, script in moved.items()})


def ranges_of(points: list[tuple[int, bool]]) -> str:
    """Write runs of points, from the first to the last one in each that counts."""
    runs: list[list[int]] = []
    before = -2
    for point, counts in points:
        if point != before + 1:
            runs.append([])
        before = point
        if counts:
            runs[-1].append(point)
    edges = [(f"{run[0]:X}", f"{run[-1]:X}") for run in runs if run]
    return " ".join(first if first == last else f"{first}-{last}" for first, last in edges)


if __name__ == "__main__":
    main()
