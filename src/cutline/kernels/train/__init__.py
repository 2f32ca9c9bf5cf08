"""Texts -> counts of distinct pieces -> merges."""
