"""What a release says of itself agrees in all places."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import cutline
from cutline.vocabulary import RANK_FILE_SHA256
from tests.conftest import needs_sources

ROOT = Path(__file__).resolve().parents[1]
BILL: dict[str, Any] = json.loads((ROOT / "cutline.cdx.json").read_text(encoding="utf-8"))
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
DATA_FOLDERS = {
    path.parent.relative_to(ROOT).as_posix()
    for path in (ROOT / "src").rglob("data/*")
    if path.is_file()
}


def test_versions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    component = BILL["metadata"]["component"]
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [cutline.__version__]
    assert component["version"] == cutline.__version__
    assert component["purl"] == f"pkg:pypi/cutline@{cutline.__version__}"


def test_the_bill_of_materials_has_the_rank_files_that_are_packaged() -> None:
    hashes = {part["bom-ref"]: part["hashes"] for part in BILL["components"] if "hashes" in part}
    assert hashes == {
        name: [{"alg": "SHA-256", "content": digest}] for name, digest in RANK_FILE_SHA256.items()
    }


@needs_sources
def test_every_folder_of_data_is_named_with_its_licence() -> None:
    described = " ".join(part["description"] for part in BILL["components"])
    assert len(DATA_FOLDERS) == 3
    for folder in DATA_FOLDERS:
        assert folder in NOTICE
        assert folder in described


def test_licences_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packaged = {part["licenses"][0]["license"]["id"] for part in BILL["components"]}
    assert set(project["license"].split(" AND ")) == packaged | {"MIT"}
    assert "UNICODE LICENSE V3" in NOTICE
    assert "Copyright (c) 2022 OpenAI" in NOTICE


def test_every_component_is_depended_on() -> None:
    assert BILL["dependencies"] == [
        {"ref": "cutline", "dependsOn": [part["bom-ref"] for part in BILL["components"]]}
    ]


def test_every_extra_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for_contributors = {"test", "bench", "docs", "dev"}
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    table = re.search(r"^## Extras\n.*?^## ", page, re.MULTILINE | re.DOTALL)
    assert table
    named = re.findall(r"`([\w-]+)`(?=[^|]*\|[^|]*\|$)", table[0], re.MULTILINE)
    assert set(named) == set(project["optional-dependencies"]) - for_contributors
