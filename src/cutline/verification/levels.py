"""`verify_levels`: checks chunks of several sizes, and that children make up their parents."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from cutline.checks import need_several
from cutline.counting.limits import AlsoFits
from cutline.errors import shown
from cutline.template import Template
from cutline.verification.checking import verify
from cutline.verification.duck_typing import Tokenizer, read_chunk
from cutline.verification.report import Finding, Report

__all__ = ["verify_levels"]

_OF_NODES: Final = ("chunk", "id", "parent", "parent_id", "children")


def verify_levels(
    text: str,
    levels: Sequence[Sequence[Any]],
    *,
    encoding: Tokenizer = "o200k_base",
    sizes: Sequence[int],
    template: Template | None = None,
    count_text: Callable[[Any], int] | None = None,
    also_fits: AlsoFits = None,
) -> list[Report]:
    """Check a hierarchy of chunks, and report everything that is wrong at each level.

    Each level is checked as by `verify`: its chunks, joined, must be the text. And the children of
    a chunk, joined, must be that chunk, and say that it is their parent.

    Args:
        text: the text that was cut.
        levels: what a `HierarchicalChunker` returns, or lists of nodes that have `chunk`, `id`,
            `parent`, `parent_id` and `children` like its own; the chunks may be all that `verify`
            reads as one.
        encoding: counts tokens, as for `verify`.
        sizes: the budget of each level.
        template: what is sent for a chunk, as for `verify`.
        count_text: what counts against the budgets, as for `verify`.
        also_fits: further limits, as for `verify`.

    Returns:
        A report for each level, the largest chunks first.

    Raises:
        TypeError, ValueError: as `verify`; or there are more sizes than levels, or fewer.

    Cost: that of `verify` for each level.

    >>> import cutline
    >>> chunker = cutline.HierarchicalChunker("o200k_base", sizes=(8, 4))
    >>> text = "One fish, two fish. Red fish, blue fish."
    >>> levels = chunker(text)
    >>> all(verify_levels(text, levels, sizes=(8, 4)))
    True
    >>> levels[1][0] = levels[1][0]._replace(parent=1)
    >>> for finding in verify_levels(text, levels, sizes=(8, 4))[1].findings:
    ...     print(finding)
    wrong children: chunk 0: its parent is 1, but it is a child of 0
    """
    need_several(levels, "levels")
    need_several(sizes, "sizes")
    levels, sizes = [[*level] for level in levels], [*sizes]
    _need_nodes(levels)
    if len(levels) != len(sizes):
        raise ValueError(
            f"sizes must be one for each of the {len(levels)} levels, got {shown(sizes)}"
        )
    reports = []
    above: Sequence[Any] = ()
    for place, (level, chunk_size) in enumerate(zip(levels, sizes, strict=True)):
        report = verify(
            text, [node.chunk for node in level], encoding=encoding, chunk_size=chunk_size,
            template=template, count_text=count_text, also_fits=also_fits,
        )  # fmt: skip
        below = levels[place + 1] if place + 1 < len(levels) else ()
        own = [*_wrong_parents(above, level), *_wrong_children(text, level, below)]
        findings = sorted((*report.findings, *own), key=lambda found: _number(found, len(level)))
        reports.append(replace(report, findings=tuple(findings)))
        above = level
    return reports


def _need_nodes(levels: Sequence[Sequence[Any]]) -> None:
    """Refuse what are no nodes.

    Raises:
        TypeError: one lacks what nodes have; names it.
    """
    for height, level in enumerate(levels):
        for place, node in enumerate(level):
            lacks = [name for name in _OF_NODES if not hasattr(node, name)]
            if lacks:
                raise TypeError(
                    f"levels[{height}][{place}] must be a node, with {', '.join(_OF_NODES)}, got "
                    f"{type(node).__name__}, which has no {lacks[0]}: verify checks mere chunks"
                )


def _number(finding: Finding, last: int) -> int:
    return last if finding.chunk is None else finding.chunk


def _wrong_parents(above: Sequence[Any], level: Sequence[Any]) -> Iterator[Finding]:
    """Find nodes that name another parent than the one whose child they are, or none."""
    parents = {child: place for place, node in enumerate(above) for child in node.children}
    for number, node in enumerate(level):
        place = parents.get(number)
        parent_id = None if place is None else above[place].id
        if node.parent != place:
            whose = "no child of any" if place is None else f"a child of {place}"
            yield Finding(
                "wrong children", number, f"its parent is {node.parent}, but it is {whose}"
            )
        elif node.parent_id != parent_id:
            message = (
                f"its parent_id is {node.parent_id!r}, but that of its parent is {parent_id!r}"
            )
            yield Finding("wrong children", number, message)
        elif above and place is None:
            yield Finding("wrong children", number, "it has no parent")


def _wrong_children(text: str, level: Sequence[Any], below: Sequence[Any]) -> Iterator[Finding]:
    """Find nodes that their children do not make up."""
    texts = [read_chunk(node.chunk, number, text).text for number, node in enumerate(below)]
    for number, node in enumerate(level):
        missing = [child for child in node.children if not 0 <= child < len(below)]
        if missing:
            yield Finding("wrong children", number, f"there is no chunk {missing[0]} below it")
        elif below:
            joined = "".join(texts[child] for child in node.children)
            if joined != read_chunk(node.chunk, number, text).text:
                shown = f"chunks {list(node.children)}" if node.children else "none"
                yield Finding("wrong children", number, f"its children, {shown}, do not make it up")
