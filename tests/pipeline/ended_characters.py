"""Tokenizers trained by `tokenizers`: BPE over characters that says where words end."""

import random
from functools import cache
from typing import Any

from tests.pipeline import families
from tests.pipeline.families import PREFIX, SUFFIX, tokenizers

pre = tokenizers.pre_tokenizers
normalizers = tokenizers.normalizers

GPT1 = (pre.BertPreTokenizer, lambda: normalizers.BertNormalizer(lowercase=True))
HERBERT = (
    pre.BertPreTokenizer,
    lambda: normalizers.BertNormalizer(lowercase=False, strip_accents=False),
)
WORDS = (pre.WhitespaceSplit, lambda: None)
SIGNS = (pre.Whitespace, lambda: normalizers.NFC())
KINDS: dict[str, Any] = {
    "gpt 1": GPT1, "herbert": HERBERT, "words": WORDS, "signs": SIGNS, "subwords": GPT1,
    "subwords of words": (lambda: families.split(r"[\p{L}\d]+", "removed", invert=True), WORDS[1]),
}  # fmt: skip


@cache
def trained(kind: str, seed: int) -> Any:
    """Train on some of our texts, so that many characters are unknown, and permute the ids."""
    splitter, normalizer = KINDS[kind]
    affix = {"end_of_word_suffix": SUFFIX}
    if kind.startswith("subwords"):
        affix = {"continuing_subword_prefix": PREFIX}
    model = tokenizers.models.BPE(unk_token="<unk>", **affix)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = splitter()
    if (made := normalizer()) is not None:
        tokenizer.normalizer = made
    tokenizer.decoder = tokenizers.decoders.BPEDecoder(suffix=SUFFIX)
    if kind.startswith("subwords"):
        tokenizer.decoder = tokenizers.decoders.WordPiece(PREFIX, cleanup=False)
    chooser, texts = random.Random(seed), families.training_texts()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=chooser.choice((300, 700, 1500)), special_tokens=["<unk>", "<s>"],
        **affix, show_progress=False, limit_alphabet=chooser.choice((40, 1000)),
    )  # fmt: skip
    tokenizer.train_from_iterator(chooser.sample(texts, 60), trainer)
    return families.shuffled_ids(tokenizer, seed)
