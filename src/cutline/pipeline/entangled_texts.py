"""Texts whose characters change one another, for models that encode words apart.

They are cut around such parts, which are normalized here; the kernel normalizes the others. Source:
docs/words.md.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.encoder import WordEncoder
from cutline.normalizing import SPACE, Step, Strip, normalize, trace
from cutline.pipeline.part_normalizer import PartNormalizer
from cutline.words.char_rules import CharRules

__all__ = ["EntangledTexts"]

_LONGEST_PART: Final = 4096  # characters of several entangled parts that are normalized at once
_LONGEST_BETWEEN: Final = 64  # ... and of what lies between two


class EntangledTexts:
    """Counts and encodes texts without added tokens, part by part.

    Args:
        rules: what steps do.
        kernel: counts and encodes parts.
    """

    def __init__(self, rules: CharRules, kernel: WordEncoder) -> None:
        self._rules = rules
        self._kernel = kernel
        self._strips_first = rules.first_strip.left or rules.first_strip.right

    # What is cut off the ends

    def stripped(self, text: str, begins: bool) -> tuple[str, int]:
        """Cut off white space at the ends that is cut off first; and say how much at the start."""
        if not self._strips_first:
            return text, 0
        first = self._rules.first_strip
        kept = text.rstrip(SPACE) if first.right else text
        n = len(kept)
        kept = kept.lstrip(SPACE) if first.left and begins else kept
        return kept, n - len(kept)

    def strip_at(self, start: bool, end: bool) -> Strip:
        """Return what cuts off white space last, where a part begins or ends the text."""
        strip = self._rules.last_strip
        return type(strip)(strip.left and start, strip.right and end)

    def steps_at(self, start: bool, end: bool) -> tuple[Step, ...]:
        """Return the steps for such a part."""
        return (*self._rules.char_steps, self.strip_at(start, end))

    # Parts

    def few_parts(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Cut a text where its characters change one another.

        What is between two entangled parts is one with them, if it is short: normalizing and
        counting it takes less time than two calls for what is before and after.

        Yields:
            Start and end of each part, and whether it must be normalized on its own.
        """
        if not self._kernel.raw.is_entangled(text):
            yield 0, len(text), False
            return
        begun = done = 0
        for start, end, is_entangled in self._parts(text):
            if begun < done and (
                end - begun > _LONGEST_PART or (end - start > _LONGEST_BETWEEN and not is_entangled)
            ):
                yield begun, done, True
                begun = done
            if begun < done or is_entangled:
                done = end
            else:
                yield start, end, False
                begun = done = end
        if begun < done:
            yield begun, done, True

    def _parts(self, text: str) -> list[tuple[int, int, bool]]:
        """Cut a text like `few_parts`, into more of them."""
        starts, kinds = self._kernel.raw.entangled_parts(text)
        return [*zip(starts, [*starts[1:], len(text)], kinds, strict=True)]

    # Counting

    def count(self, text: str, at_start: bool = True) -> int:
        """Count the tokens of a text; `at_start`: or else of the rest of one from a run on.

        It is without surrogates; what is cut off its ends first is cut off.
        """
        total = 0
        for start, end, is_entangled in self.few_parts(text):
            begins, part = at_start and start == 0, text[start:end]
            if is_entangled:
                normalized = normalize(part, self.steps_at(begins, end == len(text)))
                total += self.count_normalized(normalized, begins=begins)
            else:
                total += self._kernel.count(part, False, begins or not self._rules.only_first)
        return total

    def normalized_slice(self, text: str, *, begins: bool) -> str:
        """Normalize all of a slice, for `count_normalized`.

        Args:
            text: it ends a text, and
            begins: begins it, or else a word begins there whatever is before it.
        """
        kept, _ = self.stripped(text, begins)
        return normalize(kept, self.steps_at(begins, True))

    def count_normalized(self, normalized: str, *, begins: bool) -> int:
        """Count the tokens of a normalized text."""
        return self._kernel.count(normalized, True, begins or not self._rules.only_first)

    # Encoding

    def encode(self, text: str, *, traces: bool) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode a text like `count`, in one call.

        `traces`: the characters that each token comes from are asked for.
        """
        found, rest = self._parts(text), not self._rules.only_first
        entangled = [(start, end) for start, end, is_entangled in found if is_entangled]
        made = self._normalized(text, entangled, traces)
        parts = [
            (start, end, *(next(made) if is_entangled else (None, None)), start == 0 or rest)
            for start, end, is_entangled in found
        ]
        return self._kernel.encode_parts(text, parts, traces)

    def _normalized(
        self, text: str, parts: list[tuple[int, int]], traces: bool
    ) -> Iterator[tuple[str, NDArray[np.int64] | None]]:
        """Normalize parts of a text, and trace them."""
        normalizer, n = self._part_normalizer, len(text)
        traced = normalizer.trace_parts(text, parts) if traces else []
        for place, (start, end) in enumerate(parts):
            strip = self.strip_at(start == 0, end == n)
            if strip.left or strip.right:
                part = trace(text[start:end], self.steps_at(start == 0, end == n))
                yield part.text, np.ascontiguousarray(part.spans)
            elif traces:
                yield traced[place][0].decode(), traced[place][1]
            else:
                yield normalizer(text[start:end], False).decode(), None

    @cached_property
    def _part_normalizer(self) -> PartNormalizer:
        return PartNormalizer(self._rules.char_steps)
