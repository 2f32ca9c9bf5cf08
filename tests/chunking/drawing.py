"""Structures as people see them, and what holds for all of them."""

from itertools import pairwise

from cutline.chunking.structure import Structure


def cuts(structure: Structure, text: str) -> list[tuple[str, str]]:
    """The best level before each line that has one, with the line."""
    found: dict[int, str] = {}
    for name, bits in reversed(list(zip(structure.names, structure.bitmaps, strict=True))):
        found.update(dict.fromkeys(bits.search(1), name))
    return [(found[at], text[at:].splitlines()[0].strip()) for at in sorted(found)]


def check(structure: Structure, text: str, *, in_lines: bool = False) -> None:
    """Check the promises of `Structure`.

    Args:
        in_lines: whether cuts may also be in lines, after signs and blanks: in long ones.
    """
    ends = "\r\n;,{}([> \t" if in_lines else "\r\n"
    assert len(structure.bitmaps) == len(structure.names)
    for bits in structure.bitmaps:
        assert len(bits) == len(text) + 1
        assert not bits[0]
        assert not bits[len(text)]
        assert all(text[at - 1] in ends for at in bits.search(1))
        assert all(text[at - 1 : at + 1] != "\r\n" for at in bits.search(1))
    for better, worse in pairwise(structure.bitmaps):
        assert better & worse == better
    check_nesting(list(structure.units), len(text))
    check_nesting([(start, end) for start, end, _ in structure.regions], len(text))
    offsets = [offset for offset, _ in structure.headings]
    assert offsets == sorted(set(offsets))
    for at in {0, len(text) // 2, len(text)}:
        structure.headings_at(at)
        structure.metadata(at, len(text) - at)


def check_nesting(spans: list[tuple[int, int]], length: int) -> None:
    assert spans == sorted(spans, key=lambda span: (span[0], -span[1]))
    open_ends = [length]
    for start, end in spans:
        assert 0 <= start < end <= length
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert end <= open_ends[-1]
        open_ends.append(end)
