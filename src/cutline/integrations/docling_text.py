"""A docling document as Markdown, with the place of each of its items.

Docling's serializers return a text and the items that it is of, not where each one is. Here the
serializer puts a mark before and after what it writes for an item. Marks go wherever lists, groups
and documents put the text, and are taken out at the end: so places are exact, whatever is
indented or joined.
"""

import re
from secrets import token_hex
from typing import Any, NamedTuple

try:
    from docling_core.transforms.serializer.base import SerializationResult
    from docling_core.transforms.serializer.markdown import MarkdownDocSerializer, MarkdownParams
    from docling_core.types.doc.document import (
        CodeItem,
        DocItem,
        DoclingDocument,
        ListItem,
        NodeItem,
        SectionHeaderItem,
        TitleItem,
    )
    from pydantic import PrivateAttr
except ImportError as error:
    raise ImportError(
        "cutline.integrations.docling needs the package docling-core: "
        "pip install 'cutline[docling]'"
    ) from error

__all__ = ["Place", "Written", "write"]

# What could begin a block of Markdown, at the start of a line.
_BLOCK_START = re.compile(r"(?m)^[!-/:-@\[-`{-~ \t]+")
_MOST_INDENT = 256
_AS_MARKDOWN = (CodeItem, SectionHeaderItem, TitleItem)


class Place(NamedTuple):
    """Where something of one item is; parts of an item have places of their own.

    Attributes:
        start: its start in the text, in code points.
        end: its end.
        items: the item, and what else is written with it, such as its caption.
    """

    start: int
    end: int
    items: list[DocItem]


class Written(NamedTuple):
    """A document as Markdown.

    Attributes:
        text: the Markdown.
        parsed: the same, as long, without what only looks like Markdown: a paragraph that begins
            with "#" is no heading, since docling would have said so.
        places: disjoint and ascending.
    """

    text: str
    parsed: str
    places: list[Place]


def write(document: DoclingDocument, params: MarkdownParams) -> Written:
    """Write a document as Markdown.

    Cost: that of docling's Markdown export, and linear in the text.
    """
    serializer = _MarkingSerializer(doc=document, params=params)
    return serializer.taken_out(serializer.serialize().text)


class _MarkingSerializer(MarkdownDocSerializer):
    # No text can have the marks, since nobody knows the number.
    _key: str = PrivateAttr(default_factory=lambda: token_hex(8))
    _items: list[DocItem] = PrivateAttr(default_factory=list)
    _with: list[list[DocItem]] = PrivateAttr(default_factory=list)

    def serialize(
        self, *, item: NodeItem | None = None, **options: Any
    ) -> SerializationResult:  # the signature of docling's is longer, and grows
        result = super().serialize(item=item, **options)
        core = result.text.strip()
        # A table's cells are aligned by what they contain.
        if not isinstance(item, DocItem) or not core or options.get("in_table_cell"):
            return result
        number = len(self._items)
        self._items.append(item)
        self._with.append([span.item for span in result.spans])
        # Lists look at the first character of a part.
        before, after = result.text.split(core, 1)
        marks = (f"\ufdd0{self._key}{sign}{number}\ufdd1" for sign in "+-")
        result.text = f"{before}{next(marks)}{core}{next(marks)}{after}"
        return result

    def taken_out(self, marked: str) -> Written:
        """Take the marks out of a text, and say where they were."""
        text, spans = self._spans(marked)
        has_own = {self._items[number].self_ref for _, _, number in spans}
        places: list[Place] = []
        like: list[str] = []
        done = 0
        for start, end, number in spans:
            item = self._items[number]
            others = (one for one in self._with[number] if one.self_ref not in has_own)
            places.append(Place(start, end, [*others, item]))
            if _begins_line(text, start):
                like += text[done:start], _as_parsed(item, text[start:end])
                done = end
        return Written(text, "".join(like) + text[done:], places)

    def _spans(self, marked: str) -> tuple[str, list[tuple[int, int, int]]]:
        """Return a text without its marks, and (start, end, number) of what is between them."""
        pieces = re.split(f"\ufdd0{self._key}([+-])([0-9]+)\ufdd1", marked)
        spans: list[tuple[int, int, int]] = []
        open_numbers: list[int] = []
        at = 0
        for place in range(0, len(pieces), 3):
            end = at + len(pieces[place])
            if open_numbers and end > at:
                spans.append((at, end, open_numbers[-1]))
            at = end
            if place + 1 < len(pieces):
                if pieces[place + 1] == "+":
                    open_numbers.append(int(pieces[place + 2]))
                else:
                    open_numbers.pop()
        return "".join(pieces[::3]), spans


def _begins_line(text: str, start: int) -> bool:
    """Return whether nothing but an indentation is before a place in its line."""
    before = text[max(0, start - _MOST_INDENT) : start].rstrip(" ")
    return before.endswith("\n") or (not before and start < _MOST_INDENT)


def _as_parsed(item: DocItem, written: str) -> str:
    """Return what is parsed for an item that begins a line: not its text, where it is no Markdown.

    A code item that docling was told not to fence is text.
    """
    if isinstance(item, _AS_MARKDOWN) and written[0] in "#`":
        return written
    first = 0
    if isinstance(item, ListItem):
        first = (written + "\n").index("\n") + 1
    table_rows = not hasattr(item, "text")
    return written[:first] + _BLOCK_START.sub(
        lambda found: found[0] if table_rows and found[0][0] == "|" else "x" * len(found[0]),
        written[first:],
    )
