"""Parsers in a process of their own: the same structures, and no document ends the program."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tree_sitter_language_pack")
pytest.importorskip("pyromark")

import cutline
from cutline.chunking import CodeChunker, MarkdownChunker, code_languages, parse_pool
from cutline.chunking.parse_messages import structure_from, structure_to
from cutline.chunking.parsing import COMMONMARK, parse, structure_of
from cutline.chunking.structure import Structure
from cutline.errors import UnparsedWarning
from tests.chunking.drawing import check
from tests.chunking.hostile import SHAPES
from tests.chunking.sources import SOURCES
from tests.conftest import exhaustive
from tests.texts import NAMED_TEXTS

POSIX_ONLY = pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
CRASHED = "its parser crashed, or ran out of memory"
LADDER = SHAPES["ladder"](126_000)  # ends the process that YAML's grammar runs in
MARKDOWN = "# One\n\ntext\n\n- a\n- b\n\n## Two\n\n```py\nx\n```\n\n| a |\n|---|\n| b |\n"


@pytest.fixture(autouse=True)
def fresh_pool() -> Iterator[None]:
    yield
    parse_pool._pool.close()


@pytest.mark.parametrize("language", [COMMONMARK, *SOURCES])
def test_another_process_finds_the_same(language: str) -> None:
    texts = [MARKDOWN, *NAMED_TEXTS.values()] if language == COMMONMARK else [SOURCES[language]]
    for text in ["", "x", *texts]:
        assert structure_of(text, language, isolated=True) == parse(text, language)


names = st.lists(st.text(max_size=5), min_size=1, max_size=3)
spans = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=5)


@given(st.data())
def test_what_is_sent_arrives(data: st.DataObject) -> None:
    from bitarray import bitarray

    drawn = tuple(data.draw(names))
    length = data.draw(st.integers(1, 40))
    bits = st.lists(st.booleans(), min_size=length, max_size=length)
    headings = st.tuples(st.integers(0, 99), st.lists(st.text()).map(tuple))
    structure = Structure(
        drawn,
        tuple(bitarray(data.draw(bits)) for _ in drawn),
        tuple(data.draw(spans)),
        tuple(data.draw(st.lists(headings))),
        tuple((*span, "kind") for span in data.draw(spans)),
        data.draw(st.text()),
    )
    assert structure_from(structure_to(structure)) == structure


@pytest.mark.parametrize("isolated", [False, True])
def test_a_chunker_says_where_it_parses_and_cuts_alike(isolated: bool) -> None:
    for chunker in (
        MarkdownChunker("gpt2", 20, isolated=isolated),
        CodeChunker("python", "gpt2", 20, isolated=isolated),
    ):
        assert chunker.isolated is isolated
        assert chunker._apart().isolated
        assert chunker._apart()(SOURCES["python"]) == chunker(SOURCES["python"])
    assert cutline.TextChunker("gpt2")._apart()("a b")[0].text == "a b"


@POSIX_ONLY
def test_a_crash_costs_one_document_its_structure() -> None:
    chunker = CodeChunker("yaml", "o200k_base", 200, isolated=True)
    good = "a:\n  - b\n  - c\n" * 40
    before = chunker(good)
    with pytest.warns(UnparsedWarning, match=f"cut at lines, not by its syntax: {CRASHED}"):
        chunks = chunker(LADDER)
    assert "".join(chunk.text for chunk in chunks) == LADDER
    assert {chunk.metadata["unparsed"] for chunk in chunks} == {
        "its parser crashed, or ran out of memory"
    }
    assert {chunk.metadata["boundary"] for chunk in chunks} <= {"line", "word", "end"}
    assert all(chunk.token_count <= 200 for chunk in chunks)
    assert chunker(good) == before
    assert "unparsed" not in before[0].metadata


@POSIX_ONLY
def test_a_parser_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_pool, "LEAST_SECONDS", 0.3)
    monkeypatch.setattr(parse_pool, "CHARACTERS_A_SECOND", 1 << 40)
    with pytest.warns(UnparsedWarning, match="its parser took too long"):
        structure = structure_of(SHAPES["%w(\n"](400_000), "rust", isolated=True)
    assert structure.names == ("line",)
    monkeypatch.undo()  # a busy machine starts the next parser slowly
    assert not structure_of("fn a() {}\n", "rust", isolated=True).problem


@POSIX_ONLY
def test_a_worker_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not structure_of("a", "python", isolated=True).problem
    monkeypatch.setattr(parse_pool, "LEAST_SECONDS", 0.2)
    [worker] = parse_pool._pool._idle
    os.kill(worker.process.pid, signal.SIGSTOP)
    with pytest.warns(UnparsedWarning, match="its parser took too long"):
        structure_of("a", "python", isolated=True)


@POSIX_ONLY
def test_a_parser_that_takes_too_much_memory_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    start = parse_pool._START.replace(
        "main()", "from cutline.chunking import parse_worker as w; w._MOST_MEMORY = 1 << 26; main()"
    )
    monkeypatch.setattr(parse_pool, "_START", start)
    with pytest.warns(UnparsedWarning, match=CRASHED):
        structure_of("x = [1, 2]\n" * 400_000, "python", isolated=True)


def test_without_another_process_documents_are_cut_at_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.warns(UnparsedWarning, match="no process could be started for its parser"):
        structure = structure_of("a\nb\n", "python", isolated=True)
    assert [*structure.bitmaps[0].search(1)] == [2]


@pytest.mark.parametrize(("name", "value"), [("executable", None), ("frozen", True)])
def test_a_program_that_is_no_python_is_not_started_again(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    parse_pool._pool.close()
    monkeypatch.setattr(sys, name, value, raising=False)
    with pytest.warns(UnparsedWarning, match="no process could be started .* no Python to run"):
        structure_of("a", "python", isolated=True)


def test_a_worker_imports_nothing_from_the_folder_that_a_program_is_in(tmp_path: Path) -> None:
    for name in ("json", "re", "enum", "types", "operator", "numpy", "signal"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w')")
    (tmp_path / "a.py").write_text("def one():\n    pass\n")
    code = "import sys; from cutline.cli import main; sys.exit(main())"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code, "chunk", "--by", "auto", "a.py"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert '"token_count"' in run.stdout
    assert "unparsed" not in run.stdout + run.stderr
    assert not (tmp_path / "run").exists()


def test_paths_may_be_any_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_pool._pool.close()
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/nowhere"), None, "/ä/'quoted'\udcff"])
    assert not structure_of("a", "python", isolated=True).problem
    parse_pool._pool.close()


@POSIX_ONLY
def test_a_worker_that_was_ended_while_idle_costs_no_document_its_structure() -> None:
    assert not structure_of("a", "python", isolated=True).problem
    [worker] = parse_pool._pool._idle
    os.kill(worker.process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOWAIT)
    assert not structure_of("a", "python", isolated=True).problem


@POSIX_ONLY
def test_memory_is_counted_from_what_the_interpreter_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are many processors, NumPy's threads alone took more than the limit."""
    parse_pool._pool.close()
    taken = "import mmap; m = mmap.mmap(-1, 3 << 30); main()"
    monkeypatch.setattr(parse_pool, "_START", parse_pool._START.replace("main()", taken))
    assert not structure_of("a", "python", isolated=True).problem
    parse_pool._pool.close()


def test_threads_have_workers_of_their_own() -> None:
    sources = [*SOURCES.items()] * 3
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda item: structure_of(item[1], item[0], isolated=True), sources)
        assert [*found] == [parse(text, language) for language, text in sources]
    assert len(parse_pool._pool._idle) <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes as POSIX has them")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own() -> None:
    want = structure_of(SOURCES["go"], "go", isolated=True)
    [worker] = parse_pool._pool._idle
    if (child := os.fork()) == 0:
        same = structure_of(SOURCES["go"], "go", isolated=True) == want
        other = parse_pool._pool._idle[0].process.pid != worker.process.pid
        parse_pool._pool.close()
        os._exit(0 if same and other else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert structure_of(SOURCES["go"], "go", isolated=True) == want
    assert parse_pool._pool._idle == [worker]


@POSIX_ONLY
def test_workers_end_with_their_program() -> None:
    """Also where it is killed, and can clear nothing away."""
    program = (
        "from cutline.chunking import parse_pool\n"
        "parse_pool.ask('a', 'python')\n"
        "print(parse_pool._pool._idle[0].process.pid, flush=True)\n"
        "import os, sys, time\n"
        "sys.argv[1] == 'end' or time.sleep(60)\n"
    )
    for how in ("end", "kill"):
        command = [sys.executable, "-c", program, how]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            worker = int(process.stdout.readline())
            if how == "kill":
                process.kill()
        deadline = time.monotonic() + 30
        while is_alive(worker) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not is_alive(worker)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not (state.exists() and state.read_text().split(")")[1].split()[0] == "Z")


@POSIX_ONLY
def test_an_interrupted_question_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(pipe: int) -> bytes:
        raise KeyboardInterrupt

    assert not structure_of("a", "python", isolated=True).problem
    [worker] = parse_pool._pool._idle
    with monkeypatch.context() as patched:
        patched.setattr(parse_pool, "read_message", interrupted)
        with pytest.raises(KeyboardInterrupt):
            structure_of("b", "python", isolated=True)
    assert worker.process.poll() is not None
    assert not structure_of("c", "python", isolated=True).problem


def test_a_row_behind_the_last_line_is_the_last_line() -> None:
    chunks = CodeChunker("typst", "o200k_base", 200)("[\n\n$")
    assert "".join(chunk.text for chunk in chunks) == "[\n\n$"


def test_what_is_not_parsed_says_so_in_this_process_too() -> None:
    text = "(" * 1_000 + "\n" * 2_000 + "x = 1\n"
    with pytest.warns(UnparsedWarning, match="it has too much without an end"):
        chunks = CodeChunker("python", "o200k_base", 200)(text)
    assert "too much without an end" in chunks[0].metadata["unparsed"]


LANGUAGES = [COMMONMARK, *code_languages()]


@pytest.mark.filterwarnings("ignore::cutline.errors.UnparsedWarning")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("size", "every"), [(2_000, 8), *(exhaustive(size, 1) for size in (2_000, 60_000, 1_000_000))]
)
def test_no_grammar_takes_anything_along(
    language: str, size: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size == 2_000:
        monkeypatch.setattr(parse_pool, "LEAST_SECONDS", 0.5)
    for shape in list(SHAPES.values())[LANGUAGES.index(language) % every :: every]:
        text = shape(size)
        structure = structure_of(text, language, isolated=True)
        if size == 2_000:
            check(structure, text, in_lines=True)
        assert len(structure.bitmaps[0]) == len(text) + 1
