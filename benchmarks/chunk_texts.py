"""Texts for the chunkers beside the corpora: a log, and lines of one script."""

import random
import re
from typing import Final

_SCRIPTS: Final = {
    "Japanese": re.compile("[\u3040-\u30ff]"),
    "Russian": re.compile("[\u0400-\u04ff]"),
}


def log_lines(n_bytes: int) -> str:
    """Make a log: time stamps, levels, ids, messages; and some lines of thousands of characters."""
    rng, lines, size = random.Random(5), [], 0
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10)))
        for _ in range(3_000)
    ]
    while size < n_bytes:
        message = " ".join(rng.choices(words, k=rng.randint(3, 15)))
        line = (
            f"2026-11-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:"
            f"{rng.randint(0, 59):02}.{rng.randrange(10**6):06}Z "
            f"{rng.choice(('INFO', 'DEBUG', 'WARN', 'ERROR'))} [worker-{rng.randint(1, 64)}] "
            f"id={rng.getrandbits(128):032x} user={rng.randint(1, 10**9)} {message} "
            f"took={rng.random() * 100:.3f}ms path=/{rng.choice(words)}/{rng.choice(words)}\n"
        )
        if rng.random() < 0.02:
            fields = (f'"{rng.choice(words)}":"{rng.getrandbits(64):x}"' for _ in range(300))
            line = f"{line[:-1]} payload={{{','.join(fields)}}}\n"
        lines.append(line)
        size += len(line)
    return "".join(lines)[:n_bytes]


def lines_by_script(text: str) -> dict[str, str]:
    """Take those lines of a text whose characters are mostly of one script, for each script."""
    lines = text.splitlines(keepends=True)
    return {
        name: "".join(line for line in lines if 2 * len(letters.findall(line)) > len(line))
        for name, letters in _SCRIPTS.items()
    }
