"""Turn measurements into tables, and into a JSON file."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness import Measurement
from benchmarks.peers import SUBJECT

RATIO_LEGEND = f"in brackets: how many times better {SUBJECT} is; '-': the peer has no such call"


def table(title: str, measurements: Sequence[Measurement]) -> str:
    """One aligned table for each operation, contenders side by side."""
    operations = dict.fromkeys(m.operation for m in measurements)
    return "\n\n".join(
        _operation_table(title, [m for m in measurements if m.operation == operation])
        for operation in operations
    )


def _operation_table(title: str, measurements: Sequence[Measurement]) -> str:
    first = measurements[0]
    contenders = list(dict.fromkeys(m.contender for m in measurements))
    cells = {(m.text, m.size, m.contender): m for m in measurements}
    rows = [["", "", *contenders]]
    for text, size in dict.fromkeys((m.text, m.size) for m in measurements):
        subject = cells.get((text, size, SUBJECT))
        in_row = [cells.get((text, size, contender)) for contender in contenders]
        rows.append([text, size, *(_cell(m, subject) for m in in_row)])
    return f"## {title}: {first.operation}, {first.unit}\n{_aligned(rows)}"


def _cell(measurement: Measurement | None, subject: Measurement | None) -> str:
    if measurement is None:
        return ""
    if measurement.value is None:
        return measurement.note
    parts = [_three_digits(measurement.value)]
    if subject is not None and subject is not measurement and subject.value is not None:
        parts.append(f"({_times_better(subject.value, measurement.value, measurement.unit):.1f}x)")
    if measurement.note:
        parts.append(f"[{measurement.note}]")
    return " ".join(parts)


def _times_better(subject: float, peer: float, unit: str) -> float:
    return subject / peer if unit == "MB/s" else peer / subject


def _three_digits(value: float) -> str:
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{decimals}f}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def write_json(
    path: Path,
    header: dict[str, str],
    sections: dict[str, list[Measurement]],
    verdicts: Iterable[str],
) -> None:
    """Write everything that was printed, as data."""
    data = {
        **header,
        "sections": {name: [asdict(m) for m in ms] for name, ms in sections.items()},
        "targets": list(verdicts),
    }
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
