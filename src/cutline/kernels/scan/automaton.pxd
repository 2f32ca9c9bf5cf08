"""What an entry of the automaton's transitions says.

Guarded by tests/kernels/test_scan.py.
"""

# In the lowest two bits: whether a piece may end here. The others are the next state.
cdef enum:
    ACCEPTS = 3             # mask of the two below
    ACCEPTS_AFTER = 1       # it may end after the character that was read
    ACCEPTS_BEFORE = 2      # it may end before that character
