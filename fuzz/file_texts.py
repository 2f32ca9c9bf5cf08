"""Texts of files: as they are, and as what they are not.

Files of any kind, read in some encoding, have what no alphabet has: words of thousands of
characters, ligatures in the middle of them, marks without letters.
"""

import os
import random
from pathlib import Path

from fuzz.compositions import Part

CODECS = ("utf-8", "utf-8", "latin-1", "utf-16-le", "gb18030", "cp932")
MOST_BYTES = 1 << 22


class FileTexts:
    """Draws texts from the files of a folder.

    Raises:
        ValueError: it has none.
    """

    def __init__(self, folder: Path) -> None:
        found = sorted(Path(at, name) for at, _, names in os.walk(folder) for name in names)
        self.files = [path for path in found if path.is_file() and not path.is_symlink()]
        if not self.files:
            raise ValueError(f"{folder} has no files")

    def __call__(self, rng: random.Random, document: Part) -> str:
        """Draw a text; of the tokenizer nothing is needed."""
        text = self._part(rng)
        if rng.random() < 0.3:
            text = "".join(text.split())
        if rng.random() < 0.2:
            size, other = rng.randint(1, 40), self._part(rng)
            text = "".join(
                text[at : at + size] + other[at : at + size] for at in range(0, len(text), size)
            )
        return text[: rng.choice((10, 60, 150, 400))]

    def _part(self, rng: random.Random) -> str:
        with rng.choice(self.files).open("rb") as file:
            size = min(file.seek(0, os.SEEK_END), MOST_BYTES)
            file.seek(rng.randrange(size + 1))
            data = file.read(3_000)
        text = data.decode(rng.choice(CODECS), "replace")
        return text.replace("\ufffd", rng.choice(("\ufffd", "", "a")))
