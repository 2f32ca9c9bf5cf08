"""docs/comparison.md is true of the peers that are installed, if in the versions that it names."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from benchmarks import peer_faults, peer_features

PAGE = Path(__file__).resolve().parents[1] / "docs" / "comparison.md"
LINES = PAGE.read_text(encoding="utf-8").splitlines()

# What the rows of the table of chunkers have names of.
MODULES = {
    "Cutline": "cutline",
    "LangChain": "langchain_text_splitters",
    "LlamaIndex": "llama_index.core.node_parser",
    "Haystack": "haystack.components.preprocessors",
    "chonkie": "chonkie",
    "semchunk": "semchunk",
    "semantic-text-splitter": "semantic_text_splitter",
}

pytestmark = pytest.mark.filterwarnings("ignore")  # of the peers


def need_as_documented(distribution: str) -> None:
    """Skip a test of a peer that is not there, or is another version than the page tells of."""
    if distribution == "cutline":
        return
    try:
        installed = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")
    if f"{distribution} {installed}" not in PAGE.read_text(encoding="utf-8"):
        pytest.skip(f"{distribution} is {installed}, another version than the page tells of")


@pytest.mark.parametrize("name", peer_faults.MAKERS)
def test_chunkers_do_with_hard_texts_what_the_page_says(name: str) -> None:
    need_as_documented(peer_faults.MAKERS[name][0])
    assert peer_faults.row(name) in LINES


def test_texts_of_the_page_are_those_that_are_cut() -> None:
    first, *others = peer_faults.legend()
    at = LINES.index(first)
    assert LINES[at + 1 : at + 1 + len(others)] == others


@pytest.mark.parametrize("peer", peer_features.PEERS)
def test_tokenizers_can_do_what_the_page_says(peer: str) -> None:
    need_as_documented(peer)
    loaded = peer_features.PEERS[peer]()
    column = 2 + list(peer_features.PEERS).index(peer)
    for feature in peer_features.FEATURES:
        (line,) = (line for line in LINES if line.startswith(f"| {feature} |"))
        cell = line.split("|")[column].strip()
        assert (feature, cell) == (feature, peer_features.cell(feature, peer, loaded))


@pytest.mark.parametrize("name", MODULES)
def test_chunkers_have_the_classes_that_the_page_names(name: str) -> None:
    module = pytest.importorskip(MODULES[name], reason=f"{name} is not installed")
    line = next(line for line in LINES if line.startswith(f"| {name} |"))
    named = re.findall(r"`(\w+)`", line)
    assert [each for each in named if not hasattr(module, each)] == []
