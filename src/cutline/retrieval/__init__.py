"""Around retrieval: plans for re-indexing, and batches for embedding."""

from cutline.retrieval.batching import batches
from cutline.retrieval.reindexing import Plan, plan

__all__ = ["Plan", "batches", "plan"]
