"""Texts -> token ids, counts and arrays, a batch of pieces at a time; ids -> bytes."""
