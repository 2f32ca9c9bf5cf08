"""A `.gguf` file is refused with its path named, or makes an encoding that saves and loads.

Input: a byte, then a file; where the byte is odd, bytes that choose a tokenizer, and how some of
its fields are changed, as in the target `tokenizer_json`.
"""

import random
import struct
from functools import cache
from typing import Any, Final

from cutline.vocabulary.letters import as_text
from fuzz.grammar import Choices
from fuzz.scratch import scratch
from fuzz.target_native import load
from fuzz.target_tokenizer_json import MAX_SEED, check

U32, F32, BOOL, STRING, ARRAY, U64 = 4, 6, 7, 8, 9, 10
_CODES: Final = {0: "B", 1: "b", 2: "H", 3: "h", U32: "I", 5: "i", F32: "f", BOOL: "?", U64: "Q"}
_PREFIX: Final = "tokenizer.ggml."

Field = tuple[int, Any]
"""A type and a value; of an array, the type of its values and these."""

VALUES: tuple[Field, ...] = (
    (U32, 0), (U32, 2**32 - 1), (5, -1), (U64, 2**64 - 1), (F32, float("nan")), (F32, 1e38),
    (BOOL, True), (STRING, ""), (STRING, "gpt2"), (STRING, "t5"), (STRING, "\0"), (STRING, "é" * 9),
    (ARRAY, (STRING, [])), (ARRAY, (U32, [])), (ARRAY, (ARRAY, [(U32, [1]), (STRING, ["a"])])),
    (ARRAY, (F32, [0.0, float("inf")])), (ARRAY, (STRING, ["a b", "a", "a b c", ""])),
)  # fmt: skip


def run(data: bytes) -> None:
    is_chosen = bool(data[:1] and data[0] & 1)
    path = scratch("fuzzed.gguf")
    path.write_bytes(changed(data[1:]) if is_chosen else data[1:])
    encoding = load(path)
    if encoding is not None:
        check(encoding)


def changed(data: bytes) -> bytes:
    """Write one of the tokenizers, with some fields changed."""
    rng = Choices(data) if len(data) > MAX_SEED else random.Random(data)
    fields = dict(rng.choice(tokenizers()))
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        key = rng.choice([*fields])
        kind, value = fields[key]
        what = rng.randrange(5)
        if what == 0:
            del fields[key]
        elif what == 1:
            fields[rng.choice([*fields, f"{_PREFIX}more", "x.context_length"])] = fields[key]
        elif what == 2 or kind != ARRAY or not value[1]:
            fields[key] = rng.choice(VALUES)
        else:
            fields[key] = kind, (value[0], edited(rng, list(value[1])))
    return written(fields)


def edited(rng: random.Random, values: list[Any]) -> list[Any]:
    """Change one place of an array, or its length."""
    place = rng.randrange(len(values))
    what = rng.randrange(4)
    if what == 0:
        del values[place]
    elif what == 1:
        values.insert(place, rng.choice(values))
    elif what == 2:
        values[place] = rng.choice(values)
    else:
        rng.shuffle(values)
    return values


def written(fields: dict[str, Field]) -> bytes:
    """Write a file without tensors."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, 0, len(fields))]
    for key, (kind, value) in fields.items():
        parts += [_value(STRING, key), struct.pack("<I", kind), _value(kind, value)]
    return b"".join(parts)


def _value(kind: int, value: Any) -> bytes:
    if kind == STRING:
        utf8 = value.encode()
        return struct.pack("<Q", len(utf8)) + utf8
    if kind == ARRAY:
        inner, values = value
        head = struct.pack("<IQ", inner, len(values))
        return head + b"".join(_value(inner, one) for one in values)
    return struct.pack(f"<{_CODES[kind]}", value)


@cache
def tokenizers() -> tuple[dict[str, Field], ...]:
    """Return the fields of a small tokenizer of each kind that can be read."""
    letters = [as_text(bytes([byte])) for byte in range(256)]
    bpe = [*letters, "th", "the", "Ġt", "<s>"]
    symbols = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces = [*symbols, "▁", "a", "b", "▁a", "ab"]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "▁b", "b", "c", "▁the"]
    return (
        _fields("gpt2", bpe, [1] * 259 + [3], pre="gpt-2")
        | {f"{_PREFIX}merges": (ARRAY, (STRING, ["t h", "th e", "Ġ t"]))},
        _fields("llama", pieces, [2, 3, 3] + [6] * 256 + [1] * 5)
        | {f"{_PREFIX}scores": (ARRAY, (F32, [0.0] * 262 + [-1.0, -2.0]))},
        _fields("bert", words, [3] * 4 + [1] * 5)
        | {f"{_PREFIX}unknown_token_id": (U32, 1), f"{_PREFIX}cls_token_id": (U32, 2)},
    )


def _fields(model: str, tokens: list[str], types: list[int], pre: str = "") -> dict[str, Field]:
    fields: dict[str, Field] = {
        "general.architecture": (STRING, "llama"),
        "llama.context_length": (U32, 512),
        f"{_PREFIX}model": (STRING, model),
        f"{_PREFIX}tokens": (ARRAY, (STRING, tokens)),
        f"{_PREFIX}token_type": (ARRAY, (5, types)),
        f"{_PREFIX}bos_token_id": (U32, 1),
        f"{_PREFIX}add_bos_token": (BOOL, True),
    }
    return fields | ({f"{_PREFIX}pre": (STRING, pre)} if pre else {})
