"""Pieces are counted, and merged to a vocabulary."""
