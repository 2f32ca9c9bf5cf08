"""A wrapped tokenizer: its counts are the tokenizer's own, and nothing is ever over budget."""

import json
import pickle
import random
from itertools import combinations
from types import SimpleNamespace
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import NormalizedString, PreTokenizedString, Tokenizer, models, pre_tokenizers

import cutline
from cutline.counting import till_limit
from cutline.wrapping.slices import LOOK_AHEAD, MAX_TOKEN_CHARACTERS
from tests.texts import NAMED_TEXTS, random_texts
from tests.wrapping.made import (
    ANY_KIND,
    ANY_TEXT,
    KINDS,
    STORY,
    WITH_SEAMS,
    counter,
    made,
    some_texts,
    wrapped,
)

# Counting


@pytest.mark.parametrize("kind", KINDS)
def test_count_is_that_of_the_tokenizer(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(till_limit, "_LEAST", 8)  # so that beginnings are counted, too
    monkeypatch.setattr(till_limit, "_CHARACTERS_A_TOKEN", 1)
    tokenizer, count = wrapped(kind), counter(kind)
    texts = [*NAMED_TEXTS.values(), *random_texts(4, 50), STORY]
    assert tokenizer.count_batch(texts).tolist() == [count(text) for text in texts]
    for text in texts:
        assert tokenizer.count(text) == len(tokenizer.encode(text)) == count(text)
        assert tokenizer.fits(text, count(text))
        assert tokenizer.count_till_limit(text, count(text)) == count(text)
        if count(text):
            assert not tokenizer.fits(text, count(text) - 1)
            assert tokenizer.count_till_limit(text, count(text) - 1) is None


@pytest.mark.parametrize("kind", KINDS)
def test_slices_are_counted_as_if_alone(kind: str) -> None:
    tokenizer, count, rng = wrapped(kind), counter(kind), random.Random(7)
    for text in some_texts(kind):
        slices = tokenizer.intervals(text)
        spans = [sorted(rng.choices(range(len(text) + 1), k=2)) for _ in range(10)]
        spans.append([0, len(text)])
        counted = list(slices.count_many([(start, end) for start, end in spans]))
        assert counted == [count(text[start:end]) for start, end in spans]


@settings(max_examples=150)
@given(text=ANY_TEXT, kind=ANY_KIND)
def test_any_slice_is_counted_as_if_alone(text: str, kind: str) -> None:
    slices, count = wrapped(kind).intervals(text), counter(kind)
    for start, end in list(combinations(range(len(text) + 1), 2))[::7]:
        assert slices.count(start, end) == count(text[start:end])


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", sorted(WITH_SEAMS))
def test_seams_hold_beside_every_character(kind: str) -> None:
    tokenizer, count = wrapped(kind), counter(kind)
    points = [point for point in map(chr, range(0x110000)) if category(point)[0] != "C"]
    points += [point for point in map(chr, range(0x3000)) if category(point) in ("Cc", "Cf")]
    for start in range(0, len(points), 200):
        text = "".join(f" {point} a{point}\n" for point in points[start : start + 200])
        assert tokenizer.intervals(text).count(0, len(text)) == count(text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_many_slices_are_counted_as_if_alone(kind: str) -> None:
    tokenizer, count, rng = wrapped(kind), counter(kind), random.Random(11)
    for text in random_texts(12, 300):
        slices = tokenizer.intervals(text)
        start, end = sorted(rng.choices(range(len(text) + 1), k=2))
        assert slices.count(start, end) == count(text[start:end])
        check_cut(kind, text, rng.randint(0, 9), start)


def test_seams_are_those_of_tokenizers_that_take_blanks_out() -> None:
    assert {kind for kind in KINDS if wrapped(kind).safe_points} == WITH_SEAMS


# Cuts


def check_cut(kind: str, text: str, n: int, start: int) -> None:
    tokenizer, count = wrapped(kind), counter(kind)
    end = tokenizer.split_at(text, n, start)
    assert start <= end <= min(len(text), start + MAX_TOKEN_CHARACTERS * (n + 1))
    assert count(text[start:end]) <= n
    assert tokenizer.intervals(text).split_at(start, n) == end
    followers = range(
        end + 1, min(len(text), end + LOOK_AHEAD, start + MAX_TOKEN_CHARACTERS * (n + 1)) + 1
    )
    if end - start <= 64:
        assert not [place for place in followers if count(text[start:place]) <= n]


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_are_never_over_budget_and_none_of_the_next_fits(kind: str) -> None:
    rng = random.Random(3)
    for number, text in enumerate(some_texts(kind)):
        n = (0, 1, 2, 5, 17)[number % 5]
        check_cut(kind, text[:400], n, rng.randint(0, min(len(text), 400) // 2))


@settings(max_examples=200)
@given(text=ANY_TEXT, kind=ANY_KIND, n=st.integers(0, 12))
def test_any_cut(text: str, kind: str, n: int) -> None:
    check_cut(kind, text, n, 0)


@pytest.mark.parametrize("kind", sorted(WITH_SEAMS))
def test_the_greatest_cut_is_found_where_words_stand_apart(kind: str) -> None:
    tokenizer, count = wrapped(kind), counter(kind)
    for text in [text[:150] for text in some_texts(kind)]:
        if max(map(len, text.split()), default=0) > LOOK_AHEAD:
            continue
        for n in (1, 6):
            ends = range(min(len(text), MAX_TOKEN_CHARACTERS * (n + 1)) + 1)
            greatest = max(end for end in ends if count(text[:end]) <= n)
            assert (text, n, tokenizer.split_at(text, n)) == (text, n, greatest)


def test_a_budget_reaches_64_characters_for_each_token_and_one_more() -> None:
    tokenizer, blanks = wrapped("bert"), " " * 10_000
    assert tokenizer.count(blanks) == 0
    assert tokenizer.split_at(blanks, 9) == 640
    assert "".join(chunk.text for chunk in tokenizer.split(blanks, 9)) == blanks


# What is wrapped


def test_truncation_and_padding_hide_nothing() -> None:
    given = made("bert_as_published")
    tokenizer = cutline.wrap(given)
    assert len(given.encode(STORY).ids) == len(given.encode("one").ids) == 8
    assert tokenizer.count(STORY) > 100
    assert tokenizer.count("one") == made("bert").encode("one").ids.__len__()
    assert given.truncation is not None
    assert given.padding is not None


def test_special_tokens_of_the_template_are_told_and_not_counted() -> None:
    tokenizer = wrapped("bert_as_published")
    assert tokenizer.num_special_tokens_to_add() == 2
    assert tokenizer.tokenizer.encode("one").ids.__len__() == tokenizer.count("one") + 2
    assert wrapped("sentence_piece").num_special_tokens_to_add() == 0


def test_text_of_special_tokens_is_read_as_the_tokenizer_was_told() -> None:
    special, ordinary = made("bert"), Tokenizer.from_str(made("bert").to_str())
    ordinary.encode_special_tokens = True
    assert cutline.wrap(special).count("[SEP]") == 1
    for tokenizer in (cutline.wrap(ordinary), pickle.loads(pickle.dumps(cutline.wrap(ordinary)))):
        assert tokenizer.count("[SEP]") == len(ordinary.encode("[SEP]").ids) > 1


def test_later_changes_to_the_tokenizer_change_nothing() -> None:
    given = Tokenizer.from_str(made("bert").to_str())
    tokenizer = cutline.wrap(given)
    before = tokenizer.count(STORY)
    given.enable_truncation(3)
    given.pre_tokenizer = pre_tokenizers.CharDelimiterSplit("e")
    assert tokenizer.count(STORY) == before


def test_fast_tokenizers_of_transformers_are_wrapped_by_their_backend() -> None:
    fast = SimpleNamespace(backend_tokenizer=made("bert"), name_or_path="some/bert")
    tokenizer = cutline.wrap(fast)
    assert (tokenizer.name, repr(tokenizer)) == ("some/bert", "<WrappedTokenizer 'some/bert'>")
    assert tokenizer.count(STORY) == counter("bert")(STORY)
    assert cutline.wrap(made("bert")).name == "WordPiece"
    assert cutline.wrap(fast, name="mine").name == "mine"


def test_content_hashes_are_those_of_what_decides_on_tokens() -> None:
    hashes = {kind: wrapped(kind).content_hash for kind in KINDS}
    assert None not in hashes.values()
    assert len(set(hashes.values())) == len(KINDS)
    tokenizer = Tokenizer.from_str(made("bert").to_str())
    assert cutline.wrap(tokenizer, name="other").content_hash == hashes["bert"]
    assert pickle.loads(pickle.dumps(wrapped("bert"))).content_hash == hashes["bert"]
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    assert cutline.wrap(tokenizer).content_hash == hashes["bert"]
    tokenizer.encode_special_tokens = True
    assert cutline.wrap(tokenizer).content_hash not in hashes.values()


def test_what_is_of_another_make_has_no_content_hash() -> None:
    """Not even if it says that it has the tokenizer.json of another: it may encode otherwise."""
    tokenizer = Tokenizer.from_str(made("bert").to_str())
    other = SimpleNamespace(encode=tokenizer.encode, to_str=tokenizer.to_str)
    assert cutline.wrap(other).content_hash is None
    tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(InPython())
    assert cutline.wrap(tokenizer).content_hash is None


@pytest.mark.parametrize("kind", KINDS)
def test_it_pickles(kind: str) -> None:
    tokenizer = pickle.loads(pickle.dumps(wrapped(kind)))
    assert tokenizer.name == kind
    assert tokenizer.count(STORY) == counter(kind)(STORY)


class Slow:
    """As slow tokenizers of transformers are: ids alone."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [1]


@pytest.mark.parametrize("other", [Slow(), object(), len, b"bert"])
def test_what_does_not_encode_with_offsets_is_refused(other: Any) -> None:
    with pytest.raises(TypeError, match=rf"and offsets, got {type(other).__name__}: give a tok"):
        cutline.wrap(other)


def test_what_is_wrapped_is_not_wrapped_again() -> None:
    wrapped = cutline.wrap(Tokenizer(models.BPE({"a": 0}, [])), name="tiny")
    with pytest.raises(TypeError, match=r"^<WrappedTokenizer 'tiny'> counts and cuts as it is"):
        cutline.wrap(wrapped)


def test_tokens_at_random_are_refused() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0}, [], dropout=0.1))
    with pytest.raises(ValueError, match=r"at random \(dropout=0\.1"):
        cutline.wrap(tokenizer)
    tokenizer.model.dropout = None
    assert cutline.wrap(tokenizer).count("aaa") == 3


class InPython:
    """A pre-tokenizer that cannot be copied."""

    def pre_tokenize(self, text: PreTokenizedString) -> None:
        text.split(lambda _, part: self.halves(part))

    def halves(self, part: NormalizedString) -> list[NormalizedString]:
        middle = len(str(part)) // 2
        return [half for half in (part[:middle], part[middle:]) if half is not None and str(half)]


def test_parts_in_python_are_wrapped_unless_they_hide_tokens() -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(InPython())
    halving = cutline.wrap(tokenizer)
    assert halving.safe_points is None
    assert halving.count("ab ab ab") == 2
    tokenizer.enable_truncation(4)
    with pytest.raises(ValueError, match=r"has truncation enabled and cannot be copied \(.*"):
        cutline.wrap(tokenizer)


def test_tokenizers_of_any_make_are_wrapped() -> None:
    class Letters:
        def encode(self, text: str, *, add_special_tokens: bool) -> SimpleNamespace:
            assert not add_special_tokens
            places = [place for place, letter in enumerate(text) if letter.isalpha()]
            return SimpleNamespace(ids=places, offsets=[(place, place + 1) for place in places])

    letters = cutline.wrap(Letters())
    assert (letters.name, letters.num_special_tokens_to_add()) == ("Letters", 0)
    assert [chunk.text for chunk in letters.split("one, two; three.", 5)] == [
        "one, tw",
        "o; thre",
        "e.",
    ]


def test_the_work_is_linear_in_the_text() -> None:
    """Characters that are encoded, for each character of the text, whatever its length."""

    class Counted:
        def __init__(self) -> None:
            self.characters = 0

        def encode(self, text: str, *, add_special_tokens: bool) -> Any:
            self.characters += len(text)
            return backend.encode(text, add_special_tokens=add_special_tokens)

        def __deepcopy__(self, memo: object) -> "Counted":
            return self

    backend = made("unigram_of_t5")
    for text in (STORY, "a" * 500, " " * 500, "日" * 500, "\u0301" * 500):
        work = []
        for times in (16, 64):
            counted = Counted()
            cutline.TokenChunker(cutline.wrap(counted), 32).chunk(text * times)
            work.append(counted.characters / len(text * times))
        assert work[1] <= 1.1 * work[0]
        assert work[1] < 100


def test_what_is_no_token_counter_is_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match=r"got Tokenizer: use cutline\.wrap\(\.\.\.\)"):
        cutline.TokenChunker(made("bert"))
    with pytest.raises(TypeError, match=r"got int: use get_encoding\(\.\.\.\)"):
        cutline.truncate("text", 5, encoding=5)


def test_configuration_is_read_without_the_vocabulary() -> None:
    """Parts are pickled one by one; so a large vocabulary costs nothing."""
    part = json.loads(made("words").pre_tokenizer.__getstate__())
    assert [member["type"] for member in part["pretokenizers"]] == [
        "WhitespaceSplit",
        "Punctuation",
        "Digits",
    ]
