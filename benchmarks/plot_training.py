"""Draw the training benchmark: time against vocabulary size, and against corpus size."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def draw(cells: Iterable[Row], folder: Path) -> None:
    """Write training-time.svg into a folder: three panels, one for each question.

    Needs matplotlib.
    """
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "cutline"
    from matplotlib import pyplot as plt

    rows = [row for row in cells if row["threads"] == 1]
    figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    _lines(
        panels[0], [r for r in rows if r["corpus"] == "mixed" and r["megabytes"] == 25],
        "vocab_size", "25 MB, mixed: time against vocabulary size", "tokens",
    )  # fmt: skip
    panels[0].set(xscale="log", yscale="log")
    _lines(
        panels[1], [r for r in rows if r["corpus"] == "growth"],
        "megabytes", "Cutline, 32,000 tokens: time against text", "MB",
    )  # fmt: skip
    _lines(
        panels[2], [r for r in rows if r["corpus"] == "merges"],
        "vocab_size", "Cutline, 25 MB: time against vocabulary size", "tokens",
    )  # fmt: skip
    figure.savefig(folder / "training-time.svg", metadata={"Date": None})


def _lines(panel: Any, rows: list[Row], by: str, title: str, unit: str) -> None:
    for trainer in dict.fromkeys(row["trainer"] for row in rows):
        points = sorted((row[by], row["seconds"]) for row in rows if row["trainer"] == trainer)
        if len(points) > 1:
            panel.plot(*zip(*points, strict=True), marker="o", markersize=4, label=trainer)
    panel.set(title=title, xlabel=unit, ylabel="seconds")
    if len(panel.get_lines()) == 1:
        panel.set_ylim(bottom=0)
    panel.grid(visible=True, which="both", linewidth=0.3)
    if len(panel.get_lines()) > 1:
        panel.legend(fontsize=8)
