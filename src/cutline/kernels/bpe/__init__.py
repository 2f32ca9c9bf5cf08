"""One piece and a vocabulary -> tokens, by merging, by prefixes or by backtracking."""
