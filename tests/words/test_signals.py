"""Long calls of word tokenizers end before they are done, where a signal's handler raises."""

import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import cutline
from cutline.kernels.words.intervals import WordIntervals
from tests.alarms import StopError, alarm

tokenizers = pytest.importorskip("tokenizers", reason="makes the tokenizers of these tests")
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")

WORDS, ONE_WORD = "the abs of the ba " * 1_000_000, "ab" * 9_000_000
ENTANGLED = "e\u0301 ab the " * 2_000_000
CALLS: dict[str, Callable[[Any], Any]] = {
    "count": lambda kernel: kernel.count,
    "encode": lambda kernel: partial(kernel.encode, as_list=False),
    "encode_with_spans": lambda kernel: kernel.encode_with_spans,
    "intervals": lambda kernel: partial(WordIntervals, kernel),
}
SEARCHES: dict[str, Callable[[Any], Any]] = {
    "entangled parts": lambda kernel: kernel.raw.entangled_parts,
    "sure starts": lambda kernel: partial(kernel.raw.sure_starts, begin=0, gap=24),
}


def made(kind: str) -> cutline.Encoding:
    if kind == "WordPiece":
        words = {token: number for number, token in enumerate(("[UNK]", "a", "##b", "##a", "the"))}
        model = tokenizers.models.WordPiece(
            words, unk_token="[UNK]", max_input_chars_per_word=10**9
        )
        tokenizer = tokenizers.Tokenizer(model)
        tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(strip_accents=True)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    else:
        rows = [("<unk>", 0.0), ("\u2581", -2.0), ("a", -3.0), ("ab", -4.0), ("ba", -4.5)]
        tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0, False))
        tokenizer.normalizer = tokenizers.normalizers.NFC()
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    return cutline.Encoding.from_tokenizers(tokenizer)


@pytest.fixture
def timer() -> Iterator[None]:
    with alarm():
        yield


@pytest.mark.parametrize(
    ("call", "text"),
    [(call, text) for call in CALLS.values() for text in (WORDS, ONE_WORD)]
    + [(call, ENTANGLED) for call in SEARCHES.values()],
    ids=[f"{name}, {text}" for name in CALLS for text in ("words", "one word")] + [*SEARCHES],
)
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_a_long_call_can_be_interrupted(
    kind: str, call: Callable[[Any], Any], text: str, timer: None
) -> None:
    encoding = made(kind)
    kernel = encoding._pipeline.kernel  # type: ignore[union-attr]
    # `zip` goes from one to the next without Python's own look for signals.
    starts = map(signal.setitimer, [signal.ITIMER_REAL], [0.002])
    after = iter(["the call was done"])
    steps = zip(starts, map(call(kernel), [text]), after, strict=True)
    with pytest.raises(StopError):
        next(steps)
    assert [*after] == ["the call was done"]
    assert encoding.count("the ab") == encoding.intervals("the ab").total
