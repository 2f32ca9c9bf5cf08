"""Tables, JSON and transcripts: cuts between records, compared with the standard library."""

import csv
import io
import json
import random
from itertools import pairwise
from typing import Any

import pytest

from cutline import Chunk, DataChunker, MarkdownChunker, Template, chunker_for, get_encoding
from cutline.chunking.json_structure import json_structure
from cutline.chunking.structure import Structure
from cutline.chunking.table_structure import DELIMITERS, table_structure
from cutline.chunking.transcript_structure import transcript_structure
from cutline.kernels.breaks.json_elements import ElementReader
from tests.chunking.json_oracle import MOST_KEY, MOST_PATH, JsonReader
from tests.conftest import short_or_long

ENC = get_encoding("o200k_base")
FIELDS = [
    "a",
    "",
    "two words",
    "x,y",
    'say "no"',
    "line\nbreak",
    "crlf\r\nin",
    "\u540d\u524d",
    "1.5",
    " ",
]


def cuts(structure: Structure, level: int) -> list[int]:
    return list(structure.bitmaps[level].search(1))


def random_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(8 if depth < 4 else 5)
    if kind < 5:
        return rng.choice([None, True, 1.5, 'one, [two] {three}: \\ "q" \u540d', "", -3])
    items = [random_value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return items if kind < 6 else {f"k{place} ,:]": item for place, item in enumerate(items)}


def check_contract(chunker: DataChunker, text: str) -> list[Chunk]:
    chunks = chunker.chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    for chunk in chunks:
        assert ENC.count(chunk.text) == chunk.token_count <= chunker.chunk_size
    assert list(chunker.iter_chunks([text[:5], text[5:]])) == chunks
    return chunks


@pytest.mark.parametrize("name", DELIMITERS)
@pytest.mark.parametrize("seed", range(12))
def test_records_of_tables_are_those_of_csv(name: str, seed: int) -> None:
    rng = random.Random(seed)
    mark = DELIMITERS[name][0]
    rows = [[rng.choice(FIELDS) for _ in range(3)] for _ in range(rng.randint(1, 30))]
    rows[0] = ["id", "name", "note"]
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=mark, lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
    text = file.getvalue()
    structure = table_structure(text, DELIMITERS[name])
    starts = [0, *cuts(structure, 0), len(text)]
    read = [
        list(csv.reader(io.StringIO(text[start:end], newline=""), delimiter=mark))
        for start, end in pairwise(starts)
    ]
    # The header stays with the first record below.
    assert [len(part) for part in read] == [min(2, len(rows))] + [1] * (len(rows) - 2)
    assert [row for part in read for row in part] == rows
    fields = [0, *cuts(structure, 1), len(text)]
    assert len(fields) - 1 == sum(map(len, rows)) - (len(rows) > 1)
    check_contract(DataChunker(name, ENC, 24), text)


def test_tables_without_quotes_are_cut_as_those_with_one() -> None:
    rng = random.Random(8)
    for _ in range(2_000):
        text = "".join(rng.choices("ab,;\t|\r\n", k=rng.randint(0, 25)))
        plain, quoted = (table_structure(one, ",;\t|") for one in (text, text + '"'))
        for bits, others in zip(plain.bitmaps, quoted.bitmaps, strict=True):
            assert bits[: len(text)] == others[: len(text)]


@pytest.mark.parametrize("indent", [None, 1, "\t"])
@pytest.mark.parametrize("seed", range(12))
def test_elements_of_json_are_values(indent: int | str | None, seed: int) -> None:
    value = [random_value(random.Random(seed * 100 + place)) for place in range(8)]
    text = json.dumps({"first": 0, "items": value}, indent=indent, ensure_ascii=seed % 2 == 0)
    structure = json_structure(text)
    assert cuts(structure, 0) == []
    first, items = (part for part in (text[: cuts(structure, 1)[0]], text[cuts(structure, 1)[0] :]))
    assert json.loads(first.strip()[1:].strip().rstrip(",").partition(":")[2]) == 0
    assert json.loads("{" + items) == {"items": value}
    # Each element of the array is cut out whole.
    begin = text.index("[") + 1
    inner = [at for at in cuts(structure, 2) if at > cuts(structure, 1)[0]]
    ends = [*inner, text.rindex("]")]
    starts = [begin, *inner]
    elements = [text[a:b].strip().rstrip(",") for a, b in zip(starts, ends, strict=True)]
    assert [json.loads(one) for one in elements] == value
    for place, at in enumerate(inner, 1):
        assert structure.headings_at(at) == ("items",)
        if isinstance(value[place], dict) and value[place]:
            at = text.index("{", at) + 1
            assert structure.headings_at(at) == ("items", f"[{place}]")
    for size in (8, 40, 400):
        check_contract(DataChunker("json", ENC, size), text)


@short_or_long("many", 3_000, 300_000)
def test_json_is_read_as_by_expressions(many: int) -> None:
    rng = random.Random(7)
    marks = [
        *'"{}[],:\\ \n\r\t',
        '"a"',
        '"k":',
        "\x1c",
        "\u00a0",
        "\u2028",
        "\u540d",
        "\U0001f600",
        "1",
        "x",
    ]
    for number in range(many):
        text = "".join(rng.choices(marks, k=rng.randint(0, 60)))
        if number % 50 == 0:
            text = '{"' + "k" * 300 + '":[1,' + '{"a":[' * 40 + text
        read, expected = ElementReader(text, 8, MOST_PATH, MOST_KEY), JsonReader(text, 8)
        read.read()
        expected.read()
        for name in ("levels", "units", "regions", "paths"):
            assert getattr(read, name) == getattr(expected, name), text


@pytest.mark.parametrize("seed", range(6))
def test_lines_of_json_stay_whole_where_they_fit(seed: int) -> None:
    rows = [random_value(random.Random(seed * 50 + place)) for place in range(40)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert [0, *cuts(json_structure(text), 0)] == [
        at for at in range(len(text)) if at == 0 or text[at - 1] == "\n"
    ]
    chunker = DataChunker("jsonl", ENC, max(ENC.count(line + "\n") for line in text.split("\n")))
    for chunk in check_contract(chunker, text):
        for line in chunk.text.splitlines():
            json.loads(line)


SRT = (
    "1\n00:00:01,000 --> 00:00:04,000\nHello there.\n\n"
    "2\n00:00:05,500 --> 00:00:07,000\nAnn: Hi\nagain\n\n"
    "3\n01:00:05,500 --> 01:00:07,000\nBob: Ho\n"
)


def test_cues_of_subtitles_stay_whole_and_have_times() -> None:
    structure = transcript_structure(SRT)
    assert [SRT[at] for at in cuts(structure, 1)] == ["2", "3"]
    chunks = check_contract(DataChunker("transcript", ENC, 40), SRT)
    assert [chunk.text[0] for chunk in chunks] == ["1", "2", "3"]
    assert [chunk.metadata["start_time"] for chunk in chunks] == [1, 5.5, 3605.5]
    assert [chunk.metadata["end_time"] for chunk in chunks] == [4, 7, 3607]


@pytest.mark.parametrize(
    ("text", "turns", "speakers"),
    [
        ("Ann: Hi.\nStill.\nBob: Yes.\nAnn: No.\n", ["Bob", "Ann"], ["Ann", "Bob", "Ann"]),
        ("[00:01] Ann: Hi.\n[00:02] Bob: Yes.\n", ["[00:02]"], ["Ann", "Bob"]),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hi\n\n00:02.000 --> 00:03.000\n<v Ann>Ho\n",
         ["00:01.000"], ["Ann"]),
        ("Ann  0:01\nHi.\n\nBob\t0:02 \nYes.\n", ["Bob\t0"], ["Ann", "Bob"]),
        ("Ann [00:00:01]\r\nHi.\r\nBob (0:02)\r\nYes.\r\n", ["Bob"], ["Ann", "Bob"]),
        ("[01/02/24, 10:00:05] Ann: Read this:\nPsalm: 23\n[01/02/24, 10:01:05] Bob: Yes.\n"
         "\u200e[01/02/24, 10:01] Ann: No.\n", ["[01/02/24,", "\u200e[01/02/24,"],
         ["Ann", "Bob", "Ann"]),
        ("1/2/24, 10:00 PM - Ann B.: Hi\n1/2/24, 10:00\u202fp.m. - Bob: Note: a\nNote: b\n",
         ["1/2/24,"], ["Ann B.", "Bob"]),
        ("31.12.2024, 10:00 - Ann: Hi\n31.12.2024, 10:00 - Bob: Ho\n", ["31.12.2024,"],
         ["Ann", "Bob"]),
        ("[0:01] Ann: Hi.\nNote: a\n[0:02] Bob: Yes.\n", ["[0:02]"], ["Ann", "Bob"]),
        ("[0:01] Ann: Hi.\nBob: a\nCid: c\n", ["Bob", "Cid"], ["Ann", "Bob", "Cid"]),
        ("1\n00:01 --> 00:02\nANN: a\nBOB: b\n", ["BOB"], ["ANN", "BOB"]),
        ("We met at 10:30\nWe met in 1999  at 10:30 again\nHe ran (1:30) miles\n", [], []),
        ("Note that this is a long line of prose: so no turn.\nhttp://a.b: c\n", [], []),
        ("", [], []),
    ],
)  # fmt: skip
def test_turns_of_transcripts(text: str, turns: list[str], speakers: list[str]) -> None:
    structure = transcript_structure(text)
    assert [text[at:].split(":")[0].split(" ")[0] for at in cuts(structure, 0)] == [
        turn.split(":")[0] for turn in turns
    ]
    assert [path[0] for _, path in structure.headings if path] == speakers


def test_a_line_of_a_speaker_and_a_time_has_that_time() -> None:
    text = "Ann  0:01\nHi.\n\nBob (1:00:02)\nYes.\n"
    assert [
        (chunk.text, chunk.metadata["start_time"])
        for chunk in check_contract(DataChunker("transcript", ENC, 12), text)
    ] == [("Ann  0:01\nHi.\n\n", 1), ("Bob (1:00:02)\nYes.\n", 3602)]


def test_a_speakers_line_above_a_timing_begins_the_same_cue() -> None:
    text = "A: a\n\n[00:09] Ann: x\n00:01.000 --> 00:02.000\nBob: y\n"
    structure = transcript_structure(text)
    assert cuts(structure, 1) == [6]
    assert structure.units == ((0, 6), (6, len(text)))
    assert [*structure.headings] == [(0, ()), (1, ("A",)), (6, ()), (7, ("Bob",))]
    assert structure.metadata(6, len(text)) == {"start_time": 1.0, "end_time": 2.0}


def test_a_table_that_is_cut_repeats_its_header_in_what_is_sent() -> None:
    rows = "".join(f"{number},a name,{number * 7}\n" for number in range(60))
    table = "".join(f"| {number} | a name |\n" for number in range(60))
    template = Template("{table_header}{text}", special_tokens=3)
    header = "id,name,price\n"
    chunks = DataChunker("csv", ENC, 64, template=template).chunk(header + rows)
    assert len(chunks) > 3
    for place, chunk in enumerate(chunks):
        sent = template.render(chunk)
        assert sent.startswith(header)
        assert sent.count(header) == 1
        assert ENC.count(sent) + 3 == chunk.metadata["sent_tokens"] <= 64
        assert ("table_header" in chunk.metadata) == bool(place)
    head = "| id | name |\n|---|---|\n"
    text = f"# T\n\nText.\n\n{head}{table}\nMore text.\n"
    template = Template("{headings}\n\n{table_header}{text}")
    chunks = MarkdownChunker(ENC, 64, template=template).chunk(text)
    inside = [chunk for chunk in chunks if chunk.metadata.get("continues") == "table"]
    assert len(inside) > 3
    assert all(template.render(chunk).startswith(f"T\n\n{head}") for chunk in inside)
    assert all(ENC.count(template.render(chunk)) <= 64 for chunk in chunks)
    assert not any("table_header" in chunk.metadata for chunk in chunks if chunk not in inside)
    head = "<tr><th>id</th><th>name</th></tr>\n"
    body = "".join(f"<tr><td>{number}</td><td>a name</td></tr>\n" for number in range(60))
    text = f"<h1>T</h1><p>Text.</p><table class='wide'>\n{head}{body}</table><p>More.</p>"
    chunks = DataChunker("html", ENC, 64, template=template).chunk(text)
    inside = [chunk for chunk in chunks if chunk.metadata.get("continues") == "table"]
    assert len(inside) > 3
    assert all(template.render(chunk).startswith(f"T\n\n{head}<tr><td>") for chunk in inside)
    assert all(ENC.count(template.render(chunk)) <= 64 for chunk in chunks)
    assert not any("table_header" in chunk.metadata for chunk in chunks if chunk not in inside)
    # One that takes more than a quarter is left out.
    wide = ",".join(f"column{n}" for n in range(40)) + "\n"
    template = Template("{table_header}{text}")
    for chunk in DataChunker("csv", ENC, 64, template=template).chunk(wide + rows):
        assert template.render(chunk) == chunk.text


HOSTILE = [
    *("", "\n", "[", "]" * 9, '"', '"a' * 3, "{" * 9, ",,,", ":", "null", "\ufeff[1]", "\\"),
    *("a\rb\rc", '"a""b","c', "-->", "00:00:01,000 --> ", "1\n\n2\n", "A:", ": :", "\0", "[1] [2]"),
    *('{"a": 1} trailing text, more', "\u2028,\u2029", "x" * 300, "\n" * 300, '"\n' * 100),
]


@pytest.mark.parametrize(
    "name", [*DELIMITERS, "json", "jsonl", "transcript", "diff", "email", "vcard"]
)
@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_cut(name: str, text: str) -> None:
    for size in (4, 16):
        check_contract(DataChunker(name, ENC, size), text * 3)


@pytest.mark.parametrize("name", ["csv", "json", "transcript"])
def test_random_text_is_cut(name: str) -> None:
    rng = random.Random(5)
    for _ in range(200):
        text = "".join(rng.choices('"\\,:{}[]\n\r A1a\u540d-<v>', k=rng.randrange(80)))
        check_contract(DataChunker(name, ENC, rng.randint(4, 20)), text)


@pytest.mark.parametrize("name", ["csv", "json", "transcript"])
@pytest.mark.parametrize(
    "part",
    ["[", '{"a":', '"', '"\\', ",", "1 ", "1\n", "A: b\n", "00:01 --> 00:02\n", "A" + " a" * 9],
)
def test_long_hostile_texts_end(name: str, part: str) -> None:
    """They would take minutes if the time were quadratic."""
    text = part * 60_000
    structure = DataChunker(name, ENC)._outline(text)
    assert structure.headings_at(len(text) - 1) is not None


def test_formats_are_chosen_by_name_and_others_refused() -> None:
    chunker = chunker_for("a/b.JSONL", "o200k_base", 64)
    assert isinstance(chunker, DataChunker)
    assert chunker.data_format == "jsonl"
    assert chunker._apart() is chunker
    with pytest.raises(ValueError, match="no format 'xls': there are 'csv', 'tsv'"):
        DataChunker("xls", "o200k_base")


def test_no_chunk_of_json_begins_with_the_bracket_of_a_record_that_just_does_not_fit() -> None:
    records = [
        {"id": n, "name": f"saw {n}", "d": {"w": [1, 2, 3], "h": {"x": 1}}} for n in range(9)
    ]
    text = json.dumps(records)
    for size in range(20, 60):
        chunks = DataChunker("json", "o200k_base", size)(text)
        assert not any(chunk.text.startswith("}") for chunk in chunks), size
