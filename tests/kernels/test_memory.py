"""No kernel reads after a text's last byte, or goes on where there is no memory."""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.kernels.failing_allocations import SOURCE

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    sys.platform == "win32"
    or sys.implementation.name != "cpython"
    or bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="lays CPython's own objects into protected memory",
)


def run_guarded(what: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.kernels.guard_page", what]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_kernels_read_nothing_after_a_text() -> None:
    done = run_guarded("walk")
    assert (done.returncode, done.stderr) == (0, "")


def test_reading_after_a_text_would_be_noticed() -> None:
    done = run_guarded("read")
    # Killed by the system, or by the address sanitizer of a checked build; not by an exception.
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not shutil.which("cc") or "LD_PRELOAD" in os.environ,
    reason="replaces the allocator of glibc",
)
def test_without_memory_there_is_an_error_and_never_a_wrong_result(tmp_path: Path) -> None:
    (tmp_path / "failing.c").write_text(SOURCE)
    command = ["cc", "-shared", "-fPIC", "-fno-builtin", "failing.c", "-o", "failing.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.failing_allocations"],
        cwd=ROOT,
        env=os.environ | {"LD_PRELOAD": str(tmp_path / "failing.so")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 30
