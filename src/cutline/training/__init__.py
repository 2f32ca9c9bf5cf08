"""Text -> counts of its pieces -> a vocabulary.

`counting` reads `sources` and counts; `merging` trains on what was counted. An encoding is made
of it all by `cutline.trainer`.
"""

from cutline.training.counting import count_pieces
from cutline.training.counts import PieceCounts, checked_special_texts
from cutline.training.merging import Ties, train_vocabulary
from cutline.training.progress import Progress

__all__ = [
    "PieceCounts",
    "Progress",
    "Ties",
    "checked_special_texts",
    "count_pieces",
    "train_vocabulary",
]
