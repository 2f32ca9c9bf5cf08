"""Hold the measurements against the promises about speed."""

from collections.abc import Mapping, Sequence

from benchmarks.bench_encode import COUNT, DECODE, ENCODE_TO_LIST, ENCODE_TO_NUMPY
from benchmarks.bench_growing import APPEND, PREPEND
from benchmarks.bench_intervals import BUILD, COUNT_MANY, NBYTES, REENCODING, RESIDENT
from benchmarks.bench_intervals import COUNT as COUNT_SLICE
from benchmarks.bench_load import LOAD_TIME
from benchmarks.bench_pure import ENCODE_PURE, LARGEST_SIZE, TABLE
from benchmarks.harness import Measurement
from benchmarks.peers import SUBJECT

_MAX_LOAD_MS = 60.0
_MIN_MB_PER_SECOND = 5.0

# section, our operation, peer, its operation, least advantage
_RATIOS = (
    ("whole", ENCODE_TO_NUMPY, "tiktoken", ENCODE_TO_LIST, 5.0),
    ("whole", ENCODE_TO_NUMPY, "quicktok-v1", ENCODE_TO_LIST, 2.0),
    ("whole", ENCODE_TO_LIST, "quicktok-v1", ENCODE_TO_LIST, 1.5),
    ("whole", COUNT, "quicktok-v1", COUNT, 1.5),
    ("slices", COUNT, "quicktok-v1", COUNT, 1.5),
    ("whole", DECODE, "rs-bpe", DECODE, 2.0),
    ("whole", DECODE, "quicktok-v1", DECODE, 2.0),
    ("scripts", DECODE, "rs-bpe", DECODE, 2.0),
    ("scripts", DECODE, "quicktok-v1", DECODE, 2.0),
)

# section, our operation, what it must stay under in each row, in its unit
_CEILINGS = (
    ("intervals", COUNT_MANY, 0.5),
    ("intervals", COUNT_SLICE, 1.0),
    ("intervals", NBYTES, 1.0),
    ("intervals", RESIDENT, 1.0),
    ("growing", APPEND, 1.5),
    ("growing", PREPEND, 1.5),
)
_MIN_BUILD_RATIO = 0.5
_MIN_PURE_MB_PER_SECOND = 10.0

Sections = Mapping[str, Sequence[Measurement]]


def verdicts(sections: Sections) -> list[str]:
    """One PASS, FAIL or SKIP line a target, each naming the row that came out worst."""
    lines = [_ratio_verdict(sections, *target) for target in _RATIOS]
    lines.append(_load_verdict(sections.get("load", ())))
    lines.append(_slowest_verdict(sections))
    lines += [_ceiling_verdict(sections, *target) for target in _CEILINGS]
    lines.append(_building_verdict(sections.get("intervals", ())))
    lines += [_pure_verdict(sections.get("pure", ()), name) for name in (ENCODE_PURE, TABLE)]
    return lines


def _ratio_verdict(
    sections: Sections, section: str, ours: str, peer: str, theirs: str, least: float
) -> str:
    label = f"{ours} >= {least:g}x {peer}'s {theirs}, {section}"
    measurements = sections.get(section, ())
    subject = _values(measurements, ours, SUBJECT)
    other = _values(measurements, theirs, peer)
    if not subject or subject.keys() != other.keys():
        return f"SKIP  {label}: not all of it was measured"
    is_rate = measurements[0].unit == "MB/s"
    ratios = {
        row: subject[row] / other[row] if is_rate else other[row] / subject[row] for row in subject
    }
    worst = min(ratios, key=ratios.__getitem__)
    return _line(ratios[worst] >= least, f"{label}: worst {ratios[worst]:.2f}x ({worst})")


def _load_verdict(measurements: Sequence[Measurement]) -> str:
    label = f"{LOAD_TIME} < {_MAX_LOAD_MS:g} ms"
    values = _values(measurements, LOAD_TIME, SUBJECT)
    if not values:
        return f"SKIP  {label}: not measured"
    worst_ms = max(values.values())
    return _line(worst_ms < _MAX_LOAD_MS, f"{label}: {worst_ms:.1f} ms")


def _slowest_verdict(sections: Sections) -> str:
    label = f"no input slower than {_MIN_MB_PER_SECOND:g} MB/s"
    speeds = {
        row: value
        for section in ("whole", "worst")
        for operation in (ENCODE_TO_LIST, ENCODE_TO_NUMPY, COUNT)
        for row, value in _values(sections.get(section, ()), operation, SUBJECT).items()
    }
    if not sections.get("worst") or not speeds:
        return f"SKIP  {label}: not measured"
    incomplete = [
        f"{m.text}: {m.note}" for m in sections["worst"] if m.contender == SUBJECT and m.note
    ]
    if incomplete:
        return f"FAIL  {label}: {'; '.join(incomplete)}"
    worst = min(speeds, key=speeds.__getitem__)
    return _line(speeds[worst] >= _MIN_MB_PER_SECOND, f"{label}: {speeds[worst]:.1f} ({worst})")


def _ceiling_verdict(sections: Sections, section: str, operation: str, ceiling: float) -> str:
    label = f"{operation} < {ceiling:g}, {section}"
    ours = _ours(sections.get(section, ()), operation)
    if not ours:
        return f"SKIP  {label}: not measured"
    label = f"{operation} < {ceiling:g} {ours[0].unit}, {section}"
    if wrong := _without_figure(ours):
        return f"FAIL  {label}: {wrong}"
    values = _values(ours, operation, SUBJECT)
    if not values:
        return f"SKIP  {label}: can't be measured here"
    worst = max(values, key=values.__getitem__)
    return _line(values[worst] < ceiling, f"{label}: worst {values[worst]:.2f} ({worst})")


def _building_verdict(measurements: Sequence[Measurement]) -> str:
    label = f"{BUILD} >= {_MIN_BUILD_RATIO:g}x our encode to numpy"
    ours = _ours(measurements, BUILD)
    if not ours:
        return f"SKIP  {label}: not measured"
    if wrong := _without_figure(ours):
        return f"FAIL  {label}: {wrong}"
    encoding = _values(measurements, BUILD, REENCODING)
    ratios = {row: speed / encoding[row] for row, speed in _values(ours, BUILD, SUBJECT).items()}
    worst = min(ratios, key=ratios.__getitem__)
    return _line(
        ratios[worst] >= _MIN_BUILD_RATIO, f"{label}: worst {ratios[worst]:.2f}x ({worst})"
    )


def _pure_verdict(measurements: Sequence[Measurement], operation: str) -> str:
    label = f"{operation} >= {_MIN_PURE_MB_PER_SECOND:g} MB/s, {LARGEST_SIZE}"
    ours = [m for m in _ours(measurements, operation) if m.size == LARGEST_SIZE]
    if not ours:
        return f"SKIP  {label}: not measured"
    if wrong := _without_figure(ours):
        return f"FAIL  {label}: {wrong}"
    speeds = _values(ours, operation, SUBJECT)
    worst = min(speeds, key=speeds.__getitem__)
    return _line(
        speeds[worst] >= _MIN_PURE_MB_PER_SECOND, f"{label}: worst {speeds[worst]:.1f} ({worst})"
    )


def _ours(measurements: Sequence[Measurement], operation: str) -> list[Measurement]:
    return [m for m in measurements if m.operation == operation and m.contender == SUBJECT]


def _without_figure(ours: Sequence[Measurement]) -> str:
    """Say which rows went wrong; '-' is a row that the system has no means to measure."""
    return "; ".join(f"{m.text}, {m.size}: {m.note}" for m in ours if m.note not in ("", "-"))


def _values(
    measurements: Sequence[Measurement], operation: str, contender: str
) -> dict[str, float]:
    return {
        f"{m.text}, {m.size}": m.value
        for m in measurements
        if m.operation == operation and m.contender == contender and m.value is not None
    }


def _line(kept: bool, text: str) -> str:
    return f"{'PASS' if kept else 'FAIL'}  {text}"
