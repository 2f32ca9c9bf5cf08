"""Tests of cutline.retrieval."""
