"""Tests of cutline.vocabulary."""
