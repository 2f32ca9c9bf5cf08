"""Text -> counts of its pieces -> a vocabulary -> an encoding.

`counting` reads `sources` and counts pieces; `merging` trains on the counts; `trainer` makes an
encoding from both, and is imported separately: counting alone needs no encoding.
"""

from cutline.training.counting import count_pieces
from cutline.training.counts import PieceCounts
from cutline.training.merging import Ties
from cutline.training.progress import Progress

__all__ = ["PieceCounts", "Progress", "Ties", "count_pieces"]
