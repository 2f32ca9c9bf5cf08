"""Tests of tokenizers that do more than split and merge."""
