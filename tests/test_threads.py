"""Any number of threads share one encoding, and each gets what it would get alone.

Data races are for the thread sanitizer, under which these tests run as well (CONTRIBUTING.md).
"""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import cutline
from tests.oracles import real_tiktoken
from tests.texts import long_pieces, random_texts
from tests.threads import at_once
from tests.vocabularies import encoding_of, with_bytes

N_THREADS: Final = 8
NAME: Final = "o200k_base"
TEXTS: Final = ["".join(random_texts(seed, 60)) for seed in range(N_THREADS)]
PATTERN: Final = r" ?\w+|\s+|[^\w\s]+"
# Letters of many scripts, which need tables of their own.
SCRIPTS: Final = [
    "".join(
        chr(code_point) for code_point in range(start, start + 0x700) if chr(code_point).isalpha()
    )
    for start in (0x00, 0x400, 0x900, 0xE00, 0x1E00, 0x3040, 0x4E00, 0xAC00)
]

LEAVES_THE_GIL: Final = """
import sys, cutline
encoding = cutline.get_encoding("o200k_base")
assert encoding.encode("a<|endoftext|>", allowed_special="all")[-1] == 199999
text = "# One\\n\\nText of *this* paragraph.\\n" * 30
for chunker in (cutline.TextChunker(encoding, 20), cutline.TextChunker(encoding, 20, 5)):
    assert "".join(chunk.text for chunk in chunker.chunk(text))
assert encoding.count_batch([text] * 3, num_threads=3).sum() == 3 * encoding.count(text)
assert cutline.train(iter([text]), 300).encode_ordinary(text)
assert cutline.pack([text] * 3, 100, encoding=encoding)
assert not sys._is_gil_enabled()
"""


@pytest.mark.skipif(not hasattr(sys, "_is_gil_enabled"), reason="always has the GIL")
@pytest.mark.skipif(getattr(sys, "_is_gil_enabled", bool)(), reason="the GIL is on")
def test_the_gil_stays_off() -> None:
    """A module that does not declare that it runs without turns it on, with a warning."""
    command = [sys.executable, "-W", "error", "-c", LEAVES_THE_GIL]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")


def answers(encoding: cutline.Encoding, text: str) -> list[Any]:
    """What most methods give for a text."""
    tokens = encoding.encode_ordinary(text)
    intervals = encoding.intervals(text)
    return [
        tokens,
        encoding.encode(text + "<|endoftext|>", allowed_special="all"),
        encoding.encode_to_numpy(text, disallowed_special=()).tolist(),
        encoding.count(text),
        [intervals.count(at, len(text)) for at in range(0, len(text), 97)],
        encoding.decode(tokens),
        encoding.decode_tokens_bytes(tokens[:50]),
        encoding.split(text, 30),
        [chunk.text for chunk in cutline.TextChunker(encoding, 40).chunk(text)],
    ]


def test_one_encoding_answers_many_threads() -> None:
    encoding = cutline.get_encoding(NAME)
    tokens = [real_tiktoken(NAME).encode_ordinary(text) for text in TEXTS]
    want = [answers(encoding, text) for text in TEXTS]
    assert [found[0] for found in want] == tokens

    def work(number: int) -> None:
        for at in range(N_THREADS):
            text = (number + at) % N_THREADS
            assert answers(encoding, TEXTS[text]) == want[text]

    at_once(work, N_THREADS)


@pytest.mark.parametrize("pat_str", [PATTERN, None])
def test_the_first_calls_of_a_new_encoding_are_those_of_many_threads(pat_str: str | None) -> None:
    ranks = with_bytes((b"ab", b"he", b"hello", b" w", b"or", "é".encode(), "中".encode()))
    for seed in range(5):
        texts = [text[:400] for text in random.Random(seed).sample(TEXTS, N_THREADS)]
        want = [encoding_of(ranks, pat_str).encode_ordinary(text) for text in texts]
        shared = encoding_of(ranks, pat_str)

        def work(number: int) -> tuple[list[int], str]:
            tokens = shared.encode_ordinary(texts[number])  # noqa: B023
            return tokens, shared.decode(tokens)  # noqa: B023

        assert at_once(work, N_THREADS) == list(zip(want, texts, strict=True))


def test_growing_texts_apart_share_an_encoding() -> None:
    encoding = cutline.get_encoding(NAME)
    counts = [len(real_tiktoken(NAME).encode_ordinary(text)) for text in TEXTS]

    def work(number: int) -> tuple[int, int]:
        text = TEXTS[number]
        appender, prepender = encoding.appender(), encoding.prepender()
        for at in range(0, len(text), 7):
            appender.append(text[at : at + 7])
            appender.fits(text[:40], number)
        for at in reversed(range(0, len(text), 7)):
            prepender.prepend(text[at : at + 7])
        return appender.count, prepender.count

    assert at_once(work, N_THREADS) == [(count, count) for count in counts]


@pytest.mark.parametrize("structure", ["appender", "prepender"])
def test_a_growing_text_is_looked_at_while_it_grows(structure: str) -> None:
    encoding = cutline.get_encoding(NAME)
    one = getattr(encoding, structure)()
    grow = one.append if structure == "appender" else one.prepend
    counts = {encoding.count("word " * n) for n in range(301)}

    def work(number: int) -> None:
        for _ in range(300):
            if number == 0:
                grow("word ")
            assert one.count in counts
            assert one.text_length % 5 == 0

    at_once(work, 3)
    assert (one.count, one.text) == (encoding.count("word " * 300), "word " * 300)


def test_batches_at_once() -> None:
    encoding = cutline.get_encoding(NAME)
    want = [real_tiktoken(NAME).encode_ordinary(text) for text in TEXTS]
    counts = list(map(len, want))
    chunker = cutline.TextChunker(encoding, 50, 5)
    chunks = chunker.chunk_batch(TEXTS)

    def work(number: int) -> None:
        assert encoding.encode_ordinary_batch(TEXTS, num_threads=2) == want
        assert encoding.count_batch(TEXTS, num_threads=1 + number % 3).tolist() == counts
        assert encoding.decode_batch(want, num_threads=2) == TEXTS
        assert chunker.chunk_batch(TEXTS, num_threads=2) == chunks

    at_once(work, N_THREADS)


def test_trainings_at_once() -> None:
    want = [cutline.train(iter([text] * 2), 300, num_threads=1) for text in TEXTS]

    def work(number: int) -> None:
        trained = cutline.train(iter([TEXTS[number]] * 2), 300, num_threads=2)
        assert trained.encode_ordinary(TEXTS[0]) == want[number].encode_ordinary(TEXTS[0])

    at_once(work, N_THREADS)


def test_slices_of_a_long_piece_whose_tree_several_threads_want() -> None:
    encoding, text = cutline.get_encoding(NAME), long_pieces(3_000)
    rng = random.Random(1)
    spans = [sorted((rng.randrange(len(text)), rng.randrange(len(text)))) for _ in range(100)]
    want = [encoding.count(text[start:end]) for start, end in spans]
    intervals = encoding.intervals(text)
    assert at_once(lambda _: intervals.count_many(spans).tolist(), N_THREADS) == [want] * N_THREADS


def tokenizer_json(model: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": "1.0", "added_tokens": [], "model": model, **more}


def word_piece() -> dict[str, Any]:
    letters = sorted(set("".join(SCRIPTS).lower()))
    vocab = ["[UNK]", "the", "##ing", *letters, *(f"##{letter}" for letter in letters)]
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {token: at for at, token in enumerate(vocab)},
    }
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    }
    return tokenizer_json(model, normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"})


def unigram() -> dict[str, Any]:
    letters = sorted(set("".join(SCRIPTS)))
    pieces = [
        ["<unk>", 0.0],
        ["\u2581", -2.0],
        ["\u2581the", -3.0],
        *([one, -9.0] for one in letters),
    ]
    model = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}
    splitter = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}
    return tokenizer_json(model, normalizer={"type": "NFKC"}, pre_tokenizer=splitter)


@pytest.mark.parametrize("kind", [word_piece, unigram])
def test_tables_of_characters_are_made_while_other_threads_read(
    kind: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(kind()), encoding="utf-8")
    one = cutline.load(path)
    texts = [" ".join(script[at : at + 9] for at in range(0, len(script), 9)) for script in SCRIPTS]
    rng = random.Random(2)
    orders = [rng.sample(texts, len(texts)) for _ in range(N_THREADS)]
    want = {text: one.encode_ordinary(text) for text in texts}
    for _ in range(3):
        shared = cutline.load(path)

        def work(number: int) -> None:
            for text in orders[number]:
                assert shared.encode_ordinary(text) == want[text]  # noqa: B023
                assert shared.intervals(text).count(0, len(text)) == len(want[text])  # noqa: B023

        at_once(work, N_THREADS)
