"""Imports flow one way through the rooms of the package, .pyx files included."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "cutline"
FACE = "encoding"

# What each room may import besides itself. A module at the top that is no room of its own
# belongs to the face.
ALLOWED: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "container": frozenset({"errors"}),
    "vocabulary": frozenset({"errors"}),
    "pretokenize": frozenset({"errors", "container"}),
    "kernels": frozenset(),
    "text": frozenset({"errors", "kernels"}),
    "special": frozenset({"errors"}),
    "reference": frozenset({"vocabulary"}),
    "counting": frozenset({"errors", "kernels", "text"}),
    "tables": frozenset({"errors", "vocabulary", "pretokenize", "kernels"}),
    "training": frozenset(
        {"errors", "vocabulary", "pretokenize", "kernels", "text", "special", "tables"}
    ),
    FACE: frozenset(
        {
            "errors",
            "vocabulary",
            "pretokenize",
            "kernels",
            "text",
            "special",
            "tables",
            "counting",
            "training",
            "chunking",
            "budget",
            "verification",
        }
    ),
    "chunking": frozenset({"errors", "container", "kernels", "text", "counting", FACE}),
    "budget": frozenset({"errors", "text", FACE}),
    "verification": frozenset({"text", FACE}),
    "integrations": frozenset(
        {"errors", "vocabulary", "kernels", "text", "training", "chunking", FACE}
    ),
    "view": frozenset({"text", "verification", FACE}),
    "cli": frozenset(
        {"errors", "vocabulary", "training", "chunking", "budget", "verification", "view", FACE}
    ),
}
CYTHON_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\s+(.+)|c?import\s+([\w.]+))", re.M)

SOURCES = sorted(
    path
    for path in PACKAGE.rglob("*")
    if path.suffix in (".py", ".pyi", ".pyx", ".pxd") and path.is_file()
)


def room_of(module: str) -> str:
    """The room of a dotted module inside the package, such as `cutline.tables.hash`."""
    parts = module.split(".")
    first = parts[1] if len(parts) > 1 else FACE
    if first == "__main__":
        return "cli"
    return first if first in ALLOWED else FACE


def absolute(module: str, package: str) -> str:
    """Resolve leading dots against the package that a file lies in."""
    level = len(module) - len(module.lstrip("."))
    if level == 0:
        return module
    parents = package.split(".")[: len(package.split(".")) - (level - 1)]
    return ".".join([*parents, *filter(None, [module[level:]])])


class _RunTime(ast.NodeTransformer):
    """Leaves out what only type checkers read."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def python_imports(source: str) -> Iterator[tuple[str, list[str]]]:
    """Each module imported when the file runs, dots and all, with the names taken from it."""
    for node in ast.walk(_RunTime().visit(ast.parse(source))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), [alias.name for alias in node.names]


def cython_imports(source: str) -> Iterator[tuple[str, list[str]]]:
    """The same for Cython, which `ast` cannot read."""
    for match in CYTHON_IMPORT.finditer(source):
        names = (match[2] or "").strip("( \t").split(",")
        yield match[1] or match[3], [name.split()[0] for name in names if name.split()]


def imported_modules(path: Path) -> set[str]:
    """Every module of the package that a file imports or cimports."""
    package = ".".join(["cutline", *path.parent.relative_to(PACKAGE).parts])
    read = python_imports if path.suffix in (".py", ".pyi") else cython_imports
    modules: set[str] = set()
    for written, names in read(path.read_text(encoding="utf-8")):
        module = absolute(written, package)
        if module == "cutline":
            modules.update(f"cutline.{name}" for name in names or ["__init__"])
        elif module.startswith("cutline."):
            modules.add(module)
    return modules


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_flow_one_way(path: Path) -> None:
    module = ".".join(["cutline", *path.relative_to(PACKAGE).with_suffix("").parts])
    room = room_of(module)
    rooms = {room_of(imported) for imported in imported_modules(path)}
    assert rooms - {room} <= ALLOWED[room]


def test_every_room_has_files() -> None:
    rooms = {
        room_of(".".join(["cutline", *path.relative_to(PACKAGE).with_suffix("").parts]))
        for path in SOURCES
    }
    assert rooms == set(ALLOWED)


def test_imports_are_read_from_python_and_cython() -> None:
    python = "import cutline.tables\nfrom ..errors import A\nfrom . import b\n"
    assert list(python_imports(python)) == [
        ("cutline.tables", []),
        ("..errors", ["A"]),
        (".", ["b"]),
    ]
    cython = "from cutline.kernels.scan cimport f, g\ncimport cython\nfrom .x import y as z\n"
    assert list(cython_imports(cython)) == [
        ("cutline.kernels.scan", ["f", "g"]),
        ("cython", []),
        (".x", ["y"]),
    ]
    assert absolute("..errors", "cutline.tables") == "cutline.errors"
    assert absolute(".", "cutline.tables") == "cutline.tables"
    assert room_of("cutline.tables.build") == "tables"
    assert room_of("cutline.split") == FACE


def test_what_few_programs_need_is_imported_when_they_need_it() -> None:
    program = (
        "import sys, cutline\n"
        "cutline.get_encoding('o200k_base').split('one two three', 2)\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    rare = {"regex", "platformdirs", "tempfile", "concurrent.futures"}
    rare |= {"cutline.pretokenize.automaton", "cutline.pretokenize.rewriting"}
    rare |= {"cutline.training", "cutline.loading", "cutline.saving", "cutline.pipeline"}
    assert not rare.intersection(loaded)


def answers() -> list[tuple[str, str]]:
    """Every room and module at the top, and what its docstring says in its first sentence."""
    found = []
    for path in sorted(PACKAGE.iterdir()):
        source = path / "__init__.py" if path.is_dir() else path
        if source.suffix == ".py" and source.exists() and not path.name.startswith("__"):
            doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
            assert doc, path
            said = doc.partition("\n")[0].partition(" Source: ")[0]
            found.append((f"{path.name}/" if path.is_dir() else path.name, said))
    return found


def test_the_map_of_contributing_has_every_room() -> None:
    lines = ["| room | what it is |", "|---|---|"]
    lines += [f"| `{room}` | {said.removesuffix('.')} |" for room, said in answers()]
    contributing = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    start = contributing.index(lines[0])
    assert contributing[start:].partition("\n\n")[0].splitlines() == lines
