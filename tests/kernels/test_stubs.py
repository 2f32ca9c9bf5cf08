"""The stubs say what the compiled modules hold, name by name and parameter by parameter."""

import ast
import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import cutline.kernels
from tests.conftest import needs_sources

# Where Cutline is installed, only the stubs are beside the compiled modules.
FOLDER = Path(cutline.kernels.__file__).parent
SOURCES = Path(__file__).parents[2] / "src" / "cutline" / "kernels"
# With their rooms, such as "scan.scan".
NAMES = sorted(f"{path.parent.name}.{path.stem}" for path in SOURCES.glob("*/*.pyx"))

# What a name is: a class by its members, a function by its parameters, each with its default.
Shape = dict[str, Any]


def kernel(name: str) -> ModuleType:
    return importlib.import_module(f"cutline.kernels.{name}")


def compiled_shape(owner: ModuleType | type) -> Shape:
    """What Python sees of a compiled module or class, imported names and dunders left out."""
    shape: Shape = {}
    for name, value in vars(owner).items():
        if name.startswith("__") or inspect.ismodule(value):
            continue
        if isinstance(owner, ModuleType) and getattr(value, "__module__", None) not in (
            None,
            owner.__name__,
        ):
            continue
        if inspect.isclass(value):
            shape[name] = compiled_shape(value)
        elif callable(value):
            shape[name] = [
                (parameter.name, parameter.default)
                for parameter in inspect.signature(value).parameters.values()
            ]
        else:
            shape[name] = type(value).__name__
    return shape


def stub_shape(body: list[ast.stmt]) -> Shape:
    """The same of a stub."""
    shape: Shape = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            shape[node.name] = stub_shape(node.body)
        elif isinstance(node, ast.FunctionDef) and node.decorator_list:
            assert [ast.unparse(decorator) for decorator in node.decorator_list] == ["property"]
            shape[node.name] = "getset_descriptor"
        elif isinstance(node, ast.FunctionDef) and node.name != "__new__":
            shape[node.name] = list(stub_parameters(node.args))
        elif isinstance(node, ast.AnnAssign):
            shape[ast.unparse(node.target)] = ast.unparse(node.annotation)
    return shape


def stub_parameters(arguments: ast.arguments) -> Iterator[tuple[str, Any]]:
    required = len(arguments.args) - len(arguments.defaults)
    for place, argument in enumerate(arguments.args):
        default = inspect.Parameter.empty
        if place >= required:
            default = ast.literal_eval(arguments.defaults[place - required])
        yield argument.arg, default
    for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield argument.arg, inspect.Parameter.empty if value is None else ast.literal_eval(value)


@needs_sources
def test_every_stub_is_that_of_a_kernel() -> None:
    stubs = {f"{path.parent.name}.{path.stem}" for path in FOLDER.glob("*/*.pyi")}
    assert stubs
    assert stubs <= set(NAMES)


@needs_sources
def test_every_kernel_is_installed() -> None:
    found = pkgutil.walk_packages([str(FOLDER)], f"{cutline.kernels.__name__}.")
    modules = {module.name.removeprefix(f"{cutline.kernels.__name__}.") for module in found}
    assert set(NAMES) <= modules
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_stub_is_what_the_compiled_module_holds(name: str) -> None:
    stub = FOLDER / f"{name.replace('.', '/')}.pyi"
    # A kernel that only other kernels see needs none.
    text = stub.read_text(encoding="utf-8") if stub.exists() else ""
    assert stub_shape(ast.parse(text).body) == compiled_shape(kernel(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_the_compiled_docstrings_hold(name: str) -> None:
    found = doctest.DocTestFinder().find(kernel(name))
    # A method's examples are found twice: in its class, and in the `__test__` that Cython writes.
    tests = [test for test in found if ".__test__." not in test.name]
    written = (SOURCES / f"{name.replace('.', '/')}.pyx").read_text(encoding="utf-8").count(">>> ")
    assert sum(len(test.examples) for test in tests) == written
    for test in tests:
        assert doctest.DocTestRunner().run(test) == (0, len(test.examples)), test.name
