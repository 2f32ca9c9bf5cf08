"""Models by name, with the real huggingface_hub, from a server on the loopback address."""

import json
import os
import pickle
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.formats.reading import TOKENIZER_FILES
from cutline.pretrained import FILE_ENDINGS
from cutline.pretrained.hub import TO_CONVERT
from cutline.pretrained.side_files import SIDE_FILES
from tests.pretrained.hub_server import TOKEN, Hub, Model
from tests.pretrained.made import MINILM, TEXT, bpe, in_module, published, word_piece, write

NAME = "someone/small-model"


def ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """huggingface_hub waits before it asks again."""
    monkeypatch.setattr("time.sleep", lambda _: None)


# What is fetched


def test_a_model_by_name_is_the_tokenizer_of_its_file(hub: Hub) -> None:
    hub.publish(NAME, published())
    encoding = cutline.from_pretrained(NAME)
    assert encoding.name == NAME
    assert encoding.encode_ordinary(TEXT) == ids(bpe(), TEXT)
    assert encoding.num_special_tokens_to_add() == 2
    assert (encoding.max_tokens, encoding.prompts["query"]) == (256, "query: ")


def test_only_the_tokenizer_and_the_side_files_are_fetched(hub: Hub) -> None:
    hub.publish(NAME, published(**{"vocab.txt": "a", "tokenizer.model": b"\x0a\x00"}))
    cutline.from_pretrained(NAME)
    assert sorted(hub.fetched()) == sorted(["tokenizer.json", *SIDE_FILES])


def test_a_file_in_the_cache_costs_one_request_and_a_commit_none(hub: Hub) -> None:
    commit = hub.publish(NAME, {"tokenizer.json": bpe().to_str(), "config.json": {}})
    cutline.from_pretrained(NAME)
    hub.asked.clear()
    cutline.from_pretrained(NAME)
    assert hub.asked == [("HEAD", NAME, "tokenizer.json")]
    hub.asked.clear()
    cutline.from_pretrained(NAME, revision=commit)
    assert hub.asked == []


def test_the_newest_commit_is_fetched_and_older_ones_by_revision(hub: Hub) -> None:
    older = hub.publish(NAME, published())
    assert cutline.from_pretrained(NAME).max_tokens == 256
    longer = {"sentence_bert_config.json": {"max_seq_length": 300}}
    hub.publish(NAME, published(**longer))
    hub.models[NAME].tags = {"v1": 0, "refs/pr/1": 0}
    assert cutline.from_pretrained(NAME).max_tokens == 300
    for revision in hub.models[NAME].tags:
        assert cutline.from_pretrained(NAME, revision=revision).max_tokens == 256
    assert cutline.from_pretrained(NAME, revision=older).max_tokens == 256


def test_all_files_are_of_one_commit(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    hub.publish(NAME, published())
    download = huggingface_hub.hf_hub_download

    def with_a_commit_in_between(*args: Any, **named: Any) -> str:
        path: str = download(*args, **named)
        if named["filename"] == "tokenizer.json":
            hub.publish(NAME, published(**{"sentence_bert_config.json": {"max_seq_length": 9}}))
        return path

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", with_a_commit_in_between)
    assert cutline.from_pretrained(NAME).max_tokens == 256


def test_a_renamed_model_is_found_by_its_old_name(hub: Hub) -> None:
    hub.publish(NAME, published())
    hub.renamed["small-model"] = NAME
    assert cutline.from_pretrained("small-model").encode_ordinary(TEXT) == ids(bpe(), TEXT)


def test_the_first_kind_of_file_that_a_model_has_is_taken(hub: Hub, tmp_path: Path) -> None:
    plain = cutline.get_encoding("gpt2")
    plain.save(tmp_path / "some.tiktoken")
    plain.save(tmp_path / "vocab.json")
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    hub.publish(NAME, {**files, "deep/tokenizer.json": "{}"})
    given: dict[str, Any] = {"pat_str": plain.pat_str, "special_tokens": {"<|endoftext|>": 50256}}
    assert cutline.from_pretrained(NAME, **given).content_hash == plain.content_hash
    assert hub.fetched() == ["vocab.json", "merges.txt"]

    hub.asked.clear()
    hub.publish("someone/ranks", {"some.tiktoken": files["some.tiktoken"]})
    assert cutline.from_pretrained("someone/ranks", **given).content_hash == plain.content_hash
    assert "some.tiktoken" in hub.fetched()
    assert cutline.from_pretrained(
        "someone/ranks", local_files_only=True, **given
    ).content_hash == (plain.content_hash)
    with pytest.raises(TypeError, match="does not contain the split pattern: pass pat_str="):
        cutline.from_pretrained("someone/ranks")


def test_a_tokenizer_in_the_folder_of_the_first_module_is_fetched(hub: Hub) -> None:
    commit = hub.publish(NAME, in_module("0_StaticEmbedding"))
    own = ["modules.json", "config_sentence_transformers.json"]
    inner = ["tokenizer.json", *(file for file in SIDE_FILES if file not in own)]
    for given in ({}, {"revision": commit}, {"local_files_only": True}):
        model = cutline.from_pretrained(NAME, **given)
        assert model.encode_ordinary(TEXT) == ids(bpe(), TEXT)
        assert (model.name, model.max_tokens) == (NAME, 256)
        assert model.prompts["query"] == "query: "
    assert sorted(hub.fetched()) == sorted([*own, *(f"0_StaticEmbedding/{file}" for file in inner)])
    assert cutline.wrap(NAME).max_tokens == 256
    hub.publish(NAME, in_module("a/b", **{"sentence_bert_config.json": {"max_seq_length": 20}}))
    assert cutline.from_pretrained(NAME).max_tokens == 20


def test_ranks_in_a_model_file_need_the_pattern(hub: Hub, tmp_path: Path) -> None:
    plain = cutline.get_encoding("gpt2")
    plain.save(tmp_path / "some.tiktoken")
    given: dict[str, Any] = {"pat_str": plain.pat_str, "special_tokens": {"<|endoftext|>": 50256}}
    for file in ("tiktoken.model", "tokenizer.model"):
        hub.publish(f"someone/{file[:-6]}", {file: (tmp_path / "some.tiktoken").read_bytes()})
        found = cutline.from_pretrained(f"someone/{file[:-6]}", **given)
        assert found.content_hash == plain.content_hash
        with pytest.raises(TypeError, match=f"{file} does not contain the split pattern: pass"):
            cutline.from_pretrained(f"someone/{file[:-6]}")


# Places that take a name


def test_a_name_with_a_slash_is_one_of_the_hub_wherever_names_are_taken(hub: Hub) -> None:
    hub.publish(NAME, published())
    loaded = cutline.from_pretrained(NAME)
    chunker = cutline.TextChunker(NAME, 16)
    assert chunker(TEXT) == cutline.TextChunker(loaded, 16)(TEXT)
    hub.asked.clear()
    assert cutline.TokenChunker(NAME, 16).encoding is chunker.encoding
    assert cutline.truncate(TEXT, 9, encoding=NAME) == loaded.truncate(TEXT, 9)
    assert cutline.pack([TEXT], 9, encoding=NAME).token_count <= 9
    assert cutline.verify(TEXT, chunker(TEXT), encoding=NAME, chunk_size=16).ok
    assert hub.asked == []


def test_a_folder_of_that_name_is_taken_first_and_read_again(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / NAME, published())
    assert cutline.TextChunker(NAME, "model").chunk_size == 254
    write(tmp_path / NAME, {"sentence_bert_config.json": {"max_seq_length": 100}})
    assert cutline.TextChunker(NAME, "model").chunk_size == 98
    assert cutline.from_pretrained(tmp_path / NAME).max_tokens == 100
    assert hub.asked == []


def test_names_without_a_slash_are_packaged_or_unknown(hub: Hub) -> None:
    hub.publish("small-model", published())
    with pytest.raises(cutline.UnknownEncodingError, match="no encoding is named 'small-model'"):
        cutline.TextChunker("small-model", 16)
    with pytest.raises(cutline.UnknownEncodingError, match=r"from_pretrained\('a/b'\)"):
        cutline.get_encoding("a/b")
    assert hub.asked == []
    assert cutline.from_pretrained("small-model").max_tokens == 256


def test_adapters_take_names(hub: Hub) -> None:
    pa = pytest.importorskip("pyarrow")
    from cutline.integrations.arrow import count_batch
    from cutline.integrations.describing import chunker_of

    hub.publish(NAME, published())
    table = count_batch(pa.table({"text": [TEXT]}), NAME)
    assert table["token_count"].to_pylist() == [len(ids(bpe(), TEXT))]
    assert chunker_of(None, encoding=NAME, chunk_size="model").chunk_size == 254


def test_a_description_is_restored_from_the_same_commit(hub: Hub) -> None:
    from cutline.integrations.describing import chunker_from, describe

    hub.publish(NAME, published())
    description = json.loads(json.dumps(describe(cutline.TextChunker(NAME, "model"))))
    hub.publish(NAME, published(**{"tokenizer.json": word_piece().to_str()}))
    restored = chunker_from(description)
    assert describe(restored) == description
    assert restored(TEXT) == cutline.TextChunker(NAME, 254)(TEXT)
    hub.models.clear()
    assert "token" not in description["encoding"]
    description["encoding"]["revision"] = "0" * 40
    with pytest.raises(ValueError, match="cannot be restored: its file cannot be loaded, there is"):
        chunker_from(description)


def test_pickles_hold_tokenizer_limit_and_prompts_and_need_no_hub(hub: Hub) -> None:
    hub.publish(NAME, published())
    encoding = cutline.from_pretrained(NAME)
    data = pickle.dumps(encoding)
    hub.models.clear()
    hub.asked.clear()
    again = pickle.loads(data)
    assert (again.name, again.max_tokens, again.prompts) == (NAME, 256, encoding.prompts)
    assert again.content_hash == encoding.content_hash
    assert hub.asked == []


# Without a connection


def test_the_cache_is_enough(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.publish(NAME, published())
    expected = cutline.from_pretrained(NAME)
    hub.asked.clear()
    for revision in (None, "main", commit):
        found = cutline.from_pretrained(NAME, revision=revision, local_files_only=True)
        assert (found.content_hash, found.max_tokens) == (expected.content_hash, 256)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert cutline.from_pretrained(NAME).prompts == expected.prompts
    assert hub.asked == []


def test_what_a_model_does_not_have_is_known_without_a_connection(hub: Hub) -> None:
    hub.publish(NAME, {"tokenizer.json": bpe().to_str()})
    assert cutline.from_pretrained(NAME).max_tokens is None
    hub.asked.clear()
    assert cutline.from_pretrained(NAME, local_files_only=True).max_tokens is None
    assert hub.asked == []


def test_when_the_hub_fails_the_cache_is_used(hub: Hub, no_waiting: None) -> None:
    hub.publish(NAME, published())
    expected = cutline.from_pretrained(NAME)
    hub.is_broken = True
    assert cutline.from_pretrained(NAME).content_hash == expected.content_hash
    said = (
        rf"tokenizer\.json of 'a/b' .* is not in the cache .*, and {hub.url} did not send it: .*500"
    )
    with pytest.raises(cutline.HubError, match=said) as caught:
        cutline.from_pretrained("a/b")
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("n_failures", [1, 2])
def test_a_hub_that_does_not_answer_is_asked_twice(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, n_failures: int
) -> None:
    import huggingface_hub

    hub.publish(NAME, published())
    waited: list[float] = []
    monkeypatch.setattr("cutline.pretrained.hub.sleep", waited.append)
    asked = huggingface_hub.get_hf_file_metadata
    n_asked = 0

    def unsteady(*arguments: Any, **options: Any) -> Any:
        nonlocal n_asked
        n_asked += 1
        if n_asked <= n_failures:
            raise ConnectionError("no route")
        return asked(*arguments, **options)

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", unsteady)
    if n_failures == 1:
        assert cutline.from_pretrained(NAME).max_tokens == 256
    else:
        with pytest.raises(cutline.HubError, match=f"{hub.url} did not send it: no route; fetch"):
            cutline.from_pretrained(NAME)
        assert hub.asked == []
    assert waited == [1]
    hub.asked.clear()
    if n_failures == 1:  # what is in the cache needs no answer
        monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", None)
        assert cutline.from_pretrained(NAME).max_tokens == 256


def test_offline_a_misspelt_folder_is_told_soon(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the package's own requests: nothing listens at this address."""
    monkeypatch.setattr("huggingface_hub.hf_hub_url", lambda *_, **__: "http://127.0.0.1:9/a")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "small").mkdir(parents=True)
    begun = time.monotonic()
    said = r"did not send it: .*; did you mean '\w+.small'\?$"
    with pytest.raises(cutline.HubError, match=said):
        cutline.from_pretrained("models/smal")
    assert time.monotonic() - begun < 10


def test_a_name_spelled_like_a_folder_has_a_hint(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small-model").mkdir()
    for name in ("small-modle", "./small-modle"):
        with pytest.raises(cutline.UnknownEncodingError, match="did you mean 'small-model'"):
            cutline.from_pretrained(name)


@pytest.mark.parametrize("ending", FILE_ENDINGS)
def test_a_name_that_ends_like_a_file_is_never_asked_for(hub: Hub, ending: str) -> None:
    for load in (cutline.from_pretrained, cutline.wrap, cutline.get_encoding):
        with pytest.raises((FileNotFoundError, cutline.UnknownEncodingError)):
            load(f"models/small{ending}")
    assert hub.asked == []


def test_without_a_connection_and_a_cache_the_model_cannot_be_fetched(
    hub: Hub, cache: Path
) -> None:
    said = (
        rf"there is no folder {NAME!r} here, and tokenizer.json of .* is not in the cache "
        rf"{re.escape(str(cache))}, and downloads are turned off"
    )
    with pytest.raises(cutline.HubError, match=said):
        cutline.from_pretrained(NAME, local_files_only=True)
    assert hub.asked == []


def test_a_limit_is_not_taken_from_files_of_which_one_may_be_missing(hub: Hub) -> None:
    """As transformers leaves the cache, which never asks for sentence_bert_config.json."""
    import huggingface_hub

    hub.publish(NAME, published())
    for file in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        huggingface_hub.hf_hub_download(NAME, file)
    found = cutline.from_pretrained(NAME, local_files_only=True)
    assert (found.max_tokens, found.prompts) == (None, {})
    with pytest.raises(
        ValueError, match="that of 'someone/small-model' is not known: name the model"
    ):
        cutline.TextChunker(found, "model")
    assert cutline.from_pretrained(NAME).max_tokens == 256
    assert cutline.from_pretrained(NAME, local_files_only=True).max_tokens == 256


def test_another_tokenizer_file_in_the_cache_is_not_taken_for_the_first(
    hub: Hub, tmp_path: Path
) -> None:
    import huggingface_hub

    cutline.get_encoding("gpt2").save(tmp_path / "vocab.json")
    others = {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}
    hub.publish(NAME, published(**others))
    for file in ("vocab.json", "merges.txt"):
        huggingface_hub.hf_hub_download(NAME, file)
    with pytest.raises(cutline.HubError, match=r"tokenizer\.json of 'someone/small-model'"):
        cutline.from_pretrained(NAME, pat_str=None, local_files_only=True)


def test_what_is_beside_a_vocab_txt_is_fetched_and_needed(hub: Hub) -> None:
    """Another program may have cached the vocabulary alone."""
    from huggingface_hub import errors, hf_hub_download

    lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nThe\nthe\n"
    hub.publish(NAME, {"vocab.txt": lines, "tokenizer_config.json": {"do_lower_case": False}})
    for file in (*(name for name, *_ in TOKENIZER_FILES[:4]), "vocab.txt"):
        with suppress(errors.EntryNotFoundError):
            hf_hub_download(NAME, file)
    with pytest.raises(cutline.HubError, match=r"tokenizer_config\.json of"):
        cutline.from_pretrained(NAME, local_files_only=True)
    assert cutline.from_pretrained(NAME).encode("The") == [4]
    hub.publish("someone/more", {"vocab.txt": lines, "added_tokens.json": {"[NEW]": 6}})
    with pytest.raises(cutline.VocabularyError, match=r"added_tokens\.json has '\[NEW\]'"):
        cutline.from_pretrained("someone/more")


def test_what_adds_tokens_to_a_tokenizer_json_is_fetched_and_needed(hub: Hub) -> None:
    from huggingface_hub import hf_hub_download

    config = {"added_tokens_decoder": {"999": {"content": "<new>"}}}
    hub.publish(NAME, published(**{"tokenizer_config.json": config}))
    hf_hub_download(NAME, "tokenizer.json")
    with pytest.raises(cutline.HubError, match=r"tokenizer_config\.json of"):
        cutline.from_pretrained(NAME, local_files_only=True)
    assert cutline.from_pretrained(NAME).encode("<new>") == [340]
    assert cutline.wrap(NAME).encode("<new>") == [340]


# What is refused


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody/nothing", "there is no model 'nobody/nothing' on http"),
        ("", "there is no folder '', and it is no name of a model on the Hub"),
        ("a//b", "there is no folder 'a//b', and it is no name"),
        ("./nothing", "there is no folder './nothing', and it is no name"),
        ("a/b/c", "there is no folder 'a/b/c', and it is no name"),
        ("x" * 5000, r"there is no folder 'x{59}\.\.\.x{59}' \(5,002 characters\)"),
        ("a/b\0", "there is no folder 'a/b"),
    ],
)
def test_an_unknown_name_is_an_unknown_encoding(hub: Hub, name: str, said: str) -> None:
    with pytest.raises(cutline.UnknownEncodingError, match=said):
        cutline.from_pretrained(name)
    if "no name" in said:
        with pytest.raises(cutline.UnknownEncodingError, match=said):
            cutline.from_pretrained(name, revision="0" * 40, local_files_only=True)


def test_an_unknown_revision_is_named(hub: Hub) -> None:
    hub.publish(NAME, published())
    with pytest.raises(cutline.UnknownEncodingError, match="has no revision 'v9': pass a branch"):
        cutline.from_pretrained(NAME, revision="v9")


def test_a_model_without_a_tokenizer_is_refused(hub: Hub) -> None:
    hub.publish(NAME, {"config.json": {}, "model.safetensors": b"\0"})
    expected = ", ".join(name for name, *_ in TOKENIZER_FILES)
    said = f"the model '{NAME}' has no tokenizer: none of the files {expected}"
    with pytest.raises(cutline.UnknownEncodingError, match=re.escape(said)):
        cutline.from_pretrained(NAME)
    assert hub.fetched() == [kind for kind in hub.fetched() if kind in ("revision", "tree")]


@pytest.mark.parametrize("file", TO_CONVERT)
def test_a_file_of_sentencepieces_alone_is_named(hub: Hub, tmp_path: Path, file: str) -> None:
    hub.publish(NAME, {"config.json": {}, file: b"\x0a\x00"})
    (tmp_path / file).write_bytes(b"\x0a\x00")
    said = f"of its {re.escape(file)} transformers makes a tokenizer.json: AutoTokenizer"
    for load in (cutline.from_pretrained, cutline.wrap):
        with pytest.raises(cutline.UnknownEncodingError, match=said):
            load(NAME)
        with pytest.raises(FileNotFoundError, match=said):
            load(tmp_path)
    assert file not in hub.fetched()


def test_a_gated_model_needs_a_token(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.publish(NAME, published())
    hub.models[NAME].is_gated = True
    said = f"access to the model '{NAME}' must be granted first: ask for it on {hub.url}/{NAME}"
    with pytest.raises(cutline.HubError, match=said):
        cutline.from_pretrained(NAME)
    assert cutline.from_pretrained(NAME, token=TOKEN).max_tokens == 256
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.publish(NAME, published(**{"sentence_bert_config.json": {"max_seq_length": 9}}))
    assert cutline.from_pretrained(NAME).max_tokens == 9


def test_a_private_model_is_unknown_without_a_token(hub: Hub) -> None:
    hub.publish(NAME, published())
    hub.models[NAME].is_private = True
    with pytest.raises(cutline.UnknownEncodingError, match="if the model is private, set HF_TOKEN"):
        cutline.from_pretrained(NAME)
    assert cutline.from_pretrained(NAME, token=TOKEN).max_tokens == 256


def test_what_is_not_supported_names_wrap(hub: Hub) -> None:
    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    refused = {"model": model, "pre_tokenizer": {"type": "UnicodeScripts"}}
    hub.publish(NAME, published(**{"tokenizer.json": refused}))
    with pytest.raises(cutline.VocabularyError, match=r"cutline\.wrap\(tokenizer\)"):
        cutline.from_pretrained(NAME)
    assert cutline.wrap(NAME).count("a") == 1


def test_a_damaged_side_file_is_named(hub: Hub) -> None:
    hub.publish(NAME, published(**{"config.json": "{"}))
    with pytest.raises(cutline.VocabularyError, match=r"config\.json contains no JSON"):
        cutline.from_pretrained(NAME)


@pytest.mark.parametrize("load", [cutline.from_pretrained, cutline.wrap])
def test_the_missing_extra_is_named(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    said = f"the model '{NAME}' needs the package huggingface-hub: pip install 'cutline[hub]'"
    with pytest.raises(ImportError, match=f"^{re.escape(said)}$"):
        load(NAME)
    assert cutline.TextChunker("o200k_base", 16)("one two")


# Wrapped


def test_wrap_takes_a_name_a_folder_or_a_file(hub: Hub, tmp_path: Path) -> None:
    files = {"tokenizer.json": word_piece().to_str(), **MINILM}
    hub.publish(NAME, files)
    folder = write(tmp_path / "mini-lm", files)
    untruncated = cutline.wrap(word_piece())
    by_name, by_folder = cutline.wrap(NAME), cutline.wrap(str(folder))
    by_file = cutline.wrap(folder / "tokenizer.json")
    for wrapped in (by_name, by_folder, by_file):
        assert wrapped.encode(TEXT * 9) == untruncated.encode(TEXT * 9)
        assert len(wrapped.encode(TEXT * 9)) > 128
        assert wrapped.content_hash == untruncated.content_hash
    assert [by_name.name, by_folder.name, by_file.name] == [NAME, "mini-lm", "tokenizer"]
    assert [by_name.max_tokens, by_folder.max_tokens, by_file.max_tokens] == [256, 256, None]
    assert by_name.prompts == by_folder.prompts == {"query": "query: ", "passage": "passage: "}
    assert cutline.wrap(folder, name="other").name == "other"
    again = pickle.loads(pickle.dumps(by_name))
    assert (again.max_tokens, again.prompts, again.name) == (256, by_name.prompts, NAME)


def test_chunks_of_a_wrapped_model_fit_what_it_reads(hub: Hub) -> None:
    small = {"sentence_bert_config.json": {"max_seq_length": 24}}
    hub.publish(NAME, {"tokenizer.json": word_piece().to_str(), **MINILM, **small})
    chunker = cutline.TextChunker(cutline.wrap(NAME), "model")
    assert chunker.chunk_size == 22
    tokenizer = word_piece()
    sent = [len(tokenizer.encode(chunk.text).tokens) for chunk in chunker(TEXT * 3)]
    assert len(sent) > 3
    untruncated = cutline.wrap(tokenizer)
    assert max(untruncated.count(chunk.text) for chunk in chunker(TEXT * 3)) + 2 <= 24


def test_wrap_refuses_what_tokenizers_cannot_read(hub: Hub, tmp_path: Path) -> None:
    write(tmp_path, {"tokenizer.json": '{"model": 3}'})
    with pytest.raises(cutline.VocabularyError, match=r"tokenizer\.json cannot be read by tokeni"):
        cutline.wrap(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        cutline.wrap(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        cutline.wrap(str(tmp_path / "nothing.json"))
    hub.publish(NAME, {"config.json": {}})
    with pytest.raises(cutline.UnknownEncodingError, match=r"none of the files tokenizer\.json"):
        cutline.wrap(NAME)


# Another process, which reads the environment


def run(program: str, environment: dict[str, str]) -> str:
    variables = {**os.environ, **environment}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_environment_names_server_cache_and_token(
    hub: Hub, cache: Path, environment: dict[str, str]
) -> None:
    hub.publish(NAME, published())
    hub.models[NAME].is_gated = True
    program = f"import cutline; print(cutline.TextChunker({NAME!r}, 'model').chunk_size)"
    assert run(program, {**environment, "HF_TOKEN": TOKEN}) == "254"
    assert (cache / "models--someone--small-model").is_dir()
    hub.asked.clear()
    assert run(program, {**environment, "HF_HUB_OFFLINE": "1"}) == "254"
    assert hub.asked == []


def test_packaged_encodings_never_import_the_hub(environment: dict[str, str]) -> None:
    program = (
        "import sys, cutline\n"
        "cutline.TextChunker('o200k_base', 16)('one two')\n"
        "cutline.get_encoding('gpt2').max_tokens\n"
        "late = {'huggingface_hub', 'cutline.pretrained.hub'}\n"
        "print(late & set(sys.modules) or 'none')"
    )
    assert run(program, environment) == "none"


def test_the_command_takes_names(hub: Hub, environment: dict[str, str], tmp_path: Path) -> None:
    hub.publish(NAME, published())
    hub.models["someone/gated"] = Model([{"tokenizer.json": b"{}"}], is_gated=True)
    text = tmp_path / "text.txt"
    text.write_text(TEXT * 9)

    def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        call = [sys.executable, "-m", "cutline", *arguments, str(text)]
        variables = {**os.environ, **environment}
        return subprocess.run(call, env=variables, capture_output=True, text=True)

    done = command("chunk", "-e", NAME, "--by", "text", "--chunk-size", "model")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    expected = cutline.TextChunker(cutline.from_pretrained(NAME), 254)(TEXT * 9)
    assert [row["text"] for row in rows] == [chunk.text for chunk in expected]
    assert len(rows) > 1
    assert done.stderr == ""

    for name, said in (
        ("nobody/nothing", "there is no model 'nobody/nothing'"),
        ("someone/gated", "access to the model 'someone/gated' must be granted first"),
    ):
        done = command("count", "-e", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr.splitlines()[-1]
