"""ByteLevel twice: the second one writes letters for the letters that the first has written."""

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.normalizing import Lead, Step
from cutline.words.steps import ByteLetters, Collapse, ReplaceEach
from tests.pipeline.families import (
    BYTES,
    GPT2,
    added,
    count_of,
    normalizers,
    pre,
    sequence,
    split,
    texts_with,
    tokenizers,
    training_texts,
)
from tests.texts import NAMED_TEXTS

LED = pre.ByteLevel(add_prefix_space=True, use_regex=False)
WHITE = tokenizers.Regex(r"\s+")


STEP = ByteLetters()

# Pre-tokenizer, normalizer, added tokens, and the steps that it is read as.
TWICE: dict[str, tuple[Any, Any, list[Any], tuple[Step, ...]]] = {
    "split": (sequence(BYTES, GPT2), None, [], (STEP,)),
    "not split": (sequence(BYTES, BYTES), None, [], (STEP,)),
    "led twice": (sequence(LED, LED), None, [], (Lead(" "), STEP)),
    "three times": (sequence(BYTES, LED, GPT2), None, [], (STEP, Lead(" "), STEP)),
    "in the normalizer": (GPT2, normalizers.ByteLevel(), [], (STEP,)),
    "in the normalizer twice": (
        None, normalizers.Sequence(2 * [normalizers.ByteLevel()]), added("é", normalized=True),
        (STEP,),
    ),
    "in both": (sequence(LED, GPT2), normalizers.ByteLevel(), [], (STEP, Lead(" "), STEP)),
    "at letters for blanks": (
        sequence(BYTES, pre.Split("Ġ", "merged_with_next"), BYTES), None, [], (STEP,),
    ),
    "inside characters": (
        sequence(BYTES, split(r"\p{N}"), pre.Digits(), GPT2), None, [], (STEP,),
    ),
    # The first one's letters of "²" are "Â²", and the second's of these have a number inside.
    "digits of letters": (sequence(BYTES, BYTES, pre.Digits()), None, [], (STEP,)),
    "among tokens": (
        GPT2, normalizers.ByteLevel(), added("the", "é", lstrip=True, normalized=True), (STEP,),
    ),
    # White space would be dropped, but there is none left.
    "white space as letters": (
        sequence(BYTES, pre.WhitespaceSplit(), BYTES), normalizers.Replace(WHITE, " "), [],
        (ReplaceEach(r"\s", " "), Collapse(" "), STEP),
    ),
}  # fmt: skip


@cache
def make(name: str) -> Any:
    splitter, normalizer, tokens, _ = TWICE[name]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    if splitter is not None:
        tokenizer.pre_tokenizer = splitter
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(training_texts(), trainer)
    tokenizer.add_special_tokens(added("<s>"))
    tokenizer.add_tokens(tokens)
    return tokenizer


@pytest.mark.parametrize("name", TWICE)
def test_all_that_an_encoding_does_is_exact(name: str) -> None:
    tokenizer = make(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    count = count_of(tokenizer)
    has_normalized = any(one.normalized for one in tokenizer.get_added_tokens_decoder().values())
    for text in [*NAMED_TEXTS.values(), *texts_with(tokenizer, 5, 40)]:
        expected = tokenizer.encode(text, add_special_tokens=False)
        assert encoding.encode_ordinary(text) == expected.ids
        assert encoding.count(text) == len(expected.ids)
        if name != "white space as letters":  # of a run `tokenizers` names one character
            _, spans = encoding.encode_with_offsets(text, disallowed_special=())
            assert [*map(tuple, spans.tolist())] == expected.offsets
        if not has_normalized:
            decoded = tokenizer.decode(expected.ids, skip_special_tokens=False)
            assert encoding.decode(expected.ids) == decoded
    for text in texts_with(tokenizer, 7, 12):
        text = text[:24]
        spans = [*combinations(range(len(text) + 1), 2)]
        counts = {(start, end): count(text[start:end]) for start, end in spans}
        counter = encoding.intervals(text)
        assert counter.count_many(spans).tolist() == [*counts.values()]
        for start in range(len(text)):
            for n in range(6):
                fits = [end for end in range(start + 1, len(text) + 1) if counts[start, end] <= n]
                assert counter.split_at(start, n) == max(fits, default=start)
        appender, prepender = encoding.appender(), encoding.prepender()
        for at in range(0, len(text), 3):
            appender.append(text[at : at + 3])
            assert appender.count == count(appender.text)
            prepender.prepend(text[at : at + 3])
            assert prepender.count == count(prepender.text)


@pytest.mark.parametrize("name", TWICE)
def test_it_is_read_as_a_step_and_saved(name: str, tmp_path: Path) -> None:
    tokenizer = make(name)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    assert encoding._spec.normalizer == TWICE[name][-1]
    encoding.save(tmp_path / "x.cutline")
    assert cutline.load(tmp_path / "x.cutline").content_hash == encoding.content_hash
    encoding.save(tmp_path / "tokenizer.json")
    count = count_of(tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")))
    for text in texts_with(tokenizer, 9, 20):
        assert count(text) == encoding.count(text)


def test_decoding_gives_the_letters_of_the_first_as_tokenizers_does() -> None:
    encoding = cutline.Encoding.from_tokenizers(make("split"))
    assert encoding.decode(encoding.encode("a é")) == "aĠÃ©"
    assert encoding.decode_bytes(encoding.encode("é")) == "Ã©".encode()
    tokens, spans = encoding.encode_with_offsets("é²中")
    assert len(tokens) > 3
    assert {*map(tuple, spans.tolist())} == {(0, 1), (1, 2), (2, 3)}
