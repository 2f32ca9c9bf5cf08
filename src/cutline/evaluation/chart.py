"""A chart of evaluations by the size of the chunks, as SVG.

Written here rather than by a plotting library: these are lines over one axis, a few kilobytes of
text, and the libraries bring 50 MB and more.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from math import log
from typing import Final

from cutline.evaluation.evaluating import Evaluation

__all__ = ["chart"]

_SCORES: Final = {"recall": "recall", "precision_omega": "precision omega", "iou": "IoU"}
# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_WIDTH, _HEIGHT, _LEFT, _TOP, _LINE = 300, 200, 48, 34, 18

Point = tuple[int, float]


def chart(evaluations: Iterable[Evaluation]) -> str:
    """Return the SVG; see `Comparison.chart`."""
    sized = [one for one in evaluations if one.chunk_size is not None]
    if not sized:
        raise ValueError("a chart needs evaluations with a chunk_size: pass the budget")
    rows = [(one.name, one.chunk_size or 1, one.as_dict()) for one in sized]
    has_scores = any(one.scores is not None for one in sized)
    panels = _SCORES if has_scores else {"mean_fill": "mean fill"}
    names = list(dict.fromkeys(name for name, _, _ in rows))
    sizes = sorted({size for _, size, _ in rows})
    colors = {name: _COLORS[place % len(_COLORS)] for place, name in enumerate(names)}
    parts: list[str] = []
    for place, (field, title) in enumerate(panels.items()):
        lines: defaultdict[str, list[Point]] = defaultdict(list)
        for name, size, row in rows:
            if row.get(field) is not None:
                lines[name].append((size, row[field]))
        parts += _panel(place * (_WIDTH + _LEFT) + _LEFT, title, sizes, lines, colors)
    base = _TOP + _HEIGHT + 44
    for place, name in enumerate(names):
        y = base + place * _LINE
        parts.append(f'<path d="M{_LEFT} {y}h24" stroke="{colors[name]}" stroke-width="2"/>')
        parts.append(f'<text x="{_LEFT + 30}" y="{y + 4}">{escape(name or "chunks")}</text>')
    width, height = len(panels) * (_WIDTH + _LEFT) + 12, base + len(names) * _LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" fill="#222">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _panel(
    left: float,
    title: str,
    sizes: Sequence[int],
    lines: dict[str, list[Point]],
    colors: dict[str, str],
) -> Iterable[str]:
    """Yield a panel: a scale from 0 to a round number above the highest value, and the lines."""
    highest = max((value for points in lines.values() for _, value in points), default=1.0)
    top = next(limit for limit in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, highest) if highest <= limit)
    low, high = log(sizes[0]), log(sizes[-1])

    def x_of(size: int) -> float:
        share = (log(size) - low) / (high - low) if high > low else 0.5
        return left + 12 + share * (_WIDTH - 36)

    def y_of(value: float) -> float:
        return _TOP + _HEIGHT * (1 - value / top)

    yield f'<text x="{left}" y="18" font-weight="bold">{title}, by tokens of a chunk</text>'
    for step in range(5):
        value = top * step / 4
        yield f'<path d="M{left} {y_of(value):.1f}h{_WIDTH - 12}" stroke="#ddd"/>'
        yield (
            f'<text x="{left - 6}" y="{y_of(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>'
        )
    for size in sizes:
        yield (
            f'<text x="{x_of(size):.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">'
            f"{size:,}</text>"
        )
    for name, points in lines.items():
        places = [(x_of(size), y_of(value), size, value) for size, value in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colors[name]}" stroke-width="2"/>'
        for x, y, size, value in places:
            yield (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colors[name]}"><title>'
                f"{escape(name)}, {size:,}: {value:.3f}</title></circle>"
            )
