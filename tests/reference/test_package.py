"""The reference is for those who ask for it: its examples hold, and cutline does without it."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import cutline.reference
from cutline.reference import Tokens
from cutline.vocabulary import Vocabulary

MODULES = [
    "cutline.reference",
    *(
        f"cutline.reference.{found.name}"
        for found in pkgutil.iter_modules(cutline.reference.__path__)
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_are_found_where_a_decorator_wraps_them() -> None:
    found = doctest.DocTestFinder().find(importlib.import_module("cutline.reference.heap"))
    assert {test.name.rpartition(".")[2]: len(test.examples) for test in found}["encode_heap"] == 2


def test_tokens_are_made_from_a_vocabulary_or_from_ranks() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"abc": 256, b"bc": 257}
    from_vocabulary, from_ranks = Tokens(Vocabulary.from_ranks(ranks)), Tokens(ranks)
    assert from_vocabulary == from_ranks == ranks
    assert from_vocabulary.splits == from_ranks.splits


def test_ranks_that_are_no_vocabulary_are_refused() -> None:
    with pytest.raises(cutline.VocabularyError, match="255 single bytes have no token"):
        Tokens({b"a": 0})


def test_cutline_does_not_import_the_reference() -> None:
    program = (
        "import sys, cutline; cutline.get_encoding('r50k_base').split('one two', 1);"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "cutline.encoding" in done.stdout
    assert "cutline.reference" not in done.stdout
