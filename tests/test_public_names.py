"""What a person sees of the package who types `cutline.`"""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import cutline


def test_dir_has_the_public_names_and_no_imports() -> None:
    assert dir(cutline) == sorted(cutline.__all__)
    modules = [name for name in dir(cutline) if inspect.ismodule(getattr(cutline, name))]
    assert modules == []


def test_type_checkers_see_every_name_that_is_imported_late() -> None:
    """Without these imports a name is of no known type: the module has a `__getattr__`."""
    tree = ast.parse(Path(cutline.__file__).read_text(encoding="utf-8"))
    imports = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(cutline.__all__) <= imports.keys()
    for name in cutline._LATE:
        assert getattr(importlib.import_module(str(imports[name])), name) is getattr(cutline, name)


def test_what_people_call_is_no_module() -> None:
    with pytest.raises(AttributeError, match="no attribute 'chunk'") as caught:
        cutline.chunk  # noqa: B018
    # Of these Python makes "Did you mean: 'Chunk'?"
    assert (caught.value.name, caught.value.obj) == ("chunk", cutline)


def test_offsets_of_a_file_are_those_of_its_text_as_it_is(tmp_path: Path) -> None:
    """As docs/guide.md reads it: text mode makes one character of a line end of two."""
    path = tmp_path / "windows.txt"
    path.write_bytes("One line.\r\nTwo lines.\r\n\r\nThree – lines.\r\n".encode())
    text = path.read_bytes().decode()
    chunker = cutline.TextChunker("o200k_base", 5)
    assert list(chunker.iter_chunks(path)) == chunker(text)
    assert all(text[c.start_index : c.end_index] == c.text for c in chunker.iter_chunks(path))
    assert "".join(c.text for c in chunker.iter_chunks(path)) == text != path.read_text("utf-8")


@pytest.mark.parametrize(
    "name", ["chat.format_for_model", "evaluation.evaluate", "view.html_page", "truncate"]
)
def test_a_name_that_the_pages_write_is_found_after_one_import(name: str) -> None:
    code = f"import cutline; print(callable(cutline.{name}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
