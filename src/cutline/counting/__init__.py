"""Counts that are kept while a text grows, and counts of any part of it."""

from cutline.counting import cutting, truncating
from cutline.counting.appender import Appender
from cutline.counting.intervals import IntervalCounter
from cutline.counting.prepender import Prepender

__all__ = ["Appender", "IntervalCounter", "Prepender", "cutting", "truncating"]
