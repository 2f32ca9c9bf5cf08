"""Text and automaton tables -> pieces."""
