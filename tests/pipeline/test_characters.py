"""Models over characters give what `tokenizers` gives; docs/tokenizers.md has the proof."""

import json
import pickle
import random
from functools import cache
from itertools import combinations
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from tests.conftest import exhaustive
from tests.pipeline.characters import (
    BLANK,
    CONFIGURATIONS,
    LED_TWICE,
    PREPEND,
    REPLACE,
    added,
    make_document,
    metaspace,
    tokenizers,
)
from tests.texts import NAMED_TEXTS

ALPHABET = [
    *"abehmty()<>x1=. \n\t\r\0", " ", " ", "\n", BLANK, "the", "日", "本", "語", "é", "e\u0301",
    "\u0301", "ж", "한", "字", "😀", "🎉", "\ue000", "\ue07f", "\ufffd", "\U0010ffff",
    "\x80", "<0x0A>",
]  # fmt: skip


@cache
def pair(name: str) -> tuple[cutline.Encoding, Any]:
    tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
    tokenizer.encode_special_tokens = True
    return cutline.Encoding.from_tokenizers(tokenizer, name), tokenizer


def ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


def texts_of(seed: str, n: int, most: int) -> list[str]:
    chooser = random.Random(seed)
    return ["".join(chooser.choices(ALPHABET, k=chooser.randint(1, most))) for _ in range(n)]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_ids_counts_and_offsets_are_those_of_tokenizers(name: str) -> None:
    encoding, tokenizer = pair(name)
    for text in [*texts_of(name, 400, 25), *(one[:3000] for one in NAMED_TEXTS.values())]:
        if any("\ud800" <= character <= "\udfff" for character in text):
            continue
        found = tokenizer.encode(text, add_special_tokens=False)
        assert encoding.encode_ordinary(text) == found.ids, text
        assert encoding.count(text) == len(found.ids), text
        tokens, spans = encoding.encode_with_offsets(text, disallowed_special=())
        assert tokens == found.ids
        if not any(one in name for one in ("composed", "nllb", "seamless", "stripped")):
            assert [*map(tuple, spans.tolist())] == found.offsets, text


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_character_of_many_alone_and_between_others(name: str) -> None:
    encoding, tokenizer = pair(name)
    points = [*range(0x600), *range(0x2000, 0x2700), *range(0xDFF0 + 16, 0xE100), 0x4E2D, 0x1F600]
    points += [*range(0xFFF0, 0x10010), 0x10FFFF]
    texts = [
        context.replace("?", chr(point))
        for point in points
        for context in ("?", "a?", "?b", " ? ", "??")
    ]
    found = tokenizer.encode_batch(texts, add_special_tokens=False)
    assert encoding.encode_ordinary_batch(texts) == [one.ids for one in found]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_slices_and_cuts_are_those_of_encoding_each_slice(name: str) -> None:
    encoding, tokenizer = pair(name)
    for text in texts_of(f"{name} slices", 8, 14):
        counter, n = encoding.intervals(text), len(text)
        counts = {(i, j): len(ids(tokenizer, text[i:j])) for i, j in combinations(range(n + 1), 2)}
        for (start, end), expected in counts.items():
            assert counter.count(start, end) == expected, (text, start, end)
        assert counter.total == counts[0, n]
        for start in range(0, n, 3):
            for budget in (0, 1, 2, 4, 9):
                fitting = [j for j in range(start + 1, n + 1) if counts[start, j] <= budget]
                expected = max(fitting, default=start)
                assert counter.split_at(start, budget) == expected, (text, start, budget)
                assert encoding.split_at(text, budget, start) == expected


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_growing_texts_and_chunks(name: str) -> None:
    encoding, tokenizer = pair(name)
    for text in texts_of(f"{name} growing", 6, 60):
        appender, prepender = encoding.appender(), encoding.prepender()
        for end in range(3, len(text) + 3, 3):
            appender.append(text[end - 3 : end])
            assert appender.count == len(ids(tokenizer, text[:end]))
        for start in range(len(text) - 3, -3, -3):
            prepender.prepend(text[max(0, start) : start + 3])
            assert prepender.count == len(ids(tokenizer, text[max(0, start) :]))
        chunks = cutline.TextChunker(encoding, chunk_size=12).chunk(text)
        assert all(len(ids(tokenizer, chunk.text)) == chunk.token_count <= 12 for chunk in chunks)
        pieces = encoding.split(text, 12)
        assert "".join(chunk.text for chunk in pieces) == text
        assert all(len(ids(tokenizer, chunk.text)) == chunk.token_count <= 12 for chunk in pieces)
        assert encoding.count(encoding.truncate(text, 9)) <= 9


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_decoding_undoes_encoding(name: str) -> None:
    encoding, tokenizer = pair(name)
    known = "the theme (日本) 한 é 😀\n\n  a"
    tokens = encoding.encode_ordinary(known)
    assert encoding.decode(tokens) == tokenizer.decode(tokens, skip_special_tokens=False)
    around = [1, *tokens, 2]
    assert encoding.decode(around, skip_special_tokens=True) == tokenizer.decode(around)
    assert encoding.decode_bytes(tokens).decode() == encoding.decode(tokens)
    stream = encoding.decode_stream()
    assert "".join([*map(stream.feed, tokens), stream.finish()]) == encoding.decode(tokens)
    text, starts = encoding.decode_with_offsets(tokens)
    assert text == encoding.decode(tokens)
    assert starts == sorted(starts)
    if CONFIGURATIONS[name].get("fallback", True) and "lower" not in name:
        rare = "ж🎉\ue000字" + BLANK
        decoded = encoding.decode(encoding.encode_ordinary(rare)).lstrip(" ")
        assert decoded == rare.replace(BLANK, " ")
    everything = range(tokenizer.get_vocab_size())
    assert len(encoding.decode_tokens_bytes(everything)) == encoding.n_vocab == len(everything)


@pytest.mark.parametrize("name", ["llama 2", "gemma 3", "unknown, fused", "words apart"])
def test_hostile_texts(name: str) -> None:
    encoding, tokenizer = pair(name)
    n = 20_000
    for text in (
        "a" * n, " " * n, "\n" * n, BLANK * n, "字" * n, "\u0301" * n, "theme" * n, "\ue000" * n,
        "日本" * n, "a " * n, "(" * n,
    ):  # fmt: skip
        assert encoding.encode_ordinary(text) == ids(tokenizer, text)
        cut = encoding.split_at(text, 100)
        assert len(ids(tokenizer, text[:cut])) <= 100
        counter = encoding.intervals(text)
        assert counter.count(5, n) == len(ids(tokenizer, text[5:n]))


def test_surrogates_are_replaced_as_in_other_encodings() -> None:
    for name in ("llama 2", "unknown, fused"):
        encoding, _ = pair(name)
        assert encoding.count("a\ud800b字") == encoding.count("a\ufffdb字")
        assert encoding.encode_ordinary("\ud83c\udf89") == encoding.encode_ordinary("🎉")


def test_pickles_and_properties() -> None:
    encoding, tokenizer = pair("llama 2")
    again = pickle.loads(pickle.dumps(encoding))
    assert again.content_hash == encoding.content_hash
    assert again.encode_ordinary("the 字") == encoding.encode_ordinary("the 字")
    assert encoding.encode_single_token(" the") == tokenizer.token_to_id(f"{BLANK}the")
    assert encoding.encode_single_token(b"\xe6") == tokenizer.token_to_id("<0xE6>")
    assert encoding.encode_single_token("a") == tokenizer.token_to_id("a")
    assert set(encoding.token_byte_values()) == set(encoding._mergeable_ranks)


def test_special_tokens_and_the_text_between_them() -> None:
    for name in ("llama 2", "mistral", "gemma 3", "words apart"):
        encoding, _ = pair(name)
        tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
        for text in ("<s>the</s> a", " <s>", "<s>", "a<s><s>b", "<s> 字</s>"):
            assert encoding.encode(text, allowed_special="all") == ids(tokenizer, text), text


@pytest.mark.parametrize(
    "name", [name for name in CONFIGURATIONS if "masks" in CONFIGURATIONS[name]]
)
def test_special_tokens_that_strip_normalized_text(name: str) -> None:
    """They see what is unknown, and U+2581, before these are spelled."""
    encoding, _ = pair(name)
    tokenizer = tokenizers.Tokenizer.from_str(make_document(name))
    masks = [*CONFIGURATIONS[name]["masks"]]
    white = [" ", "\x85", "\u3000", "\u2028", BLANK, "\t"]
    unknown = ["\u2603", "\U0010ffff", "\xdf"]
    chooser = random.Random(name)
    for _ in range(1500):
        parts = chooser.choices([*masks * 3, *white * 2, *unknown, *"a<", "\u0338"], k=7)
        text = "".join(parts)
        found = tokenizer.encode(text, add_special_tokens=False).ids
        assert encoding.encode(text, allowed_special="all") == found, parts
        assert encoding.encode_with_offsets(text, allowed_special="all")[0] == found
        assert encoding.count(text, allowed_special="all") == len(found)


@pytest.mark.parametrize("fuses", [False, True])
def test_without_tokens_for_bytes_characters_are_unknown(fuses: bool) -> None:
    document = json.loads(make_document("llama 2"))
    model = document["model"]
    model["vocab"] = {
        text: token_id for text, token_id in model["vocab"].items() if not text.startswith("<0x")
    }
    model |= {"byte_fallback": True, "unk_token": "<unk>", "fuse_unk": fuses}
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    chooser = random.Random(7)
    for _ in range(300):
        text = "".join(chooser.choices("ab the \u2603\U0010ffff\xdf\u4e16", k=9))
        found = tokenizer.encode(text, add_special_tokens=False).ids
        assert encoding.encode_ordinary(text) == found
        assert encoding.decode(found) == tokenizer.decode(found, skip_special_tokens=False)


CHANGES: dict[str, Any] = {
    "ignore_merges": lambda document: document["model"].update(ignore_merges=True),
    "U+2581, is no token": lambda document: _without_blank(document),
    "<0x01> to fall back": lambda document: document["model"]["vocab"].pop("<0x01>"),
    "<0xC3> to fall back": lambda document: document["model"]["vocab"].pop("<0xC3>"),
    "Digits": lambda document: document.update(pre_tokenizer={"type": "Digits"}),
    "CTC": lambda document: document.update(decoder={"type": "CTC"}),
    "drops a blank of each": lambda document: document.update(
        decoder={"type": "Strip", "content": " ", "start": 1, "stop": 0}
    ),
    "after Fuse it drops all": lambda document: document.update(
        decoder={"type": "Sequence", "decoders": [{"type": "Fuse"}, metaspace("always", True)]}
    ),
    "nothing else may be done": lambda document: document.update(
        normalizer={"type": "Sequence", "normalizers": [REPLACE, PREPEND]}
    ),
    "remove the first character": lambda document: document.update(
        normalizer={"type": "Strip", "strip_left": True, "strip_right": False},
        pre_tokenizer=metaspace("first", False),
    ),
    "it would strip blanks": lambda document: document["added_tokens"].append(
        added(max(document["model"]["vocab"].values()) + 1, "<x>", normalized=True, lstrip=True)
    ),
    "puts another text before each": lambda document: document.update(
        normalizer=PREPEND | {"prepend": "x"}, pre_tokenizer=metaspace("always", True)
    ),
    "steps that can remove the first": lambda document: document.update(
        normalizer={"type": "Replace", "pattern": {"String": "``"}, "content": "x"},
        pre_tokenizer=metaspace("first", False),
    ),
    "may end inside what a character becomes": lambda document: (
        document.update(normalizer={"type": "NFKC"}, pre_tokenizer=metaspace("first", False)),
        document["added_tokens"].append(
            added(document["model"]["vocab"]["f"], "f", normalized=True)
        ),
    ),
    "here U+2581 and blanks are the same": lambda document: (
        document.update(normalizer=PREPEND, pre_tokenizer=metaspace("always", False)),
        document["added_tokens"].append(
            added(document["model"]["vocab"]["f"], "f", normalized=True)
        ),
    ),
    "or the names of bytes, as they are": lambda document: document.update(
        decoder=metaspace("always", True)
    ),
    "it writes U+2581": lambda document: document.update(decoder={"type": "ByteFallback"}),
    r"\A": lambda document: document.update(
        normalizer={"type": "Sequence", "normalizers": [REPLACE, LED_TWICE]},
        pre_tokenizer=metaspace("first", False),
    ),
    "a merge joins": lambda document: (
        document["model"]["vocab"].update({"<0x41>a": 9999}),
        document["model"]["merges"].append(["<0x41>", "a"]),
    ),
}


def _without_blank(document: dict[str, Any]) -> None:
    vocab, model = document["model"]["vocab"], document["model"]
    model["vocab"] = {text: number for text, number in vocab.items() if text != BLANK}


@pytest.mark.parametrize("message", CHANGES)
def test_what_is_not_equivalent_is_refused_by_name(message: str, tmp_path: Any) -> None:
    document = json.loads(make_document("gemma"))
    CHANGES[message](document)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(VocabularyError) as caught:
        cutline.load(path)
    assert message in str(caught.value)
    assert "wrap" in str(caught.value)


@pytest.mark.parametrize("seed", [*range(150), *map(exhaustive, range(150, 400))])
def test_random_merges_are_equal_or_refused(seed: int) -> None:
    """Merges in any order, several of them for a token, are either read exactly or refused."""
    chooser = random.Random(seed)
    known = [BLANK, "a", "b", "日", "é"]
    texts, merges = [*known], []
    for _ in range(chooser.randint(1, 9)):
        joined = [chooser.choice(texts), chooser.choice(texts)]
        if joined not in merges and len("".join(joined)) < 7:
            merges.append(joined)
            texts += [] if "".join(joined) in texts else ["".join(joined)]
    if chooser.random() < 0.3:
        chooser.shuffle(merges)
    if chooser.random() < 0.3:
        one, most = chooser.choice(known), chooser.randint(2, 5)
        runs = [
            [one * n, one * (length - n)]
            for length in range(most, 1, -1)
            for n in range(length - 1, 0, -1)
        ]
        merges = runs + [pair for pair in merges if pair not in runs]
        texts += [one * length for length in range(2, most + 1)]
    document = json.loads(make_document(chooser.choice(["gemma", "llama 2", "words apart"])))
    every = dict.fromkeys(["<unk>", "<s>", "</s>", *texts])
    vocab = {text: number for number, text in enumerate(every)}
    vocab |= {f"<0x{byte:02X}>": len(vocab) + byte for byte in range(256)}
    document["model"].update(vocab=vocab, merges=merges)
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer, "random")
    except VocabularyError:
        return
    letters = [" ", " ", "a", "b", "日", "é", "字"]
    for _ in range(200):
        text = "".join(chooser.choices(letters, k=chooser.randint(1, 14)))
        assert encoding.encode_ordinary(text) == ids(tokenizer, text), (merges, text)
        start = chooser.randrange(len(text))
        counter = encoding.intervals(text)
        assert counter.count(start, len(text)) == len(ids(tokenizer, text[start:])), (merges, text)
        _, spans = encoding.encode_with_offsets(text)
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        assert list(map(tuple, spans.tolist())) == offsets, (merges, text)
