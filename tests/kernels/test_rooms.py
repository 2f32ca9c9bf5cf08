"""Kernels import only kernels of lower rooms, in no circle, and name the tests that guard them."""

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import needs_sources
from tests.test_imports import GRAPH, circles_of

pytestmark = needs_sources
ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src" / "cutline" / "kernels"
PREFIX = "cutline.kernels."

# The rooms of the kernels, floor by floor: what is imported from another room lies below.
FLOORS = (
    ("base",),
    ("scan", "bpe"),
    ("encode", "train"),
    ("cut", "index", "words"),
    ("breaks",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# What the kernels import of one another, .pyx and .pxd of a name being one file.
IMPORTS = {
    module: {imported for imported in modules if imported.startswith(PREFIX)}
    for module, modules in GRAPH.items()
    if module.startswith(PREFIX)
}
# One file a kernel: its .pyx, or the .pxd where there is no other.
FILES = sorted(
    {path.with_suffix(""): path for path in sorted(KERNELS.glob("*/*.p[xy][dx]"))}.values()
)


def room_of(module: str) -> str:
    return module.removeprefix(PREFIX).split(".")[0]


def first_lines(path: Path) -> str:
    """The docstring that a Cython file begins with, which `ast` cannot read."""
    found = re.match(r'"""(.*?)"""\n', path.read_text(encoding="utf-8"), re.DOTALL)
    return found[1] if found else ""


def test_every_room_has_a_floor() -> None:
    assert {path.parent.name for path in FILES} == set(FLOOR)
    assert len(FLOOR) == sum(map(len, FLOORS))


def test_imports_between_rooms_go_down() -> None:
    between = [
        (module, imported)
        for module, modules in IMPORTS.items()
        for imported in modules
        if room_of(module) != room_of(imported)
    ]
    assert len(between) > 50  # they were read
    up = [pair for pair in between if FLOOR[room_of(pair[0])] <= FLOOR[room_of(pair[1])]]
    assert up == []


def test_no_kernels_import_one_another_in_a_circle() -> None:
    assert [circle for circle in circles_of(IMPORTS) if len(circle) > 1] == []


def test_kernels_import_nothing_else_of_the_package() -> None:
    others = {
        (module, imported)
        for module in IMPORTS
        for imported in GRAPH[module]
        if not imported.startswith(PREFIX)
    }
    assert others == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_first_lines_of_a_kernel_say_what_it_answers_and_what_guards_it(path: Path) -> None:
    answers, _, guard = first_lines(path).partition("\n\nGuarded by ")
    assert answers.strip()
    assert re.fullmatch(r"tests/[\w/]+\.py\.\n", guard), f"no `Guarded by tests/...` in {path}"
    assert (ROOT / guard.removesuffix(".\n")).is_file(), guard


def test_the_map_of_the_kernels_names_them_all() -> None:
    doc = ast.get_docstring(ast.parse((KERNELS / "__init__.py").read_text(encoding="utf-8")))
    assert doc
    rooms = re.split(r"^ {4}(\w+)/\n", doc, flags=re.MULTILINE)[1:]
    named = {
        (room, name.strip().removesuffix(".pxd"))
        for room, kernels in zip(rooms[::2], rooms[1::2], strict=True)
        for names in re.findall(r"^ {6}(\w.*?)(?:  |$)", kernels, flags=re.MULTILINE)
        for name in names.split(",")
    }
    assert {(path.parent.name, path.stem) for path in FILES} <= named
