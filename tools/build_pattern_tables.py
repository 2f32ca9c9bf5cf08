"""Regenerate the shipped automata of the packaged split patterns.

    python tools/build_pattern_tables.py

Automata of patterns that are no longer packaged, or of an older format, go.
"""

from cutline.pretokenize.automaton import generate
from cutline.pretokenize.store import SHIPPED_FOLDER, dump, file_name
from cutline.vocabulary.openai import PACKAGED_ENCODINGS


def build() -> dict[str, bytes]:
    """Return the content of every shipped file by its name."""
    patterns = dict.fromkeys(spec.pat_str for spec in PACKAGED_ENCODINGS.values())
    return {file_name(pattern): dump(generate(pattern), pattern) for pattern in patterns}


def main() -> None:
    files = build()
    for old in SHIPPED_FOLDER.glob("*.automaton"):
        if old.name not in files:
            old.unlink()
    for name, data in files.items():
        (SHIPPED_FOLDER / name).write_bytes(data)
        print(f"{SHIPPED_FOLDER / name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
