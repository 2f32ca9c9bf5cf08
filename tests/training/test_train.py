"""Training end to end: from text to an encoding that does what packaged ones do."""

import _thread
import pickle
import random
from pathlib import Path
from typing import Any, get_args

import pytest

import cutline
from cutline.training import Ties, merging
from tests.oracles import tiktoken_of

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# The example in the handout of Stanford's CS336, assignment 1, split at white space.
LOW = (
    "low low low low low lower lower widest widest widest newest newest newest newest newest newest"
)
TEXTS = [
    "low lower lowest, naïve 日本日本 👩‍👩‍👧 aaaa\n\n\tx = 10;",
    LOW,
    "don't won't can't 1234 12345",
] * 3


def new_tokens(encoding: cutline.Encoding) -> list[bytes]:
    return list(encoding._mergeable_ranks)[256:]


def test_the_handouts_example_comes_out() -> None:
    encoding = cutline.train(iter([LOW]), 262, pat_str=r"\S+", ties="largest")
    assert new_tokens(encoding) == [b"st", b"est", b"ow", b"low", b"west", b"ne"]


def test_special_tokens_cut_and_come_last() -> None:
    texts = ["ab<end>ab<end>abab"] * 5
    encoding = cutline.train(iter(texts), 260, pat_str=None, special_tokens=["<end>", "<pad>"])
    assert new_tokens(encoding) == [b"ab", b"abab"]
    assert encoding._special_tokens == {"<end>": 258, "<pad>": 259}
    assert encoding.n_vocab == 260
    assert encoding.encode("ab<end>abab", allowed_special="all") == [256, 258, 257]


def test_special_tokens_follow_the_last_merge_where_few_are_found() -> None:
    encoding = cutline.train(iter(["abab ab"]), 5_000, special_tokens=["<end>"])
    assert encoding._special_tokens == {"<end>": 256 + len(new_tokens(encoding))}
    assert encoding.n_vocab == len(encoding._mergeable_ranks) + 1


@pytest.mark.parametrize("pat_str", [None, GPT2, r"\w+|\W"])
@pytest.mark.parametrize("ties", get_args(Ties))
def test_a_trained_encoding_does_what_packaged_ones_do(pat_str: str | None, ties: Ties) -> None:
    encoding = cutline.train(
        iter(TEXTS), 320, pat_str=pat_str, ties=ties, special_tokens=["<end>"], name="mine"
    )
    real, rng = tiktoken_of(encoding._mergeable_ranks, pat_str), random.Random(1)
    for text in TEXTS:
        ids = encoding.encode(text)
        assert ids == real.encode_ordinary(text)
        assert encoding.decode(ids) == text
        intervals = encoding.intervals(text)
        for _ in range(30):
            start, end = sorted(rng.choices(range(len(text) + 1), k=2))
            assert intervals.count(start, end) == len(real.encode_ordinary(text[start:end]))
        chunks = encoding.split(text, 7)
        assert "".join(chunk.text for chunk in chunks) == text
        assert all(encoding.count(chunk.text) <= 7 for chunk in chunks)
    twin = pickle.loads(pickle.dumps(encoding))
    assert twin.encode(TEXTS[0]) == encoding.encode(TEXTS[0])
    assert (twin.name, twin._special_tokens) == ("mine", encoding._special_tokens)


def test_the_result_depends_on_the_text_alone(tmp_path: Path) -> None:
    rng, words = random.Random(2), ("the", "of", "and", "to", "in", "a", "is", "that", "it")
    documents = ["".join(f" {rng.choice(words)}" for _ in range(2_000)) for _ in range(60)]
    paths = []
    for number, document in enumerate(documents):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_text(document, encoding="utf-8")
    want = new_tokens(cutline.train(iter(documents), 400))
    assert want
    for num_threads in (1, 2, 3):
        rng.shuffle(paths)
        assert new_tokens(cutline.train(paths, 400, num_threads=num_threads)) == want
    halves = [cutline.count_pieces(half) for half in (paths[:23], paths[23:])]
    assert new_tokens(cutline.train_from_counts(halves[1] + halves[0], 400)) == want


def test_training_stops_where_pairs_are_rare() -> None:
    text = "abc abc abd"
    assert new_tokens(cutline.train(iter([text]), 400, pat_str=r"\S+")) == [b"ab", b"abc"]
    every = cutline.train(iter([text]), 400, pat_str=r"\S+", min_frequency=1)
    assert new_tokens(every) == [b"ab", b"abc", b"abd"]
    short = cutline.train(iter([text]), 400, pat_str=r"\S+", max_token_length=2)
    assert new_tokens(short) == [b"ab"]


def test_progress_tells_of_both_stages() -> None:
    told: list[cutline.Progress] = []
    cutline.train(iter(TEXTS), 300, progress=told.append)
    assert [step.stage for step in told] == ["count", "merge"]
    assert told[0].bytes_read == sum(len(text.encode()) for text in TEXTS)
    assert told[0].pieces > 20
    assert (told[1].merges, told[1].most_merges, len(told[1].newest)) == (44, 44, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocab_size": 255}, "vocab_size must be from 256 "),
        ({"vocab_size": 257, "special_tokens": ["a", "b"]}, "vocab_size must be from 258 "),
        ({"vocab_size": 2**21}, "to 2097151, got 2097152"),
        ({"vocab_size": 300, "min_frequency": 0}, "min_frequency must be from 1 to .*, got 0"),
        ({"vocab_size": 300, "ties": "first"}, "one of 'smallest', 'largest', 'ids', got 'first'"),
        ({"vocab_size": 300, "max_token_length": 0}, "max_token_length must be from 1 to 32768"),
        ({"vocab_size": 300, "max_token_length": 32_769}, "32768 bytes, got 32769"),
        ({"vocab_size": 300, "min_frequency": 2**63}, "min_frequency must be from 1"),
        ({"vocab_size": 300, "special_tokens": ["a", "a"]}, "'a' occurs twice"),
        ({"vocab_size": 300, "num_threads": 0}, "num_threads must be 1 or more"),
    ],
)
def test_what_is_out_of_range_is_refused_before_anything_is_read(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cutline.train(iter([]), **arguments)  # type: ignore[arg-type]


def test_sizes_are_integers() -> None:
    for arguments in ({"vocab_size": 300.0}, {"min_frequency": 2.5}, {"max_token_length": 2.5}):
        with pytest.raises(TypeError, match="integer"):
            cutline.train(iter([]), **{"vocab_size": 300} | arguments)  # type: ignore[arg-type]


def test_runs_make_no_tokens_that_tables_cannot_hold() -> None:
    encoding = cutline.train(iter(["=" * 140_000] * 2), 400, pat_str=None)
    assert max(map(len, new_tokens(encoding))) == 2**15
    assert encoding.count("=" * 2**16) == 2


def test_a_name_that_no_file_could_hold_is_refused_before_anything_is_read() -> None:
    with pytest.raises(TypeError, match="name must be a str, got int"):
        cutline.train("no such file", 300, name=5)  # type: ignore[arg-type]


def test_what_are_no_counts_is_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match=r"must be PieceCounts, got dict: .*from_pieces takes"):
        cutline.train_from_counts({b"low": 5}, 300)  # type: ignore[arg-type]


def test_a_corpus_without_text_is_refused() -> None:
    with pytest.raises(ValueError, match="no text to train on"):
        cutline.train(iter(["", ""]), 300)


def test_merging_goes_on_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["low low lower lowest newer wider " * 3]
    counts = cutline.count_pieces(iter(texts))
    want = new_tokens(cutline.train_from_counts(counts, 300))
    asked = []

    def refuse(*given: Any) -> int:
        asked.append(given)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(merging, "THREAD_BYTES", 1)
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert new_tokens(cutline.train_from_counts(counts, 300, num_threads=4)) == want
    assert asked
