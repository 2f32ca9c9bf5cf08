"""Small tokenizers of every kind that is no byte-level BPE, made with the real package."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

import cutline
from tests.texts import NAMED_TEXTS, random_texts

STORY = """The tokenizer that was wrapped counts the words of an unaffable, unbelievable story.
Straße, naïve, façade and İstanbul change their length when they are lowercased or stripped.
Numbers such as 1984, 3.14 and 20,000 leagues; e-mails to someone@example.com; (brackets).

吾輩は猫である。量子力学是描述微观物质的理论。 Все люди рождаются свободными. ﬁne ½ ⅷ ①
"""
UNKNOWN = "[UNK]"


def training_texts() -> Iterator[str]:
    """The same text for all: enough for some hundred tokens, not for every character."""
    yield from STORY.splitlines()
    yield from (text[:200] for text in NAMED_TEXTS.values() if text.isprintable())


def trained(model: Any, trainer: Any, normalizer: Any, splitter: Any) -> Tokenizer:
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if splitter is not None:
        tokenizer.pre_tokenizer = splitter
    tokenizer.train_from_iterator(training_texts(), trainer)
    return tokenizer


def word_piece(normalizer: Any, splitter: Any, **options: Any) -> Tokenizer:
    special = [UNKNOWN, "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    model = models.WordPiece(unk_token=UNKNOWN, **options)
    return trained(model, trainer, normalizer, splitter)


def unigram(normalizer: Any, splitter: Any) -> Tokenizer:
    trainer = trainers.UnigramTrainer(
        vocab_size=400, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    return trained(models.Unigram(), trainer, normalizer, splitter)


def merges(normalizer: Any, splitter: Any, *, suffix: str = "", **options: Any) -> Tokenizer:
    extra = {"end_of_word_suffix": suffix} if suffix else {}
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<unk>", *bytes_tokens()], show_progress=False, **extra
    )
    model = models.BPE(unk_token="<unk>", **options, **extra)
    return trained(model, trainer, normalizer, splitter)


def bytes_tokens() -> list[str]:
    return [f"<0x{byte:02X}>" for byte in range(256)]


def bert() -> Tokenizer:
    return word_piece(normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer())


def bert_of_short_words() -> Tokenizer:
    return word_piece(
        normalizers.BertNormalizer(lowercase=False),
        pre_tokenizers.BertPreTokenizer(),
        max_input_chars_per_word=6,
    )


def bert_as_published() -> Tokenizer:
    """With a template, a mask that takes blanks along, truncation and padding."""
    tokenizer = bert()
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True)])
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", cls), ("[SEP]", sep)]
    )
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    return tokenizer


def bert_with_a_name() -> Tokenizer:
    """One of its tokens has a blank inside: no blank is a seam."""
    tokenizer = bert()
    tokenizer.add_tokens([AddedToken("New York"), AddedToken("the words of", single_word=True)])
    return tokenizer


def words() -> Tokenizer:
    trainer = trainers.WordLevelTrainer(
        vocab_size=120, special_tokens=[UNKNOWN], show_progress=False
    )
    normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    splitter = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Punctuation("merged_with_previous"),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    return trained(models.WordLevel(unk_token=UNKNOWN), trainer, normalizer, splitter)


def composed_words() -> Tokenizer:
    normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()]
    )
    return word_piece(normalizer, pre_tokenizers.Whitespace())


def unigram_of_t5() -> Tokenizer:
    normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    return unigram(normalizer, pre_tokenizers.Metaspace())


def unigram_that_strips() -> Tokenizer:
    """What stands at the ends is dropped, and the blank before the first word is put in."""
    normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Lowercase()])
    return unigram(normalizer, pre_tokenizers.Metaspace(prepend_scheme="first", split=False))


def sentence_piece() -> Tokenizer:
    """As Llama 2 has it: no words at all, and bytes for what is unknown."""
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return merges(normalizer, None, byte_fallback=True, fuse_unk=True)


def ends_of_words() -> Tokenizer:
    """As CLIP has it."""
    normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    return merges(normalizer, pre_tokenizers.Whitespace(), suffix="</w>", fuse_unk=False)


def bytes_with_a_blank_first() -> Tokenizer:
    """As RoBERTa has it: a loader could read it, but it can be wrapped as well."""
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return trained(models.BPE(), trainer, None, splitter)


MAKERS: tuple[Callable[[], Tokenizer], ...] = (
    bert,
    bert_of_short_words,
    bert_as_published,
    bert_with_a_name,
    words,
    composed_words,
    unigram_of_t5,
    unigram_that_strips,
    sentence_piece,
    ends_of_words,
    bytes_with_a_blank_first,
)
KINDS = tuple(make.__name__ for make in MAKERS)
WITH_SEAMS = {"bert", "bert_of_short_words", "bert_as_published", "words", "composed_words"}


@functools.cache
def made(kind: str) -> Tokenizer:
    """One of `KINDS`; not to be changed."""
    return next(make for make in MAKERS if make.__name__ == kind)()


@functools.cache
def counter(kind: str) -> Callable[[str], int]:
    """Count the tokens of a text with the tokenizer itself, truncation and padding turned off."""
    tokenizer = Tokenizer.from_str(made(kind).to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False))


@functools.cache
def wrapped(kind: str) -> cutline.WrappedTokenizer:
    """One of `KINDS`, wrapped."""
    return cutline.wrap(made(kind), name=kind)


def some_texts(kind: str) -> list[str]:
    """Other texts for each kind: there are many kinds, and encoding is slow."""
    place = KINDS.index(kind)
    named = [text[:400] for text in NAMED_TEXTS.values()][place % 4 :: 4]
    return [*named, *random_texts(place, 15), STORY]


NASTY = st.sampled_from("aé日 \n\r.,;#(İﬁ½\u200d\u0301\t「。▁") | st.sampled_from(
    ["<mask>", "[SEP]", "New York", "the words of", "unaffable", "\u0308", "\x00", "  "]
)
ANY_TEXT = st.lists(NASTY | st.characters(exclude_categories=["Cs"]), max_size=40).map("".join)
ANY_KIND = st.sampled_from(KINDS)
