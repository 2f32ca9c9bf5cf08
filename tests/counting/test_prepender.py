"""What a prepender alone promises; the rest: test_growing.py, test_contract.py."""

import gc
import itertools
import random

import cutline
from tests.oracles import with_count
from tests.texts import base64_text
from tests.vocabularies import TOY_TOKENS, with_bytes


def test_a_giant_piece_of_random_letters_grows_and_shrinks() -> None:
    ranks = cutline.get_encoding("r50k_base")._mergeable_ranks
    encoding, _ = with_count(ranks, None)
    letters, rng = base64_text(200_000), random.Random(6)
    prepender = encoding.prepender()
    for place in range(len(letters)):
        prepender.prepend(letters[-1 - place])
        if place % 1_000 == 999:
            kept = prepender.text_length
            prepender.truncate(kept - rng.randrange(100))
            assert prepender.fits(letters, 10) is False
            prepender.prepend(letters[len(letters) - kept : -prepender.text_length])
    assert prepender.text == letters
    assert prepender.count == encoding.count(letters)


def test_a_digit_block_of_every_phase_is_scanned_once() -> None:
    encoding = cutline.get_encoding("cl100k_base")
    prepender = encoding.prepender()
    for _ in range(200):
        prepender.prepend("1" * 1_000)
    assert prepender.count == encoding.count("1" * 200_000)


def test_long_scans_meet_only_where_they_go_on_alike() -> None:
    encoding, count = with_count(with_bytes((b"cc", b"ac")), r"a*ba*|a*c+|a|b|c")
    right = "a" * 200 + "c" * 5
    for first, second in itertools.product(("a", "b", "aaa", "aab", "baa"), repeat=2):
        for parts in itertools.product("ab", repeat=3):
            prepender, text = encoding.prepender(right), right
            prepender.prepend(first)
            prepender.prepend(second)
            prepender.truncate(len(right))
            for part in ("", "".join(parts), *parts):
                prepender.prepend(part)
                text = part + text
                assert (text, prepender.count) == (text, count(text))


def test_fits_changes_nothing_and_sees_counts_fall() -> None:
    encoding = cutline.get_encoding("o200k_base")
    prepender = encoding.prepender("formações")
    assert (prepender.count, prepender.fits(" in", 1), prepender.fits("", 1)) == (2, True, False)
    assert prepender.fits(" in" * 1_000_000, 5) is False
    assert (prepender.count, prepender.text) == (2, "formações")
    gapped, _ = with_count(with_bytes(()), r"b+")
    assert gapped.prepender("b").fits("a" * 1_000, 1)


def test_a_prepender_keeps_what_it_needs_alive() -> None:
    encoding, _ = with_count(with_bytes(TOY_TOKENS["powers of a"]), r"a+")
    prepender = encoding.prepender("a" * 100)
    del encoding
    gc.collect()
    prepender.prepend("a" * 12)
    assert prepender.count == 112 // 16
