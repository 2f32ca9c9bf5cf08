"""Prompts that fit: `truncate` cuts a text to a budget, `pack` joins many texts within one."""

from cutline.counting.truncating import Boundary, Keep
from cutline.packing.items import Fill, Group, Item, Packed, PackedGroup, PackedItem
from cutline.packing.placing import pack
from cutline.packing.truncation import truncate

__all__ = [
    "Boundary",
    "Fill",
    "Group",
    "Item",
    "Keep",
    "Packed",
    "PackedGroup",
    "PackedItem",
    "pack",
    "truncate",
]
