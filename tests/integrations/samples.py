"""Documents to find things in, and embeddings that are the same everywhere."""

import math
import re
from hashlib import blake2b

FISH = """# Fish

Fish live in water and breathe with gills. There are more than thirty thousand species.

## Salmon

Salmon swim up rivers to spawn where they were born. They leap over waterfalls on their way.

## Eels

Eels do the opposite: they grow up in rivers and spawn in the Sargasso sea, far away.
"""

REPEATED = "The same sentence again. " * 40
UNUSUAL = "don't 👨‍👩‍👧‍👦 <|endoftext|> plötzlich  \t\n日本語のテキスト。" * 8
PYTHON = (
    "class Fish:\n    def swim(self):\n        return 1\n\n    def rest(self):\n        return 2\n"
)

# 250 chunks and more, and the same after a sentence was inserted at the top.
PROGRAM = "".join(
    f'def job_{n}(items):\n    """Do job {n}, which is like all others."""\n'
    f"    total = {n}\n    for item in items:\n        total += item.weight * {n % 7}\n"
    f"    if total > {n * 3}:\n        raise ValueError(items)\n    return total\n\n\n"
    for n in range(260)
)
EDITED = "# A sentence that somebody inserted at the top.\n" + PROGRAM

DIMENSIONS = 256


def embed(text: str) -> list[float]:
    """Which words a text has, as a direction: texts with the same words point the same way."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        place = int.from_bytes(blake2b(word.encode(), digest_size=4).digest(), "little")
        vector[place % DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
