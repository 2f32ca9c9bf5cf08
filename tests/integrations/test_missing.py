"""What is not installed is named, with the command that installs it."""

import importlib
import re
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "package", "needed", "extra"),
    [
        ("langchain", "langchain_core.documents", "langchain-text-splitters", "langchain"),
        ("langchain", "langchain_text_splitters", "langchain-text-splitters", "langchain"),
        ("llama_index", "llama_index.core.schema", "llama-index-core", "llama-index"),
        ("haystack", "haystack", "haystack-ai", "haystack"),
        ("docling", "docling_core.transforms.chunker", "docling-core", "docling"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    module: str, package: str, needed: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"cutline.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    said = f"{name} needs the package {needed}: pip install 'cutline[{extra}]'"
    with pytest.raises(ImportError, match=f"^{re.escape(said)}$"):
        importlib.import_module(name)
