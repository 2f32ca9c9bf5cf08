"""No method keeps memory: after many calls the process is about as large as it was before.

The exhaustive run makes 10**6 calls of each, and of slow ones as many fewer as the table says.
"""

import gc
import inspect
import os
import sys
from collections.abc import Callable, Generator
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import pytest

import cutline
from cutline import HierarchicalChunker, Item, PieceCounts, Template
from cutline.vocabulary import Vocabulary
from tests.conftest import short_or_long
from tests.pipeline.families import build

for package in ("jinja2", "pyromark", "tree_sitter"):
    pytest.importorskip(package)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")

ENC: Final = cutline.get_encoding("r50k_base")
LINES: Final = "# A\n\nOne, two, 3 of them.\n\n- é 中文\n\n| a |\n|---|\n| 1 |\n"
TEXTS: Final = tuple(f"{number} of {LINES[number % 30 :]}"[:60] for number in range(997))
IDS: Final = [*map(ENC.encode_ordinary, TEXTS)]
CHUNKS: Final = cutline.TextChunker(ENC, 9)(LINES)
COUNTER: Final = ENC.intervals(LINES)
COUNTS: Final = cutline.count_pieces(iter(TEXTS[:9]), num_threads=1)
TEMPLATE: Final = Template("{title}: {text}", values={"title": "T"})
SIZES: Final = HierarchicalChunker(cutline.TextChunker(ENC), sizes=(9, 5))
WRAPPED: Final = cutline.wrap(build("gpt 2", 300))
CHAT: Final = cutline.ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", ENC)
APPENDER: Final = ENC.appender()
PREPENDER: Final = ENC.prepender()
DATA: Final = cutline.DataChunker("json", ENC, 9)
SMALL: Final = Vocabulary.from_ranks({bytes([byte]): byte for byte in range(256)})

# Of 10**6 calls, how many are made: 1 of so many.
Call = tuple[int, Callable[[str], Any]]


def _message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _grow(live: Any, text: str) -> None:
    """Add, cut back and copy."""
    add = live.append if live is APPENDER else live.prepend
    add(text)
    live.fits(text, 9)
    live.copy().truncate(3)
    live.tokens()
    assert live.count
    live.truncate(live.text_length % 200)


def _talk(text: str) -> None:
    chat = cutline.Conversation(CHAT, [_message(text)])
    chat.append(_message("b"))
    assert chat.count
    chat.fits(_message("a"), 3)
    chat.copy().truncate(1)
    chat.message_counts()


def _stream(text: str) -> None:
    stream = ENC.decode_stream()
    for token in ENC.encode_ordinary(text):
        stream.feed(token)
    stream.finish()


def _saved(folder: Path) -> dict[str, Call]:
    """Calls that read or write files."""
    path, counts = folder / "x.cutline", folder / "x.counts"
    cutline.Encoding.from_vocabulary(
        "x", pat_str=r"\w+|\W+", vocabulary=SMALL, special_tokens={}
    ).save(path)
    COUNTS.save(counts)
    return {
        "load": (10_000, lambda text: cutline.load(path).count(text)),
        "Encoding.save": (10_000, lambda text: cutline.load(path).save(folder / "y.tiktoken")),
        "PieceCounts.save": (1_000, lambda text: COUNTS.save(folder / "y.counts")),
        "PieceCounts.load": (1_000, lambda text: PieceCounts.load(counts)),
        "PieceCounts.load_with_note": (1_000, lambda text: PieceCounts.load_with_note(counts)),
    }


CALLS: Final[dict[str, Call]] = {
    "Encoding.encode": (1, ENC.encode),
    "Encoding.encode_ordinary": (1, ENC.encode_ordinary),
    "Encoding.encode_batch": (10, lambda text: ENC.encode_batch([text, text])),
    "Encoding.encode_ordinary_batch": (10, lambda text: ENC.encode_ordinary_batch([text, text])),
    "Encoding.encode_to_numpy": (1, ENC.encode_to_numpy),
    "Encoding.encode_with_offsets": (2, ENC.encode_with_offsets),
    "Encoding.encode_single_token": (1, lambda text: ENC.encode_single_token("the")),
    "Encoding.count": (1, ENC.count),
    "Encoding.count_batch": (2, lambda text: ENC.count_batch([text, text])),
    "Encoding.count_till_limit": (1, lambda text: ENC.count_till_limit(text, 5)),
    "Encoding.fits": (1, lambda text: ENC.fits(text, 5)),
    "Encoding.decode": (1, lambda text: ENC.decode(IDS[len(text)])),
    "Encoding.decode_bytes": (1, lambda text: ENC.decode_bytes(IDS[len(text)])),
    "Encoding.decode_batch": (10, lambda text: ENC.decode_batch(IDS[:2])),
    "Encoding.decode_bytes_batch": (10, lambda text: ENC.decode_bytes_batch(IDS[:2])),
    "Encoding.decode_tokens_bytes": (1, lambda text: ENC.decode_tokens_bytes(IDS[len(text)])),
    "Encoding.decode_with_offsets": (1, lambda text: ENC.decode_with_offsets(IDS[len(text)])),
    "Encoding.decode_single_token_bytes": (1, lambda text: ENC.decode_single_token_bytes(7)),
    "Encoding.decode_stream": (10, _stream),
    "Encoding.is_special_token": (1, lambda text: ENC.is_special_token(len(text))),
    "Encoding.num_special_tokens_to_add": (1, lambda text: ENC.num_special_tokens_to_add()),
    "Encoding.token_byte_values": (20_000, lambda text: ENC.token_byte_values()),
    "Encoding.intervals": (2, ENC.intervals),
    "Encoding.split": (5, lambda text: ENC.split(text, 5, 1)),
    "Encoding.split_at": (2, lambda text: ENC.split_at(text, 5)),
    "Encoding.truncate": (5, lambda text: ENC.truncate(text, 5, "both")),
    "Encoding.appender": (2, lambda text: ENC.appender(text)),
    "Encoding.prepender": (2, lambda text: ENC.prepender(text)),
    "Encoding.from_vocabulary": (
        10_000,
        lambda text: cutline.Encoding.from_vocabulary(
            "x", pat_str=None, vocabulary=SMALL, special_tokens={}
        ).count(text),
    ),
    "IntervalCounter.count": (1, lambda text: COUNTER.count(len(text) // 3, len(text) // 2)),
    "IntervalCounter.count_many": (2, lambda text: COUNTER.count_many([[0, 9], [3, 30]])),
    "IntervalCounter.split_at": (1, lambda text: COUNTER.split_at(len(text) // 3, 4)),
    "Appender, all methods": (10, lambda text: _grow(APPENDER, text)),
    "Prepender, all methods": (20, lambda text: _grow(PREPENDER, text)),
    "Conversation, all methods": (2_000, _talk),
    "ChatTemplate.count": (200, lambda text: CHAT.count([_message(text)])),
    "ChatTemplate.encode": (200, lambda text: CHAT.encode([_message(text)])),
    "trim": (2_000, lambda text: cutline.trim([_message(text)] * 3, 60, CHAT)),
    "TokenChunker.chunk": (20, cutline.TokenChunker(ENC, 9).chunk),
    "TextChunker.chunk": (100, cutline.TextChunker(ENC, 9).chunk),
    "TextChunker.chunk_batch": (
        200,
        lambda text: cutline.TextChunker(ENC, 9).chunk_batch([text, text]),
    ),
    "TextChunker.iter_chunks": (
        200,
        lambda text: [*cutline.TextChunker(ENC, 9).iter_chunks([text, text])],
    ),
    "MarkdownChunker.chunk": (200, cutline.MarkdownChunker(ENC, 9).chunk),
    "CodeChunker.chunk": (500, cutline.CodeChunker("python", ENC, 9).chunk),
    "DataChunker.chunk": (200, DATA.chunk),
    "HierarchicalChunker.chunk": (500, SIZES.chunk),
    "chunker_for": (500, lambda text: cutline.chunker_for("a.md", ENC, 9)(text)),
    "boundaries": (50, lambda text: cutline.boundaries(text, "sentence")),
    "Template.render": (5, lambda text: TEMPLATE.render(CHUNKS[0])),
    "Template.count": (5, lambda text: TEMPLATE.count(CHUNKS[0], ENC)),
    "Template.fill": (10, lambda text: TEMPLATE.fill(title=text)),
    "shorten": (500, lambda text: cutline.shorten(f'["{text!r}", 1, 2]', 9, encoding=ENC)),
    "truncate": (10, lambda text: cutline.truncate(text, 5, encoding=ENC)),
    "pack": (50, lambda text: cutline.pack([text, Item(text, priority=2)], 20, encoding=ENC)),
    "verify": (200, lambda text: cutline.verify(LINES, CHUNKS, encoding=ENC, chunk_size=9)),
    "merge_hits": (200, lambda text: cutline.merge_hits(CHUNKS[:2], ENC)),
    "plan": (50, lambda text: cutline.plan(CHUNKS, CHUNKS[1:])),
    "batches": (50, lambda text: [*cutline.batches(CHUNKS)]),
    "sentence_windows": (100, lambda text: [*cutline.sentence_windows(text, ENC)]),
    "token_spans": (50, lambda text: cutline.token_spans(LINES, CHUNKS, ENC)),
    "notebook_text": (50, lambda text: cutline.notebook_text('{"nbformat": 4, "cells": []}')),
    "WrappedTokenizer.count": (20, WRAPPED.count),
    "WrappedTokenizer.encode": (20, WRAPPED.encode),
    "WrappedTokenizer.split": (200, lambda text: WRAPPED.split(text, 9)),
    "WrappedTokenizer.truncate": (200, lambda text: WRAPPED.truncate(text, 5)),
    "wrap": (5_000, lambda text: cutline.wrap(WRAPPED.tokenizer).count(text)),
    "count_pieces": (500, lambda text: cutline.count_pieces(iter([text]), num_threads=1)),
    "PieceCounts.most_common": (10, lambda text: COUNTS.most_common(3)),
    "PieceCounts.items": (10, lambda text: [*COUNTS.items()]),
    "train": (10_000, lambda text: cutline.train(iter([text * 3]), vocab_size=260, name="x")),
    "train_from_counts": (
        10_000,
        lambda text: cutline.train_from_counts(COUNTS, vocab_size=260, name="x"),
    ),
    "get_encoding": (1, lambda text: cutline.get_encoding("r50k_base")),
    "encoding_for_model": (1, lambda text: cutline.encoding_for_model("gpt2")),
    "UnknownTokenError": (5, lambda text: _refused(ENC.encode_single_token, text)),
    "SpecialTokenError": (5, lambda text: _refused(ENC.encode, "<|endoftext|>")),
    "SurrogateError": (5, lambda text: _refused(ENC.split, text + "\ud800", 5)),
}


def _refused(call: Callable[..., Any], *arguments: Any) -> None:
    with pytest.raises(cutline.CutlineError):
        call(*arguments)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def others_frozen() -> Generator[None, None, None]:
    """What other tests left in caches need not be walked twice for each name."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@short_or_long("n_calls", 500, 1_000_000)
@pytest.mark.usefixtures("others_frozen")
def test_memory_is_as_it_was_after_many_calls(n_calls: int, tmp_path: Path) -> None:
    allowed = 4_000_000 + 12 * n_calls
    grown = {}
    for name, (share, call) in {**CALLS, **_saved(tmp_path)}.items():
        texts = cycle(TEXTS)
        n = max(n_calls // share, 20)
        for text in islice(texts, min(n, 1_000)):  # what is cached, is by now
            call(text)
        for _ in range(3):  # what leaks does so each time, and not what other tests left in pieces
            gc.collect()
            before = resident_bytes()
            for text in islice(texts, n):
                call(text)
            gc.collect()
            grown[name] = resident_bytes() - before
            print(f"{name}: {n:,} calls, {grown[name] / 1e6:+.1f} MB")
            if grown[name] <= allowed:
                break
    assert {name: size for name, size in grown.items() if size > allowed} == {}


def test_all_methods_that_encode_are_called() -> None:
    made_once = {"from_spec", "from_tiktoken", "from_tokenizers"}
    for owner in (cutline.Encoding, cutline.IntervalCounter):
        methods = {
            name
            for name, _ in inspect.getmembers(owner, callable)
            if not name.startswith("_") and name not in made_once
        }
        named = {name.partition(".")[2] for name in CALLS if name.startswith(owner.__name__)}
        assert methods - named <= {"save"}
