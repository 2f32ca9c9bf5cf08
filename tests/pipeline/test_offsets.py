"""Spans of tokens, against those of `tokenizers`."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import regex

import cutline
from cutline.pipeline import trimming
from tests.pipeline.characters import make_document
from tests.pipeline.families import FAMILIES, build, texts_with, tokenizers
from tests.texts import NAMED_TEXTS
from tests.words.tokenizers_of import tokenizer_of

processors = tokenizers.processors

# Where several characters become one, `tokenizers` names one of them, and cutline all.
JOINING = {
    "qwen 2.5", "gpt neox, olmo", "modernbert", "command-r", "decomposed", "compatible",
    "compatible, decomposed", "lower case", "replaced", "accents removed", "as bert normalizes",
    "as nmt normalizes", "runs of blanks", "precompiled", "as bert splits", "clip",
    "clip, of transformers 5",
    "classes replaced", "bytes in the normalizer", "letters of letters", "blanks as letters",
    "subwords", "scripts apart", "words led by blanks",
    "fixed lengths of digits", "deepseek llm",
}  # fmt: skip


def encoded(tokenizer: Any, text: str) -> tuple[list[int], list[list[int]]]:
    tokenizer.encode_special_tokens = False
    found = tokenizer.encode(text, add_special_tokens=False)
    return found.ids, list(map(list, found.offsets))


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_spans_are_those_of_tokenizers(name: str) -> None:
    tokenizer = build(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    equal = 0
    texts = [*NAMED_TEXTS.values(), *texts_with(tokenizer, 47, 60)]
    for text in texts:
        ids, expected = encoded(tokenizer, text)
        tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
        assert tokens == ids == encoding.encode(text, allowed_special="all")
        assert spans.shape == (len(ids), 2)
        equal += spans.tolist() == expected
        for (start, end), (first, last) in zip(spans.tolist(), expected, strict=True):
            assert start <= first <= last <= end <= len(text)
    assert equal == len(texts) or (name in JOINING and equal > len(texts) // 2)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_harmony"])
def test_spans_of_packaged_encodings_hold_their_tokens(name: str) -> None:
    encoding = cutline.get_encoding(name)
    text = "".join(NAMED_TEXTS.values())
    tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
    assert tokens == encoding.encode(text, allowed_special="all")
    covered = 0
    for token, (start, end) in zip(tokens, spans.tolist(), strict=True):
        assert start <= covered <= end
        assert start < end
        assert encoding.decode_single_token_bytes(token) in text[start:end].encode()
        covered = end
    assert covered == len(text)


@pytest.mark.filterwarnings("ignore::cutline.PatternFallbackWarning")
@pytest.mark.parametrize("pattern", [r"(?<=a)b|[^é中]", r"[^é中]", r"[a-c]+|中{2}", None])
def test_spans_are_found_whatever_the_pattern_leaves_out(pattern: str | None) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, "é".encode(): 257}
    encoding = cutline.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    kept = regex.compile(pattern or "(?s:.)")
    numbers = random.Random(71)
    for length in [0, 1, 2, *range(3, 40)]:
        text = "".join(numbers.choices("aabbc é中中😀", k=length))
        tokens, spans = encoding.encode_with_offsets(text)
        assert tokens == encoding.encode(text)
        # Each byte of a character that is in a piece, with that character's place.
        places = [
            (place, byte)
            for found in kept.finditer(text)
            for place in range(*found.span())
            for byte in text[place].encode()
        ]
        for token, (start, end) in zip(tokens, spans.tolist(), strict=True):
            written = encoding.decode_single_token_bytes(token)
            mine, places = places[: len(written)], places[len(written) :]
            assert bytes(byte for _, byte in mine) == written
            assert (start, end) == (mine[0][0], mine[-1][0] + 1)
        assert not places


def test_many_parts_are_put_together_in_order() -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = "é中<|endoftext|>😀 ab<|endoftext|><|endoftext|>" * 40
    tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
    assert tokens == encoding.encode(text, allowed_special="all")
    edges = [edge for start, end in spans.tolist() for edge in (start, end)]
    assert (edges[0], edges[-1]) == (0, len(text))
    special = [text[a:b] for t, (a, b) in zip(tokens, spans.tolist(), strict=True) if t > 199_000]
    assert special == ["<|endoftext|>"] * 120


PROCESSORS: dict[str, Callable[[], Any]] = {
    "byte level": lambda: processors.ByteLevel(trim_offsets=True),
    "byte level, no prefix": lambda: processors.ByteLevel(
        trim_offsets=True, add_prefix_space=False
    ),
    "byte level, kept": lambda: processors.ByteLevel(trim_offsets=False),
    "roberta": lambda: processors.RobertaProcessing(("</s>", 1), ("<s>", 0)),
    "roberta, no prefix": lambda: processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), add_prefix_space=False
    ),
    "roberta, kept": lambda: processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), trim_offsets=False
    ),
    "two": lambda: processors.Sequence(
        [processors.ByteLevel(trim_offsets=True), processors.ByteLevel(trim_offsets=True)]
    ),
}


@pytest.mark.parametrize("name", ["gpt 2", "roberta", "prefix space", "whisper", "gpt neox, olmo"])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_post_processor_may_trim_spans(processor: str, name: str) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(build(name).to_str())
    tokenizer.post_processor = PROCESSORS[processor]()
    tokenizer.add_tokens([tokenizers.AddedToken(text) for text in ("  padded ", "\u3000wide\t")])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    texts = [
        *NAMED_TEXTS.values(), *texts_with(tokenizer, 53, 60), "   three  blanks   ", " a", "  ",
        "a  padded  \u3000wide\t ", "\u00a0x \n y",
    ]  # fmt: skip
    equal = 0
    for text in texts:
        ids, expected = encoded(tokenizer, text)
        tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
        assert tokens == ids
        equal += spans.tolist() == expected
        if name not in JOINING:
            assert (text, spans.tolist()) == (text, expected)
    assert equal > len(texts) // 2


def test_spans_of_nothing_and_of_what_is_left_out() -> None:
    encoding = cutline.get_encoding("gpt2")
    tokens, spans = encoding.encode_with_offsets("")
    assert (tokens, spans.shape, spans.dtype) == ([], (0, 2), "int64")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    gappy = cutline.Encoding("x", pat_str="[ab]+", mergeable_ranks=ranks, special_tokens={})
    tokens, spans = gappy.encode_with_offsets("é ab--ba")
    assert (tokens, spans.tolist()) == ([256, 98, 97], [[2, 4], [6, 7], [7, 8]])
    with pytest.raises(cutline.SpecialTokenError):
        encoding.encode_with_offsets("<|endoftext|>")


def test_white_space_is_that_of_unicode() -> None:
    # Python adds four separators to Unicode's, from U+001C on.
    spaces = {chr(c) for c in range(0x110000) if chr(c).isspace() and not 0x1C <= c <= 0x1F}
    assert set(trimming.WHITE) == {"\u0120", *spaces}


def test_white_space_that_an_added_token_strips_is_trimmed_from_it() -> None:
    for name in ("single words", "clip, bert's words"):
        tokenizer = tokenizers.Tokenizer.from_str(build(name).to_str())
        tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=True)
        encoding = cutline.Encoding.from_tokenizers(tokenizer)
        for text in ("The on, in  the", " in the", "a  in ", "in\n", "  in  in a"):
            found = tokenizer.encode(text, add_special_tokens=False)
            tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
            assert tokens == found.ids
            assert [*map(tuple, spans.tolist())] == found.offsets, text


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram", "Unigram with bytes", "characters"])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_blanks_that_only_decoding_writes_are_not_trimmed(processor: str, kind: str) -> None:
    # all-mpnet-base-v2 is WordPiece with such a processor.
    if kind == "characters":
        tokenizer = tokenizers.Tokenizer.from_str(make_document("mistral"))
    else:
        tokenizer = tokenizer_of(kind, "metaspace never", random.Random(kind))
    tokenizer.post_processor = PROCESSORS[processor]()
    flags = {"lstrip": True, "rstrip": True, "normalized": kind != "characters"}
    # The latter is also what the model makes of a tab that it has no token for.
    tokenizer.add_tokens([tokenizers.AddedToken(text, **flags) for text in ("<y>", "<0x09>")])
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    rng = random.Random(7)
    parts = ["ab", "c", " ", "  ", "\n", "\t", "\r", "\u3000", "\u0120", "\u2581", "é", "世", "<y>"]
    parts += ["<0x09>"] if "<0x09>" in tokenizer.get_vocab() else []
    for _ in range(200):
        text = "".join(rng.choices(parts, k=rng.randint(1, 8)))
        ids, expected = encoded(tokenizer, text)
        tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
        assert tokens == ids
        assert spans.tolist() == expected, ascii(text)


def test_blanks_that_unknown_characters_become_are_trimmed() -> None:
    model = tokenizers.models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -1.0)], unk_id=0)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Nmt()  # U+200D becomes a blank
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Punctuation("merged_with_previous")
    tokenizer.post_processor = PROCESSORS["byte level"]()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in (
        "\u200d",
        "a\u200d",
        "\u200da",
        "\u200d\u200d",
        "ab\u200d.b",
        "中\u200d",
        "a 中 b",
    ):
        ids, expected = encoded(tokenizer, text)
        tokens, spans = encoding.encode_with_offsets(text, allowed_special="all")
        assert (tokens, spans.tolist()) == (ids, expected), ascii(text)
