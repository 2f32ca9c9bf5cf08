"""The chunker that suits a document, by its name."""

import re
import sys
from pathlib import Path

import pytest

from cutline import (
    CodeChunker,
    MarkdownChunker,
    TextChunker,
    chunker_for,
    code_languages,
)
from cutline.chunking import by_name
from cutline.chunking.by_name import endings, kind_of

KINDS = sorted({*by_name._ENDINGS, *by_name._NAMES})


def test_no_ending_and_no_name_stands_for_two_kinds() -> None:
    for table in (by_name._ENDINGS, by_name._NAMES):
        names = [name for row in table.values() for name in row.split()]
        assert len(names) == len(set(names))
    assert all(ending == ending.lower() for row in by_name._ENDINGS.values() for ending in row)


@pytest.mark.parametrize("kind", KINDS)
def test_each_ending_gives_a_chunker_that_works(kind: str) -> None:
    if kind not in ("text", "markdown", "notebook", *code_languages()) and "/" not in kind:
        pytest.skip(f"this version of the language pack has no {kind}")
    names = endings(kind)
    assert names
    assert {kind_of(name.replace("*", "a/b c")) for name in names} == {kind}
    assert {kind_of(name.upper()) for name in names if name[0] == "*"} <= {kind}
    text = "one two\n\nthree four\n" * 4
    for document in (kind, Path(names[0].replace("*", "x"))):
        chunks = chunker_for(document, "o200k_base", 8).chunk(text)
        assert "".join(chunk.text for chunk in chunks) == text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "text"),
        (".", "text"),
        ("a", "text"),
        ("py", "text"),  # a file of that name; as a language it is an alias
        (".py", "python"),
        ("a.tar.gz", "text"),
        ("a.b.PY", "python"),
        ("a.py/b", "text"),
        ("a.py.", "text"),
        ("Makefile", "make"),
        ("MAKEFILE", "text"),
        ("x/Dockerfile", "dockerfile"),
        ("api.Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("Dockerfile.md", "markdown"),
        ("Makefile.in", "make"),
        ("Gemfile.lock", "text"),
        ("a/app.min.js.map", "data/json"),
        ("a.css.MAP", "data/json"),
        ("a.map", "text"),
        ("js.map", "data/json"),
        (".map", "text"),
        ("requirements.txt", "text"),
        ("\u0416.md", "markdown"),
    ],
)
def test_kinds(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Python", "CodeChunker('python'"),
        ("JS", "CodeChunker('js'"),
        ("csv", "DataChunker('csv'"),
        ("JSON", "DataChunker('json'"),
        ("data/csv", "DataChunker('csv'"),
        ("Markdown", "MarkdownChunker("),
        ("folder/csv", "TextChunker("),
    ],
)
def test_kinds_are_named_in_any_case(name: str, made: str) -> None:
    assert repr(chunker_for(name, "o200k_base")).startswith(made)


def test_options_reach_the_chunker() -> None:
    chunker = chunker_for("a.md", "o200k_base", 64, 8, strip=True, also_fits={"bytes": 99})
    assert isinstance(chunker, MarkdownChunker)
    assert (chunker.chunk_size, chunker.chunk_overlap) == (64, 8)
    assert list(chunker.also_fits.values()) == [99]
    assert isinstance(chunker_for("c++", "o200k_base"), CodeChunker)
    assert isinstance(chunker_for(Path("python"), "o200k_base"), TextChunker)
    with pytest.raises(TypeError, match="stripped"):
        chunker_for("a.txt", "o200k_base", stripped=True)
    with pytest.raises(TypeError):
        chunker_for(None, "o200k_base")  # type: ignore[arg-type]


def test_a_missing_parser_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutline.chunking import code_structure

    code_structure._languages.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'cutline[code]'")):
        chunker_for("a.py", "o200k_base")
    assert isinstance(chunker_for("README", "o200k_base"), TextChunker)
