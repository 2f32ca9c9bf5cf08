"""A `tokenizer.json` is refused with its path named, or makes an encoding that saves and loads.

Input: bytes that choose a tokenizer and how some of its JSON is changed: up to 16 as the seed of
random choices, more as one choice after another.
"""

import json
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import cutline
from cutline.errors import PatternError, VocabularyError
from fuzz.grammar import Choices
from fuzz.scratch import scratch
from fuzz.target_native import load
from tests.pipeline.families import FAMILIES, build

TEXTS = ("", "Hello world", "  the\n\n12345 don't é中文👩‍👩‍👧 ﬁ <s>", "x" * 100)
MAX_SEED = 16
FORMATS = ("x.cutline", "tokenizer.json", "vocab.json", "x.tiktoken")


PLACES = (
    ("model", "vocab"),
    ("model", "merges"),
    ("model",),
    ("added_tokens",),
    ("normalizer",),
    ("pre_tokenizer",),
    ("post_processor",),
    ("decoder",),
)


def nested(depth: int, inner: Any, kind: str) -> Any:
    """Put a value into lists or sequences, one in the other."""
    for _ in range(depth):
        inner = [inner] if kind == "list" else {"type": "Sequence", kind: [inner]}
    return inner


VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 255, 2**32, 2**63, 2**200, 0.5, float("nan"), float("inf"),
    "", "a", "Ġ", "é", "\ud800", "a b", "\0", "#version", "(", "(?:" * 400 + ")" * 400,
    "[" * 3_000, "a{1,9999}", r"\p{L}+", r"(?=x)", "|", "BPE", "Sequence", "ByteLevel", [], {},
    ["a", "b"], ["a"], {"type": "ByteLevel"}, {"type": "Sequence"}, {"Regex": r"\d"},
    {"String": ""}, nested(60, {"type": "NFC"}, "normalizers"), nested(700, "a", "list"),
    nested(960, "a", "list"), nested(480, {"type": "NFC"}, "normalizers"),
    nested(300, {"type": "Digits", "individual_digits": True}, "pretokenizers"),
)  # fmt: skip


def copied(value: Any) -> Any:
    """Copy JSON of any depth that it can have."""
    return json.loads(json.dumps(value))


@cache
def document(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(build(name, 300).to_str())
    return made


def run(data: bytes) -> None:
    rng = Choices(data) if len(data) > MAX_SEED else random.Random(data)
    changed = copied(document(rng.choice([*FAMILIES])))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place = rng.choice((*PLACES, ()))
        part: Any = changed
        for key in place[:-1]:
            part = part.get(key) if isinstance(part, dict) else None
        if place and isinstance(part, dict):
            part[place[-1]] = change(rng, part.get(place[-1]))
        else:
            changed = change(rng, changed)
    path = scratch("tokenizer.json")
    path.write_text(json.dumps(changed), encoding="utf-8")
    encoding = load(path)
    if encoding is not None:
        check(encoding)


def change(rng: random.Random, part: Any, values: Sequence[Any] = VALUES) -> Any:
    """Change one place: a value, a key, the order, the number of entries."""
    if not part or not isinstance(part, dict | list) or rng.random() < 0.15:
        return copied(rng.choice(values))
    if isinstance(part, list):
        place = rng.randrange(len(part))
        kind = rng.randrange(6)
        if kind == 0:
            del part[place]
        elif kind == 1:
            part.insert(place, copied(rng.choice(part)))
        elif kind == 2:
            rng.shuffle(part)
        else:
            part[place] = change(rng, part[place], values)
        return part
    key = rng.choice([*part])
    kind = rng.randrange(8)
    if kind == 0:
        del part[key]
    elif kind == 1:
        part[rng.choice([*part, "more", ""])] = part.pop(key)
    elif kind == 2:
        part[key] = copied(part[rng.choice([*part])])
    else:
        part[key] = change(rng, part[key], values)
    return part


def check(encoding: cutline.Encoding) -> None:
    """Encode and count slices with what was loaded, save it, and encode with that."""
    tokens = [encoding.encode_ordinary(text) for text in TEXTS]
    assert [encoding.count(text) for text in TEXTS] == [*map(len, tokens)]
    for text, found in zip(TEXTS, tokens, strict=True):
        encoding.decode(found)
        counter = encoding.intervals(text)
        assert counter.total == len(found)
        assert counter.count(0, len(text[:20])) == encoding.count(text[:20])
        assert counter.count(len(text[:9]), len(text)) == encoding.count(text[9:])
    folder = scratch("saved")
    folder.mkdir(exist_ok=True)
    for name in FORMATS:
        try:
            encoding.save(folder / name)
        except (VocabularyError, PatternError):
            continue
        if name in FORMATS[:2]:
            again = load(folder / name)
            assert again is not None
            assert [again.encode_ordinary(text) for text in TEXTS] == tokens
