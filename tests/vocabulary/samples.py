"""Small vocabularies for tests: hand-made, and drawn by hypothesis."""

from hypothesis import strategies as st

SINGLE_BYTES = {bytes([byte]): byte for byte in range(256)}

# Ids with gaps, a token that is no UTF-8, one of 300 bytes, one that merging cannot reach.
SPARSE_RANKS = SINGLE_BYTES | {
    b"th": 300,
    b"the": 301,
    b"\xff\xfe": 70_000,
    b"a" * 300: 2**31,
    b" the": 2**32 - 2,
}

tokens = st.one_of(
    st.binary(min_size=2, max_size=8),
    st.binary(min_size=250, max_size=700),
    st.text(min_size=1, max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass") + b"!"),
)


@st.composite
def rank_mappings(draw: st.DrawFn) -> dict[bytes, int]:
    """Every single byte and some longer tokens, with distinct ids in any order, gaps allowed."""
    longer = draw(st.lists(tokens, unique=True, max_size=12))
    all_tokens = draw(st.permutations(sorted(SINGLE_BYTES) + longer))
    start = draw(st.integers(0, 2**32 - 2 - 2 * len(all_tokens)))
    gaps = draw(st.sets(st.integers(0, 2 * len(all_tokens)), max_size=len(all_tokens)))
    free = [start + step for step in range(2 * len(all_tokens) + 1) if step not in gaps]
    return dict(zip(all_tokens, free, strict=False))
