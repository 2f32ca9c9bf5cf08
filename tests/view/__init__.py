"""Tests of what is shown of chunks."""
