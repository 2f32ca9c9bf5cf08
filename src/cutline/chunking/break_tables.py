"""Character properties for the rules of text boundaries, from Unicode 16's database.

One number per character encodes the properties in the rules of UAX #29, and some categories.
They are packaged, so that cuts do not depend on the version of Python or of another library.
"""

from __future__ import annotations

from array import array
from os import path  # pathlib would take longer than to load the tables
from typing import Final

from cutline.container import unpack_numbers
from cutline.kernels.breaks.text_properties import set_tables

__all__ = ["load_tables"]

BREAKS_MAGIC: Final = b"cutlnBR1"
DATA_PATH: Final = path.join(path.dirname(__file__), "data", "breaks-16.bin")  # noqa: PTH118, PTH120

# Without the full stop.
_ABBREVIATIONS: Final = """
    Mr Mrs Ms Mx Messrs Dr Drs Prof Rev Fr Hon St Ste Mt Jr Sr
    Gen Col Maj Capt Cmdr Lt Sgt Cpl Adm Gov Sen Rep Pres Supt Insp vs viz cf e.g i.e eg ie
    al ca approx Fig Figs Eq Eqs Sec Ch Chap Vol Vols No Nos pp p ed eds Ed Eds op cit Inc Ltd
    Co Corp Bros Ave Blvd Rd Dept Univ Assn Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec
    z.B d.h u.a bzw bspw ggf usw Nr Abs Art Hr Frl Str Bd Abb Tab Aufl
    M MM Mme Mlle Mgr p.ex env Sra Srta Dra Ud Uds Sig Dott Ing Avv Ex Exa
"""


def pack_abbreviations() -> memoryview:
    """Encode the abbreviations, at most 8 ASCII characters each, as sorted numbers."""
    words = _ABBREVIATIONS.split()
    return memoryview(array("Q", [int.from_bytes(word.encode(), "little") for word in words]))


def load_tables() -> None:
    """Load the tables into the kernels. Cost: 1 ms, once."""
    with open(DATA_PATH, "rb") as file:  # noqa: PTH123
        _, arrays = unpack_numbers(BREAKS_MAGIC, file.read())
    set_tables(
        arrays["block_index"], arrays["block_class"], arrays["properties"], pack_abbreviations()
    )
