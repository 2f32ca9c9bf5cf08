import pytest

pytest.importorskip("tree_sitter_language_pack")

from cutline.chunking.code_structure import code_structure
from cutline.chunking.structure import Structure

from .drawing import check

METHOD = '''\
    def method_{0}(self, a):
        """Do it.

        At length.
        """
        b = a

        return f(b)

'''
FUNCTION = '''\
# About it.
def function_{0}(a):
    """Do it.

    At length.
    """
    return a


'''
PYTHON = (
    '"""Doc.\n\nMore of it.\n"""\n\nimport a\n\n\n'
    + "".join(map(FUNCTION.format, range(3)))
    + "class A:\n    x = 1\n\n"
    + "".join(map(METHOD.format, range(4)))
    + "\n"
    + "".join(map(FUNCTION.format, range(3, 6)))
)


def titles(structure: Structure) -> set[tuple[str, ...]]:
    return {path for _, path in structure.headings}


def edited(old: str, new: str) -> tuple[Structure, Structure, str, str]:
    """The structures of the source as it was and with a broken place, and both sources."""
    assert PYTHON.count(old) == 1
    broken = PYTHON.replace(old, new)
    after = code_structure(broken, "python")
    check(after, broken)
    return code_structure(PYTHON, "python"), after, PYTHON, broken


def unit_sources(structure: Structure, text: str) -> list[str]:
    return [text[start:end] for start, end in structure.units]


BREAKS = {
    "a lone quote in a function": ("def function_1(a):\n", "def function_1(a):\n    '''\n"),
    "a docstring without an end": (
        'def function_1(a):\n    """Do it.\n\n    At length.\n    """\n',
        'def function_1(a):\n    """Do it.\n\n    At length.\n',
    ),
    "an open bracket in a function": ("def function_1(a):\n", "def function_1(a:\n"),
    "a lone quote in a method": (
        "def method_1(self, a):\n",
        'def method_1(self, a):\n        x = """\n',
    ),
    "an open bracket in a method": ("def method_1(self, a):\n", "def method_1(self, (a:\n"),
    "half a string between methods": (
        "    def method_1",
        '        for all that it is.\n        """\n\n    def method_1',
    ),
}


@pytest.mark.parametrize(("old", "new"), BREAKS.values(), ids=BREAKS)
def test_a_broken_place_leaves_the_other_definitions_as_they_were(old: str, new: str) -> None:
    before, after, text, broken = edited(old, new)
    touched = ("class A", "function_1", "method_0", "method_1")
    kept = [
        unit for unit in unit_sources(before, text) if not any(name in unit for name in touched)
    ]
    assert len(kept) >= 7
    assert [unit for unit in unit_sources(after, broken) if unit in kept] == kept
    for unit in kept:
        at, there = text.index(unit), broken.index(unit)
        assert after.headings_at(there) == before.headings_at(at), unit
        inside = unit.index("return")
        assert after.headings_at(there + inside) == before.headings_at(at + inside), unit


def test_two_broken_places_leave_what_is_between_them_as_it_was() -> None:
    half = '    x = """\n'
    broken = PYTHON.replace("def function_0(a):\n", f"def function_0(a):\n{half}")
    broken = broken.replace("def function_5(a):\n", f"def function_5(a):\n{half}")
    structure = code_structure(broken, "python")
    check(structure, broken)
    assert titles(structure) >= {("def function_1",), ("def function_4",)}
    assert titles(structure) >= {("class A", f"def method_{n}") for n in range(4)}


def test_a_template_that_does_not_end_hides_no_function() -> None:
    functions = [
        f"function f{n}(a) {{\n  const b = `a ${{a}}`;\n\n  return b;\n}}\n\n" for n in range(6)
    ]
    functions[2] = functions[2].replace("}`", "}")
    text = "".join(functions)
    structure = code_structure(text, "javascript")
    check(structure, text)
    assert titles(structure) >= {(f"function f{n}",) for n in (0, 1, 3, 4, 5)}


def test_an_error_that_hides_nothing_leaves_a_function_whole() -> None:
    text = "int f() {\n  a b c d;\n\n  return 1;\n}\n\nint g() {\n  return 2;\n}\n"
    structure = code_structure(text, "c")
    assert [text[start : start + 5] for start, _ in structure.units] == ["int f", "int g"]


def test_a_namespace_with_an_error_in_it_stays() -> None:
    text = (
        "namespace a {\n\nint f() {\n  a b c d;\n  return 1;\n}\n\n"
        "int g() {\n  return 2;\n}\n\n}  // namespace a\n"
    )
    structure = code_structure(text, "cpp")
    assert structure.headings_at(text.index("return 2")) == ("namespace a", "int g")


def test_macros_cost_no_definition() -> None:
    members = "".join(f"  void\n  f{n}(int a)\n  {{\n    a = {n};\n  }}\n\n" for n in range(9))
    text = (
        "_BEGIN\n\ntemplate<typename T>\nclass A\n{\npublic:\n  using A::b _M;\n\n"
        f"{members}}};\n\n_END\n\nint g()\n{{\n  return 1;\n}}\n"
    )
    structure = code_structure(text, "cpp")
    check(structure, text)
    assert len(structure.units) == len(["A", "g"]) + 9
