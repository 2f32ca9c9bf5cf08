"""Calendars and contacts: components are those that were written, and stay whole."""

import random

import pytest

from cutline import DataChunker, chunker_for
from cutline.chunking.calendar_structure import calendar_structure
from fuzz.grammar import spelled
from tests.chunking.drawing import check as check_structure
from tests.chunking.test_data_structures import ENC, check_contract

TITLES = ["Dovetails", "Saws, planes; and more", "Two\nlines", "名前 " * 40, "a\\b", ""]


def folded(line: str, end: str) -> str:
    """A line as RFC 5545 wraps it."""
    parts = [line[at : at + 60] for at in range(0, len(line), 60)]
    return f"{end} ".join(parts) + end


def escaped(title: str) -> str:
    for sign in "\\,;":
        title = title.replace(sign, f"\\{sign}")
    return title.replace("\n", "\\n")


def component(rng: random.Random, name: str, title: str, end: str) -> str:
    lines = ["UID:1", f'SUMMARY;LANGUAGE="a:b":{escaped(title)}', "DESCRIPTION:" + "a b " * 40]
    rng.shuffle(lines)
    alarm = ["BEGIN:VALARM", "SUMMARY:Not this", "END:VALARM"] * (rng.random() < 0.4)
    lines = [f"BEGIN:{name}", *lines[:2], *alarm, *lines[2:], f"END:{name}"]
    return "".join(folded(line, end) for line in lines)


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("seed", range(30))
def test_components_are_those_that_were_written(seed: int, end: str) -> None:
    rng = random.Random(seed)
    text, calendars, components, titles = "", [], [], []
    for number in range(rng.randint(1, 3)):
        calendars.append(len(text))
        text += f"BEGIN:VCALENDAR{end}VERSION:2.0{end}X-WR-CALNAME:Cal {number}{end}"
        for _ in range(rng.randint(1, 4)):
            components.append(len(text))
            titles.append((f"Cal {number}", rng.choice(TITLES)))
            kind = rng.choice(["VEVENT", "VTODO"])
            text += component(rng, kind, titles[-1][1], end)
        text += f"END:VCALENDAR{end}"
    structure = calendar_structure(text)
    check_structure(structure, text)
    assert structure.cuts("calendar") == calendars[1:]
    first = [min(at for at in components if at > calendar) for calendar in calendars]
    assert structure.cuts("component") == sorted([*calendars[1:], *({*components} - {*first})])
    for at, (calendar, title) in zip(components, titles, strict=True):
        shown = " ".join(title.split())
        path = tuple(one[:200] for one in (calendar, shown) if one)
        found = tuple(one[:200] for one in structure.headings_at(at + 1))
        assert found == path
    alarms = text.count("BEGIN:VALARM")
    assert len(structure.cuts("inner component")) == len(structure.cuts("component")) + alarms
    for size in (24, 120):
        check_contract(DataChunker("icalendar", ENC, size), text)


def card(number: int) -> str:
    note = folded("NOTE:Knows about glue and saws\\, and much more about wood.", "\r\n")
    name = f"N:Miller;Ann{number};;;\r\nitem1.FN:Ann{number} Miller\r\n"
    return f"BEGIN:VCARD\r\nVERSION:3.0\r\n{name}{note}END:VCARD\r\n"


def test_contacts_stay_whole_and_are_named() -> None:
    cards = [card(number) for number in range(9)]
    text = "".join(cards)
    structure = calendar_structure(text)
    check_structure(structure, text)
    assert [text[at:] for at in structure.cuts("component")] == [
        "".join(cards[number:]) for number in range(1, 9)
    ]
    assert structure.headings_at(len(cards[0]) + 1) == ("Ann1 Miller",)
    for size in (ENC.count(cards[0]), 2 * ENC.count(cards[0]) + 9):
        chunks = DataChunker("vcard", ENC, size)(text)
        assert all(chunk.text.startswith("BEGIN:VCARD") for chunk in chunks)
        assert all(chunk.text.endswith("END:VCARD\r\n") for chunk in chunks)


def test_what_is_folded_stays_with_its_property_where_it_fits() -> None:
    note = folded("NOTE:" + "Saws, and glue. " * 9, "\n")
    text = f"BEGIN:VCARD\nFN:Ann\n{note}TEL:1\n{note}END:VCARD\n"
    least = ENC.count(note)
    for size in range(least + 1, 2 * least):
        starts = [text[chunk.start_index] for chunk in DataChunker("vcard", ENC, size)(text)]
        assert " " not in starts, size


def test_an_end_without_a_beginning_closes_nothing() -> None:
    text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VTODO\nSUMMARY:Saws\nEND:VEVENT\nEND:VCALENDAR\n"
    assert calendar_structure(text).headings_at(40) == ("Saws",)


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ("N:Miller;Ann;;;", "Miller Ann"),
        ("ORG:Saws\\; Inc.;Sales", "Saws; Inc. Sales"),
        ("N:x\nFN:Ann", "Ann"),
        ("FN:Ann\nN:x", "Ann"),
        ("fn:Ann", "Ann"),
        ("FN:", None),
        ("NOTE:x", None),
    ],
)
def test_titles(lines: str, title: str | None) -> None:
    text = f"BEGIN:VCARD\n{lines}\nEND:VCARD\n"
    assert calendar_structure(text).headings_at(3) == ((title,) if title else ())


def test_what_has_no_component_has_lines_alone() -> None:
    text = "##fileformat=VCFv4.2\n#CHROM\tPOS\nchr1\t1\n"
    assert [*calendar_structure(text).cuts("property")] == []
    for chunk in DataChunker("vcard", ENC, 12)(text)[:-1]:
        assert chunk.text.endswith("\n")


def test_any_calendar_is_cut() -> None:
    rng = random.Random(7)
    for _ in range(400):
        text = spelled("icalendar", rng.randbytes(rng.randrange(40)))
        check_structure(calendar_structure(text), text)
        check_contract(DataChunker("icalendar", ENC, rng.randint(4, 40)), text)


def test_calendars_and_contacts_are_chosen_by_name() -> None:
    kinds = {"a.ics": "icalendar", "a.VCF": "vcard", "vcard": "vcard", "icalendar": "icalendar"}
    for name, kind in kinds.items():
        chunker = chunker_for(name, "o200k_base", 64)
        assert isinstance(chunker, DataChunker)
        assert (chunker.data_format, chunker.lines) == (kind, "keep")


@pytest.mark.parametrize(
    "part",
    [
        "BEGIN:A\n",
        "END:A\n",
        "BEGIN:A\nEND:B\n",
        "BEGIN:A\nBEGIN:B\nEND:A\n",
        ';"',
        "N:x\n",
        " x\n",
    ],
)
def test_long_hostile_texts_end(part: str) -> None:
    """They would take minutes if the time were quadratic."""
    calendar_structure("BEGIN:A\nSUMMARY" + part * 60_000)
    calendar_structure(part * 30_000 + "END:B\n" * 30_000)
