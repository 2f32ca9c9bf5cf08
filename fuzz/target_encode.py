"""Encoding, counting and decoding equal tiktoken's on the same vocabulary.

Input: subject, kind of text, number of repeats (a byte each), then the text.
"""

from fuzz.subjects import GAPPED_PATTERN, MAX_CHARACTERS, REPEATS, Subject, subject

MAX_OFFSETS = 2_000  # of more, tiktoken's take most of the time


def run(data: bytes) -> None:
    if len(data) < 3:
        return
    chosen = subject(data[0])
    text = (chosen.text(data[1], data[3:]) * REPEATS[data[2] % len(REPEATS)])[:MAX_CHARACTERS]
    check_text(chosen, text)
    check_special(chosen, text)
    raw = data[3:]
    assert chosen.ours._encode_bytes(raw) == chosen.real._encode_bytes(raw)


def check_text(chosen: Subject, text: str) -> None:
    """Compare every way to encode and count, and what the tokens decode to."""
    ours, want = chosen.ours, chosen.real.encode_ordinary(text)
    assert ours.encode_ordinary(text) == want
    assert ours.encode_to_numpy(text, disallowed_special=()).tolist() == want
    assert ours.count(text) == len(want)
    assert ours.count_till_limit(text, len(want)) == len(want)
    assert not want or ours.count_till_limit(text, len(want) - 1) is None
    assert ours.decode_bytes(want) == chosen.real.decode_bytes(want)
    assert ours.decode(want) == chosen.real.decode(want)
    if ours._pat_str != GAPPED_PATTERN:
        repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert ours.decode(want) == repaired
    if len(want) <= MAX_OFFSETS:
        assert ours.decode_with_offsets(want) == chosen.real.decode_with_offsets(want)


def check_special(chosen: Subject, text: str) -> None:
    """Put a special token into the middle, allowed and not."""
    if "<|endoftext|>" not in chosen.ours.special_tokens_set:
        return
    text = f"{text[: len(text) // 2]}<|endoftext|>{text[len(text) // 2 :]}"
    for allowed in ("all", {"<|endoftext|>"}, set()):
        got = chosen.ours.encode(text, allowed_special=allowed, disallowed_special=())
        want = chosen.real.encode(text, allowed_special=allowed, disallowed_special=())
        assert got == want
