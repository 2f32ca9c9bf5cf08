"""Tests of cutline.training."""
