"""Mail: messages are those of Python's mailbox, parts those of its email, and stay whole."""

import mailbox
import random
from email.message import EmailMessage
from email.parser import Parser
from pathlib import Path

import pytest

from cutline import DataChunker, chunker_for
from cutline.chunking.mail_structure import mail_structure
from fuzz.grammar import spelled
from tests.chunking.drawing import check as check_structure
from tests.chunking.test_data_structures import ENC, check_contract

SUBJECTS = ["Saws", "Wie schleift man Sägen, wenn die Zähne " * 3, "名前", "Re: [list] x=?y", ""]
BODIES = ["Text.\n", "One.\n\nFrom here on it was clear.\n\nTwo.\n", "", "--\nAnn\n", "> quoted\n"]


def message_of(rng: random.Random, *, depth: int = 0) -> EmailMessage:
    made = EmailMessage()
    if not depth:
        made["From"], made["To"] = (
            "Ann <ann@example.org>",
            "bob@example.com, " * 9 + "c@example.com",
        )
        made["Subject"] = rng.choice(SUBJECTS)
    made.set_content(rng.choice(BODIES))
    if rng.random() < 0.4:
        made.add_alternative("<p>Text.</p>", subtype="html")
    if rng.random() < 0.4:
        made.add_attachment(b"\x00\xff" * 40, "image", "png", filename=f"saw{rng.random():.2f}.png")
    if rng.random() < 0.2:
        made.add_attachment("a,b\n1,2\n", filename="a b.csv")
    return made


def starts_of_parts(text: str) -> list[int]:
    """Where the lines before parts are, by the boundaries that Python's parser finds."""
    bounds = [part.get_boundary() for part in Parser().parsestr(text).walk() if part.is_multipart()]
    lines = text.splitlines(keepends=True)
    places = [len("".join(lines[:row])) for row in range(len(lines))]
    return [at for at, line in zip(places, lines, strict=True) if line.rstrip()[2:] in bounds]


@pytest.mark.parametrize("seed", range(30))
def test_parts_are_those_of_pythons_parser(seed: int) -> None:
    message = message_of(random.Random(seed))
    text = message.as_string()
    structure = mail_structure(text)
    check_structure(structure, text)
    starts = starts_of_parts(text)
    n_parts = sum(1 for _ in message.walk()) - 1
    assert len(starts) == n_parts
    # The first of several stays with what announces it.
    nested = [at for at in starts if not structure.bitmaps[2][at]]
    assert len(nested) == sum(part.is_multipart() for part in message.walk())
    assert structure.cuts("message") == []
    subject = " ".join(message["Subject"].split())
    assert structure.headings_at(1) == ((subject,) if subject else ())
    names = [part.get_filename() for part in message.walk()]
    titles = {title for _, path in structure.headings for title in path}
    assert {name for name in names if name} <= titles
    for size in (24, 90):
        check_contract(DataChunker("email", ENC, size), text)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_messages_are_those_of_pythons_mailbox(seed: int, line_end: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    box = mailbox.mbox(tmp_path / "list.mbox", create=True)
    messages = [message_of(rng) for _ in range(rng.randint(1, 6))]
    for message in messages:
        box.add(message)
    box.close()
    text = (tmp_path / "list.mbox").read_bytes().decode().replace("\n", line_end)
    structure = mail_structure(text)
    check_structure(structure, text)
    starts = [0, *structure.cuts("message")]
    assert len(starts) == len(messages)
    for start, message in zip(starts, messages, strict=True):
        assert text[start:].startswith("From ")
        subject = " ".join(message["Subject"].split())
        assert structure.headings_at(start + 1) == ((subject,) if subject else ())
    for size in (24, 90):
        check_contract(DataChunker("email", ENC, size), text)


def test_an_empty_message_does_not_hide_the_next() -> None:
    mail = "From a@b Mon Mar  3 09:10:40 2025\nSubject: {}\n\n\n"
    text = mail.format("A") + mail.format("B") + "Text.\n"
    assert mail_structure(text).cuts("message") == [len(mail.format("A"))]


@pytest.mark.parametrize(
    "line", ["From here on:", "From 09:10 to 10:10 it rains.", ">From a@b Mon Mar 3 09:10:40 2025"]
)
def test_a_sentence_begins_no_message(line: str) -> None:
    text = f"From a@b Mon Mar  3 09:10:40 2025\nSubject: A\n\n{line}\nWe saw.\n\nB\n"
    assert mail_structure(text).cuts("message") == []


def test_no_chunk_ends_with_a_header() -> None:
    header = "From: Ann <ann@example.org>\r\nSubject: Saws\r\nX-Long: a b c\r\n d e f\r\n\r\n"
    text = header + "The blade is sharp.\r\n\r\n" + "Oil it well every month.\r\n\r\n" * 9
    least = ENC.count(header + "T")
    for size in range(least, 3 * least):
        ends = [chunk.end_index for chunk in DataChunker("email", ENC, size)(text)]
        assert not [end for end in ends if end <= len(header)], size
    for size in range(16, least):  # or else between fields
        first = next(iter(DataChunker("email", ENC, size)(text)))
        assert first.metadata["boundary"] == "field"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("=?utf-8?Q?S=C3=A4ge?= and more", "Säge and more"),
        ("=?utf-8?B?U8OkZ2U=?=", "Säge"),
        ("=?utf-8?Q?=FF?=", "=?utf-8?Q?=FF?="),
        ("=?no-such?Q?a?=", "=?no-such?Q?a?="),
        ("=?utf-8?B?A?=", "=?utf-8?B?A?="),
        ("a\n b", "a b"),
        ("", None),
    ],
)
def test_subjects_are_decoded(written: str, title: str | None) -> None:
    text = f"To: a\nSubject: {written}\n\nText.\n"
    assert mail_structure(text).headings_at(len(text) - 1) == ((title,) if title else ())


def test_any_mail_is_cut() -> None:
    rng = random.Random(7)
    for _ in range(400):
        text = spelled("email", rng.randbytes(rng.randrange(40)))
        check_structure(mail_structure(text), text)
        check_contract(DataChunker("email", ENC, rng.randint(4, 40)), text)


def test_mail_is_chosen_by_name() -> None:
    for name in ("a.eml", "A.EML", "list.mbox", "email"):
        chunker = chunker_for(name, "o200k_base", 64)
        assert isinstance(chunker, DataChunker)
        assert (chunker.data_format, chunker.lines) == ("email", "auto")


@pytest.mark.parametrize(
    "part",
    [
        "From a 10:10\nA: b\n\n", "From a 10:10\n\n", "A: b\n", " c\n", "--x\n", "Subject: =?a?q?",
        "Content-Type: m/m; boundary=x\n\n--x\n", "--x\nContent-Type: m/m; boundary=y\n\n--y\n\n",
        ";",
    ],
)  # fmt: skip
def test_long_hostile_texts_end(part: str) -> None:
    """They would take minutes if the time were quadratic."""
    mail_structure("Content-Type: m/m; boundary=x\n" + part * 60_000)
    nested = (f"--x{n}\nContent-Type: m/m; boundary=x{n + 1}\n\n" for n in range(30_000))
    mail_structure("Content-Type: m/m; boundary=x0\n\n" + "".join(nested))
