"""Counting slices of a text and growing texts; cutting and truncating."""

from cutline.counting import cutting, truncating
from cutline.counting.appender import Appender
from cutline.counting.intervals import IntervalCounter
from cutline.counting.prepender import Prepender

__all__ = ["Appender", "IntervalCounter", "Prepender", "cutting", "truncating"]
