"""Chunks of texts with few blanks, whose runs end with stops, by models over characters.

Compared with what is found by counting slices, and with the counts of `tokenizers`.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.chunking import plain_finder
from cutline.counting import few_slices
from cutline.pipeline.spelled import SpelledCounter
from tests.conftest import short_or_long
from tests.pipeline.characters import BLANK, DECODERS, PREPEND, REPLACE
from tests.words.test_overlaps import check_breaks

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

LETTERS = "ab日本語のにカー\n\u0301é"
STOPS = "。，、"
WITHIN = ("日本", "日本語", "のに", "日の", "カー", "ab", "。」", "」。", "、、")
"""Merges, as SentencePiece makes them, which splits by scripts."""
ACROSS = ("。日", "、の", "，語", "語。", "。\u0301", "a、", "\n日", "。。", "、\n", "。é", "。a")
PARTS = (
    *"日本語のに",
    *("日本語", "カーのに", "語日本日本", "ab", "é", "\u0301"),
    *(STOPS * 2),
    *(
        "。。",
        "、。",
        "。」",
        "」",
        "。\n",
        "\n。",
        "\n",
        "\n\n",
        "。 ",
        " 。",
        f"。{BLANK}",
        "\n ",
    ),
)
UNKNOWN = (*"한국Ωž", "Ω。", "。Ω", "한국어", "\ue000", "。\ue07f")
WIDE = ("😀", "😀。", "。😀", "\U000e0100")


def document(
    known: str, merges: tuple[str, ...], *, fuses: bool, falls_back: bool = True, prefix: bool
) -> dict[str, Any]:
    """Return a model: some characters, and tokens of several that are merged from the left."""
    tokens = ["<unk>", BLANK, *known]
    pairs = []
    for one in merges:
        for n in range(2, len(one) + 1):
            if {*one} <= {*known} and one[:n] not in tokens:
                tokens.append(one[:n])
                pairs.append([one[: n - 1], one[n - 1]])
    if falls_back:
        tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    steps = [PREPEND, REPLACE] if prefix else [REPLACE]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": None, "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": DECODERS},
        "model": {
            "type": "BPE", "unk_token": "<unk>", "byte_fallback": falls_back, "fuse_unk": fuses,
            "vocab": {token: number for number, token in enumerate(tokens)}, "merges": pairs,
        },
    }  # fmt: skip


def pair(folder: Path, made: dict[str, Any]) -> tuple[cutline.Encoding, Any]:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    return cutline.load(path), tokenizers.Tokenizer.from_file(str(path))


def text_of(rng: random.Random) -> str:
    """Make a text of few blanks, whose characters take one, two or four bytes in memory."""
    parts = [*PARTS, *rng.choice((UNKNOWN, UNKNOWN[:1], ())), *rng.choice((WIDE, (), ()))]
    if rng.random() < 0.1:
        parts = ["abb", "é", "a", "\n", "ÿ"]
    many = [*parts, *rng.choices(parts[:11], k=len(parts))]
    text = "".join(rng.choices(many, k=rng.choice((30, 250, 500, 900))))
    return (
        rng.choice(("", "。", "、日", " ", "\n")) + text + rng.choice(("", "。", "、", "\n", " "))
    )


def ends_runs(encoding: cutline.Encoding, stop: str, after: str = "日") -> bool:
    """Whether runs end with a stop: without lines or blanks, starts are too far apart."""
    text = (f"{after}本" * 20 + stop) * 60
    counter = encoding.intervals(text)
    return isinstance(counter, SpelledCounter) and counter._sums_for(300) is not None


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_finder, "LEAST_TOKENS", 1)
    monkeypatch.setattr(few_slices, "LEAST_TOKENS", 1)
    monkeypatch.setattr(few_slices, "SHARE", 3.0)  # starts may be far apart; lines are long


@short_or_long("n_models", 20, 600)
@pytest.mark.usefixtures("small_chunks")
def test_chunks_are_those_found_by_counting(n_models: int, tmp_path: Path) -> None:
    rng, n_by_runs, n_stopped = random.Random(5), 0, 0
    for _ in range(n_models):
        known = "".join(rng.sample(LETTERS + STOPS, rng.choice((0, 4, 10, len(LETTERS) + 3))))
        merges = (*WITHIN, *rng.sample(ACROSS, rng.choice((0, 0, 1, 3))))
        options = {"fuses": rng.random() < 0.5, "prefix": rng.random() < 0.7}
        made = document(f"{known}」", merges, falls_back=rng.random() < 0.8, **options)
        encoding, tokenizer = pair(tmp_path, made)
        n_stopped += any(ends_runs(encoding, stop) for stop in STOPS)
        for _ in range(6):
            text = text_of(rng)
            counter = encoding.intervals(text)
            n_by_runs += isinstance(counter, SpelledCounter) and counter._sums_for(30) is not None
            check_breaks(rng, encoding, text)
            check_batch(rng, encoding, tokenizer, text)
    assert n_stopped > n_models / 3
    assert n_by_runs > 2 * n_models


def check_batch(rng: random.Random, encoding: cutline.Encoding, tokenizer: Any, text: str) -> None:
    """Compare chunks of one text with those in a batch, twice, and counts with `tokenizers`."""
    size = rng.choice((14, 30, 90))
    chunker = cutline.TextChunker(encoding, size, min_fill=rng.random())
    texts = [text, text_of(rng), text]
    batch = chunker.chunk_batch(texts, num_threads=1)
    for chunks, one in zip(batch, texts, strict=True):
        assert chunker.chunk(one) == chunks, ascii(one)
        assert "".join(chunk.text for chunk in chunks) == one
        for chunk in chunks:
            ids = tokenizer.encode(chunk.text, add_special_tokens=False).ids
            assert chunk.token_count == len(ids) <= size, ascii(chunk.text)
    assert encoding.count(text) == len(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("known", [LETTERS + STOPS, LETTERS, STOPS, ""], ids=ascii)
def test_stops_end_runs(known: str, tmp_path: Path) -> None:
    encoding, _ = pair(tmp_path, document(known, WITHIN, fuses=True, prefix=True))
    for stop in STOPS:
        assert ends_runs(encoding, stop)
        assert ends_runs(encoding, stop, "Ω")
        # A mark may be in a token with what is before it, unless it is written by its bytes.
        assert ends_runs(encoding, f"{stop}\u0301") == ("\u0301" not in known)
    assert not ends_runs(encoding, "・")


@pytest.mark.parametrize("across", ["。日", "、の", "。の"])
def test_stops_are_left_out_that_tokens_go_on_after(across: str, tmp_path: Path) -> None:
    made = document(LETTERS + STOPS, (*WITHIN, across), fuses=True, prefix=True)
    encoding, _ = pair(tmp_path, made)
    assert not any(ends_runs(encoding, stop) for stop in STOPS)
    # Of one that is unknown, no token goes on.
    known = (LETTERS + STOPS).replace(across[0], "")
    encoding, _ = pair(tmp_path, document(known, (*WITHIN, "，日"), fuses=True, prefix=True))
    assert [ends_runs(encoding, stop) for stop in STOPS] == [one == across[0] for one in STOPS]


def test_stops_end_no_runs_where_lines_are_short(tmp_path: Path) -> None:
    """More would be looked up, for chunks that have starts enough."""
    encoding, _ = pair(tmp_path, document(LETTERS + STOPS, WITHIN, fuses=True, prefix=True))
    lines, line = "日本語の\n" * 400, ("日本" * 20 + "。") * 40
    for text, are_known in ((lines + line, False), (line + lines, True)):
        counter = encoding.intervals(text)
        assert isinstance(counter, SpelledCounter)
        # A line is a run of more than 1,024 characters, unless stops end runs.
        assert (counter._sums_for(200) is not None) == are_known


@pytest.mark.parametrize("known", ["日本語の。、", ""], ids=ascii)
def test_many_tokens_of_a_character_are_no_reason_to_index(known: str, tmp_path: Path) -> None:
    """Starts are closer together, where characters have many tokens."""
    encoding, _ = pair(tmp_path, document(known, (), fuses=True, prefix=True))
    rng = random.Random(known)
    lines = ["".join(rng.choices("日本語の、。", k=rng.randint(8, 12))) + "\n" for _ in range(900)]
    counter = encoding.intervals("".join(lines))
    assert isinstance(counter, SpelledCounter)
    # 32 characters have as many as 96.
    assert counter._sums_for(64) is not None
