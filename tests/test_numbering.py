"""Ids say nothing of the order of merging: gpt2 numbered by frequency, and worse.

RoBERTa, BART and many more of Hugging Face's vocabularies are numbered so. Random vocabularies
with such ids stand in every generator: see `tests/vocabularies.py`.
"""

import json
import pickle
import random
from functools import cache
from pathlib import Path

import pytest

import cutline
from cutline import Encoding, reference
from cutline.vocabulary import Vocabulary
from tests.oracles import Renumbered
from tests.texts import NAMED_TEXTS, random_texts
from tests.vocabularies import Ranks, encoding_of, with_bytes

CHINESE = (
    "本文档介绍如何在生产环境中部署和配置检索增强生成系统，包括文档切分、向量化以及索引的更新策略。"
    "每个分块的令牌数量必须严格不超过模型的上限，否则请求会被拒绝或者文本会被静默截断。"
)


@cache
def by_frequency() -> Encoding:
    """gpt2 with its ids dealt out anew."""
    gpt2 = cutline.get_encoding("gpt2")
    ids = gpt2._vocabulary.ids.tolist()
    random.Random(17).shuffle(ids)
    vocabulary = Vocabulary(gpt2._vocabulary.arena, gpt2._vocabulary.lengths, ids)
    return Encoding.from_vocabulary(
        "by frequency", pat_str=gpt2.pat_str, vocabulary=vocabulary, special_tokens={"<s>": 60_000}
    )


@cache
def oracle() -> Renumbered:
    return Renumbered(by_frequency()._vocabulary, by_frequency().pat_str)


def count(text: str) -> int:
    return len(oracle().encode_ordinary(text))


TEXTS = [*NAMED_TEXTS.values(), *random_texts(71, 60), CHINESE * 8, "x" * 300 + " y" * 200]


def numbered(tokens: list[bytes], swapped: tuple[bytes, bytes]) -> Encoding:
    """Bytes and tokens in this order of merging, two of them with each other's id."""
    ranks = with_bytes(tuple(tokens))
    ids = dict(ranks)
    ids[swapped[0]], ids[swapped[1]] = ids[swapped[1]], ids[swapped[0]]
    ranks.ids = ids
    return encoding_of(ranks, None)


def test_a_token_whose_id_is_below_that_of_its_part_is_marked_where_it_stands() -> None:
    enc = numbered([b"ba", b"bab"], (b"ba", b"bab"))
    text = "baabaabcaabbbcbc"
    assert enc.count(text) == enc.intervals(text).total == 14


def test_a_long_token_with_the_id_of_a_short_one_marks_nothing_beyond_the_text() -> None:
    enc = numbered([b"a" * n for n in range(2, 513)], (b"z", b"a" * 512))
    counter = enc.intervals("z" * 2_000)
    assert counter.total == counter.count(0, 2_000) == 2_000
    assert counter.count_many([(0, 1_000), (3, 1_003)]).tolist() == [1_000, 1_000]


def test_everything_that_counts_or_encodes() -> None:
    for text in TEXTS:
        check_all_ways(text)


def check_all_ways(text: str) -> None:
    enc, want = by_frequency(), oracle().encode_ordinary(text)
    assert enc.encode_ordinary(text) == enc.encode_ordinary_batch([text])[0] == want
    assert enc.encode_to_numpy(text, disallowed_special=()).tolist() == want
    assert enc.decode(want) == text
    appender, prepender, counter = enc.appender(), enc.prepender(), enc.intervals(text)
    for start in range(0, len(text), 7):
        appender.append(text[start : start + 7])
    for end in range(len(text), 0, -7):
        prepender.prepend(text[max(end - 7, 0) : end])
    assert appender.tokens() == want
    counts = [enc.count(text), counter.total, appender.count, prepender.count]
    assert counts == [len(want)] * 4
    rng = random.Random(len(text))
    for _ in range(60):
        start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        assert counter.count(start, end) == count(text[start:end])


@pytest.mark.parametrize("chunker", [cutline.TokenChunker, cutline.TextChunker])
@pytest.mark.parametrize("size", [8, 128])
def test_chunks_keep_their_budget(chunker: type[cutline.TextChunker], size: int) -> None:
    for text in TEXTS:
        for overlap in (0, size // 4):
            chunks = chunker(by_frequency(), size, overlap)(text)
            assert [count(chunk.text) for chunk in chunks] == [c.token_count for c in chunks]
            assert all(chunk.token_count <= size for chunk in chunks)


def test_files_and_pickles_keep_the_ids_and_tokenizers_gives_them(tmp_path: Path) -> None:
    enc, path = by_frequency(), tmp_path / "tokenizer.json"
    enc.save(path)
    enc.save(tmp_path / "enc.cutline")
    pickled = pickle.loads(pickle.dumps(enc))
    for again in (pickled, cutline.load(path), cutline.load(tmp_path / "enc.cutline")):
        for text in TEXTS[::5]:
            assert again.encode(text) == oracle().encode_ordinary(text)
            assert again.intervals(text).total == count(text)
    assert json.loads(path.read_text())["model"]["vocab"]["Ġthe"] != 262
    tokenizers = pytest.importorskip("tokenizers")
    real = tokenizers.Tokenizer.from_file(str(path))
    for text in TEXTS:
        assert enc.encode_ordinary(text) == real.encode(text).ids


def test_ranks_cannot_be_written_where_they_are_not_those_of_ids(tmp_path: Path) -> None:
    with pytest.raises(cutline.errors.VocabularyError):
        by_frequency().save(tmp_path / "enc.tiktoken")


def test_the_reference_merges_by_rank_and_gives_ids() -> None:
    ranks = with_bytes((b"ab", b"bc", b"abc", b"cab"))
    ranks.ids = dict(zip(ranks, random.Random(5).sample(range(900), len(ranks)), strict=True))
    tokens, real = reference.Tokens(ranks.vocabulary), Renumbered(ranks.vocabulary, None)
    rng = random.Random(6)
    for _ in range(200):
        piece = bytes(rng.choices(b"abc", k=rng.randint(1, 30)))
        want = real._encode_single_piece(piece)
        assert reference.encode_backtracking(tokens, piece) == want
        assert reference.encode_heap(tokens, piece) == want
        assert reference.encode_textbook(tokens, piece) == want
        appender, counter = reference.Appender(tokens), reference.IntervalCounter(tokens, piece)
        appender.append(piece)
        assert appender.encode() == counter.encode(0, len(piece)) == want


def test_drawn_ids_are_of_every_kind() -> None:
    """What the generators are for: many, but not all, are out of order, and some are sparse."""
    drawn = [Ranks(with_bytes((b"ab", bytes([33 + n]) * 2))) for n in range(60)]
    ordered = [ranks for ranks in drawn if [*ranks.ids.values()] == sorted(ranks.ids.values())]
    assert 3 <= len(ordered) <= 30
    assert sum(max(ranks.ids.values()) > 258 for ranks in drawn) >= 10
