"""The format of the table that lanes step through."""

from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t

# An entry of the table: where the next state's row begins, and what the byte decided.
cdef enum:
    STATE_SHIFT = 8
    STATE_ROW_BITS = 8  # log2 of the entries of a state's row
    DECIDED = 0x7F      # bit t: a piece ends before the byte that stands t bytes back
    LOST = 0x80         # or this: nothing is known; the next state is that of a text's start

cdef object lane_table_of(
    const uint8_t[::1] ascii_class, const uint16_t[::1] block_index,
    const uint8_t[::1] block_class, const uint32_t[::1] transitions, uint32_t stride
)
