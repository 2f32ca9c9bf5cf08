"""After any appends and truncations, the count is that of the whole text encoded again.

Input: subject, steps (a byte each), two bytes a step (what and how many characters), then
the text that steps take slices of, as UTF-8.
"""

from fuzz.subjects import REPEATS, Subject, reference_count, subject

MAX_CHARACTERS = 2_000


def run(data: bytes) -> None:
    if len(data) < 3:
        return
    chosen, text_at = subject(data[0]), 2 + data[1] % 16 * 2
    steps = zip(data[2:text_at:2], data[3:text_at:2], strict=False)
    check_steps(chosen, list(steps), chosen.text(0, data[text_at:]))


def check_steps(chosen: Subject, steps: list[tuple[int, int]], source: str) -> None:
    appender, text = chosen.ours.appender(), ""
    for what, size in steps:
        part = source[:size] * REPEATS[what // 5 % len(REPEATS)]
        source = source[size:] + source[:size]
        if what % 5 == 0:
            text = text[:size]
            appender.truncate(len(text))
        elif what % 5 == 1:
            assert appender.fits(part, size) == (chosen.count(text + part) <= size)
        elif what % 5 == 2:
            appender = appender.copy()
        elif len(part) + len(text) <= MAX_CHARACTERS:
            appender.append(part)
            text += part
        assert appender.count == chosen.count(text)
    assert appender.count == reference_count(chosen, text)
    assert appender.tokens() == chosen.real.encode_ordinary(text)
    assert (appender.text, appender.text_length) == (text, len(text))
