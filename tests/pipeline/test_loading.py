"""What a tokenizer.json can hold: read to the letter, or refused with a way out."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cutline
from cutline.errors import UnsupportedPatternError, VocabularyError
from tests.conftest import exhaustive, short_or_long
from tests.oracles import DISTINCT
from tests.pipeline.families import (
    BYTES,
    AddedToken,
    added,
    build,
    sequence,
    texts_with,
    tokenizers,
)
from tests.texts import NAMED_TEXTS, random_texts

processors = tokenizers.processors
pre = tokenizers.pre_tokenizers
normalizers = tokenizers.normalizers


def document_of(name: str = "gpt 2") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(build(name).to_str())
    return document


def loaded(document: dict[str, Any], tmp_path: Path) -> cutline.Encoding:
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    return cutline.load(tmp_path / "tokenizer.json")


def fresh(name: str = "gpt 2") -> Any:
    """A copy of a tokenizer that may be changed."""
    return tokenizers.Tokenizer.from_str(build(name).to_str())


# Templates

TEMPLATES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "byte-level": lambda: processors.ByteLevel(trim_offsets=True),
    "roberta": lambda: processors.RobertaProcessing(("</s>", 1), ("<s>", 0)),
    "bert": lambda: processors.BertProcessing(("</s>", 1), ("<s>", 0)),
    "template": lambda: processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B:1 </s>:1",
        special_tokens=[("<s>", 0), ("</s>", 1)],
    ),
    "llama 3": lambda: processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 0)]
        ),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", TEMPLATES)
def test_special_tokens_of_a_template_are_counted(name: str) -> None:
    tokenizer = fresh()
    if (template := TEMPLATES[name]()) is not None:
        tokenizer.post_processor = template
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for pair in (False, True):
        expected = tokenizer.num_special_tokens_to_add(pair)
        assert encoding.num_special_tokens_to_add(pair) == expected
        assert encoding.num_special_tokens_to_add(pair=pair) == expected
    text = "how much room is left?"
    room = encoding.num_special_tokens_to_add()
    assert len(tokenizer.encode(text).ids) == encoding.count(text) + room


def test_packaged_encodings_have_no_template() -> None:
    assert cutline.get_encoding("o200k_base").num_special_tokens_to_add(True) == 0


# Tokens


def test_a_token_that_no_text_has_can_be_decoded(tmp_path: Path) -> None:
    document = document_of()
    document["model"]["vocab"]["madeupword0000"] = 700
    document["added_tokens"][0]["id"] = 701
    encoding = loaded(document, tmp_path)
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    text = " madeupword0000 madeupword0000"
    assert encoding.encode_ordinary(text) == tokenizer.encode(text).ids
    assert encoding.decode([700]) == "madeupword0000" == tokenizer.decode([700])
    assert encoding.encode_single_token("madeupword0000") == 700
    assert encoding.n_vocab == 702


def test_an_added_token_may_be_an_ordinary_one_as_well() -> None:
    tokenizer = fresh()
    shared = next(t for t in sorted(tokenizer.get_vocab()) if len(t) == 4 and t.isascii())
    tokenizer.add_tokens([AddedToken(shared, normalized=False)])
    tokenizer.add_special_tokens(added("th"))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in (f"{shared}{shared} {shared}", f"x{shared}th the", *random_texts(67, 20)):
        assert encoding.encode(text, allowed_special="all") == tokenizer.encode(text).ids
    assert encoding.decode(encoding.encode_ordinary(f"a{shared}")) == f"a{shared}"


def test_white_space_that_a_token_takes_is_no_token_any_more() -> None:
    tokenizer = fresh()
    tokenizer.add_tokens(
        [
            AddedToken("<a>", rstrip=True, normalized=False),
            AddedToken("\n", lstrip=True, normalized=False),
        ]
    )
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    for text in ("<a>\nb", "<a> b\nc", "a \n<a>b", "\n\n<a>"):
        assert encoding.encode_ordinary(text) == tokenizer.encode(text).ids


@pytest.mark.parametrize(
    ("contents", "message"),
    [(["zq", "ZQ"], "the same as 'zq'"), (["  "], "leaves nothing of it")],
)
def test_tokens_that_normalizing_makes_nothing_or_alike_are_refused(
    contents: list[str], message: str
) -> None:
    tokenizer = fresh()
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Strip()])
    tokenizer.add_tokens([AddedToken(content, normalized=True) for content in contents])
    with pytest.raises(VocabularyError, match=message):
        cutline.Encoding.from_tokenizers(tokenizer)


@pytest.mark.parametrize("split", [None, "digits", "lines"])
def test_pieces_that_hold_blanks_have_no_borders_in_them(split: str | None) -> None:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    splits = {"digits": [pre.Digits()], "lines": [pre.Split("\n", "isolated")]}
    last = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = sequence(*splits.get(split or "", []), last)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["le café le café du soir au café le matin"] * 9, trainer)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "le cafe\u0301 du soir au cafe\u0301 le matin " * 4
    counter = encoding.intervals(text)
    assert counter.total == encoding.count(text) == len(tokenizer.encode(text).ids)
    for start, end in ((0, 30), (3, 71), (8, 9), (40, len(text))):
        assert counter.count(start, end) == len(tokenizer.encode(text[start:end]).ids)


def test_special_tokens_are_refused_in_text_and_others_found() -> None:
    encoding = cutline.Encoding.from_tokenizers(build("qwen 2.5"))
    assert encoding._changes_texts
    assert encoding.special_tokens_set == {"<|endoftext|>", "<|im_start|>"}
    with pytest.raises(cutline.SpecialTokenError, match="im_start"):
        encoding.encode("a<|im_start|>")
    call = encoding.added_tokens["<tool_call>"]
    assert encoding.encode("<tool_call>") == encoding.encode_ordinary("<tool_call>") == [call]
    assert encoding.count("<tool_call>") == 1
    assert encoding.count("<|im_start|>") > 1
    assert encoding.encode_single_token("<tool_call>") == call
    assert encoding.decode([call]) == "<tool_call>"


def test_flags_of_special_tokens_count_where_they_are_allowed() -> None:
    encoding = cutline.Encoding.from_tokenizers(build("roberta"))
    assert not encoding._changes_texts
    mask = encoding.encode_single_token("<mask>")
    assert encoding.encode("a <mask>b", allowed_special={"<mask>"})[1] == mask
    assert encoding.encode("a <mask>b", allowed_special="all")[1] == mask
    assert mask not in encoding.encode("a <mask>b", disallowed_special=())


# Sources


def test_tokenizers_of_transformers_are_read_by_their_backend() -> None:
    fast = SimpleNamespace(backend_tokenizer=build("llama 3"), name_or_path="meta/llama")
    encoding = cutline.Encoding.from_tokenizers(fast)
    assert encoding.name == "meta/llama"
    assert cutline.Encoding.from_tokenizers(fast, name="mine").name == "mine"
    text = NAMED_TEXTS["python"]
    assert encoding.encode_ordinary(text) == build("llama 3").encode(text).ids
    with pytest.raises(TypeError, match=r"got SimpleNamespace: cutline\.wrap\(tokenizer\)"):
        cutline.Encoding.from_tokenizers(SimpleNamespace(vocab={}))


def test_truncation_and_padding_are_left_aside() -> None:
    tokenizer = fresh()
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    text = "longer than three tokens"
    assert encoding.encode(text) == build("gpt 2").encode(text).ids


@pytest.mark.parametrize(
    "name", ["r50k_base", *(exhaustive(name) for name in DISTINCT if name != "r50k_base")]
)
def test_ranks_converted_with_all_splits_of_each_token_load(name: str, tmp_path: Path) -> None:
    """As converters from tiktoken write merges: every way to cut a token in two, by its rank."""
    packaged = cutline.get_encoding(name)
    packaged.save(tmp_path / "x.json")
    document = json.loads((tmp_path / "x.json").read_bytes())
    vocab = document["model"]["vocab"]
    merges = []
    for token in sorted(vocab, key=vocab.__getitem__):
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        cuts = [cut for cut in cuts if cut[0] in vocab and cut[1] in vocab]
        merges += sorted(cuts, key=lambda cut: (vocab[cut[0]], vocab[cut[1]]))
    document["model"]["merges"] = merges
    encoding = loaded(document, tmp_path)
    assert encoding._vocabulary == packaged._vocabulary
    assert encoding._special_tokens == packaged._special_tokens


@pytest.mark.parametrize("name", ["gpt 2", "qwen 2.5", "clip", "subwords"])
def test_byte_fallback_changes_nothing_where_all_bytes_are_tokens(
    name: str, tmp_path: Path
) -> None:
    document = document_of(name)
    model = document["model"]
    model["byte_fallback"], document["added_tokens"] = True, []
    new = (f"<0x{byte:02X}>" for byte in (0x41, 0xC3, 0xE2))
    model["vocab"] |= {text: 9000 + n for n, text in enumerate(new)}
    encoding = loaded(document, tmp_path)
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    for text in [*texts_with(tokenizer, 97, 300), "A<0x41>\x00\x7f\xad\U0010ffff\u2028\U0001f600"]:
        found = tokenizer.encode(text, add_special_tokens=False).ids
        assert encoding.encode(text, allowed_special="all") == found


@pytest.mark.parametrize("name", ["qwen 2.5", "gpt neox, olmo", "deepseek v3", "starcoder"])
@short_or_long("most", 30_000, 300_000)
def test_tokens_spans_and_chunks_of_corpora_are_those_of_tokenizers(
    name: str, most: int, corpus: str
) -> None:
    tokenizer, text = build(name), corpus[:most]
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    tokenizer.encode_special_tokens = True
    found = tokenizer.encode(text, add_special_tokens=False)
    tokens, spans = encoding.encode_with_offsets(text, disallowed_special=())
    assert tokens == encoding.encode_ordinary(text) == found.ids
    assert encoding.count(text) == len(tokens)
    if encoding._pat_str is not None and text.isascii():
        assert spans.tolist() == list(map(list, found.offsets))
    chunks = cutline.TextChunker(encoding, 256)(text)
    assert "".join(chunk.text for chunk in chunks) == text
    for chunk in chunks:
        again = tokenizer.encode(chunk.text, add_special_tokens=False)
        assert len(again.ids) == chunk.token_count <= 256


# What is refused

Change = Callable[[dict[str, Any]], None]


def setting(place: str, value: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        *path, last = place.split(".")
        for key in path:
            document = document[key]
        document[last] = value

    return change


def split_of(*parts: Any) -> Any:
    tokenizer = fresh()
    tokenizer.pre_tokenizer = sequence(*parts)
    return json.loads(tokenizer.to_str())["pre_tokenizer"]


GPT2 = pre.ByteLevel(add_prefix_space=False)


def normalized_token(text: str, **flags: bool) -> dict[str, Any]:
    return {
        "id": document_of()["model"]["vocab"][text],
        "content": text,
        "normalized": True,
    } | flags


def splits(*patterns: str) -> Change:
    stages = [pre.Split(tokenizers.Regex(pattern), "isolated") for pattern in patterns]
    return setting("pre_tokenizer", split_of(*stages, GPT2))


REFUSED: dict[str, tuple[Change, str]] = {
    "byte fallback": (
        setting("decoder", {"type": "ByteFallback"}), 'decoder is {"type": "ByteFallback"}',
    ),
    "letters as they are": (setting("decoder", {"type": "Fuse"}), "tokens are letters for bytes"),
    "blanks cut off": (
        setting("decoder", {"type": "Strip", "content": " ", "start": 1, "stop": 0}),
        'decoder is {"type": "Strip"',
    ),
    "words with blanks": (
        setting("model.end_of_word_suffix", "</w>"), "a blank is written for it here, but words",
    ),
    "subwords": (
        setting("model.continuing_subword_prefix", "##"),
        'continuing_subword_prefix is "##", which is not supported; a blank is written before wo',
    ),
    "random tokens": (setting("model.dropout", 0.1), "dropout is 0.1.*be random: set it to null"),
    "its decoder": (setting("decoder", {"type": "Metaspace"}), "decoder is"),
    "Metaspace": (setting("pre_tokenizer", {"type": "Metaspace"}), "pre_tokenizer is"),
    "Metaspace before bytes, second": (
        setting("pre_tokenizer", split_of(pre.Digits(), pre.Metaspace(), GPT2)),
        "before ByteLevel, it must be the first one",
    ),
    "Metaspace before bytes, at the start of texts": (
        setting("pre_tokenizer", split_of(pre.Metaspace(prepend_scheme="first"), GPT2)),
        "before ByteLevel, its prepend_scheme",
    ),
    "no pre-tokenizer": (setting("pre_tokenizer", None), "pre_tokenizer is null"),
    "signs after bytes": (
        setting("pre_tokenizer", split_of(GPT2, pre.Punctuation())),
        "what comes after ByteLevel, but for digits, would cut inside characters",
    ),
    "a pattern after bytes": (
        setting("pre_tokenizer", split_of(GPT2, pre.Split(tokenizers.Regex(r"\d"), "isolated"))),
        "what comes after ByteLevel, but for digits, would cut inside characters",
    ),
    "numbers in characters": (
        setting("pre_tokenizer", split_of(GPT2, pre.Digits(True))),
        "is a token across such a place",
    ),
    "bytes twice, split before": (
        setting("pre_tokenizer", split_of(GPT2, GPT2)),
        "texts are split before a second ByteLevel, which writes letters for letters",
    ),
    "bytes twice after digits": (
        setting("pre_tokenizer", split_of(pre.Digits(), BYTES, GPT2)),
        "texts are split before a second ByteLevel",
    ),
    "bytes twice, and tokens that look at them": (
        lambda document: document.update(
            pre_tokenizer=split_of(BYTES, GPT2), added_tokens=[normalized_token("the", lstrip=True)]
        ),
        'added token is "the".*searched for before the letters of two ByteLevel',
    ),
    "bytes twice, led, and tokens": (
        lambda document: document.update(
            pre_tokenizer=split_of(pre.ByteLevel(use_regex=False), GPT2),
            added_tokens=[normalized_token("the")],
        ),
        'added token is "the".*searched for before the letters of two ByteLevel',
    ),
    "bytes twice in version 2": (
        lambda document: document.update(version="2.0", normalizer={"type": "ByteLevel"}),
        "in files of version 2, ByteLevel does not always",
    ),
    "bytes decoded twice": (
        setting("decoder", {"type": "Sequence", "decoders": [{"type": "ByteLevel"}] * 2}),
        "a second ByteLevel takes letters in the text for bytes",
    ),
    "a blank before each piece": (
        setting("pre_tokenizer", split_of(pre.Digits(), pre.ByteLevel(add_prefix_space=True))),
        "a blank would be put before every piece, but pieces can have white space",
    ),
    "a back-reference": (splits(r"(a)\1"), "escape"),
    "a POSIX class": (splits(r"[[:alpha:]]"), "in a class"),
    "lazy, as Ruby has it": (splits("a{2}?"), "lazy quantifier"),
    "subwords in version 2": (
        lambda document: document.update(
            version="2.0", model={**document["model"], "continuing_subword_prefix": "##"}
        ),
        "tokenizers 1 takes no notice of it",
    ),
    "bytes in the normalizer, then lower case": (
        lambda document: document.update(
            normalizer={
                "type": "Sequence",
                "normalizers": [{"type": "ByteLevel"}, {"type": "Lowercase"}],
            },
            pre_tokenizer=None,
        ),
        "pre_tokenizer is null",
    ),
    "a pattern replaced": (
        setting(
            "normalizer", {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}
        ),
        "normalizer is",
    ),
    "an odd processor": (setting("post_processor", {"type": "New"}), "post_processor is"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_expressed_exactly_is_refused_with_a_way_out(name: str, tmp_path: Path) -> None:
    document = document_of()
    change, message = REFUSED[name]
    change(document)
    with pytest.raises((VocabularyError, UnsupportedPatternError), match=message) as caught:
        loaded(document, tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "tokenizer.json"))
    assert "cutline.wrap(tokenizer)" in str(caught.value)


@pytest.mark.parametrize("name", ["x-vocab.json", "x.tiktoken"])
def test_an_encoding_with_more_facts_is_not_saved_without_them(name: str, tmp_path: Path) -> None:
    for family in ("qwen 2.5", "roberta"):
        encoding = cutline.Encoding.from_tokenizers(build(family))
        with pytest.raises(VocabularyError, match=r"save as \.cutline or tokenizer\.json"):
            encoding.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("family", ["qwen 2.5", "deepseek coder", "looks behind"])
def test_encodings_that_change_texts_give_their_own_counters(family: str) -> None:
    encoding, text = cutline.Encoding.from_tokenizers(build(family)), "e\u0301A. cafe\u0301s 12"
    counter = cutline.IntervalCounter(encoding, text)
    grown, led = cutline.Appender(encoding, text[:1]), cutline.Prepender(encoding, text[-1:])
    for at in range(1, len(text)):
        grown.append(text[at])
        led.prepend(text[-1 - at])
        for made, part in ((grown, text[: at + 1]), (led, text[-1 - at :])):
            assert made.count == encoding.count(part) == len(made.tokens())
            assert made.copy().count == pickle.loads(pickle.dumps(made)).count == made.count
        assert counter.count(at, len(text)) == encoding.count(text[at:])
        assert counter.split_at(at, 2) == encoding.split_at(text, 2, at)
    assert grown.text == led.text == counter.text == text
    assert pickle.loads(pickle.dumps(counter)).total == counter.total == grown.count


def test_subclasses_of_the_kernels_counters_refuse_encodings_that_change_texts() -> None:
    encoding = cutline.Encoding.from_tokenizers(build("qwen 2.5"))
    for counter in (cutline.IntervalCounter, cutline.Appender, cutline.Prepender):
        with pytest.raises(cutline.UnsupportedPatternError, match="changes texts"):
            type("Own", (counter,), {})(encoding, "e\u0301")
    # A text of which nothing is changed, nor of its slices, is counted by the kernels.
    counter = encoding.intervals("plain text")
    assert counter.encoding is encoding
    assert (
        pickle.loads(pickle.dumps(counter)).total
        == cutline.IntervalCounter(encoding, "plain text").total
        == encoding.count("plain text")
    )
    with pytest.raises(ValueError, match="by code points only"):
        encoding.intervals("e\u0301", byte_offsets=True)
    with pytest.raises(UnicodeDecodeError):
        encoding._encode_bytes(b"\xff")


class OwnEncoding(cutline.Encoding):
    """What a user may add methods to."""


@pytest.mark.parametrize("name", ["gpt 2", "qwen 2.5"])
def test_a_subclass_stays_one_whatever_the_tokenizer_does(name: str) -> None:
    encoding: OwnEncoding = OwnEncoding.from_tokenizers(build(name))
    copied = pickle.loads(pickle.dumps(encoding))
    assert type(encoding) is type(copied) is OwnEncoding
    assert copied.encode("e\u0301 a") == build(name).encode("e\u0301 a").ids
