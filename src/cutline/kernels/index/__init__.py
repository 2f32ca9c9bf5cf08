"""A text -> counts of its slices; texts that grow -> counts at every moment."""
