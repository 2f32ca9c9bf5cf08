"""What every chunker promises, checked with an encoding that is not ours."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from cutline import Chunk, Node


def check(
    text: str,
    chunks: Sequence[Chunk],
    count: Callable[[str], int],
    *,
    chunk_size: int,
    chunk_overlap: int = 0,
    strip: bool = False,
) -> None:
    """C6 to C8 of docs/chunking.md."""
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert chunk.text == text[chunk.start_index : chunk.end_index]
        assert chunk.text
        assert count(chunk.text) == chunk.token_count <= chunk_size
        assert not strip or chunk.text == chunk.text.strip()
    reached = 0
    for chunk in chunks:
        # Nothing is lost, and each chunk adds something.
        assert not text[reached : max(reached, chunk.start_index)].strip(None if strip else "")
        assert strip or chunk.start_index <= reached
        assert chunk.end_index > reached
        reached = chunk.end_index
    assert not text[reached:].strip() if strip else reached == len(text)
    for before, after in pairwise(chunks):
        assert after.start_index > before.start_index
        if chunk_overlap == 0:
            assert after.start_index >= before.end_index
        elif after.start_index < before.end_index:
            assert count(text[after.start_index : before.end_index]) <= chunk_overlap


def check_levels(
    text: str,
    levels: Sequence[Sequence[Node]],
    sizes: Sequence[int],
    count: Callable[[str], int],
) -> None:
    """Every level is the text in chunks of its size, and children make up their parent."""
    assert len(levels) == len(sizes)
    for level, (nodes, size) in enumerate(zip(levels, sizes, strict=True)):
        assert "".join(node.chunk.text for node in nodes) == text
        assert all(a.chunk.end_index == b.chunk.start_index for a, b in pairwise(nodes))
        assert [node.chunk.index for node in nodes] == list(range(len(nodes)))
        for node in nodes:
            chunk = node.chunk
            assert text[chunk.start_index : chunk.end_index] == chunk.text != ""
            assert chunk.token_count == count(chunk.text) <= size
            assert node.level == level
    for above, below in pairwise(levels):
        assert [place for node in above for place in node.children] == list(range(len(below)))
        for place, node in enumerate(above):
            inner = [below[child] for child in node.children]
            assert "".join(child.chunk.text for child in inner) == node.chunk.text
            assert {(child.parent, child.parent_id) for child in inner} == {(place, node.id)}
            assert inner[-1].chunk.metadata["boundary"] == node.chunk.metadata["boundary"]
            assert inner[0].chunk.headings == node.chunk.headings
    assert all(node.parent is None and node.parent_id is None for node in levels[0])
    assert not any(node.children for node in levels[-1])
    ids = [node.id for nodes in levels for node in nodes]
    assert len(set(ids)) == len(ids)


def json_row(chunk: Chunk, file: str) -> dict[str, Any]:
    """A chunk as `cutline chunk` writes it."""
    return {
        "file": file,
        "index": chunk.index,
        "start_index": chunk.start_index,
        "end_index": chunk.end_index,
        "token_count": chunk.token_count,
        "text": chunk.text,
        "headings": list(chunk.headings),
        "metadata": dict(chunk.metadata),
        "content_hash": chunk.content_hash,
    }
