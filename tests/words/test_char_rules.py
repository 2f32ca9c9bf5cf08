"""Images of characters, put together as the kernel does it, give the words of `tokenizers`."""

import random

import pytest

from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS
from tests.words.configurations import CONFIGURATIONS, rules_of, words_of
from tests.words.reference import words

SCALARS = [*range(0xD800), *range(0xE000, 0x110000)]
CONTEXTS = ("{}", "a{}b", "a {} b", "e{}\u0301", "\u0915\u094d{}\u0301", "5{}.")
AWKWARD = (
    "ab`'\"eA5.,$ \t\r\n\v\x1c\x85\xa0\u3000\u0301\u0302\u0323\u0344\u0300\u0338=\u0915\u0916\u094d"
    "\u093e\u0902\u200b\u200c\u200d\xa9\xae\U0001f600\u203c\u0600\u06dd\u0d4e\u1100\u1161\u11a8"
    "\uac00\uac01\ufe0f\U0001f3fb\U000e0020\u05b7\u0627\u0653\u1039\u1000\xe9\xc9\u0130\u03a3"
    "\u0e33\u180e\u4e16\u754c\u2581\ufb01\ufdfa\x01\ufffd\u302e\u1b44\U0001d165\u0f71\u0f72\u0f74"
    "\u09c7\u09be\u3099\u304b\u0958\u1d2e\u2028\ud7b0\U00011dde\u0660\u00b2"
)


@short_or_long("n_texts", 1_000, 3_000)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_words_of_awkward_texts_are_those_of_tokenizers(name: str, n_texts: int) -> None:
    parts = CONFIGURATIONS[name]()
    rules, expected = rules_of(*parts), words_of(*parts)
    rng = random.Random(name)
    for text in NAMED_TEXTS.values():
        text = text.encode("utf-16", "replace").decode("utf-16", "replace")
        assert words(rules, text) == expected(text)
    for _ in range(n_texts):
        text = "".join(rng.choice(AWKWARD) for _ in range(rng.randint(1, 9)))
        assert words(rules, text) == expected(text), ascii(text)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_words_of_random_texts_are_those_of_tokenizers(name: str) -> None:
    parts = CONFIGURATIONS[name]()
    rules, expected = rules_of(*parts), words_of(*parts)
    rng = random.Random(name)
    for _ in range(300):
        start = rng.choice((0, 0x300, 0x600, 0x900, 0x1000, 0x1100, 0x1B00, 0x2000, 0x3000, 0xAC00))
        pool = [chr(start + rng.randrange(0x200)) for _ in range(6)] + [*"e a.", "\u0301"]
        text = "".join(rng.choice(pool) for _ in range(rng.randint(1, 30)))
        assert words(rules, text) == expected(text), ascii(text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_words_of_every_character_in_contexts_are_those_of_tokenizers(name: str) -> None:
    parts = CONFIGURATIONS[name]()
    rules, expected = rules_of(*parts), words_of(*parts)
    for code_point in SCALARS:
        for context in CONTEXTS:
            text = context.format(chr(code_point))
            assert words(rules, text) == expected(text), ascii(text)
