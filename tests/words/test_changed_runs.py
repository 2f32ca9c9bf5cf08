"""Runs whose characters change one another: looked up and cut like others, against `tokenizers`."""

import random
import unicodedata
from array import array
from functools import partial

import pytest

import cutline
import cutline.chunking
from cutline.kernels.breaks.word_breaks import cut_words_at_breaks
from cutline.kernels.words.intervals import WordIntervals
from cutline.pipeline import changed_runs
from cutline.pipeline.entangled import EntangledParts
from tests.conftest import short_or_long
from tests.words.charsmaps import charsmap
from tests.words.test_encoding import ids
from tests.words.tokenizers_of import tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
steps, splitters = tokenizers.normalizers, tokenizers.pre_tokenizers

WORDS = (
    "caf\u00e9", "th\u00e9\u00e2tre,", "a", "the", "\u1ec7", "vi\u1ec7t.", "\uac00\uac01",
    "\u0958\u093e", "\u064a\u064f\u0648\u0644\u064e\u062f", "\U0001f44d\U0001f3fd",
    "\u304c\u3099\u3002", "x\u0323\u0301\u0302y", "e\u0301\u0301\u0301", "xy", "axy", "xyb",
    "\u0301", "\u0600", "a\u0600", "\u00e9\u200d", "\u200d\u00e9", "e\u0301\u0085", "\u212b" * 9,
    "o\u031b" * 300, "\ufb01\u0301", "ae\u0301\u0302", "ab\u0301\u0302", "=\u0338" * 9,
    "a=\u0338b=",
)  # fmt: skip
BLANKS = steps.Replace(tokenizers.Regex(" {2,}"), " ")
# A blank after the first is lost with it; of some letters with marks, the marks are a blank.
MAP = {"\u0600": "x", "e\u0301": "\u00e9", "\u0301\u0302": " ", "\u0301": "'"}
CONFIGURATIONS = {
    "nfkc": (steps.NFKC(), "white"),
    "nfd": (steps.NFD(), "white"),
    "signs, nfc": (steps.NFC(), "signs"),
    "nfc, lower": (steps.Sequence([steps.NFC(), steps.Lowercase()]), "white"),
    "blank of two": (steps.Sequence([steps.Replace("xy", " "), BLANKS]), "meta"),
    "nothing of two": (steps.Sequence([steps.Replace("xy", ""), BLANKS]), "meta"),
    "map": (steps.Sequence([steps.Precompiled(charsmap(MAP)), BLANKS]), "meta"),
    "runs, nfkc": (steps.Sequence([steps.NFKC(), BLANKS]), "meta"),
    "runs, nfkc, strip": (steps.Sequence([steps.NFKC(), BLANKS, steps.Strip(False, True)]), "meta"),
}
PUBLISHED = ("xlm-r", "t5", "deberta", "albert", "trained by sentencepiece in tokenizers")


def encodings(name: str, rng: random.Random) -> "tuple[tokenizers.Tokenizer, cutline.Encoding]":
    if name in PUBLISHED:
        oracle = tokenizer_of("Unigram", name, rng)
    else:
        oracle = tokenizer_of("Unigram", "nothing, at white space", rng)
        oracle.normalizer, how = CONFIGURATIONS[name]
        first = {"meta": (), "white": (splitters.WhitespaceSplit(),)}.get(
            how, (splitters.WhitespaceSplit(), splitters.Punctuation())
        )
        oracle.pre_tokenizer = splitters.Sequence([*first, splitters.Metaspace()])
    return oracle, cutline.Encoding.from_tokenizers(oracle)


def random_text(rng: random.Random) -> str:
    form = rng.choice((None, "NFC", "NFD"))
    words = [*rng.sample(WORDS, rng.randint(2, 8)), "e\u0301", "the"]
    words += [rng.choice(words) + rng.choice(words) for _ in range(3)]
    blanks = rng.choice(((" ",), (" ", "\n"), (" ", "  ", "\n", "\t", " \u00a0")))
    text = rng.choice(("", " "))
    while len(text) < 300:
        text += rng.choice(words) + rng.choice(blanks)
    text = text[rng.choice((0, 1)) : len(text) - rng.randint(0, 3)]
    return unicodedata.normalize(form, text) if form else text


@short_or_long("n_texts", 12, 400)
@pytest.mark.parametrize("name", [*CONFIGURATIONS, *PUBLISHED])
def test_counts_and_cuts_are_those_of_encoding(name: str, n_texts: int) -> None:
    rng = random.Random(name)
    oracle, encoding = encodings(name, rng)
    pipeline = encoding._pipeline
    for _ in range(n_texts):
        text = random_text(rng)
        for _ in range(2):  # not met, and met before
            assert encoding.count(text) == len(ids(oracle, text)), ascii(text)
        parts = partial(EntangledParts, pipeline, text)
        kernel = pipeline.kernel  # type: ignore[union-attr]
        dense, sparse = (WordIntervals(kernel, text, parts, gap=gap) for gap in (0, 8))
        assert sparse.total == dense.total, ascii(text)
        for _ in range(12):
            start, end = sorted(rng.choices(range(len(text) + 1), k=2))
            expected = len(ids(oracle, text[start:end]))
            assert sparse.count(start, end) == expected, (ascii(text), start, end)
            n = rng.choice((0, 1, 3, expected, 40))
            assert sparse.split_at(start, n) == dense.split_at(start, n), (ascii(text), start, n)
        for n in (rng.choice((20, 40)), rng.choice((64, 100))):
            assert sparse.cut_all(n) == dense.cut_all(n), ascii(text)
            kinds = array("i", rng.choice(([1], [0, 1, 2, 3], [2], [3], [0, 1, 2, 3, 4])))
            found = [
                cut_words_at_breaks(one, 0, 0, len(text), n, 0.25, kinds) for one in (sparse, dense)
            ]
            assert found[0][0].tolist() == found[1][0].tolist(), ascii(text)


@pytest.mark.parametrize("name", ["nfkc", "runs, nfkc", "xlm-r"])
def test_each_run_is_normalized_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, encoding = encodings(name, random.Random(name))
    calls, normal = list[str](), changed_runs.normalize
    monkeypatch.setattr(
        changed_runs, "normalize", lambda run, steps: calls.append(run) or normal(run, steps)
    )
    monkeypatch.setattr(EntangledParts, "edges", None)
    text = "cafe\u0301 the o\u0302te\u0301 " * 100 + "the end of all this text " * 8
    for _ in range(2):
        assert encoding.count(text) == len(ids(oracle, text))
        chunks = cutline.TextChunker(encoding, 64).chunk(text)
        assert "".join(chunk.text for chunk in chunks) == text
    # The first run of a text, and that of a chunk, are other ones.
    assert {*map(str.strip, calls)} == {"cafe\u0301", "o\u0302te\u0301"}
    assert len(calls) <= 4


def test_few_characters_after_known_runs_are_counted_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    oracle, encoding = encodings("nfkc", random.Random(1))
    text = "cafe\u0301 the " * 100 + "cafe\u0301"
    assert encoding.count(text) == len(ids(oracle, text))
    asked = list[str]()
    count = encoding._pipeline.entangled.count  # type: ignore[union-attr]
    runs = encoding._pipeline.kernel.changed_runs  # type: ignore[union-attr]
    monkeypatch.setattr(
        runs, "count_end", lambda end, begins: asked.append(end) or count(end, begins)
    )
    assert encoding.count(text) == len(ids(oracle, text))
    assert max(map(len, asked)) < 128


def test_what_is_raised_while_runs_are_normalized_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raises(run: str, steps: object) -> str:
        raise KeyboardInterrupt

    oracle, encoding = encodings("runs, nfkc", random.Random(1))
    text = "cafe\u0301 the o\u0302te\u0301 " * 100
    with monkeypatch.context() as patch:
        patch.setattr(changed_runs, "normalize", raises)
        for call in (encoding.count, cutline.TextChunker(encoding, 64).chunk):
            with pytest.raises(KeyboardInterrupt):
                call(text)  # type: ignore[operator]
    sparse = WordIntervals(
        encoding._pipeline.kernel,  # type: ignore[union-attr]
        text,
        partial(EntangledParts, encoding._pipeline, text),
        gap=8,
    )
    monkeypatch.setattr(changed_runs, "normalize", raises)
    with pytest.raises(KeyboardInterrupt):
        sparse.count(text.index("te\u0301"), len(text))
    monkeypatch.undo()
    assert encoding.count(text) == len(ids(oracle, text))


def test_surrogates_in_runs_are_replaced() -> None:
    # A pair by its character, which is another number of tokens than two that are replaced.
    rows = [("\u2581", -1.0), ("\U0001f600", -2.0), ("\ufffd", -2.0)]
    rows += [(letter, -3.0) for letter in "thecaf\u00e9"]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram([("<unk>", 0.0), *rows], 0))
    oracle.normalizer = steps.NFKC()
    oracle.pre_tokenizer = splitters.Sequence([splitters.WhitespaceSplit(), splitters.Metaspace()])
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for run in ("\ud83d\ude00", "e\u0301\ud800", "\ud83d\ude00e\u0301", "\ude00\ud83de\u0301"):
        for word in ("cafe", "cafe\u0301"):
            text = f"the {run} {word} " * 50 + "the " * 40
            repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for _ in range(2):
                assert encoding.count(text) == len(ids(oracle, repaired))
            assert encoding.encode_ordinary(text) == ids(oracle, repaired)


@pytest.mark.parametrize("name", ["nothing, bert", "NFKC, bert"])
@pytest.mark.parametrize("end", ["\ud83d\ude00", "b\ud83d\ude00c", "e\u0301\ud83d\ude00\ud83d"])
def test_surrogates_at_the_end_of_a_long_text_are_replaced(name: str, end: str) -> None:
    oracle = tokenizer_of("Unigram with bytes", name, random.Random(0))
    text = "ab " * 100 + end
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    encoding = cutline.Encoding.from_tokenizers(oracle)
    assert encoding.count(text) == len(ids(oracle, repaired))
