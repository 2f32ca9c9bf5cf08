"""`Removals`: what may leave a conversation, and in which order."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from cutline.chat.protocols import Message
from cutline.chat.turns import instructions_end, steps_of, turns_of

__all__ = ["Removals", "Unit", "first_that_fits"]

Unit: TypeAlias = Literal["turn", "step"]


class Removals:
    """What may leave a conversation, in order: each item, the indices that go at once.

    After any number of them every call has its results, and what follows the instructions begins
    with a user's message, if there is one and nothing before it is pinned. Without priorities, more
    messages at the end of the conversation only add items at the end.

    Args:
        messages: a checked conversation.
        unit: what goes at once: turns, or steps. The last turn stays, or its user's message with
            its last step.
        pinned: indices of messages that stay, with their turn or step; a user's message with the
            last step of its turn.
        priority: of messages, by index, 0 by default: what has the lowest goes first. A unit has
            the highest that its messages are given.

    Attributes:
        order: what goes, one after another.
        reasons: for each, why it goes then.
        opening: indices of what stays however long the conversation gets, and of the first user's
            message.
        passing: those of them that may go.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        unit: Unit,
        pinned: frozenset[int],
        priority: Mapping[int, float],
    ) -> None:
        begin = instructions_end(messages)
        turns = turns_of(messages, begin)
        preamble: list[int] = []
        stays = {*range(begin)}
        units: list[tuple[float, int, range]] = []
        left = [0] * len(turns)  # how many parts of each turn are left
        first = range(0)  # the first user's message, with what stands before its answer
        self._heads: dict[int, range] = {}  # by a part's start: the user's message of its turn
        for number, turn in enumerate(turns):
            steps, opens = steps_of(messages, turn), messages[turn.start]["role"] == "user"
            if number == 0 or (number == 1 and preamble):
                first = steps[0]
            head, parts = range(0), [turn] if unit == "turn" else steps
            if unit == "step" and opens and len(steps) > 1:
                head, *parts = steps
            left[number] = len(parts)
            for part in parts:
                self._heads[part.start] = head
                # A user's message goes with the last step of its turn: it never stands alone.
                with_head = (*head, *part) if part is parts[-1] else tuple(part)
                if not pinned.isdisjoint(with_head):
                    stays |= {*head, *part}
                elif turn is turns[-1] and part is parts[-1]:
                    continue
                elif not opens and len(turns) > 1:
                    preamble += part
                else:
                    rank = max((priority[i] for i in with_head if i in priority), default=0)
                    units.append((rank, number, part))
        self.opening = sorted(stays.union(first))
        self.passing = [i for i in first if unit == "turn" and i not in stays]
        self.order: list[tuple[int, ...]] = [tuple(preamble)] if preamble else []
        self.reasons = ["before the first user's message"] * len(self.order)
        for rank, number, part in sorted(units, key=lambda one: one[0]):
            left[number] -= 1
            self.order.append(tuple(part) if left[number] else (*self._heads[part.start], *part))
            self.reasons.append(f"priority {rank:g}" if priority else "the oldest")

    def removed(self, n_removals: int) -> list[int]:
        """Return the indices that go with the first so many removals, in ascending order."""
        return sorted(i for indices in self.order[:n_removals] for i in indices)

    def removed_for(self, n_removals: int) -> Iterator[tuple[int, str]]:
        """Yield each index that goes with the first so many removals, and why it goes."""
        for indices, reason in zip(self.order[:n_removals], self.reasons, strict=False):
            yield from ((i, reason) for i in indices)

    def alone(self, start: int, stop: int) -> list[int]:
        """Return the indices of a slice of the removals as a conversation of its own."""
        parts = self.order[start:stop]
        heads: Iterable[range] = (self._heads.get(part[0], range(0)) for part in parts)
        return sorted({i for indices in (*parts, *heads) for i in indices})


def first_that_fits(fits: Callable[[int], bool], n: int, guess: int) -> int | None:
    """Return the smallest number from 1 to n that fits, if larger ones do, too; None: not even n.

    Args:
        fits: whether a number fits; 0 does not. If a larger number may fit worse, the result fits,
            and the number before it does not.
        n: the largest number.
        guess: what to try first.

    Cost: 2 calls of `fits` if the guess is the result, and O(log(distance)) otherwise.
    """
    low, high, tried, stride = 0, n + 1, guess, 1
    while high - low > 1:
        tried = min(max(tried, low + 1), high - 1)
        if fits(tried):
            high = tried
            tried = high - min(stride, (high - low) // 2)
        else:
            low = tried
            tried = low + min(stride, (high - low) // 2)
        stride *= 2
    return high if high <= n else None
