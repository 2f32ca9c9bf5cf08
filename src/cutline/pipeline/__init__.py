"""What a tokenizer does to a text besides splitting it and merging.

    added.py         tokens that are looked for in the text first, and the text between them
    pipeline.py      all of it, for an encoding, which leaves alone the texts that nothing changes
    safe_points.py   where a text can be split, and counted in parts, whatever stands around
    slices.py        counts of slices, from such a point to the next
    upper_bound.py   how far a budget can go where there is none
    longest_fit.py   the longest slice that fits there, where letters change on their own
    offsets.py       the characters that each token comes from

docs/tokenizers.md says what is exact, and why.
"""

from cutline.pipeline.pipeline import Pipeline

__all__ = ["Pipeline"]
