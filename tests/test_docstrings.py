"""The examples in the docstrings of every module run."""

import doctest
import importlib
import pkgutil

import pytest

import cutline
from tests.conftest import needs_code

# The kernels' have a test beside their stubs; what is run by `python -m` is no module to import.
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(cutline.__path__, "cutline.")
    if not found.name.startswith("cutline.kernels") and not found.name.endswith("__main__")
)
OF_CODE = {f"cutline.chunking.{name}" for name in ("by_name", "chunkers", "code_structure")}


@pytest.mark.parametrize(
    "name",
    ["cutline", *(pytest.param(n, marks=needs_code) if n in OF_CODE else n for n in MODULES)],
)
def test_examples_give_what_they_say(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        # What only frameworks need comes with them.
        if "pip install 'cutline[" not in str(error) and error.name != "pydantic":
            raise
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [
        *map(finder.find, map(importlib.import_module, ("cutline.encoding", "cutline.cutting")))
    ]
    assert sum(bool(test.examples) for tests in found for test in tests) > 10
