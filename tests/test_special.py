"""Special tokens: allowed and disallowed exactly as in tiktoken, ordinary text in counts."""

import random
import sys
import tracemalloc
from collections.abc import Collection, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
import tiktoken

import cutline
from cutline.special import SpecialFinder
from tests.oracles import PACKAGED, real_tiktoken, tiktoken_of
from tests.texts import random_text

# Disallowed, although no special token of the encoding.
EXTRA = ("nope", "e")
BYTES = {bytes([i]): i for i in range(256)}
GPT2_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
# No two of these begin at the same place, so that leftmost decides everything.
CUSTOM_SPECIALS = {
    "<|a|>": 300,
    "|>b": 301,
    "[MASK]": 302,
    "(.*)+": 1_000,
    "中<": 2**31,
    " end\n": 2**32 - 2,
}
# Some begin as others do: which of them wins is the engine's choice in tiktoken.
PREFIX_SPECIALS = {"<a": 300, "<a>": 301, "<a><b>": 302, "<b>": 303}


def custom_pair() -> tuple[cutline.Encoding, tiktoken.Encoding]:
    """Cutline and tiktoken over the same single bytes and special tokens."""
    ours = cutline.Encoding(
        "custom", pat_str=GPT2_PATTERN, mergeable_ranks=BYTES, special_tokens=CUSTOM_SPECIALS
    )
    return ours, tiktoken_of(BYTES, GPT2_PATTERN, CUSTOM_SPECIALS)


def special_texts(seed: int, specials: Collection[str], n_texts: int) -> Iterator[str]:
    """Ordinary text with whole, broken and overlapping special tokens in it."""
    rng = random.Random(seed)
    names = sorted(specials)[:12]
    for _ in range(n_texts):
        parts = []
        for _ in range(rng.randint(1, 8)):
            name = rng.choice(names)
            cut = rng.randint(0, len(name))
            parts.append(rng.choice((name, name, name[:cut], name[cut:], random_text(rng))))
        yield "".join(parts)


def outcome(encoding: Any, method: str, text: str, options: dict[str, Any]) -> Any:
    """The tokens, or "ValueError" and the special token that its message names."""
    try:
        return list(map(int, getattr(encoding, method)(text, **options)))
    except ValueError as error:
        named = [t for t in [*encoding.special_tokens_set, *EXTRA] if repr(t) in str(error)]
        return "ValueError", max(named, key=len)


def option_sets(specials: Collection[str]) -> list[dict[str, Any]]:
    """Every shape that the two options take."""
    names = sorted(specials)
    one, two = {names[0]}, set(names[:2])
    return [
        {},
        {"allowed_special": "all"},
        {"allowed_special": one},
        {"allowed_special": frozenset(two)},
        {"allowed_special": set(names[1:])},
        {"disallowed_special": ()},
        {"disallowed_special": set()},
        {"disallowed_special": []},
        {"disallowed_special": tuple(one)},
        {"disallowed_special": frozenset(names[-1:])},
        {"disallowed_special": EXTRA},
        {"allowed_special": one, "disallowed_special": ()},
        {"allowed_special": two, "disallowed_special": one},
        {"allowed_special": "all", "disallowed_special": names[1:2]},
        {"allowed_special": {"nope"}, "disallowed_special": ()},
        {"allowed_special": {"nope"}},
        {"allowed_special": "all", "disallowed_special": "all"},
        {"allowed_special": set(), "disallowed_special": "all"},
    ]


@pytest.mark.parametrize("method", ["encode", "encode_to_numpy"])
@pytest.mark.parametrize("name", [*PACKAGED, "custom"])
def test_special_tokens_are_allowed_and_disallowed_as_in_tiktoken(name: str, method: str) -> None:
    packaged = name != "custom"
    ours, real = (cutline.get_encoding(name), real_tiktoken(name)) if packaged else custom_pair()
    for options in option_sets(real.special_tokens_set):
        for text in special_texts(1, real.special_tokens_set, 40 if packaged else 150):
            want = outcome(real, method, text, options)
            assert (text, options, outcome(ours, method, text, options)) == (text, options, want)


def test_a_token_hidden_behind_one_that_is_not_allowed_is_found() -> None:
    ours, real = custom_pair()
    options = {"allowed_special": {"|>b"}, "disallowed_special": ()}
    assert ours.encode("<|a|>b", **options) == real.encode("<|a|>b", **options)
    assert ours.encode("<|a|>b", **options)[-1] == 301


def test_the_leftmost_disallowed_token_is_named() -> None:
    ours = cutline.get_encoding("o200k_base")
    text = "x <|endofprompt|> <|endoftext|>"
    with pytest.raises(ValueError, match=r"'<\|endofprompt\|>'"):
        ours.encode(text)


def test_the_error_offers_the_ways_out() -> None:
    ours = cutline.get_encoding("cl100k_base")
    with pytest.raises(ValueError, match="disallowed special token") as caught:
        ours.encode("hello <|fim_prefix|>")
    message = str(caught.value)
    assert repr("<|fim_prefix|>") in message
    assert "allowed_special" in message
    assert "disallowed_special=()" in message


def test_special_tokens_that_begin_alike_still_round_trip() -> None:
    ours = cutline.Encoding(
        "prefixes", pat_str=GPT2_PATTERN, mergeable_ranks=BYTES, special_tokens=PREFIX_SPECIALS
    )
    for text in special_texts(3, PREFIX_SPECIALS, 300):
        tokens = ours.encode(text, allowed_special="all")
        assert ours.decode(tokens) == text
        first = min((text.find(s) for s in PREFIX_SPECIALS if s in text), default=len(text))
        assert tokens[: len(text[:first].encode())] == ours.encode_ordinary(text[:first])
        if first < len(text):
            winner = tokens[len(text[:first].encode())]
            assert text.startswith(ours.decode([winner]), first)
            assert winner in PREFIX_SPECIALS.values()


def test_one_allowed_token_among_tokens_that_begin_alike_is_found() -> None:
    ours = cutline.Encoding(
        "prefixes", pat_str=GPT2_PATTERN, mergeable_ranks=BYTES, special_tokens={"<a>": 301}
    )
    assert ours.encode("<a><b>", allowed_special="all")[0] == 301


def test_special_tokens_touch_ordinary_text_on_both_sides_as_in_tiktoken() -> None:
    ours, real = cutline.get_encoding("o200k_base"), real_tiktoken("o200k_base")
    special = "<|endoftext|>"
    for left in ("", "a", " ", "  ", "\n", "'", "中", "1", "\u0301"):
        for right in ("", "'s", " ", "  x", "\n", "s", "文", "2", "\u0301"):
            text = left + special + right + special + special + left
            assert ours.encode(text, allowed_special="all") == real.encode(
                text, allowed_special="all"
            )


@pytest.mark.parametrize("name", PACKAGED)
def test_every_special_token_encodes_to_its_id_and_back(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    assert ours.special_tokens_set == real.special_tokens_set
    for text, token in real._special_tokens.items():
        assert ours.encode(text, allowed_special="all") == [token]
        assert ours.encode_single_token(text) == token
        assert ours.decode([token]) == real.decode([token])
        assert real._special_tokens[ours.decode_single_token_bytes(token).decode()] == token
        assert ours.is_special_token(token)


def test_an_id_with_two_special_texts_decodes_to_the_first_of_them() -> None:
    harmony = cutline.get_encoding("o200k_harmony")
    assert harmony.encode("<|reserved_200018|>", allowed_special="all") == [200018]
    assert harmony.encode("<|endofprompt|>", allowed_special="all") == [200018]
    assert harmony.decode([200018]) == "<|endofprompt|>"


def test_ordinary_tokens_are_not_special() -> None:
    for name in PACKAGED:
        ours = cutline.get_encoding(name)
        assert not ours.is_special_token(0)
        assert not ours.is_special_token(ours.encode_ordinary("hello")[0])
        assert not ours.is_special_token(10**7)


@pytest.mark.parametrize("name", PACKAGED)
def test_special_text_is_ordinary_in_counts_and_chunks(name: str) -> None:
    ours, real = cutline.get_encoding(name), real_tiktoken(name)
    for text in special_texts(4, real.special_tokens_set, 60):
        n_tokens = len(real.encode_ordinary(text))
        assert ours.encode_ordinary(text) == real.encode(text, disallowed_special=())
        assert ours.count(text) == n_tokens
        assert ours.count_till_limit(text, n_tokens) == n_tokens
        assert ours.fits(text, n_tokens)
        assert ours.count_batch([text]).tolist() == [n_tokens]
        assert "".join(chunk.text for chunk in ours.split(text, 8)) == text


@pytest.mark.parametrize("num_threads", [1, 4])
def test_batches_treat_special_tokens_as_single_calls_do(num_threads: int) -> None:
    ours = cutline.get_encoding("cl100k_base")
    texts = list(special_texts(5, ours.special_tokens_set, 60))
    for options in ({"allowed_special": "all"}, {"disallowed_special": ()}):
        want = [ours.encode(text, **options) for text in texts]
        assert ours.encode_batch(texts, num_threads=num_threads, **options) == want
    with pytest.raises(ValueError, match=r"'<\|endoftext\|>'"):
        ours.encode_batch(["fine", "a <|endoftext|>"], num_threads=num_threads)


def test_an_encoding_without_special_tokens_encodes() -> None:
    ours = cutline.Encoding("bare", pat_str=GPT2_PATTERN, mergeable_ranks=BYTES, special_tokens={})
    text = "no specials <|endoftext|>"
    assert ours.encode(text) == list(text.encode())
    assert ours.encode(text, allowed_special="all") == list(text.encode())
    assert ours.special_tokens_set == set()
    assert np.array_equal(ours.encode_to_numpy(text), list(text.encode()))


def test_changing_the_set_of_special_tokens_changes_no_encoding() -> None:
    ours = cutline.get_encoding("o200k_base")
    names = set(ours.special_tokens_set)
    if isinstance(ours.special_tokens_set, set):
        ours.special_tokens_set.clear()
    assert ours.special_tokens_set == names
    with pytest.raises(ValueError, match="endoftext"):
        ours.encode("<|endoftext|>")


@pytest.mark.parametrize("specials", [("中<a>", "中<b>"), ("<a>", "<bc>"), ("é<", "é>"), ()])
@pytest.mark.parametrize(
    "text", ["", "<", "no <b", "a<a> é", "é<", "中", "x中<b>y", "é>", "𝄞中<a>"]
)
def test_a_disallowed_token_is_found_whatever_the_tokens_begin_with(
    specials: tuple[str, ...], text: str
) -> None:
    ids = {token: 300 + at for at, token in enumerate(specials)}
    encoding = cutline.Encoding(
        "x", pat_str=GPT2_PATTERN, mergeable_ranks=BYTES, special_tokens=ids
    )
    for encode in (encoding.encode, encoding.encode_to_numpy):
        if any(token in text for token in specials):
            with pytest.raises(cutline.SpecialTokenError):
                encode(text)
        else:
            assert list(encode(text)) == encoding.encode_ordinary(text)
        assert list(encode(text, disallowed_special=())) == encoding.encode_ordinary(text)


def leftmost_longest(specials: Collection[str], text: str) -> list[tuple[int, str]]:
    found, at = [], 0
    while at < len(text):
        here = max((one for one in specials if text.startswith(one, at)), key=len, default="")
        if here:
            found.append((at, here))
        at += len(here) or 1
    return found


@pytest.mark.parametrize("has_gil", [True, False])
@pytest.mark.parametrize("specials", [CUSTOM_SPECIALS, PREFIX_SPECIALS, ("aab", "ab", "a", "ba")])
def test_the_leftmost_longest_tokens_are_found(
    specials: Collection[str], has_gil: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the GIL by other means, for the automaton's package would turn it on."""
    if has_gil and not getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("the GIL is off")
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: has_gil, raising=False)
    finder = SpecialFinder(specials)
    for text in special_texts(2, specials, 300):
        want = leftmost_longest(specials, text)
        assert list(finder.find_all(text)) == want
        assert finder.first(text) == (want[0][1] if want else None)


def test_tokens_that_begin_one_another_take_little_memory() -> None:
    finder = SpecialFinder(["<" * length for length in range(1, 41)])
    text = "<" * 50_000
    tracemalloc.start()
    found = list(finder.find_all(text))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [(start, "<" * 40) for start in range(0, 50_000, 40)]
    assert peak_bytes < 20e6  # a tuple for each of 2,000,000 matches took 280e6


def test_single_special_tokens_are_found_without_listing_all_of_them() -> None:
    enc = cutline.get_encoding("o200k_harmony")  # has a thousand
    assert enc.encode_single_token("<|start|>") == 200006
    assert enc._memo["added tokens"] == enc.added_tokens
    with mock.patch.object(type(enc), "added_tokens", property(lambda _: 1 / 0)):
        assert enc.encode_single_token("<|end|>") == 200007
