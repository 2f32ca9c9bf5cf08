"""Imports flow one way through the rooms of the package, .pyx files included."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import needs_sources

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "cutline"

# The rooms of the package, folders and files, floor by floor. What is imported lies below,
# imports inside functions and under TYPE_CHECKING included.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "version", "atomic", "extras", "decode_stream", "kernels"),
    ("checks", "newer_forms", "pretrained"),
    ("chunks", "threads"),
    ("container", "decoding", "normalizing", "special", "vocabulary"),
    ("pretokenize",),
    ("words",),
    ("spec", "protocols", "reference", "text_encoder"),
    ("tables", "counting", "template"),
    ("pipeline", "wrapping"),
    ("cutting", "properties", "formats"),
    ("encoding",),
    ("registry",),
    ("chat", "chunking", "packing", "training", "verification"),
    ("view", "integrations", "retrieval", "shortening"),
    ("evaluation",),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

CYTHON_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\s+(.+)|c?import\s+([\w.]+))", re.M)

IMPORTED_NAMES = re.compile(r"^from [\w.]+ c?import (\([^)]*\)|.*)", re.M)
COMMENT = re.compile(r'"""(?:.|\n)*?"""|#.*')

SOURCES = sorted(
    path
    for path in PACKAGE.rglob("*")
    if path.suffix in (".py", ".pyi", ".pyx", ".pxd") and path.is_file()
)


def module_of(path: Path) -> str:
    """The dotted name of a file; a package's is that of its folder."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if len(parts) > 1 and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(["cutline", *parts])


def room_of(module: str) -> str:
    """The room of a dotted module inside the package, such as `cutline.tables.hash`."""
    return module.split(".")[1]


def absolute(module: str, package: str) -> str:
    """Resolve leading dots against the package that a file lies in."""
    level = len(module) - len(module.lstrip("."))
    if level == 0:
        return module
    parents = package.split(".")[: len(package.split(".")) - (level - 1)]
    return ".".join([*parents, *filter(None, [module[level:]])])


def python_imports(source: str) -> Iterator[tuple[str, list[str]]]:
    """Each module imported anywhere in a file, dots and all, with the names taken from it."""
    for node in ast.walk(ast.parse(source)):
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
        if module != "cutline" and not module.startswith("cutline."):
            continue
        inner = {f"{module}.{name}" for name in names or ["__init__"]} & MODULES
        if module == "cutline":
            # `from cutline import Chunk` is an import of the package as its users see it.
            modules |= inner
            if len(inner) < len(names or [""]):
                modules.add("cutline.__init__")
        else:
            # A package that only leads to its modules is not what is imported.
            modules |= inner if names and len(inner) == len(names) else inner | {module}
    return modules - {module_of(path)}


MODULES = {module_of(path) for path in SOURCES}
GRAPH: dict[str, set[str]] = {module: set() for module in MODULES}
for source in SOURCES:
    GRAPH[module_of(source)] |= imported_modules(source)


@needs_sources
def test_every_room_has_a_floor() -> None:
    assert {room_of(module) for module in MODULES} == set(FLOOR)
    assert len(FLOOR) == sum(map(len, FLOORS))


@needs_sources
def test_imports_go_down() -> None:
    found = {
        (room_of(module), room_of(imported))
        for module, modules in GRAPH.items()
        for imported in modules
        if room_of(module) != room_of(imported)
        and FLOOR[room_of(module)] <= FLOOR[room_of(imported)]
    }
    assert not found


@needs_sources
def test_no_files_import_one_another_in_a_circle() -> None:
    assert not [circle for circle in circles_of(GRAPH) if len(circle) > 1]


def circles_of(graph: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of a graph, from what each module comes to."""
    reached = {module: reach(graph, module) for module in graph}
    return [
        set(circle)
        for circle in {
            frozenset(other for other in reached[module] if module in reached[other])
            for module in graph
        }
    ]


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    """What a module imports, at any number of removes, and itself."""
    found, left = {start}, [start]
    while left:
        new = graph.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def unused_names(source: str) -> list[str]:
    """What a Cython file imports and does not use."""
    code = COMMENT.sub("", source)
    rows = ",".join(row.strip("()") for row in IMPORTED_NAMES.findall(code)).split(",")
    used = set(re.findall(r"\w+", IMPORTED_NAMES.sub("", code)))
    return [row.split()[-1] for row in rows if row.split() and row.split()[-1] not in used]


@needs_sources
def test_kernels_use_what_they_import() -> None:
    read = {path: unused_names(path.read_text()) for path in SOURCES if path.suffix == ".pyx"}
    assert {path.name: names for path, names in read.items() if names} == {}
    made = "from a cimport (\n    B, C as D,\n)\nfrom e import f, g\n\ng(B)  # D f\n"
    assert unused_names(made) == ["D", "f"]


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert sorted(map(sorted, circles_of(graph))) == [["a"], ["b", "c"], ["d"]]


def test_imports_are_read_from_python_and_cython() -> None:
    python = "import cutline.tables\nfrom ..errors import A\nfrom . import b\n"
    assert list(python_imports(python)) == [
        ("cutline.tables", []),
        ("..errors", ["A"]),
        (".", ["b"]),
    ]
    cython = "from cutline.kernels.scan.scan cimport f, g\ncimport cython\nfrom .x import y as z\n"
    assert list(cython_imports(cython)) == [
        ("cutline.kernels.scan.scan", ["f", "g"]),
        ("cython", []),
        (".x", ["y"]),
    ]
    assert absolute("..errors", "cutline.tables") == "cutline.errors"
    assert absolute(".", "cutline.tables") == "cutline.tables"
    assert room_of("cutline.tables.build") == "tables"


def words_printed_by(program: str) -> list[str]:
    """Run a program in a process of its own."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_what_few_programs_need_is_imported_when_they_need_it() -> None:
    program = (
        "import sys, cutline\n"
        "cutline.get_encoding('o200k_base').split('one two three', 2)\n"
        "print(*sys.modules)"
    )
    loaded = words_printed_by(program)
    rare = {"regex", "platformdirs", "tempfile", "concurrent.futures"}
    rare |= {"cutline.pretokenize.automaton", "cutline.pretokenize.rewriting"}
    rare |= {"cutline.training", "cutline.formats", "cutline.pipeline", "cutline.normalizing"}
    assert not rare.intersection(loaded)


def test_a_count_needs_neither_numpy_nor_much_else() -> None:
    program = (
        "import sys, cutline\n"
        "for name in ('o200k_base', 'cl100k_base', 'gpt2'):\n"
        "    cutline.get_encoding(name).count('one two three')\n"
        "print(*sys.modules)"
    )
    loaded = words_printed_by(program)
    late = {"numpy", "ahocorasick", "dataclasses", "inspect", "hashlib", "json", "difflib"}
    late |= {"pathlib", "cutline.spec", "cutline.pretokenize", "cutline.tables.bpe_tables"}
    assert not late.intersection(loaded)


def test_the_first_chunks_are_made_without_libraries_that_take_long() -> None:
    program = (
        "import sys, cutline\n"
        "assert cutline.TokenChunker('o200k_base', 4)('one two three four five six')\n"
        "assert cutline.TextChunker('o200k_base', 4)('one two three four five six')\n"
        "print(*sys.modules)"
    )
    loaded = words_printed_by(program)
    assert not {"numpy", "dataclasses", "inspect", "hashlib", "json", "pathlib"} & {*loaded}


CUTTING = {"array", "cutline.chunks", "cutline.counting", "cutline.counting.cutting"}
CUTTING |= {"cutline.protocols", "cutline.counting.windows"}
COUNTING = {"cutline.counting"}
INTERVALS = COUNTING | {"cutline.counting.intervals", "cutline.counting.windows"}
DECODING = {"cutline.tables.decoder"}
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
PARTS_OF_RE = {f"re.{part}" for part in ("_casefix", "_compiler", "_constants", "_parser")}
FINDING = {"ahocorasick"} if HAS_GIL else {"re", "_sre"} | PARTS_OF_RE
# What the first call of each method imports besides kernels; those that return arrays, after numpy.
FIRST_CALLS: dict[str, set[str]] = {
    "count(TEXT)": set(),
    "count_till_limit(TEXT, 5)": set(),
    "fits(TEXT, 5)": set(),
    "encode(TEXT)": set(),
    "encode(TEXT + '<|endoftext|>', allowed_special='all')": FINDING,
    "encode_batch([TEXT, TEXT])": set(),
    "encode_single_token('hello')": set(),
    "decode([1, 2])": DECODING,
    "decode(iter([1, 2]))": DECODING,
    "decode_bytes([1, 2])": DECODING,
    "decode_batch([[1, 2], [3]])": DECODING,
    "decode_tokens_bytes([1, 2])": DECODING,
    "decode_with_offsets([1, 2])": DECODING,
    "decode_stream().feed(1)": DECODING | {"cutline.decode_stream"},
    "split_at(TEXT, 5)": CUTTING,
    "split(TEXT, 5)": CUTTING,
    "split(TEXT, 5, 2)": CUTTING,
    "truncate(TEXT, 5)": CUTTING | {"cutline.counting.truncating", "cutline.counting.appender"},
    "intervals(TEXT).count(1, 9)": INTERVALS,
    "intervals(TEXT).split_at(1, 5)": INTERVALS,
    "appender(TEXT).append(TEXT)": COUNTING | {"cutline.counting.appender"},
    "prepender(TEXT).prepend(TEXT)": COUNTING | {"cutline.counting.prepender"},
    "content_hash": set(),
}
FIRST_CALLS_WITH_ARRAYS: dict[str, set[str]] = {
    "count_batch([TEXT, TEXT])": set(),
    "encode_to_numpy(TEXT)": set(),
    "encode_with_offsets(TEXT)": DECODING | {"cutline.pipeline", "cutline.pipeline.offsets"},
    "intervals(TEXT).count_many([(1, 9)])": INTERVALS,
}
AFTER = {"numpy": FIRST_CALLS_WITH_ARRAYS, "sys": FIRST_CALLS}


@pytest.mark.parametrize(
    ("before", "call"), [(before, call) for before, calls in AFTER.items() for call in calls]
)
def test_a_first_call_imports_only_what_it_needs(before: str, call: str) -> None:
    program = (
        f"import sys, cutline, {before}\n"
        "TEXT = 'One two three; ä, 中文 and five.' * 3\n"
        "encoding = cutline.get_encoding('o200k_base')\n"
        "old = set(sys.modules)\n"
        f"encoding.{call}\n"
        "print(*set(sys.modules) - old)"
    )
    loaded = words_printed_by(program)
    new = {name for name in loaded if not name.startswith("cutline.kernels.")}
    assert new <= AFTER[before][call]


def test_ints_of_ids_are_made_when_an_id_first_comes() -> None:
    program = (
        "import sys, cutline\n"
        "encoding = cutline.get_encoding('o200k_base')\n"
        "encoding.count('hi')\n"
        "old = sys.getallocatedblocks()\n"
        "tokens = encoding.encode(' Kurfürstendamm, 中文 and what else')\n"
        "new = sys.getallocatedblocks() - old\n"
        "again = encoding.encode(' Kurfürstendamm, 中文 and what else')\n"
        "print(new, all(map(lambda a, b: a is b, tokens, again)), max(tokens))"
    )
    new, shared, highest = words_printed_by(program)
    assert int(new) < 1000 < int(highest)
    assert shared == "True" or not HAS_GIL


def floor_plan() -> list[str]:
    """CONTRIBUTING's map: each room on its floor, and the first sentence of its docstring."""
    lines = ["| floor | room | what it is |", "|---:|---|---|"]
    for room, floor in FLOOR.items():
        path = PACKAGE / room
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
        assert doc, source
        said = doc.partition("\n")[0].partition(" Source: ")[0].removesuffix(".")
        name = f"{room}/" if path.is_dir() else f"{room}.py"
        lines.append(f"| {floor + 1} | `{name}` | {said} |")
    return lines


@needs_sources
def test_the_map_of_contributing_is_that_of_the_floors() -> None:
    contributing = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    start = contributing.index("| floor | room |")
    assert contributing[start:].partition("\n\n")[0].splitlines() == floor_plan()


def test_chunks_of_text_need_neither_numpy_nor_parsers() -> None:
    program = (
        "import sys\n"
        "from cutline import TextChunker, TokenChunker, get_encoding\n"
        "for chunker in (TokenChunker('o200k_base', 2), TextChunker('o200k_base', 2)):\n"
        "    assert len(chunker.chunk('one two three')) == 2\n"
        "assert get_encoding('o200k_base').n_vocab == 200_019\n"
        "print(*sys.modules)"
    )
    loaded = words_printed_by(program)
    late = {"numpy", "regex", "subprocess", "difflib", "dataclasses"}
    late |= {"cutline.chunking.code_structure"}
    assert not late.intersection(loaded)
