"""A chunker is written down as plain data, and is the same when it is made again, or refused."""

import copy
import gc
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import regex

import cutline
from cutline.chunking import levels
from cutline.chunking.chunker import Chunker
from cutline.chunking.level_choice import _BY_NAME as NAMES_OF_LEVELS
from cutline.integrations import describing
from cutline.integrations.describing import chunker_from, chunker_of, describe
from cutline.protocols import TokenCounter
from tests.conftest import ROOT
from tests.integrations.samples import FISH, PYTHON, REPEATED, UNUSUAL
from tests.pipeline.families import build
from tests.wrapping.made import wrapped

CHUNKERS: dict[str, Callable[[], Chunker]] = {
    "token": lambda: cutline.TokenChunker("gpt2", 16, 4),
    "token, graphemes": lambda: cutline.TokenChunker("gpt2", 16, boundary="grapheme", stable=True),
    "text": lambda: cutline.TextChunker("cl100k_base", 24, 5),
    "text, stable": lambda: cutline.TextChunker("o200k_base", 24, stable=True),
    "text, lines": lambda: cutline.TextChunker("o200k_base", 24, lines="keep"),
    "text, line numbers": lambda: cutline.TextChunker("o200k_base", 24, line_numbers=True),
    "text, all options": lambda: cutline.TextChunker(
        "o200k_base",
        24,
        levels=["sentence", "word"],
        boundary="character",
        strip=True,
        min_fill=0.75,
        balance=True,
    ),
    "patterns": lambda: cutline.TextChunker(
        "o200k_base",
        16,
        levels=[
            re.compile(r"(?m)^(?=## )"),
            re.compile("FISH. ", re.IGNORECASE | re.ASCII),
            regex.compile(r"(?V1)\p{Lu}\L<ends>", regex.REVERSE, ends=["he", "els"]),
        ],
    ),
    "patterns, characters": lambda: cutline.TextChunker(
        "o200k_base", 16, levels=["line", re.compile("e")], boundary="character"
    ),
    "patterns named like levels": lambda: cutline.TextChunker(
        "o200k_base",
        16,
        levels=[re.compile(name) for name in ("dictionary word", "word", "grapheme", "character")],
    ),
    "pattern in markdown": lambda: cutline.MarkdownChunker(
        "o200k_base", 16, levels=[re.compile("t")]
    ),
    "further limits": lambda: cutline.TextChunker(
        "o200k_base", 24, also_fits={"gpt2": 20, "bytes": 60, "characters": 50}
    ),
    "further limits, none new": lambda: cutline.TokenChunker(
        "o200k_base", 24, 3, also_fits={"o200k_base": 20}
    ),
    "never across a page": lambda: cutline.TokenChunker("o200k_base", 24, never_across="page"),
    "never across a heading": lambda: cutline.MarkdownChunker(
        "o200k_base", 24, never_across="heading 2"
    ),
    "never across offsets": lambda: cutline.TextChunker("o200k_base", 24, never_across=(4, 9)),
    "never across a pattern": lambda: cutline.TextChunker(
        "o200k_base", 24, never_across=re.compile("fish. ", re.IGNORECASE)
    ),
    "no levels": lambda: cutline.TextChunker("o200k_base", 24, levels=[]),
    "markdown": lambda: cutline.MarkdownChunker("o200k_base", 24, min_fill=0),
    "code": lambda: cutline.CodeChunker("python", "o200k_base", 12, 2),
}


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_a_chunker_made_again_cuts_the_same(make: Callable[[], Chunker]) -> None:
    chunker = make()
    written = json.dumps(describe(chunker))
    for again in (chunker_from(json.loads(written)), pickle.loads(pickle.dumps(chunker))):
        assert type(again) is type(chunker)
        assert describe(again) == describe(chunker)
        for text in (FISH, PYTHON, REPEATED, UNUSUAL):
            assert again.chunk(text) == chunker.chunk(text)


def test_descriptions_tell_all_options_apart() -> None:
    written = [json.dumps(describe(make())) for make in CHUNKERS.values()]
    assert len(set(written)) == len(CHUNKERS)


@pytest.mark.parametrize("boundary", ["grapheme", "character"])
def test_every_level_is_written_by_its_name(boundary: str) -> None:
    names = [name for name in NAMES_OF_LEVELS if name not in ("grapheme", "character")]
    if find_spec("icu4py") is None:
        names.remove("dictionary word")
    chunker = cutline.TextChunker("gpt2", 8, levels=names, boundary=boundary)
    assert describe(chunker)["levels"] == names


# What cannot be restored


def twin(number: int) -> Callable[[Any], Any]:
    """Functions that differ in what they do, and in nothing else."""
    return lambda text: [number]


class Tail:
    """What can be called and has no weak references."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, text: str) -> list[int]:
        return [len(text)]


class Breaks(levels.Level):
    name = "word"

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        return range(start + 1, end + 1)


class Sized:
    """Counts characters; what a user's own `TokenCounter` looks like."""

    name = "gpt2"


# From Python 3.12 on, `isinstance` does not ask `__getattr__` for what a protocol has.
for _method, _value in vars(TokenCounter).items():
    if callable(_value) and not _method.startswith("__"):
        setattr(Sized, _method, getattr(cutline.get_encoding("gpt2"), _method))


class OwnEncoding(cutline.Encoding):
    pass


class OwnChunker(cutline.TextChunker):
    pass


def own_chunkers() -> dict[str, tuple[Chunker, str]]:
    ranks = {bytes([byte]): byte for byte in range(256)}
    own = OwnEncoding("gpt2", pat_str=None, mergeable_ranks=ranks, special_tokens={})
    module = __name__

    def with_level(level: Any) -> Chunker:
        return cutline.TextChunker("gpt2", 8, levels=["line", level])

    return {
        "function": (with_level(twin(1)), f"the level {module}.twin.<locals>.<lambda> cannot"),
        "method": (with_level(str.splitlines), "the level builtins.str.splitlines cannot"),
        "partial": (with_level(partial(twin, 1)), "the level functools.partial cannot"),
        "callable object": (with_level(Tail()), f"the level {module}.Tail cannot"),
        "level": (with_level(Breaks()), f"the level {module}.Breaks cannot"),
        "graphemes twice": (
            with_level(levels.WholeGraphemes(levels.PatternLevel(";", re.compile(";")))),
            "the level cutline.chunking.levels.WholeGraphemes cannot",
        ),
        "count_text": (
            cutline.MarkdownChunker("gpt2", 8, count_text=len),  # type: ignore[arg-type]
            "a chunker with the count_text builtins.len cannot be restored: that is a function",
        ),
        "counter": (
            cutline.TextChunker(Sized(), 8),
            f"encoding 'gpt2' cannot be restored: it is an object of {module}.Sized;",
        ),
        "encoding": (
            cutline.TextChunker(own, 8),
            f"encoding 'gpt2' cannot be restored: it is an object of {module}.OwnEncoding;",
        ),
        "class": (
            OwnChunker("gpt2", 8),
            f"a chunker of {module}.OwnChunker cannot be restored: that is no class of",
        ),
    }


@pytest.mark.parametrize("what", own_chunkers())
def test_what_is_of_a_users_making_is_written_and_refused_when_read(what: str) -> None:
    chunker, said = own_chunkers()[what]
    written = json.loads(json.dumps(describe(chunker)))
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        chunker_from(written)
    assert "make it in code where the pipeline is loaded, or pickle it" in str(raised.value)


@pytest.mark.parametrize("what", own_chunkers())
def test_what_is_of_a_users_making_is_described_like_nothing_else(what: str) -> None:
    first, second = own_chunkers()[what][0], own_chunkers()[what][0]
    assert type(first) is type(second)
    is_same_object = what in ("method", "count_text")
    if what not in ("method", "callable object"):  # these have no weak references
        assert describe(first) == describe(first)
        assert (describe(first) == describe(second)) == is_same_object
    else:
        assert describe(first) != describe(first)


def test_functions_of_one_name_are_told_apart() -> None:
    functions = [twin(1), twin(2)]
    first, second = (cutline.TextChunker("gpt2", 8, levels=[one]) for one in functions)
    again = cutline.TextChunker("gpt2", 8, levels=[functions[0]])
    assert describe(first) != describe(second)
    assert describe(first) == describe(again)
    (level,) = describe(first)["levels"]
    assert level["object"] == f"{__name__}.twin.<locals>.<lambda>"
    assert re.fullmatch("[0-9a-f]{32}", level["identity"])
    assert level["identity"] != f"{id(functions[0]):032x}"


def test_what_is_gone_is_forgotten() -> None:
    gc.collect()
    known = len(describing._identities)
    chunker = cutline.TextChunker("gpt2", 8, count_text=lambda chunk: 1)
    describe(chunker)
    assert len(describing._identities) == known + 1
    del chunker
    gc.collect()
    assert len(describing._identities) <= known


# Encodings


def toy(name: str = "toy", **options: Any) -> cutline.Encoding:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"is": 256, b"in": 257, b"fis": 258}
    given = {"pat_str": r"\w+|\W+", "mergeable_ranks": ranks, "special_tokens": {"<s>": 259}}
    return cutline.Encoding(name, **(given | options))


def load_saved(folder: Path, file_name: str) -> cutline.Encoding:
    toy().save(folder / file_name)
    if file_name.endswith((".cutline", "tokenizer.json")):
        return cutline.load(folder / file_name, name="mine")
    pat_str, special_tokens = toy().pat_str, {"<s>": 259}
    return cutline.load(folder / file_name, pat_str=pat_str, special_tokens=special_tokens)


@pytest.mark.parametrize("file_name", ["x.cutline", "tokenizer.json", "x.tiktoken", "vocab.json"])
def test_encodings_of_files_are_made_again_of_their_files(file_name: str, tmp_path: Path) -> None:
    loaded = load_saved(tmp_path, file_name)
    chunker = cutline.TextChunker(loaded, 16)
    written = json.dumps(describe(chunker))
    for one in (chunker, pickle.loads(pickle.dumps(chunker))):
        assert json.dumps(describe(one)) == written
    again = chunker_from(json.loads(written))
    assert isinstance(again.encoding, cutline.Encoding)
    assert again.encoding is not loaded
    assert again.encoding.content_hash == loaded.content_hash
    assert again.encoding.name == loaded.name
    assert again.chunk(FISH) == chunker.chunk(FISH)
    assert describe(again) == describe(chunker)


@pytest.mark.parametrize("family", ["qwen 2.5", "roberta", "whisper"])
def test_tokenizer_json_with_more_facts_is_made_again(family: str, tmp_path: Path) -> None:
    build(family).save(str(tmp_path / "tokenizer.json"))
    chunker = cutline.TextChunker(cutline.load(tmp_path), 16)
    again = chunker_from(json.loads(json.dumps(describe(chunker))))
    assert again.chunk(UNUSUAL) == chunker.chunk(UNUSUAL)
    assert describe(pickle.loads(pickle.dumps(again))) == describe(chunker)


def test_relative_paths_are_written_from_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy().save(tmp_path / "toy.cutline")
    monkeypatch.chdir(tmp_path)
    written = describe(cutline.TextChunker(cutline.load("toy.cutline"), 16))
    assert written["encoding"]["path"] == str(tmp_path / "toy.cutline")


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.cutline"
    toy().save(path)
    before = cutline.load(path)
    written = describe(cutline.TextChunker(before, 16))
    after = toy(pat_str=None)
    after.save(path)
    said = (
        f"encoding 'toy' cannot be restored: {path} has changed: its content hash is "
        f"{after.content_hash}, and {before.content_hash} is written; make it in code"
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        chunker_from(written)
    path.write_bytes(b"cutenc")
    with pytest.raises(ValueError, match="'toy' cannot be restored: its file cannot be loaded"):
        chunker_from(written)
    path.unlink()
    with pytest.raises(ValueError, match=r"its file cannot be loaded, .*No such file.*x\.cutline"):
        chunker_from(written)


def test_encodings_of_no_file_are_written_and_refused_when_read() -> None:
    trained = cutline.train(iter([FISH]), 260, name="trained")
    for encoding in (toy(), toy("gpt2"), trained, wrapped("bert"), wrapped("unigram_of_t5")):
        content_hash = encoding.content_hash
        written = describe(cutline.TextChunker(encoding, 16))
        assert written["encoding"] == {"name": encoding.name, "content_hash": content_hash}
        said = (
            f"encoding {encoding.name!r} cannot be restored: it came from no file that "
            f"cutline.load reads (content hash {content_hash}); make it in code where"
        )
        with pytest.raises(ValueError, match=re.escape(said)):
            chunker_from(written)


def test_an_encoding_with_the_content_of_a_packaged_one_goes_by_its_name(tmp_path: Path) -> None:
    gpt2 = cutline.get_encoding("gpt2")
    gpt2.save(tmp_path / "gpt2.cutline")
    for same in (
        cutline.load(tmp_path / "gpt2.cutline"),
        cutline.Encoding.from_tiktoken(gpt2),
    ):
        assert same is not gpt2
        assert describe(cutline.TextChunker(same, 16))["encoding"] == "gpt2"


def test_encodings_are_described_alike_in_every_process() -> None:
    program = (
        "import json, re, cutline\n"
        "from cutline.integrations.describing import describe\n"
        "from tests.integrations.test_describing import toy\n"
        "from tests.wrapping.test_versions import loaded\n"
        "encodings = [toy(), cutline.train(iter(['one two three'] * 3), 260),\n"
        "    cutline.Encoding.from_tokenizers(loaded('normalized')),\n"
        "    cutline.wrap(loaded('word_piece')), cutline.wrap(loaded('unigram'))]\n"
        "levels = ['line', re.compile('(?i);')]\n"
        "for encoding in encodings:\n"
        "    print(json.dumps(describe(cutline.TextChunker(encoding, 9, levels=levels))))\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].splitlines())) == 5


# Damage

JUNK: tuple[Any, ...] = (None, 0.5, -1, "x", "", "true", [], ["x"], [None], {}, {"a": 1}, [["a"]])


def damaged(written: Any) -> Iterator[Any]:
    """Leave out, and replace, each part of a description in turn."""
    for key in written if isinstance(written, dict) else range(len(written)):
        for value in JUNK:
            yield _with(written, key, value)
        if isinstance(written, dict):
            yield {other: value for other, value in written.items() if other != key}
            yield {**written, f"{key}s": written[key]}
        if isinstance(written[key], dict | list):
            yield from (_with(written, key, part) for part in damaged(written[key]))


def _with(written: Any, key: Any, value: Any) -> Any:
    changed = copy.copy(written)
    changed[key] = value
    return changed


def test_no_damaged_description_makes_another_chunker(tmp_path: Path) -> None:
    loaded = load_saved(tmp_path, "x.tiktoken")
    for chunker in (
        cutline.TokenChunker(loaded, 16, 2),
        cutline.CodeChunker("python", "gpt2", 16, levels=["word", regex.compile("a|b")]),
        cutline.TextChunker("gpt2", 16, levels=[re.compile("a|b")], count_text=lambda chunk: 1),
    ):
        written = json.loads(json.dumps(describe(chunker)))
        count = 0
        for one in damaged(written):
            count += 1
            if one == written:
                continue
            try:
                made = json.loads(json.dumps(describe(chunker_from(one))))
            except ValueError:
                continue
            # Only a description of some other chunker is read, and it is that chunker's.
            assert made == one
        assert count > 100
    level = {"name": "a", "module": "re", "pattern": "a", "flags": 1 << 31}
    for damage in (level, level | {"pattern": "(" * 3000 + ")" * 3000, "flags": 32}):
        with pytest.raises(ValueError, match="the level 'a' cannot be restored"):
            chunker_from(describe(cutline.TextChunker("gpt2")) | {"levels": [damage]})
    for nothing in (None, 5, "text", [], {}, [("kind", "text")]):
        with pytest.raises(ValueError, match="kind of a chunker must be one of token, text,"):
            chunker_from(nothing)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one of token, text, markdown, code, data, got 'own'"):
        chunker_from({"kind": "own"})


def test_a_chunker_is_given_or_made_by_options() -> None:
    chunker = cutline.TokenChunker("gpt2", 16)
    assert chunker_of(chunker, chunk_size=None) is chunker
    assert describe(chunker_of(None, chunk_size=None)) == describe(
        cutline.TextChunker("o200k_base")
    )
    with pytest.raises(TypeError, match="chunk_size, encoding and chunker are both given"):
        chunker_of(chunker, chunk_size=5, encoding="gpt2", strip=None)
    with pytest.raises(TypeError, match="chunker must be one of cutline's chunkers, got int"):
        chunker_of(5)  # type: ignore[arg-type]
