"""Formats of data and markup that have a structure of their own: which function finds it."""

from collections.abc import Callable
from functools import partial
from typing import Final

from cutline.chunking.calendar_structure import calendar_structure
from cutline.chunking.diff_structure import diff_structure
from cutline.chunking.html_structure import html_structure
from cutline.chunking.json_structure import json_structure
from cutline.chunking.mail_structure import mail_structure
from cutline.chunking.markup_structure import MARKUPS
from cutline.chunking.structure import Structure
from cutline.chunking.table_structure import DELIMITERS, table_structure
from cutline.chunking.transcript_structure import transcript_structure
from cutline.errors import shown

__all__ = ["FORMATS", "data_structure"]

FORMATS: Final[dict[str, Callable[[str], Structure]]] = {
    **{name: partial(table_structure, delimiters=marks) for name, marks in DELIMITERS.items()},
    **dict.fromkeys(("json", "jsonl"), json_structure),
    "transcript": transcript_structure,
    "email": mail_structure,
    **dict.fromkeys(("icalendar", "vcard"), calendar_structure),
    "diff": diff_structure,
    "html": html_structure,
    **MARKUPS,
}


def data_structure(text: str, format_name: str) -> Structure:
    """Find the structure of a text in one of the formats.

    Raises:
        ValueError: there is no such format.
    """
    if format_name not in FORMATS:
        raise ValueError(
            f"no format {shown(format_name)}: there are {', '.join(map(repr, FORMATS))}"
        )
    return FORMATS[format_name](text)
