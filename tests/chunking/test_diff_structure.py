"""Diffs: files and hunks are those that were written, and stay whole."""

import difflib
import random

import pytest

from cutline import DataChunker, chunker_for
from cutline.chunking.diff_structure import diff_structure
from tests.chunking.drawing import check as check_structure
from tests.chunking.test_data_structures import ENC, check_contract

LINES = [
    "", "a", "b", "  c", "-- x", "++ y", "@@ -1 +1 @@", "diff --git a/x b/x", "--- a", "+++ b",
    f"commit {'0' * 40}", "Index: x", "\\ no",
]  # fmt: skip


def first_lines(text: str, places: list[int]) -> list[str]:
    return [text[place:].partition("\n")[0] for place in places]


@pytest.mark.parametrize("seed", range(40))
def test_files_and_hunks_are_those_that_difflib_writes(seed: int) -> None:
    rng = random.Random(seed)
    text, files, hunks, titles = "", [], [], []
    for number in range(rng.randint(1, 5)):
        old = [f"{line}\n" for line in rng.choices(LINES, k=rng.randint(1, 60))]
        new = [line for line in old if rng.random() < 0.9]
        new.insert(rng.randint(0, len(new)), "new\n")
        diff = [*difflib.unified_diff(old, new, f"a{number}", f"b{number}", "2026", "2026")]
        files.append(len(text))
        places = [len("".join(diff[:at])) for at, line in enumerate(diff) if line[:3] == "@@ "]
        hunks += [len(text) + place for place in places[1:]]
        titles += [(len(text) + place, f"b{number}") for place in places]
        text += "".join(diff)
    structure = diff_structure(text)
    check_structure(structure, text)
    assert structure.cuts("commit") == []
    assert structure.cuts("file") == files[1:]
    assert structure.cuts("hunk") == sorted([*files[1:], *hunks])
    assert [structure.headings_at(place)[0] for place, _ in titles] == [path for _, path in titles]
    for size in (12, 40):
        check_contract(DataChunker("diff", ENC, size), text)


GIT = f"""\
commit {"1" * 40}
Author: Ann <ann@example.org>

    Rip along the grain

diff --git a/saw.py b/saw.py
index 2abe..41f3 100644
--- a/saw.py
+++ b/saw.py
@@ -1,2 +1,2 @@ def rip(board):
-    return 1
+    return 2
 # end
@@ -9 +9,2 @@ def cope(board):
 x
+y
diff --git a/old.bin b/new.bin
similarity index 90%
rename from old.bin
rename to new.bin
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
\\ No newline at end of file

commit {"2" * 40}
Author: Bob <bob@example.org>

    Second

diff --cc both.py
@@@ -1,2 -1,2 +1,3 @@@ def both():
++x
"""


def test_headings_of_git_are_subject_path_and_context() -> None:
    structure = diff_structure(GIT)
    check_structure(structure, GIT)
    assert structure.headings_at(GIT.index("return 2")) == (
        "Rip along the grain",
        "saw.py",
        "def rip(board):",
    )
    assert structure.headings_at(GIT.index("+y"))[1:] == ("saw.py", "def cope(board):")
    assert structure.headings_at(GIT.index("similarity"))[1:] == ("new.bin",)
    assert structure.headings_at(GIT.index("\\ No"))[1:] == ("gone.py",)
    assert structure.headings_at(GIT.index("++x")) == ("Second", "both.py", "def both():")
    assert first_lines(GIT, structure.cuts("commit")) == [f"commit {'2' * 40}"]
    assert first_lines(GIT, structure.cuts("file"))[:2] == [
        "diff --git a/old.bin b/new.bin",
        "diff --git a/gone.py b/gone.py",
    ]
    assert first_lines(GIT, structure.cuts("hunk"))[0] == "@@ -9 +9,2 @@ def cope(board):"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("--- a/b.py\t2026\n+++ c.py\t2026\n@@ -1 +1 @@\n-x\n+y\n", ("c.py",)),
        (
            "Index: a/b.py\n=====\n--- b.py\t(revision 1)\n+++ b.py\n@@ -1 +1 @@\n-x\n+y\n",
            ("b.py",),
        ),
        ("diff -u a/x a/y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-x\n+y\n", ("b/y",)),
        ("--- a\n+++ b\n@@ -1,9 +1,9 @@\n-x\ncut off\n--- c\n+++ d\n@@ -1 +1 @@\n-x\n+y", ("d",)),
        ("--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- c\n+++ d\n-x\n+y\n", ("b",)),
        ("--- a\n\n@@ -1 +1 @@ f\n-x\n+y\n", ("f",)),
        (
            f"From {'a' * 40} Mon\nSubject: [PATCH 1/2] A long\n subject\n\n---\n 1 file\n"
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n-- \n2.39\n",
            ("A long subject", "x"),
        ),
    ],
)
def test_paths_are_found_in_diffs_of_all_kinds(text: str, path: tuple[str, ...]) -> None:
    structure = diff_structure(text)
    check_structure(structure, text)
    assert structure.headings_at(text.rindex("+y")) == path


def test_no_chunk_ends_between_a_file_and_its_first_hunk() -> None:
    text = GIT * 3
    inner = [at for at in range(len(text)) if text.startswith(("index 2", "--- a", "@@ -1,2"), at)]
    most = ENC.count(GIT[: GIT.index("@@ -1,2") + 1])
    for size in range(most, 2 * most):
        ends = {chunk.end_index for chunk in DataChunker("diff", ENC, size)(text)}
        assert not ends & set(inner), size


def test_files_without_hunks_are_cut_apart() -> None:
    moves = [
        f"diff --git a/x{n} b/y{n}\nsimilarity index 100%\nrename from x{n}\nrename to y{n}\n"
        for n in range(4)
    ]
    text = f"commit {'1' * 40}\n\n    Moved\n\n" + "".join(moves)
    structure = diff_structure(text)
    check_structure(structure, text)
    assert [text[place:] for place in structure.cuts("file")] == [
        "".join(moves[n:]) for n in (1, 2, 3)
    ]


def test_diffs_are_chosen_by_name() -> None:
    for name in ("a.diff", "a.PATCH", "diff"):
        chunker = chunker_for(name, "o200k_base", 64)
        assert isinstance(chunker, DataChunker)
        assert chunker.data_format == "diff"
        assert chunker.lines == "keep"


@pytest.mark.parametrize(
    "part", [*(f"{line}\n" for line in LINES), "@@ -1,999999999 +1 @@\n", "--- a\n+++ b\n", "@" * 9]
)
def test_long_hostile_texts_end(part: str) -> None:
    """They would take minutes if the time were quadratic."""
    diff_structure(part * 60_000)
