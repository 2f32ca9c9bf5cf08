"""A short text has tiktoken's tokens, however it is encoded or counted: little for each input.

Input: subject (a byte), then the text as UTF-8, or its letters where the subject's tokens use few.
"""

from functools import cache

import cutline
from fuzz.subjects import Subject, subject

N_SUBJECTS = 15
"""The packaged encodings, the toys, and some random vocabularies."""


def run(data: bytes) -> None:
    if not data:
        return
    chosen, appender = made(data[0] % N_SUBJECTS)
    ours, text = chosen.ours, chosen.text(0, data[1:])
    want = chosen.real.encode_ordinary(text)
    assert ours.encode_ordinary(text) == want
    assert ours.count(text) == len(want)
    assert ours.intervals(text).total == len(want)
    # What the inputs before have left in it must make no difference.
    middle = len(text) // 2
    appender.truncate(0)
    appender.append(text[:middle])
    appender.append(text[middle:])
    assert appender.tokens() == want


@cache
def made(number: int) -> tuple[Subject, cutline.Appender]:
    chosen = subject(number)
    return chosen, chosen.ours.appender()
