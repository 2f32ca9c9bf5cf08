"""Tests of cutline.counting."""
