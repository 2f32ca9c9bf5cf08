"""`Template`: what is rendered, refused, compared and pickled."""

import copy
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutline
from cutline import Chunk, Template
from cutline.errors import SurrogateError

PLAIN = Chunk("X", 0, 1, 1, 3)
BELOW = Chunk("X", 0, 1, 1, 3, ("A", "B"))

# Pattern, values, without headings, with headings.
RENDERED = {
    "a prompt before": ("passage: {text}", {}, "passage: X", "passage: X"),
    "headings first": ("{headings}\n\n{text}", {}, "X", "A > B\n\nX"),
    "headings after a prompt": (
        "passage: {headings}\n\n{text}", {}, "passage: X", "passage: A > B\n\nX",
    ),
    "headings between": ("{title} > {headings}\n\n{text}", {"title": "T"}, "T\n\nX",
                         "T > A > B\n\nX"),
    "an empty title": ("{title} > {headings}\n\n{text}", {"title": None}, "X", "A > B\n\nX"),
    "an empty field beside the next one": (
        "{headings}\n{table_header}{text}", {}, "X", "A > B\nX",
    ),
    "two of them": ("{title}\n{headings}{table_header}{text}", {"title": "T"}, "T\nX", "T\nA > BX"),
    "headings last": ("{text}\n\n{headings}", {}, "X", "X\n\nA > B"),
    "a tag is no separator": ("{headings}\n<d>{text}</d>", {}, "<d>X</d>", "A > B\n<d>X</d>"),
    "nor is one before": ("<d>{text}</d>\n{headings}", {}, "<d>X</d>", "<d>X</d>\nA > B"),
    "no separator at all": ("{headings}{text}", {}, "X", "A > BX"),
    "index": ("{index}. {text}", {}, "3. X", "3. X"),
    "braces": ("{{{text}}} {{x}}", {}, "{X} {x}", "{X} {x}"),
    "a field twice": ("{headings} {text} {headings}", {}, "X", "A > B X A > B"),
    "a number": ("{page}: {text}", {"page": 7}, "7: X", "7: X"),
    "braces in a value": ("{title}: {text}", {"title": "{text}"}, "{text}: X", "{text}: X"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "values", "plain", "below"), RENDERED.values(), ids=RENDERED.keys()
)
def test_render(pattern: str, values: dict[str, object], plain: str, below: str) -> None:
    template = Template(pattern).fill(**values)
    assert template.render(PLAIN) == plain
    assert template.render(BELOW) == below


def test_render_leaves_out_the_headings_that_the_chunker_did() -> None:
    chunk = Chunk("X", 0, 1, 1, 3, ("A", "B"), {"headings_left_out": 1})
    assert Template("{headings}: {text}").render(chunk) == "B: X"


REFUSED = {
    "no text": ("passage", r"must have \{text\} once.*has no fields"),
    "two texts": ("{text}{text}", r"once.*has \{text\}, \{text\}"),
    "a lone brace": ("a } {text}", r"a '\}' stands alone at offset 2.*write '\}\}'"),
    "an open brace": ("{text", "a '{' stands alone at offset 0"),
    "no name": ("{} {text}", r"has the field '\{\}'"),
    "a format": ("{text:>5}", "has the field '{text:>5}'"),
}


@pytest.mark.parametrize(("pattern", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_patterns_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Template(pattern)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="pattern of a template must be a str, got int"):
        Template(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="special_tokens must be an integer, got '2'"):
        Template("{text}", special_tokens="2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="special_tokens must be 0 or more, got -1"):
        Template("{text}", special_tokens=-1)
    with pytest.raises(SurrogateError):
        Template("\ud800{text}")
    with pytest.raises(ValueError, match=r"cannot have 'title'.*are \['name'\]"):
        Template("{name}{text}").fill(title="T")
    with pytest.raises(ValueError, match="cannot have 'text'"):
        Template("{text}", values={"text": "T"})


def test_fields_without_a_value_are_named() -> None:
    template = Template("{heading}: {text}")
    assert template.missing == ("heading",)
    with pytest.raises(ValueError, match=r"\{heading\} has no value.*did you mean \{headings\}\?"):
        template.render(PLAIN)
    with pytest.raises(ValueError, match=r"needs \{heading\}.*it has \['page'\]"):
        template.fill_from({"page": 1})
    assert template.fill_from({"heading": "H", "page": 1}).missing == ()


def test_templates_are_values() -> None:
    template = Template("{title}: {text}", joined_by="/", special_tokens=2, values={"title": "T"})
    same = Template("{title}: {text}", joined_by="/", special_tokens=2).fill(title="T")
    assert template == same == pickle.loads(pickle.dumps(template)) == copy.deepcopy(template)
    assert hash(template) == hash(same)
    assert eval(repr(template)) == template
    for other in ("{title}; {text}", "{text}"):
        assert template != Template(other)
    assert template != template.fill(title="U")
    assert template != "{text}"
    with pytest.raises(AttributeError, match="immutable"):
        template.pattern = "x"
    with pytest.raises(AttributeError, match="immutable"):
        del template.pattern
    with pytest.raises(TypeError):
        template.values["title"] = "U"  # type: ignore[index]


def test_count_adds_the_special_tokens() -> None:
    encoding = cutline.get_encoding("gpt2")
    rendered = "passage: X"
    assert Template("passage: {text}").count(PLAIN, encoding) == encoding.count(rendered)
    template = Template("passage: {text}", special_tokens=3)
    assert template.count(PLAIN, encoding) == encoding.count(rendered) + 3


@given(text=st.text(), headings=st.lists(st.text(), max_size=3), after=st.text())
def test_any_texts_are_rendered_as_they_are(text: str, headings: list[str], after: str) -> None:
    escaped = after.replace("{", "{{").replace("}", "}}")
    if any("\ud800" <= c <= "\udfff" for c in escaped):
        return
    template = Template("{text}" + escaped)
    assert template.render(Chunk(text, 0, len(text), 1, 0, tuple(headings))) == text + after


def test_an_encoding_is_given_by_its_name_too() -> None:
    template, chunk = Template("passage: {text}", special_tokens=2), Chunk("Oil it.", 0, 7, 3, 0)
    enc = cutline.get_encoding("o200k_base")
    expected = enc.count("passage: Oil it.") + 2
    assert template.count(chunk, "o200k_base") == template.count(chunk, enc) == expected
    for wrong in None, 5:
        with pytest.raises(TypeError, match="encoding must be an Encoding, its name, or a wrapped"):
            template.count(chunk, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.float32("nan"), np.datetime64("NaT", "s"), Decimal("nan")]
)
def test_missing_values_are_empty(missing: object) -> None:
    filled = Template("{title}: {text}").fill(title=missing)
    assert filled.values == {"title": ""}
    assert filled.render(PLAIN) == "X"


@pytest.mark.parametrize("name", ["NA", "NaT", "None"])
def test_values_that_tables_lack_are_empty(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    missing = getattr(pandas, name, None)
    assert Template("{title}: {text}").fill(title=missing).values == {"title": ""}
    row = pandas.DataFrame({"title": ["A", missing]}).iloc[1]
    assert Template("{title}: {text}").fill_from(row).values == {"title": ""}


def test_a_field_may_be_named_self() -> None:
    assert Template("{self}: {text}").fill(self="A").render(PLAIN) == "A: X"


def test_bytes_are_no_values() -> None:
    with pytest.raises(TypeError, match=r"\{title\} of a template is bytes: decode it"):
        Template("{title}: {text}").fill(title=b"A")


@pytest.mark.parametrize("number", [True, 2.0, "2"])
def test_the_number_of_special_tokens_is_an_integer(number: Any) -> None:
    with pytest.raises(TypeError, match="special_tokens must be an integer, got"):
        Template("{text}", special_tokens=number)


def test_what_is_no_chunk_is_named() -> None:
    node = cutline.HierarchicalChunker("o200k_base", sizes=(8,))("One fish, two fish.")[0][0]
    for wrong, said in ((node, "got Node: pass its chunk"), ("X", "got str$"), ({}, "got dict$")):
        with pytest.raises(TypeError, match=f"a template takes a cutline.Chunk, {said}"):
            Template("{text}").render(wrong)  # type: ignore[arg-type]
