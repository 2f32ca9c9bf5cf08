"""After any prepends and truncations, the count is that of the whole text encoded again.

Input: subject, steps (a byte each), two bytes a step (what and how many characters), then
the text that steps take slices of, as UTF-8.
"""

from fuzz.subjects import REPEATS, Subject, subject

MAX_CHARACTERS = 2_000


def run(data: bytes) -> None:
    if len(data) < 3:
        return
    chosen, text_at = subject(data[0]), 2 + data[1] % 16 * 2
    steps = zip(data[2:text_at:2], data[3:text_at:2], strict=False)
    check_steps(chosen, list(steps), chosen.text(0, data[text_at:]))


def check_steps(chosen: Subject, steps: list[tuple[int, int]], source: str) -> None:
    prepender, text = chosen.ours.prepender(), ""
    for what, size in steps:
        part = source[:size] * REPEATS[what // 4 % len(REPEATS)]
        source = source[size:] + source[:size]
        if what % 4 == 0:
            kept = min(size, len(text))
            prepender.truncate(kept)
            text = text[len(text) - kept :]
        elif what % 4 == 1:
            assert prepender.fits(part, size) == (chosen.count(part + text) <= size)
        elif len(part) + len(text) <= MAX_CHARACTERS:
            prepender.prepend(part)
            text = part + text
        assert prepender.count == chosen.count(text)
    assert (prepender.text, prepender.text_length) == (text, len(text))
