"""Random texts that find mistakes: characters on which patterns decide, in few kinds and long runs.

Random subsets of the alphabet matter: with all of it, long runs never happen.
"""

import random

ITEMS = [
    *"aZbQstmdrelvASTMDRELV'\"/\n\t\x0b\x0c\x00\x1c.,(! 019",
    "\r\n", "'s", "'LL", "'Re", "\n  ", " \n", "HTTP", "  ",
    "\u017f", "\u212a", "’", "é", "É", "ǅ", "ʰ", "ª", "中", "文",
    "\u0301", "\u0903", "٣", "²", "Ⅷ", "\u00a0", "\u3000", "\u2028", "\u0085", "\u1680",
    "😀", "\u200d", "\ufe0f", "\u1c89", "\U00010d50", "\U0001e030",
    "ß", "İ", "ı", "\U00020000", "\U0001d7d8", "ひ", "カ", "한", "ก", "؟", "。", "_", "|", "{",
]  # fmt: skip
WHOLE_ALPHABET = "".join(sorted(set("".join(ITEMS))))


def short_texts(seed: int, count: int, items: list[str] = ITEMS) -> list[str]:
    """Return texts of up to 60 items, each over a random subset of the items."""
    random_source = random.Random(seed)
    texts = []
    for _ in range(count):
        subset = random_source.sample(items, random_source.randint(1, min(12, len(items))))
        texts.append("".join(random_source.choices(subset, k=random_source.randint(1, 60))))
    return texts


def run_length_texts(
    seed: int, count: int, length: int, longest_run: int = 4000, items: list[str] = ITEMS
) -> list[str]:
    """Return texts of about `length` characters, items repeated by heavy-tailed counts."""
    random_source = random.Random(seed)
    texts = []
    for _ in range(count):
        subset = random_source.sample(items, random_source.randint(2, min(9, len(items))))
        text = ""
        while len(text) < length:
            run = min(int(random_source.paretovariate(0.45)), longest_run)
            text += random_source.choice(subset) * run
        texts.append(text[: length + longest_run])
    return texts
