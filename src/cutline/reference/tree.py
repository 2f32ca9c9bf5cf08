"""Ancestors in a tree by preorder numbers: one comparison instead of a walk.

Number the nodes so that every subtree has consecutive numbers, beginning with its root's. Then
a node is in the subtree of another if its number is in that range.

Cost: linear in the nodes; a query is O(1).
Source: the preorder numbering of any textbook on data structures.
"""

from collections.abc import Sequence

__all__ = ["Tree"]


class Tree:
    """A tree of nodes 0, 1, ..., with root 0; parents come before children.

    Args:
        parents: the parent of each node from 1 on.

    >>> tree = Tree([0, 0, 1])
    >>> tree.is_above(1, 3), tree.is_above(2, 3), tree.is_above(3, 3)
    (True, False, True)
    """

    def __init__(self, parents: Sequence[int]) -> None:
        self._size = [1] * (len(parents) + 1)
        for node in range(len(parents), 0, -1):
            self._size[parents[node - 1]] += self._size[node]
        self._number = [0]
        free = [1]  # the number of each node's next child
        for node, parent in enumerate(parents, start=1):
            self._number.append(free[parent])
            free.append(free[parent] + 1)
            free[parent] += self._size[node]

    def is_above(self, node: int, other: int) -> bool:
        """Return whether `node` is an ancestor of `other`, or the same."""
        return 0 <= self._number[other] - self._number[node] < self._size[node]
