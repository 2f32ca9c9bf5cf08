"""Compiling split patterns: from the regular expression to the scanner's tables.

    pattern text --pattern.py (atoms.py, unicode.py)--> tree of character sets
                 --nfa.py--> automaton with priorities
                 --automaton.py (classes.py)--> tables, kept by store.py

A pattern outside the subset runs on the `regex` module instead: fallback.py (rewriting.py).
compiled.py defines the form of the tables. Compiler and module are imported on first use.
"""

from cutline.pretokenize.compiled import Automaton
from cutline.pretokenize.fallback import fall_back, regex_spans
from cutline.pretokenize.store import compile_pattern

__all__ = ["Automaton", "compile_pattern", "fall_back", "regex_spans"]
