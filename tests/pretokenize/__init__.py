"""Tests of the split patterns: parser, automaton, cache, fallback."""
