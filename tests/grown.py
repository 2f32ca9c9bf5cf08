"""Texts that grow at one end, against a tokenizer that encodes the whole each time."""

import pickle
import random
from typing import Any

import pytest

import cutline
from cutline.counting import recounted


def settle_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short texts do what long ones do."""
    monkeypatch.setattr(recounted, "_LOOK", 1)
    monkeypatch.setattr(recounted, "_WINDOW", 5)
    monkeypatch.setattr(recounted, "_GAP", 4)


def check_growth(
    oracle: Any, encoding: cutline.Encoding, rng: random.Random, parts: list[str]
) -> None:
    """Let a text grow at either end by parts; see `check_growth_at`."""
    check_growth_at(oracle, encoding, rng, parts, at_end=True)
    check_growth_at(oracle, encoding, rng, parts[::-1], at_end=False)


def check_growth_at(
    oracle: Any, encoding: cutline.Encoding, rng: random.Random, parts: list[str], *, at_end: bool
) -> None:
    """Add parts, and now and then do anything else; the counts are those of the whole."""

    def joined(text: str, part: str) -> str:
        return text + part if at_end else part + text

    def ids(text: str) -> list[int]:
        found: list[int] = oracle.encode(text, add_special_tokens=False).ids
        return found

    text = parts[0]
    one: Any = encoding.appender(text) if at_end else encoding.prepender(text)
    for part in parts[1:]:
        if rng.random() < 0.8:
            assert one.count == len(ids(text)), ascii(text)
        if rng.random() < 0.2:
            count = len(ids(joined(text, part)))
            assert one.fits(part, count), ascii((text, part))
            assert not count or not one.fits(part, count - 1), ascii((text, part))
        if at_end:
            one.append(part)
        else:
            one.prepend(part)
        text = joined(text, part)
        if rng.random() < 0.1:
            length = max(0, len(text) - rng.choice((0, 1, 2, 9, len(text) // 2)))
            one.truncate(length)
            text = text[:length] if at_end else text[len(text) - length :]
        if rng.random() < 0.05:
            one = pickle.loads(pickle.dumps(one)) if rng.random() < 0.5 else one.copy()
        assert (one.text_length, one.text) == (len(text), text)
    assert one.count == len(ids(text)), ascii(text)
    assert one.tokens() == ids(text)
