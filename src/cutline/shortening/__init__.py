"""Tool output that fits a budget: `shorten` leaves out parts, and keeps the structure."""

from cutline.shortening.kinds import KINDS
from cutline.shortening.shortened import Shortened, shorten

__all__ = ["KINDS", "Shortened", "shorten"]
