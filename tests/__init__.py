"""Tests of cutline; `pytest -m exhaustive` adds the walks over whole spaces."""
