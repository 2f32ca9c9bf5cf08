"""No kernel reads after a text's last byte."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

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
