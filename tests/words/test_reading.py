"""Files of WordPiece, Unigram and WordLevel: what is read from them, and what is refused."""

import base64
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutline
from cutline.errors import PatternError, VocabularyError
from cutline.formats.cutline_file import write_cutline
from cutline.formats.reading import read
from cutline.normalizing import Form, Lower, Step
from cutline.spec import AddedToken, TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.words.joining import JoinMetaspace, JoinWordPiece
from cutline.words.models import Unigram, WordPiece
from cutline.words.splitting import Metaspace, WhitespaceSplit
from cutline.words.steps import ByCharacter
from tests.words.charsmaps import charsmap
from tests.words.configurations import tokenizers
from tests.words.test_char_rules import AWKWARD

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LINES = [*SPECIAL, "the", "##e", "un", "##able", "##s", "a", "É", "é", "e", "世", ",", "##ing"]


def document(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "Unigram",
            "unk_id": 0,
            "vocab": [["<unk>", 0.0], ["▁", -2.0], ["a", -1.5], ["▁a", -1.25]],
            "byte_fallback": False,
        },
    }
    return found | changes


def spec_of(folder: Path, content: dict[str, Any]) -> TokenizerSpec:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read(path, ..., None, None)


def vocab_txt(folder: Path, lines: list[str], **config: Any) -> Path:
    path = folder / "vocab.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return path


# vocab.txt


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"do_lower_case": False},
        {"do_lower_case": False, "strip_accents": True},
        {"strip_accents": False, "tokenize_chinese_chars": False},
    ],
)
def test_a_vocab_txt_encodes_as_bert_does(config: dict[str, Any], tmp_path: Path) -> None:
    path = vocab_txt(tmp_path, LINES, **config)
    lower = config.get("do_lower_case", True)
    oracle = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            {line: place for place, line in enumerate(LINES)}, unk_token="[UNK]"
        )
    )
    oracle.normalizer = tokenizers.normalizers.BertNormalizer(
        handle_chinese_chars=config.get("tokenize_chinese_chars", True),
        strip_accents=config.get("strip_accents"),
        lowercase=lower,
    )
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    oracle.add_special_tokens(SPECIAL)
    encoding = cutline.load(path)
    assert encoding.num_special_tokens_to_add() == 2
    assert encoding.num_special_tokens_to_add(pair=True) == 3
    rng = random.Random(7)
    for _ in range(2_000):
        text = "".join(rng.choices([*LINES, *AWKWARD[:30], " "], k=rng.randint(1, 8)))
        expected = oracle.encode(text, add_special_tokens=False).ids
        assert encoding.encode(text, allowed_special="all") == expected


def test_a_folder_with_a_vocab_txt_is_enough(tmp_path: Path) -> None:
    vocab_txt(tmp_path, LINES)
    assert cutline.load(tmp_path).encode("the unable") == [5, 7, 8]


def test_of_a_line_that_is_there_twice_the_last_counts(tmp_path: Path) -> None:
    spec = read(vocab_txt(tmp_path, [*SPECIAL, "a", "", "a", "b"]), ..., None, None)
    assert spec.vocabulary.to_ranks()[b"a"] == 7
    assert 5 not in spec.vocabulary.ids
    assert b"" not in spec.vocabulary.to_ranks()


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\u3000\x85\n"])
def test_white_space_at_the_end_of_a_line_is_no_part_of_a_token(end: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(end.join([*LINES, ""]).encode())
    oracle = tokenizers.Tokenizer(
        tokenizers.models.WordPiece.from_file(str(path), unk_token="[UNK]")
    )
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    text = "the unable a theing, 世"
    assert cutline.load(path).encode(text) == oracle.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    "config",
    [
        {"additional_special_tokens": ["a", {"content": "the"}]},
        {"extra_special_tokens": {"first": "a", "second": "the"}},
    ],
)
def test_more_special_tokens_are_read_beside_a_vocab_txt(
    config: dict[str, Any], tmp_path: Path
) -> None:
    encoding = cutline.load(vocab_txt(tmp_path, LINES, **config))
    assert {"a", "the"} < encoding.special_tokens_set
    assert encoding.encode("unthea", allowed_special="all") == [
        *map(LINES.index, ("un", "the", "a"))
    ]
    key, texts = next(iter(config.items()))
    named = [*texts, "<x>"] if isinstance(texts, list) else texts | {"third": "<x>"}
    for more, said in ((named, "<x>.*save_pretrained"), ([7], r"\[7\] instead of tokens")):
        with pytest.raises(VocabularyError, match=rf"tokenizer_config\.json.*{said}"):
            cutline.load(vocab_txt(tmp_path, LINES, **{key: more}))


def test_names_of_special_tokens_are_read_beside_a_vocab_txt(tmp_path: Path) -> None:
    lines = ["<unk>", "<s>", "</s>", "a"]
    config = {"unk_token": {"content": "<unk>"}, "cls_token": "<s>", "sep_token": "</s>"}
    spec = read(vocab_txt(tmp_path, lines, **config), ..., None, None)
    assert spec.special_tokens == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert spec.model == WordPiece(0, "##", 100)


NEW: dict[str, Any] = {
    "content": "[NEW]", "special": False, "lstrip": False, "rstrip": True, "single_word": True,
    "normalized": False,
}  # fmt: skip


def test_tokens_that_were_added_are_read_beside_a_vocab_txt(tmp_path: Path) -> None:
    decoder = {str(len(LINES)): NEW, "0": NEW | {"content": SPECIAL[0], "special": True}}
    (tmp_path / "added_tokens.json").write_text(json.dumps({"[NEW]": len(LINES)}))
    encoding = cutline.load(vocab_txt(tmp_path, LINES, added_tokens_decoder=decoder))
    assert encoding.added_tokens["[NEW]"] == len(LINES)
    the = LINES.index("the")
    assert encoding.encode("the [NEW] the") == [the, len(LINES), the]
    assert len(LINES) not in encoding.encode("the[NEW]the")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config.json": {"tokenizer_class": "BertJapaneseTokenizer"}}, "BertJapaneseTokenizer"),
        ({"tokenizer_config.json": {"word_tokenizer_type": "mecab"}}, "not known to be BERT's"),
        ({"tokenizer_config.json": {"tokenizer_class": "RoFormerTokenizer"}}, "RoFormerTokenizer"),
        ({"config.json": {"model_type": "roformer"}}, "roformer"),
        ({"added_tokens.json": {"[NEW]": 30}}, r"added_tokens\.json has '\[NEW\]', but not how"),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"x": NEW}}}, "instead of tokens by"),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"99": NEW}}}, "would give it"),
    ],
)
def test_a_vocab_txt_of_another_tokenizer_is_refused(
    files: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = vocab_txt(tmp_path, LINES)
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(VocabularyError, match=message):
        cutline.load(path)


@pytest.mark.parametrize("name", ["DistilBertTokenizer", "BertTokenizerFast", None])
def test_classes_with_the_tokenizer_of_bert_are_read(name: str | None, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "nomic_bert"}')
    assert cutline.load(vocab_txt(tmp_path, LINES, tokenizer_class=name)).encode("the") == [5]


@pytest.mark.parametrize(
    ("lines", "config", "message"),
    [
        (["a"], {}, r"no line '\[UNK\]', the unk_token"),
        (["[UNK]", "[CLS]"], {}, r"no line '\[SEP\]', the sep_token"),
        (SPECIAL, {"do_lower_case": "yes"}, "do_lower_case is 'yes' instead of true or false"),
        (SPECIAL, {"sep_token": 3}, "sep_token is 3 instead of a token"),
    ],
)
def test_a_vocab_txt_that_says_too_little_is_refused(
    lines: list[str], config: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=message):
        cutline.load(vocab_txt(tmp_path, lines, **config))


def test_damaged_files_around_a_vocab_txt_are_named(tmp_path: Path) -> None:
    path = vocab_txt(tmp_path, SPECIAL)
    (tmp_path / "tokenizer_config.json").write_text("[]")
    with pytest.raises(VocabularyError, match=r"tokenizer_config\.json contains no object but"):
        cutline.load(path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(VocabularyError, match=r"tokenizer_config\.json contains no JSON"):
        cutline.load(path)
    path.write_bytes(b"\xff\n")
    (tmp_path / "tokenizer_config.json").unlink()
    with pytest.raises(VocabularyError, match=r"vocab\.txt is not UTF-8"):
        cutline.load(path)


# tokenizer.json


def test_a_unigram_token_that_is_there_twice_has_its_last_place(tmp_path: Path) -> None:
    rows = [["<unk>", 0.0], ["a", -3.0], ["", -1.0], ["a", -4.0], ["b", -5.0]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": rows}
    content = document(model=model, pre_tokenizer={"type": "WhitespaceSplit"})
    spec = spec_of(tmp_path, content)
    assert spec.vocabulary.to_ranks() == {b"<unk>": 0, b"a": 3, b"b": 4}
    assert spec.unreachable_tokens == {b"a": 1, b"": 2}
    assert isinstance(spec.model, Unigram)
    oracle = tokenizers.Tokenizer.from_str(json.dumps(content))
    encoding = cutline.load(tmp_path / "tokenizer.json")
    for text in ("a", "ab", "aab a b c"):
        assert encoding.encode(text) == oracle.encode(text, add_special_tokens=False).ids


def number(rng: random.Random) -> str:
    """A score as a file may have it, with more digits or another power of ten than most have."""
    digits = "".join(rng.choices("0123456789", k=rng.randint(1, 25)))
    match rng.randrange(4):
        case 0:
            return repr(-rng.random() * 10.0 ** rng.randint(-40, 30))
        case 1:
            return f"-{rng.randrange(100)}.{digits}e{rng.randint(-360, 300)}"
        case 2:
            return f"-0.{'0' * rng.randint(0, 30)}{digits}"
        case _:
            return f"-{rng.randrange(1, 10)}{digits}{rng.choice(('', '.5'))}"


def test_scores_are_the_numbers_that_tokenizers_reads(tmp_path: Path) -> None:
    """It scales digits by powers of ten that are rounded, too, and so rounds twice."""
    rng = random.Random(3)
    numbers = [number(rng) for _ in range(2_000)]
    rows = ", ".join(f'["{at}", {one}]' for at, one in enumerate(numbers))
    written = json.dumps(document()).replace('["a", -1.5]', rows)
    path = tmp_path / "tokenizer.json"
    path.write_text(written, encoding="utf-8")
    vocab = json.loads(tokenizers.Tokenizer.from_str(written).to_str())["model"]["vocab"]
    model = read(path, ..., None, None).model
    assert isinstance(model, Unigram)
    assert np.frombuffer(model.scores, dtype="<f8").tolist() == [score for _, score in vocab]


def test_added_tokens_follow_the_last_place(tmp_path: Path) -> None:
    added = [{"id": 4, "content": "<mask>", "special": True, "lstrip": True}]
    spec = spec_of(tmp_path, document(added_tokens=added))
    assert spec.special_tokens == {"<mask>": 4} == spec.own_tokens


def test_metaspace_of_older_files_is_read(tmp_path: Path) -> None:
    old = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"}
    assert spec_of(tmp_path, document(pre_tokenizer=old)).splitters == (Metaspace(),)
    never = old | {"add_prefix_space": False, "prepend_scheme": "never"}
    assert spec_of(tmp_path, document(pre_tokenizer=never)).splitters == (Metaspace("never"),)


@pytest.mark.parametrize(
    ("scheme", "drops", "splits", "expected"),
    [
        ("always", True, True, (WhitespaceSplit(), Metaspace())),
        ("always", False, True, (Metaspace(),)),
        ("first", False, True, (Metaspace("first"),)),
        ("never", False, True, (Metaspace("never"),)),
        ("always", False, False, (Metaspace(splits=False),)),
    ],
)
def test_metaspace_of_newer_files_is_read(
    scheme: str, drops: bool, splits: bool, expected: object, tmp_path: Path
) -> None:
    newer = {"type": "MetaspaceNormalizer", "replacement": "▁", "prepend": scheme}
    at_each = {"type": "Split", "pattern": {"String": "▁"}, "behavior": "MergedWithNext"}
    content = document(
        version="2.0",
        normalizer={"type": "Sequence", "normalizers": [RUNS, newer | {"drop_whitespace": drops}]},
        pre_tokenizer=at_each | {"invert": False} if splits else None,
    )
    spec = spec_of(tmp_path, content)
    assert spec.splitters == expected
    assert len(spec.normalizer) == 1


def test_decoders_are_kept(tmp_path: Path) -> None:
    meta = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}
    both = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, meta]}
    assert spec_of(tmp_path, document(decoder=meta)).joiner == JoinMetaspace("first")
    assert spec_of(tmp_path, document(decoder=both)).joiner == JoinMetaspace(
        "first", has_bytes=True
    )
    pieces = {"type": "WordPiece", "prefix": "@@", "cleanup": False}
    assert spec_of(tmp_path, document(decoder=pieces)).joiner == JoinWordPiece("@@", False)


def test_specs_are_values(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, document())
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert again.content_hash == spec.content_hash
    other = spec_of(tmp_path, document(pre_tokenizer={"type": "WhitespaceSplit"}))
    assert other.splitters == (WhitespaceSplit(),)
    assert other.content_hash != spec.content_hash


def test_word_level_is_one_token_for_each_word(tmp_path: Path) -> None:
    vocab = {"[UNK]": 0, "ab": 1, "a": 2, "b": 3, "\U0010ffffb": 4}
    content = document(
        model={"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
        pre_tokenizer={"type": "Whitespace"},
    )
    spec_of(tmp_path, content)
    encoding = cutline.load(tmp_path / "tokenizer.json")
    oracle = tokenizers.Tokenizer.from_str(json.dumps(content))
    for text in ("ab", "a b abb", "ba, ab" * 30, "x" * 1_000, "b\U0010ffffb"):
        assert encoding.encode(text) == oracle.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("longest", [1, 100, 2**63 - 1, 2**63, 2**64 - 1])
def test_any_greatest_length_of_words_that_tokenizers_reads_is_kept(
    longest: int, tmp_path: Path
) -> None:
    words = {"[UNK]": 0, "a": 1, "##a": 2}
    model = {"type": "WordPiece", "vocab": words, "unk_token": "[UNK]"}
    content = document(model=model | {"max_input_chars_per_word": longest}, pre_tokenizer=None)
    spec_of(tmp_path, content)
    oracle = tokenizers.Tokenizer.from_str(
        json.dumps(content | {"model": content["model"] | {"continuing_subword_prefix": "##"}})
    )
    encoding = cutline.load(tmp_path / "tokenizer.json")
    for name in ("x.cutline", "tokenizer.json"):
        encoding.save(tmp_path / name)
        again = cutline.load(tmp_path / name)
        for text in ("a", "aa", "a" * 100, "a" * 101):
            assert again.encode(text) == oracle.encode(text, add_special_tokens=False).ids


# Specs that no tokenizer.json gives

WORDS = Vocabulary(b"[UNK]a", [5, 1], [0, 1], is_of_words=True)
SCORES = np.array([0.0, -1.0], dtype="<f8").tobytes()
IMPOSSIBLE: dict[str, tuple[WordPiece | Unigram, str]] = {
    "an unknown token that is none": (
        WordPiece(7),
        "the model WordPiece has the unknown token with id 7, and no token has this id",
    ),
    "an unknown piece that is none": (
        Unigram(SCORES, 7),
        "the model Unigram has the unknown token with id 7, and no token has this id",
    ),
    "no unknown piece": (Unigram(SCORES, None), "the model Unigram has no unknown token"),
    "words of no characters": (
        WordPiece(0, max_word_characters=0),
        "the model WordPiece has max_word_characters 0, which must be from 1",
    ),
    "words of less": (WordPiece(0, max_word_characters=-1), "max_word_characters -1, which must"),
    "words of more characters than tokenizers reads": (
        WordPiece(0, max_word_characters=2**64),
        "max_word_characters 18446744073709551616, which must be from 1 to 2",
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_model_that_cannot_encode_all_texts_is_refused(name: str, tmp_path: Path) -> None:
    model, message = IMPOSSIBLE[name]
    spec = TokenizerSpec("words", WORDS, None, model=model, splitters=(WhitespaceSplit(),))
    with pytest.raises(VocabularyError, match=message):
        cutline.Encoding.from_spec(spec)
    path = tmp_path / "words.cutline"
    write_cutline(spec, path)
    with pytest.raises(VocabularyError, match=message) as caught:
        cutline.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("n_bytes", [0, 1, 255, 256])
def test_all_bytes_have_tokens_or_none(n_bytes: int) -> None:
    pieces = [("<unk>", 0.0), ("a", -1.0), *((f"<0x{byte:02X}>", -9.0) for byte in range(n_bytes))]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0, True))
    if n_bytes in (1, 255):
        with pytest.raises(VocabularyError, match=f"no token <0x{n_bytes:02X}>: some bytes have"):
            cutline.Encoding.from_tokenizers(oracle)
        return
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for text in ("a\u4e16", "\u00e9a\u00e9\u00e9Z", "Z"):
        assert encoding.encode(text) == oracle.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("others", [(), ("added",), ("unreachable",)])
def test_the_unknown_token_may_be_any_token(others: tuple[str, ...]) -> None:
    spec = TokenizerSpec("words", WORDS, None, splitters=(WhitespaceSplit(),))
    if "added" in others:
        spec = spec._replace(added_tokens=(AddedToken("<unk>", 7),))
    if "unreachable" in others:
        spec = spec._replace(unreachable_tokens={b"": 7})
    encoding = cutline.Encoding.from_spec(spec._replace(model=WordPiece(7 if others else 0)))
    tokens = encoding.encode_ordinary("a b")
    assert tokens == [1, 7 if others else 0]
    assert encoding.decode(tokens).startswith("a")


@pytest.mark.parametrize("steps", [(), (Lower(),), (Form("NFC"),)])
def test_accents_that_bert_removes_without_nfd_cannot_be_written(
    steps: tuple[Step, ...], tmp_path: Path
) -> None:
    spec = TokenizerSpec(
        *("words", WORDS, None),
        normalizer=(*steps, ByCharacter("bert accents")),
        model=WordPiece(0),
        splitters=(WhitespaceSplit(),),
    )
    encoding = cutline.Encoding.from_spec(spec)
    with pytest.raises(VocabularyError, match=r"cannot say the step .*bert accents.*as \.cutline"):
        encoding.save(tmp_path / "tokenizer.json")
    encoding.save(tmp_path / "x.cutline")
    assert cutline.load(tmp_path / "x.cutline").content_hash == encoding.content_hash


Change = Callable[[dict[str, Any]], None]


def model(**parts: Any) -> Change:
    return lambda content: content["model"].update(parts)


def setting(place: str, value: Any) -> Change:
    return lambda content: content.update({place: value})


def normalizers(*parts: Any) -> Change:
    return setting("normalizer", {"type": "Sequence", "normalizers": list(parts)})


def splitters(*parts: Any) -> Change:
    return setting("pre_tokenizer", {"type": "Sequence", "pretokenizers": list(parts)})


SPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
RUNS = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}
MAP = base64.b64encode(charsmap({"\t": " "})).decode()
SURROGATES: dict[str, Change] = {
    "normalizer": setting("normalizer", RUNS | {"content": "a\ud800"}),
    "pre_tokenizer": setting("pre_tokenizer", SPACE | {"replacement": "\ud800"}),
    "decoder": setting("decoder", SPACE | {"replacement": "\ud800"}),
    "added_tokens": setting("added_tokens", [{"id": 99, "content": "\ud800"}]),
    "model": setting(
        "model",
        {"type": "WordPiece", "vocab": {"[UNK]": 0}, "continuing_subword_prefix": "\ud800"},
    ),
}
REFUSED: dict[str, tuple[Change, str]] = {
    **{
        f"a surrogate in {part}": (change, rf"{part} has the surrogate '\\ud800'")
        for part, change in SURROGATES.items()
    },
    "no list of scores": (model(vocab={"a": 1}), "instead of tokens with scores"),
    "a surrogate": (model(vocab=[["<unk>", 0.0], ["\ud800", -1.0]]), "has surrogates"),
    "a newer Metaspace that loses blanks in words": (
        lambda content: content.update(
            version="2.0",
            normalizer={
                "type": "MetaspaceNormalizer",
                "replacement": "▁",
                "prepend": "first",
                "drop_whitespace": True,
            },
            pre_tokenizer=None,
        ),
        "none that fits",
    ),
    "an added token that a newer Metaspace comes before": (
        lambda content: content.update(
            version="2.0",
            added_tokens=[{"id": 1, "content": "a", "normalized": True}],
            normalizer={"type": "MetaspaceNormalizer", "replacement": "▁", "prepend": "always"},
            pre_tokenizer=None,
        ),
        "that Metaspace has led already",
    ),
    "a newer added token that is a word": (
        lambda content: content.update(
            version="2.0", added_tokens=[{"id": 1, "content": "a", "single_word": True}]
        ),
        "single_word",
    ),
    "a newer added token that another one may strip": (
        lambda content: content.update(
            version="2.0",
            added_tokens=[
                {"id": 1, "content": "\u2581", "rstrip": True},
                {"id": 4, "content": " a", "rstrip": False},
            ],
        ),
        "another one strips white space",
    ),
    "letters replaced by a newer engine": (
        lambda content: content.update(
            version="2.0",
            normalizer={"type": "Replace", "pattern": {"Regex": r"[\W_]"}, "content": "a"},
        ),
        r"another set for \\w",
    ),
    "no score": (model(vocab=[["a"]]), 'place 0, is \\["a"\\] instead of'),
    "an infinite score": (model(vocab=[["a", float("inf")]]), "a finite number"),
    "a score that no float holds": (model(vocab=[["a", 10**400]]), "a finite number"),
    "words of no characters": (
        setting(
            "model",
            {"type": "WordPiece", "vocab": {"[UNK]": 0}, "max_input_chars_per_word": 0},
        ),
        r"a length from 1 to 2\*\*64 - 1",
    ),
    "words of more characters than tokenizers reads": (
        setting(
            "model",
            {"type": "WordPiece", "vocab": {"[UNK]": 0}, "max_input_chars_per_word": 2**64},
        ),
        r"184467440737.*a length from 1 to 2\*\*64 - 1",
    ),
    "no unknown token": (model(unk_id=9), "unk_id is 9"),
    "an unknown token that is none": (
        setting("model", {"type": "WordPiece", "vocab": {"a": 0}}),
        'unk_token is "\\[UNK\\]"',
    ),
    "an id twice": (
        setting("model", {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "b": 1}}),
        "id 1 is given to two tokens",
    ),
    "a prefix that is no text": (
        setting(
            "model",
            {"type": "WordPiece", "vocab": {"[UNK]": 0}, "continuing_subword_prefix": 3},
        ),
        "continuing_subword_prefix",
    ),
    "the lowest score twice": (
        model(vocab=[["<unk>", 0.0], ["a", -9.0], ["a", -1.0]]),
        "there twice has the lowest score",
    ),
    "the unknown token twice": (
        model(vocab=[["<unk>", -1.0], ["<unk>", -1.0]]),
        "'<unk>' is there twice",
    ),
    "a damaged map": (
        setting("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAA="}),
        "Precompiled: .*is damaged",
    ),
    "a map that is no base64": (
        setting("normalizer", {"type": "Precompiled", "precompiled_charsmap": "?"}),
        "normalizer Precompiled",
    ),
    "another pattern": (
        setting("normalizer", {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}),
        "normalizer is",
    ),
    "another pre-tokenizer": (
        setting("pre_tokenizer", {"type": "UnicodeScripts"}),
        "a character without a script goes with the one before it",
    ),
    "Punctuation in a new way": (
        setting("pre_tokenizer", {"type": "Punctuation", "behavior": "New"}),
        "only what docs/words.md lists",
    ),
    "Metaspace of two characters": (
        setting("pre_tokenizer", SPACE | {"replacement": "ab"}),
        "a field has a value that is not known",
    ),
    "another decoder": (setting("decoder", {"type": "CTC"}), "decoder is"),
    "a pre-tokenizer after Metaspace": (
        splitters(SPACE, {"type": "Punctuation"}),
        "must be the last pre-tokenizer",
    ),
    "the first word of several": (
        splitters({"type": "Punctuation"}, SPACE | {"prepend_scheme": "first"}),
        "does not depend on the word alone",
    ),
    **{
        f"a first word that {part['type']} may take from the start": (
            lambda content, part=part: (
                normalizers(part)(content),
                splitters(SPACE | {"prepend_scheme": "first"})(content),
            )[0],
            "can remove the first character",
        )
        for part in (
            {"type": "Nmt"},
            {"type": "StripAccents"},
            {"type": "Replace", "pattern": {"String": "ab"}, "content": "c"},
        )
    },
    "a prefix of the text": (normalizers({"type": "Prepend", "prepend": "▁"}, RUNS), "Prepend"),
    "runs before a change, and a strip": (
        normalizers(STRIP, RUNS, {"type": "Lowercase"}),
        "steps after it change",
    ),
    "runs of what a step made": (
        normalizers({"type": "NFKC"}, RUNS, {"type": "Lowercase"}),
        "steps before it may make blanks",
    ),
    "runs that a step replaces": (
        normalizers(RUNS, {"type": "Replace", "pattern": {"String": " "}, "content": "b"}),
        "steps after it change blanks",
    ),
    "runs before a change inside words": (
        lambda content: (
            normalizers(RUNS, {"type": "Lowercase"})(content),
            setting("pre_tokenizer", None)(content),
        )[0],
        "runs are parts of words",
    ),
    "runs inside words": (
        lambda content: (normalizers(RUNS)(content), setting("pre_tokenizer", None)(content))[0],
        "runs are parts of words",
    ),
    "runs that become a letter": (normalizers(RUNS | {"content": "a"}), "may replace a run"),
    "a strip without runs": (normalizers(STRIP), "Strip"),
    "eight classes of runs": (
        splitters(
            *(
                {
                    "type": "Split",
                    "pattern": {"Regex": f"[a-{last}]"},
                    "behavior": "Contiguous",
                    "invert": False,
                }
                for last in "abcdefgh"
            )
        ),
        "more than seven that are contiguous",
    ),
    "a strip before signs": (
        lambda content: (
            normalizers(STRIP | {"strip_left": True}, RUNS)(content),
            splitters({"type": "Punctuation"}, SPACE)(content),
        )[0],
        "the word after it would begin otherwise",
    ),
    "a strip at the start alone": (
        normalizers(
            {"type": "Precompiled", "precompiled_charsmap": MAP},
            {"type": "Strip", "strip_left": True, "strip_right": False},
            RUNS,
        ),
        "Strip",
    ),
    "a strip before white space that becomes a letter": (
        lambda content: (
            normalizers(STRIP, {"type": "Replace", "pattern": {"String": "\n"}, "content": "b"})(
                content
            ),
            splitters({"type": "WhitespaceSplit"})(content),
        )[0],
        "some white space becomes something else",
    ),
    "blanks alone cut off": (
        normalizers({"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""}),
        "by nothing cannot be done exactly here: a run of blanks must count as one",
    ),
    "a strip before a mark that goes with white space": (
        lambda content: (
            normalizers(
                STRIP | {"strip_left": True},
                {"type": "Precompiled", "precompiled_charsmap": MAP},
            )(content),
            splitters({"type": "WhitespaceSplit"})(content),
        )[0],
        "a mark after it would be changed as one",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_expressed_exactly_is_refused(name: str, tmp_path: Path) -> None:
    content = document()
    change, message = REFUSED[name]
    change(content)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises((VocabularyError, PatternError), match=message) as caught:
        cutline.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "scheme", "named"),
    [
        (["Nmt"], "first", "Nmt can remove"),
        (["NFKD", "StripAccents"], "first", "StripAccents can remove"),
        ([" {2,}", "NFKC"], "never", "Replace of runs of blanks by '▁'"),
    ],
)
def test_what_is_refused_is_named_as_in_the_file(steps: list[str], scheme: str, named: str) -> None:
    norm = tokenizers.normalizers
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram([("<unk>", 0.0)], 0))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.normalizer = norm.Sequence(
        [
            norm.Replace(tokenizers.Regex(step), "▁") if " " in step else getattr(norm, step)()
            for step in steps
        ]
    )
    with pytest.raises((VocabularyError, PatternError), match=named):
        cutline.Encoding.from_tokenizers(tokenizer)
