"""The reference has each public name in one place, so that a new name needs one to be there.

Sphinx makes docs/reference of these lists and of docstrings; the lists are read here without it.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import cutline
from cutline import chat, evaluation, integrations

DOCS = Path(__file__).resolve().parents[1] / "docs"
LISTED = re.compile(r"^\.\. auto\w+:: cutline\.([\w.]+)", re.MULTILINE)

# Of the subpackages, what the names above take or return.
OF_SIGNATURES = {
    "chat.by_name.chat_format_of",
    "spec.AddedToken",
    "spec.TokenizerSpec",
    "verification.Fill",
    "vocabulary.Vocabulary",
    "counting.recounted.RecountedAppender",
    "counting.recounted.RecountedPrepender",
    "wrapping.slices.TextSlices",
}


ALIASES = {"chat.Message", "chat.Tool"}


def listed() -> list[str]:
    pages = sorted((DOCS / "reference").glob("*.rst"))
    return [name for page in pages for name in LISTED.findall(page.read_text(encoding="utf-8"))]


def integration_names() -> Iterator[str]:
    """Names of the integrations that have a page; read, as their frameworks may be missing."""
    folder = Path(inspect.getfile(integrations)).parent
    for page in (DOCS / "integrations").glob("*.md"):
        module = folder / (page.stem.replace("-", "_") + ".py")
        if module.exists():
            for node in ast.parse(module.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                    names = ast.literal_eval(node.value)
                    yield from (f"integrations.{module.stem}.{name}" for name in names)


def test_reference_lists_every_public_name_once() -> None:
    methods = {f"Encoding.{name}" for name in dir(cutline.Encoding) if not name.startswith("_")}
    rooms = {f"chat.{name}" for name in chat.__all__} - ALIASES
    rooms |= {f"evaluation.{name}" for name in evaluation.__all__}
    rooms -= {f"chat.{name}" for name in cutline.__all__}
    public = {*cutline.__all__, *methods, *integration_names(), *OF_SIGNATURES, *rooms}
    assert sorted(listed()) == sorted(public)


def test_integrations_have_names_to_list() -> None:
    modules = {name.split(".")[1] for name in integration_names()}
    assert modules >= {"arrow", "haystack", "langchain", "llama_index", "ray", "spark"}


def test_every_page_of_the_site_is_in_its_contents() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    trees = "".join(re.findall(r"```{toctree}.*?```", index, re.DOTALL))
    entries = re.findall(r"^[\w/-]+$", trees, re.MULTILINE)
    pages = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(entries) == sorted({*pages, "reference/index"} - {"index"})
