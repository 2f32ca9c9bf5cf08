"""Which tests run by default, and where the corpora are."""

import functools
import gc
import os
import re
from collections.abc import Generator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No test measures time, and a failure can be run again: on every machine, with every version.
settings.register_profile(
    "cutline", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("cutline")

ROOT = Path(__file__).resolve().parents[1]
needs_sources = pytest.mark.skipif(
    not (ROOT / "src").is_dir(), reason="looks at the sources, and an installed wheel is tested"
)
needs_code = pytest.mark.skipif(
    find_spec("tree_sitter_language_pack") is None, reason="needs the extra `code`"
)
NEEDED = re.compile(r"needs the package ([\w.-]+): pip install 'cutline\[")
LONG = ("exhaustive", "cluster")
FORGOTTEN_AFTER = 500  # tests
finished = count(1)
CORPUS_NAMES = ("prose_en.txt", "code_python.txt", "docs_en.md", "docs_multilingual.md")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long tests out unless `-m` says what is wanted."""
    if config.getoption("-m"):
        return
    left_out = [item for item in items if any(map(item.get_closest_marker, LONG))]
    chosen = [item for item in items if not any(map(item.get_closest_marker, LONG))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def installed(package: str) -> bool:
    """Whether there is a package of this name, whatever it is imported as."""
    try:
        return bool(distribution(package))
    except PackageNotFoundError:
        return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip a test that needs an extra with a package that is not there, which Cutline says."""
    try:
        return (yield)
    except ImportError as error:
        if (missing := NEEDED.search(str(error))) and not installed(missing[1]):
            pytest.skip(str(error))
        raise


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Drop now and then what tests have cached: hundreds of tokenizers fill gigabytes."""
    if next(finished) % FORGOTTEN_AFTER:
        return
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and found.__module__.startswith("tests"):
            found.cache_clear()
    gc.collect()


def short_or_long(argument: str, short: object, long: object) -> pytest.MarkDecorator:
    """One test of two sizes: the long one is exhaustive."""
    return pytest.mark.parametrize(argument, [short, exhaustive(long)])


def exhaustive(*values: object) -> Any:
    """A row of a table that is left to the exhaustive run."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def corpora_folder() -> Path | None:
    """The folder of CUTLINE_CORPORA, else a `corpora` folder inside a sibling of the repository."""
    named = os.environ.get("CUTLINE_CORPORA")
    if named:
        return Path(named)
    return next(iter(sorted(ROOT.parent.glob("*/corpora"))), None)


@pytest.fixture(scope="session", params=CORPUS_NAMES)
def corpus(request: pytest.FixtureRequest) -> str:
    """One corpus as text, nothing in it altered; skips where there is none."""
    folder = corpora_folder()
    name: str = request.param
    if folder is None or not (folder / name).is_file():
        pytest.skip(f"no corpus {name}: name its folder in CUTLINE_CORPORA")
    return (folder / name).read_bytes().decode("utf-8")


# Read when Haystack is imported, by whichever test is the first to do so.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
