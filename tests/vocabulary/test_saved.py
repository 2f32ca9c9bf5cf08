"""What is saved of tokenizers that do more than split and merge is read back the same."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from cutline.formats.huggingface import float_of_serde
from cutline.formats.typed_json import from_json, to_json
from cutline.formats.whole_json import _written
from cutline.normalizing import Prepend
from cutline.spec import AddedToken, TokenizerSpec
from cutline.vocabulary import Vocabulary
from cutline.words.models import WordPiece
from cutline.words.splitting import SplitClass
from tests.pipeline.characters import CONFIGURATIONS as OVER_CHARACTERS
from tests.pipeline.characters import make_document, tokenizers
from tests.pipeline.families import FAMILIES, build, texts_with
from tests.pipeline.test_characters import pair, texts_of
from tests.texts import NAMED_TEXTS
from tests.words.configurations import CONFIGURATIONS as OF_WORDS
from tests.words.tokenizers_of import LETTERS, MODELS, both

NAMED = [text[:500].encode(errors="ignore").decode() for text in NAMED_TEXTS.values()]


def check_cutline(encoding: cutline.Encoding, folder: Path) -> None:
    encoding.save(folder / "x.cutline")
    assert cutline.load(folder / "x.cutline")._spec == encoding._spec


def check(encoding: cutline.Encoding, texts: list[str], folder: Path) -> Any:
    """Save and load; returns the tokenizer.json as the package reads it."""
    spec = encoding._spec
    check_cutline(encoding, folder)
    encoding.save(folder / "x.json")
    loaded = cutline.load(folder / "x.json", name=encoding.name)
    assert loaded._spec._replace(pat_str=spec.pat_str) == spec
    read = tokenizers.Tokenizer.from_file(str(folder / "x.json"))
    assert read.num_special_tokens_to_add(False) == encoding.num_special_tokens_to_add()
    read.encode_special_tokens = True
    for text in texts:
        tokens = read.encode(text, add_special_tokens=False).ids
        assert tokens == encoding.encode_ordinary(text) == loaded.encode_ordinary(text), text
        assert loaded.count(text) == len(tokens)
    return read


@pytest.mark.parametrize("name", OF_WORDS)
@pytest.mark.parametrize("kind", MODELS)
def test_words(kind: str, name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    try:
        _, encoding = both(kind, name, random.Random(name), tmp_path)
    except VocabularyError:
        pytest.skip("cannot be read")
    check(
        encoding, ["".join(rng.choices(LETTERS, k=rng.randint(0, 20))) for _ in range(60)], tmp_path
    )


@pytest.mark.parametrize("name", OVER_CHARACTERS)
def test_models_over_characters(name: str, tmp_path: Path) -> None:
    encoding, _ = pair(name)
    read = check(encoding, [*texts_of(name, 60, 20), *NAMED], tmp_path)
    for text in ("the theme", " 日本 é 😀\n\n x"):
        assert encoding.decode(encoding.encode_ordinary(text)) == read.decode(
            encoding.encode_ordinary(text), skip_special_tokens=False
        )


@pytest.mark.parametrize("ignore_merges", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_pipelines_of_bytes(name: str, ignore_merges: bool, tmp_path: Path) -> None:
    tokenizer = build(name, ignore_merges=ignore_merges)
    try:
        encoding = cutline.Encoding.from_tokenizers(tokenizer, name)
    except VocabularyError:
        pytest.skip("cannot be read")
    texts = [*texts_with(tokenizer, 3), *NAMED]
    check(encoding, texts, tmp_path)


def test_templates_and_word_levels(tmp_path: Path) -> None:
    words = {"[UNK]": 0, "a": 1, "b": 2, "[CLS]": 3, "": 4}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [CLS]", special_tokens=[("[CLS]", 3)]
    )
    made.add_special_tokens(["[CLS]", "[NEW]"])
    made.decoder = tokenizers.decoders.WordPiece(prefix="@@")
    encoding = cutline.Encoding.from_tokenizers(made)
    read = check(encoding, ["a b c", "ab [CLS]", ""], tmp_path)
    assert read.encode("a").tokens == ["[CLS]", "a", "[CLS]"]
    assert read.decode([1, 2]) == encoding.decode([1, 2])


def test_tokens_that_no_text_has_keep_their_ids(tmp_path: Path) -> None:
    rows = [("<unk>", 0.0), ("a", -1.5), ("b", -2.0), ("", -9.0), ("a", -9.0), ("c", -9.0)]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    check(cutline.Encoding.from_tokenizers(made), ["abc", "a b"], tmp_path)


def test_the_published_file_of_mistral(tmp_path: Path) -> None:
    folder = Path(pytest.importorskip("mistral_common").__file__).parent / "data"
    if not (folder / "tokenizer.model.v1").is_file():
        pytest.skip("this version has no such file")
    encoding = cutline.load(folder / "tokenizer.model.v1")
    encoding.save(tmp_path / "x.json")
    read = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    read.encode_special_tokens = True
    for text in NAMED:
        assert read.encode(text, add_special_tokens=False).ids == encoding.encode_ordinary(text)
    encoding.save(tmp_path / "x.cutline")
    assert cutline.load(tmp_path / "x.cutline")._spec._replace(name="") == encoding._spec._replace(
        name=""
    )


def test_what_no_file_can_say_is_refused(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of_words([(b"[UNK]", 0), (b"a", 1)])
    spec = TokenizerSpec("newer", vocabulary, None, model=WordPiece(0))
    spec = spec._replace(splitters=(SplitClass("newer punctuation", "isolated"),))
    encoding = cutline.Encoding.from_spec(spec)
    with pytest.raises(VocabularyError, match=r"cannot say exactly.*save as \.cutline"):
        encoding.save(tmp_path / "x.json")
    for path in ("x.tiktoken", "vocab.json"):
        with pytest.raises(VocabularyError, match=r"save as \.cutline or tokenizer\.json"):
            encoding.save(tmp_path / path)
    encoding.save(tmp_path / "x.cutline")
    assert cutline.load(tmp_path / "x.cutline")._spec == spec


def test_a_prefix_alone_before_characters_is_refused_in_writing(tmp_path: Path) -> None:
    spec = cutline.Encoding.from_tokenizers(
        tokenizers.Tokenizer.from_str(make_document("gemma"))
    )._spec
    encoding = cutline.Encoding.from_spec(
        spec._replace(normalizer=(Prepend("x"), spec.normalizer[-1]))
    )
    with pytest.raises(VocabularyError, match=r"cannot say exactly.*save as \.cutline"):
        encoding.save(tmp_path / "x.json")


def test_scores_are_read_to_the_last_bit() -> None:
    rng = random.Random(5)
    for _ in range(5000):
        score = float_of_serde(repr(-10 * rng.random()))
        assert float_of_serde(repr(_written(score))) == score
    with pytest.raises(VocabularyError, match=r"no number as the score.*save as \.cutline"):
        _written(-9.433567169983137)


def test_values_survive_json() -> None:
    token = AddedToken("<s>", 1, special=False)
    assert from_json(json.loads(json.dumps(to_json(token))), AddedToken) == token
    for wrong in ([], {"": "AddedToken"}, to_json(token) | {"id": "1"}, to_json(token) | {"x": 1}):
        with pytest.raises(TypeError):
            from_json(wrong, AddedToken)


@pytest.mark.parametrize(
    "changed",
    [
        {"model": None},
        {"model": {"": "Unigram", "scores": "AAAA", "unk_id": 0, "byte_fallback": False,
                   "fuse_unk": True}},
        {"model": {"": "WordPiece", "unk_id": -1, "prefix": "##", "max_word_characters": 9}},
        {"normalizer": [{"": "Form", "name": "NFX"}]},
        {"normalizer": [{"": "Replace", "old": "", "new": "a"}]},
        {"normalizer": [{"": "Precompiled", "charsmap": "AAAA"}]},
        {"normalizer": [{"": "CharsMap", "charsmap": "AAAA", "symbols": []}]},
        {"splitters": [{"": "Metaspace", "prepend": "always", "splits": True, "replacement": ""}]},
        {"splitters": [{"": "Form", "name": "NFC"}]},
        {"n_template_tokens": [1]},
        {"trims": "no"},
        {"added_tokens": [{**to_json(AddedToken("\ud800", 1))}]},
        {"added_tokens": [{**to_json(AddedToken("a", -1))}]},
    ],
)  # fmt: skip
def test_forged_files_are_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    from tests.vocabulary.test_cutline_file import BODY_START, sealed

    encoding = both("WordPiece", "bert uncased", random.Random(1), tmp_path)[1]
    path = tmp_path / "x.cutline"
    encoding.save(path)
    body = path.read_bytes()[BODY_START:]
    size = int.from_bytes(body[:4], "little")
    header = json.loads(body[4 : 4 + size]) | changed
    written = json.dumps(header).encode()
    path.write_bytes(sealed(len(written).to_bytes(4, "little") + written + body[4 + size :]))
    with pytest.raises(VocabularyError, match=r"x\.cutline"):
        cutline.load(path)
