"""Texts that grow at their end, against a tokenizer that encodes the whole each time."""

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
    """Append parts, and now and then do anything else; the counts are those of the whole."""

    def ids(text: str) -> list[int]:
        found: list[int] = oracle.encode(text, add_special_tokens=False).ids
        return found

    one, text = encoding.appender(parts[0]), parts[0]
    for part in parts[1:]:
        if rng.random() < 0.8:
            assert one.count == len(ids(text)), ascii(text)
        if rng.random() < 0.2:
            count = len(ids(text + part))
            assert one.fits(part, count), ascii((text, part))
            assert not count or not one.fits(part, count - 1), ascii((text, part))
        one.append(part)
        text += part
        if rng.random() < 0.1:
            length = max(0, len(text) - rng.choice((0, 1, 2, 9, len(text) // 2)))
            one.truncate(length)
            text = text[:length]
        if rng.random() < 0.05:
            one = pickle.loads(pickle.dumps(one)) if rng.random() < 0.5 else one.copy()
        assert (one.text_length, one.text) == (len(text), text)
    assert one.count == len(ids(text)), ascii(text)
    assert one.tokens() == ids(text)
