"""Tokens of images by OpenAI's published rules."""

from __future__ import annotations

from math import ceil, floor, sqrt
from typing import Final, NamedTuple

__all__ = ["Patches", "Tiles", "image_rule"]


class Tiles(NamedTuple):
    """Images cost a base, and each tile of 512 pixels of a large enough image.

    Attributes:
        base: tokens of an image of low detail, and of any image.
        tile: tokens of a tile.
    """

    base: int
    tile: int

    def tokens(self, width: int, height: int, detail: str) -> int:
        """Count the tokens of an image."""
        if detail == "low":
            return self.base
        # Into a square of 2048 pixels, then the shorter side to 768; never enlarged.
        scale = min(1.0, 2048 / max(width, height))
        scale *= min(1.0, 768 / (min(width, height) * scale))
        columns, rows = ceil(_whole(width * scale) / 512), ceil(_whole(height * scale) / 512)
        return self.base + self.tile * max(columns, 1) * max(rows, 1)


class Patches(NamedTuple):
    """Images cost their patches of 32 pixels, 1,536 at most, times a factor.

    Attributes:
        factor: tokens of a patch.
    """

    factor: float

    def tokens(self, width: int, height: int, detail: str) -> int:
        """Count the tokens of an image; its detail makes no difference."""
        columns, rows = ceil(width / 32), ceil(height / 32)
        if columns * rows > 1536:
            scale = sqrt(1536 * 32 * 32 / (width * height))
            wide, high = width * scale / 32, height * scale / 32
            scale *= min(floor(wide) / wide, floor(high) / high) if min(wide, high) >= 1 else 1
            columns = ceil(_whole(width * scale / 32, 6))
            rows = ceil(_whole(height * scale / 32, 6))
        return ceil(min(columns * rows, 1536) * self.factor)


def _whole(number: float, digits: int = 3) -> float:
    """Drop what floating point adds to whole numbers."""
    return round(number, digits)


# The first name that a model's begins with.
_RULES: Final[tuple[tuple[str, Tiles | Patches | None], ...]] = (
    ("gpt-5-mini", Patches(1.62)),
    ("gpt-5-codex-mini", Patches(1.62)),
    ("gpt-5.1-codex-mini", Patches(1.62)),
    ("gpt-5.4-mini", Patches(1.62)),
    ("gpt-5-nano", Patches(2.46)),
    ("gpt-5.4-nano", Patches(2.46)),
    ("gpt-5.1", Tiles(70, 140)),
    ("gpt-5.", None),  # from 5.2 on: what is said of them differs
    ("gpt-5", Tiles(70, 140)),
    ("gpt-4.1-mini", Patches(1.62)),
    ("gpt-4.1-nano", Patches(2.46)),
    ("gpt-4.1", Tiles(85, 170)),
    ("gpt-4.5", Tiles(85, 170)),
    ("gpt-4o-mini", Tiles(2833, 5667)),
    ("gpt-4o", Tiles(85, 170)),
    ("chatgpt-4o", Tiles(85, 170)),
    ("gpt-4-turbo", Tiles(85, 170)),
    ("gpt-4-vision", Tiles(85, 170)),
    ("o4-mini", Patches(1.72)),
    ("codex-mini", Patches(1.72)),
    ("computer-use-preview", Tiles(65, 129)),
    ("o3-mini", None),
    ("o1-mini", None),
    ("o1", Tiles(75, 150)),
    ("o3", Tiles(75, 150)),
)


def image_rule(model: str) -> Tiles | Patches | None:
    """Return a model's rule; None if it takes no images, or the rule is not known."""
    return next((rule for name, rule in _RULES if model.startswith(name)), None)
