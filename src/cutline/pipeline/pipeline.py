"""`Pipeline`: the steps of an encoding around splitting and merging.

A text that no step changes, whole or in slices, is encoded directly, as fast as without a
pipeline. Other texts are changed and then encoded, and counted in parts: see slices.py.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cutline.checks import plain_text
from cutline.counting.till_limit import is_sure_to_exceed
from cutline.kernels.encode.decode import ids_to_list
from cutline.kernels.words.splitting import count_pieces
from cutline.normalizing import (
    Form,
    Lead,
    Lower,
    Prepend,
    Replace,
    Spell,
    Step,
    Strip,
    Traced,
    normalize,
)
from cutline.pipeline.added import AddedFinder
from cutline.pretokenize.splitting import Splitting
from cutline.spec import AddedToken, TokenizerSpec
from cutline.text_encoder import TextEncoder
from cutline.words.joining import JoinMetaspace
from cutline.words.steps import ByteLetters

if TYPE_CHECKING:
    from cutline.kernels.base.alignment import Alignment
    from cutline.kernels.encode.among_added import AmongAdded
    from cutline.kernels.encode.run_counts import RunRules
    from cutline.kernels.words.run_images import ImageRules
    from cutline.pipeline.safe_points import SafePoints
    from cutline.pipeline.sure_pieces import SurePieces
    from cutline.pipeline.upper_bound import UpperBound
    from cutline.words.beginnings import BeginsAnew
    from cutline.words.growing_form import GrowingForm
    from cutline.words.prefixes import Prefixes, PrefixMaker

    EncodedAmong: TypeAlias = tuple[
        NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], Alignment | None
    ]
    """See `AmongAdded.encode`."""

__all__ = ["Pipeline"]

Made = TypeVar("Made")

_N_SPELLING = 2  # steps: what is written for U+2581, and for characters that are no tokens
_KNOWN = 4096  # characters whose normal forms are kept
_FEW = 4096  # characters
_SHORT = 256  # characters: asking whether a kernel counts them takes as long


class Pipeline:
    """Finds added tokens, and changes the text between them.

    Methods that encode or count take the encoder for normalized text as an argument.

    Args:
        spec: the tokenizer.

    Attributes:
        spec: the tokenizer.
        ordinary_of_raw: finds the added tokens that are not special in the given text; and
        ordinary_of_normalized: in the normalized text.
        ordinary_finders: those of both that have tokens.
        drops_blank: decoding drops a blank at the start.
        steps_before_search: the steps before tokens are searched for in normalized text; and
        steps_after_search: those that change what is left.
        strips: a step cuts white space off the ends of texts.
        changes_starts: a text starts otherwise than what follows a safe split point.
        changes_all: the kernel can neither split any text, nor count its slices.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        self.spec = spec
        n_before = len(spec.normalizer) - (_N_SPELLING if _strips_in_normalized(spec) else 0)
        self.steps_before_search = spec.normalizer[:n_before]
        self.steps_after_search = spec.normalizer[n_before:]
        raw = {token.content: token for token in spec.added_tokens if not token.normalized}
        has_prefix = spec.characters is None or not spec.characters.bare_symbols
        normalized = {
            normalize(token.content, self.steps_before_search, at_start=has_prefix): token
            for token in spec.added_tokens
            if token.normalized
        }
        self.finder_of_raw, self.finder_of_normalized = AddedFinder(raw), AddedFinder(normalized)
        self.ordinary_of_raw, self.ordinary_of_normalized = (
            AddedFinder({text: token for text, token in found.items() if not token.special})
            for found in (raw, normalized)
        )
        ordinary = self.ordinary_of_raw, self.ordinary_of_normalized
        self.ordinary_finders = tuple(one for one in ordinary if one.texts)
        drops = spec.characters is not None and spec.characters.drops_blank
        self.drops_blank = drops or (
            isinstance(spec.joiner, JoinMetaspace) and spec.joiner.drops_blank
        )
        self._steps_inside = tuple(
            step for step in spec.normalizer if not isinstance(step, Prepend)
        )
        self.changes_all = bool(spec.splittings or spec.marks_words or spec.model)
        self.strips = any(isinstance(step, Strip) for step in spec.normalizer)
        self.changes_starts = spec.prefix_space or len(self._steps_inside) < len(spec.normalizer)

    def __reduce__(self) -> tuple[type["Pipeline"], tuple[TokenizerSpec]]:
        return Pipeline, (self.spec,)

    @cached_property
    def safe_points(self) -> "SafePoints":
        """Finds the safe split points of texts."""
        from cutline.pipeline.safe_points import SafePoints

        return SafePoints(self.spec)

    def find_safe_points(self, text: str, begin: int) -> list[int]:
        """List safe split points after `begin`."""
        found: list[int] = self.safe_points.find(text, begin)
        return found

    @cached_property
    def beginnings(self) -> "BeginsAnew | None":
        """Which characters begin anew inside a text; None: that does not suffice to cut it."""
        from cutline.words.beginnings import BeginsAnew

        spec = self.spec
        tokens = [token for one in self.ordinary_finders for token in one.texts.values()]
        # What strips moves the ends of what is before a token.
        if spec.splittings or spec.marks_words or any(one.lstrip or one.rstrip for one in tokens):
            return None
        # Elsewhere it could cut off what a step before it has made.
        if any(isinstance(step, Strip) for step in spec.normalizer[1:]):
            return None
        if self.steps_after_search and self.ordinary_of_normalized.texts:
            return None
        return BeginsAnew.inside(spec.normalizer)

    @cached_property
    def normal_of_character(self) -> Callable[[str], str]:
        """What steps make of a character inside a text that is changed on its own."""
        steps = tuple(step for step in self._steps_inside if not isinstance(step, Strip))
        return lru_cache(_KNOWN)(partial(normalize, steps=steps))

    @cached_property
    def reach_of_added(self) -> int:
        """The most characters of an added token that ordinary text can contain."""
        return max((len(text) for one in self.ordinary_finders for text in one.texts), default=0)

    @cached_property
    def may_write_special(self) -> bool:
        """Whether a text may have a special token that is found only once it is normalized."""
        tokens = self.finder_of_normalized.texts.values()
        return bool(self.steps_before_search) and any(token.special for token in tokens)

    @cached_property
    def upper_bound(self) -> "UpperBound":
        """Bounds the ends of slices within a budget."""
        from cutline.pipeline.upper_bound import UpperBound

        neighbours = self.safe_points.neighbours
        return UpperBound(self.spec, self.ordinary_finders, neighbours, self.sure_pieces)

    @cached_property
    def sure_pieces(self) -> "SurePieces | None":
        """Finds pieces of changed text that no more text changes; None: `UpperBound` needs none."""
        from cutline.pipeline.sure_pieces import SurePieces
        from cutline.pretokenize.store import compile_pattern

        spec = self.spec
        if spec.splittings:
            return SurePieces(spec.splittings, count_pieces, str)
        if spec.pat_str and compile_pattern(spec.pat_str).has_gaps:
            pieces = Splitting(spec.pat_str, "removed", inverted=True)
            return SurePieces((pieces,), count_pieces, str)
        return None

    @cached_property
    def _makers(self) -> "dict[bool, PrefixMaker]":
        from cutline.words.prefixes import PrefixMaker

        return {inside: PrefixMaker(self.steps_for(inside=inside)) for inside in (False, True)}

    def prefixes_for(self, text: str, *, inside: bool) -> "Prefixes":
        """Return what prefixes of a text become; see `steps_for`."""
        return self._makers[inside](text)

    @cached_property
    def form_at_end(self) -> "GrowingForm":
        """What a text becomes that grows at its end."""
        from cutline.words.growing_form import GrowingForm

        return GrowingForm.of(self.steps_for(inside=False), at_end=True)

    @cached_property
    def form_after_token(self) -> "GrowingForm":
        """The same after an added token, where there may be no blank at the start."""
        from cutline.words.growing_form import GrowingForm

        if not self.spec.prefix_first:
            return self.form_at_end
        return GrowingForm.of(self.spec.normalizer, at_end=True)

    @cached_property
    def form_inside(self) -> "GrowingForm":
        """The same after a beginning that no later text changes."""
        from cutline.words.growing_form import GrowingForm

        return GrowingForm.of(self.steps_for(inside=True), at_end=True)

    @cached_property
    def form_at_beginning(self) -> "GrowingForm":
        """What a text becomes that grows at its beginning."""
        from cutline.words.growing_form import GrowingForm

        return GrowingForm.of(self.steps_for(inside=False), at_end=False)

    def steps_for(self, *, inside: bool) -> tuple[Step, ...]:
        """Return all that is done to a text without added tokens, the blank at its start included.

        Args:
            inside: it begins at a safe split point.
        """
        if inside:
            return self._steps_inside
        return (
            (*self.spec.normalizer, Lead(" ")) if self.spec.prefix_space else self.spec.normalizer
        )

    def changes(self, text: str) -> bool:
        """Return whether any step changes a text, or a slice of it."""
        return (self.changes_starts and bool(text)) or self.changes_after(text)

    def changes_after(self, text: str) -> bool:
        """Return the same for a text that begins at a safe split point."""
        if self.changes_all:
            return True
        # What is changed often, is so at once: no step looks at all of the text before the next.
        if len(text) > _FEW and self._changes_after(text[:_FEW]):
            return True
        return self._changes_after(text)

    def _changes_after(self, text: str) -> bool:
        for step in self._steps_inside:
            if not step.keeps_slices(text):
                return True
        for finder in self.ordinary_finders:  # noqa: SIM110 (faster for short texts)
            if finder.may_find(text):
                return True
        return False

    # Added tokens

    def is_plain(self, text: str) -> bool:
        """Return whether no step changes a text or a slice of it."""
        return not any(
            isinstance(step, Prepend) or not step.keeps_slices(text)
            for step in self.spec.normalizer
        )

    def finder_among(self, text: str) -> AddedFinder | None:
        """Return what finds the added tokens of a text, if what is behind one is a text of its own.

        None: there are none, or some in changed text, or they are found in two passes.
        """
        return self._finder_of(text, is_plain=self.is_plain(text))

    def _finder_of(self, text: str, *, is_plain: bool) -> AddedFinder | None:
        raw, normalized = self.ordinary_of_raw, self.ordinary_of_normalized
        in_raw = raw.may_find(text)
        in_normalized = bool(normalized.texts) and (not is_plain or normalized.may_find(text))
        if in_raw is in_normalized or (in_normalized and not is_plain):
            return None
        if in_normalized and self.spec.prefix_first:
            return None
        ordinary = raw if in_raw else normalized
        finder = self.finder_of_raw if in_raw else self.finder_of_normalized
        # What a token strips could be the start of the next one.
        return None if ordinary.strips_right and finder.has_spaces else finder

    @cached_property
    def spells(self) -> bool:
        """Whether each character is changed on its own, by a model over characters.

        Added tokens, if they are no special ones, are found in texts as they are.
        """
        steps = self.spec.normalizer
        return (
            any(isinstance(step, Spell) for step in steps)
            and all(map(_spells, steps))
            # One could begin with the prefix.
            and not self.ordinary_of_normalized.texts
        )

    def among_added(self, encoder: TextEncoder, text: str) -> "AmongAdded | None":
        """Return what counts a text with added tokens if nothing else changes it, or its spelling.

        None: something does; or a token that is found depends on more than where it starts: it
        strips what is beside it, counts for single words alone, or is special.
        """
        from cutline.kernels.encode.among_added import AmongAdded

        if not encoder._has_automaton or self.changes_starts or self.changes_all:
            return None
        rules = self.run_rules if self.spells else None
        if rules is None and not self.is_plain(text):
            return None
        finder = self._finder_of(text, is_plain=rules is None)
        spans = None if finder is None else finder.plain_spans(text)
        if finder is None or spans is None:
            return None
        return AmongAdded(encoder, text, spans, finder.shortest, finder.surest, rules)

    def encode_among_added(
        self, encoder: TextEncoder, text: str, *, aligns: bool
    ) -> "EncodedAmong | None":
        """Encode such a text: see `AmongAdded.encode`; None: it is none."""
        if not any(one.may_find(text) for one in self.ordinary_finders):
            return None
        added = self.among_added(encoder, text)
        if added is None:
            return None
        ids = self._ordinary_ids
        found = (ids[text[start:end]] for start, end in added.token_spans.tolist())
        return added.encode(np.fromiter(found, np.uint32, len(added.token_spans)), aligns)

    @cached_property
    def _ordinary_ids(self) -> dict[str, int]:
        """The ids of added tokens that are not special, by the text that is searched for.

        A text that is searched for in both ways is found in none: see `_finder_of`.
        """
        ordinary = (one.texts.items() for one in self.ordinary_finders)
        return {text: token.id for one in ordinary for text, token in one}

    # Whole texts

    def pieces(
        self, text: str, allowed: frozenset[str], *, at_start: bool = True
    ) -> Iterator[str | AddedToken]:
        """Cut a text into added tokens and the normalized text between them.

        Args:
            text: any text.
            allowed: the special tokens to find.
            at_start: whether it is at the start of a text.
        """
        counts = self.counting(allowed)
        for start, end, token in self.finder_of_raw.cut(text, counts):
            if token is not None:
                yield token
            else:
                yield from self._pieces_of_section(text[start:end], counts, start, at_start)
            at_start = True

    def _written(self, text: str) -> str | None:
        """Return what a whole text becomes; None: it may have added tokens, or is not known."""
        return self._by_rules(text, lambda rules: rules.changed(text))

    def aligned(self, text: str) -> "str | Alignment | None":
        """Return the same, with what it comes from if it changed."""
        return self._by_rules(text, lambda rules: rules.aligned(text))

    def _by_rules(
        self, text: str, write: "Callable[[RunRules], Made | None]"
    ) -> "str | Made | None":
        # To ask whether it changes takes longer than to write it, but with normal forms.
        if self.looks_for_changes and not self.changes(text):
            return text
        rules = self.rules_for(text)
        if rules is not None and (made := write(rules)) is not None:
            return made
        return None if self.looks_for_changes or self.changes(text) else text

    @cached_property
    def images(self) -> "ImageRules | None":
        """How a kernel writes what becomes of texts without added tokens; None: none does."""
        from cutline.kernels.words.run_images import ImageRules

        rules = self.run_rules
        return rules if isinstance(rules, ImageRules) else None

    def images_for(self, text: str) -> "ImageRules | None":
        """Return the same for a text; None: it may have such tokens, too."""
        return self.images if self.rules_for(text) is self.images else None

    def rules_for(self, text: str) -> "RunRules | None":
        """Return what tells how a kernel writes what becomes of a text without added tokens."""
        if self.run_rules is None or any(one.may_find(text) for one in self.ordinary_finders):
            return None
        return self.run_rules

    def _pieces_of_section(
        self, text: str, counts: Callable[[AddedToken], bool], place: int, at_start: bool
    ) -> Iterator[str | AddedToken]:
        """Do it for what is between two added tokens of the given text, at a place in it."""
        spec = self.spec
        section = normalize(text, self.steps_before_search, at_start=at_start)
        for first, last, token in self.finder_of_normalized.cut(section, counts):
            if token is not None:
                yield token
            else:
                part = normalize(section[first:last], self.steps_after_search)
                blank = spec.prefix_space and at_start and not part.startswith(" ")
                blank = blank and not (spec.prefix_first and place + first)
                yield f" {part}" if blank else part
            at_start = True

    def count_section(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of what is after an added token, up to the next one."""
        pieces = self._pieces_of_section(text, self.counting(frozenset()), 1, at_start=True)
        return _total(encoder, pieces)

    def count_section_inside(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of what is after a safe split point, up to an added token."""
        pieces = self._pieces_of_section(text, self.counting(frozenset()), 0, at_start=False)
        return _total(encoder, pieces)

    def count_between(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of normalized text that has no added tokens."""
        return encoder._count_normalized(text)

    def trace_marks(self, traced: Traced) -> Traced:
        """Change a traced text between added tokens once more; see `MarkingPipeline`."""
        return traced

    @staticmethod
    def counting(allowed: frozenset[str]) -> Callable[[AddedToken], bool]:
        """Return a test whether a token may be found."""
        return lambda token: not token.special or token.content in allowed

    def encode(
        self,
        encoder: TextEncoder,
        text: str,
        allowed: frozenset[str],
        *,
        at_start: bool = True,
    ) -> list[int]:
        """Encode a text, with some special tokens allowed; see `pieces`."""
        if not allowed and at_start and len(text) > _SHORT:
            found = self.encode_among_added(encoder, text, aligns=False)
            if found is not None:
                return ids_to_list(found[0])
        return self._encode_pieces(encoder, text, allowed, at_start=at_start)

    def _encode_pieces(
        self, encoder: TextEncoder, text: str, allowed: frozenset[str], *, at_start: bool
    ) -> list[int]:
        tokens: list[int] = []
        for piece in self.pieces(text, allowed, at_start=at_start):
            if isinstance(piece, AddedToken):
                tokens.append(piece.id)
            else:
                tokens += encoder._encode_normalized(piece)
        return tokens

    def encode_ordinary(self, encoder: TextEncoder, text: str) -> list[int]:
        """Implement `Encoding.encode_ordinary`."""
        text = plain_text(text)
        if (changed := self._written(text)) is not None:
            return encoder._encode_normalized(changed)
        return self.encode(encoder, text, frozenset())

    def encode_to_numpy(self, encoder: TextEncoder, text: str) -> NDArray[np.uint32]:
        """Encode like `encode_ordinary`, into an array."""
        text = plain_text(text)
        if (changed := self._written(text)) is not None:
            return encoder._encode_normalized_to_numpy(changed)
        if (found := self.encode_among_added(encoder, text, aligns=False)) is not None:
            return found[0]
        tokens = self._encode_pieces(encoder, text, frozenset(), at_start=True)
        return np.array(tokens, dtype=np.uint32)

    @cached_property
    def run_rules(self) -> "RunRules | None":
        """How texts are counted by their runs; None: they are not."""
        from cutline.pipeline.run_rules import run_rules

        return None if self.changes_all else run_rules(self.spec)

    @cached_property
    def looks_for_changes(self) -> bool:
        """Whether texts that do not change are found fast, and counted faster than by runs."""
        steps = self.spec.normalizer
        return self.spec.characters is None and all(isinstance(step, Form) for step in steps)

    def _count_runs(self, encoder: TextEncoder, text: str, *, at_start: bool) -> int:
        """Count the tokens of a text by its runs; -1: they are not known so."""
        rules = self.run_rules
        if rules is None or self.ordinary_of_raw.may_find(text):
            return -1
        if self.looks_for_changes and not self.changes_after(text):
            return -1
        return encoder._count_runs(text, rules, at_start)

    def count(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of a text."""
        text = plain_text(text)
        total = self._count_runs(encoder, text, at_start=True)
        if total >= 0:
            return total
        if self.changes(text):
            return self._count_changed(encoder, text, at_start=True)
        return encoder._count_normalized(text)

    def count_after(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of a text that begins at a safe split point."""
        total = self._count_runs(encoder, text, at_start=False)
        if total >= 0:
            return total
        if self.changes_after(text):
            return self._count_changed(encoder, text, at_start=False)
        return encoder._count_normalized(text)

    def _count_changed(self, encoder: TextEncoder, text: str, *, at_start: bool) -> int:
        if len(text) > _SHORT:
            added = self.among_added(encoder, text)
            if added is not None and (total := added.count()) >= 0:
                return total
        return self._count_pieces(encoder, text, at_start=at_start)

    def _count_pieces(self, encoder: TextEncoder, text: str, *, at_start: bool) -> int:
        return _total(encoder, self.pieces(text, frozenset(), at_start=at_start))

    def count_till_limit(self, encoder: TextEncoder, text: str, limit: int) -> int | None:
        """Count the tokens of a text, or return None if there are more than `limit`."""
        text = plain_text(text)
        count = partial(self.count, encoder)
        if is_sure_to_exceed(text, limit, count, self.find_safe_points, encoder.split_at):
            return None
        if not self.changes(text):
            return encoder._count_normalized_till_limit(text, limit)
        total = self._count_changed(encoder, text, at_start=True)
        return total if total <= limit else None

    def max_characters_of(self, encoder: TextEncoder, n: int) -> int | None:
        """Return how many characters n tokens cover at most; None if that is not known.

        A normal form composes at most four characters into one; the other steps that count make
        no text shorter.
        """
        added, bytes_of_one = self.spec.added_tokens, encoder._max_normalized_bytes_of(1)
        if bytes_of_one is None or self.spec.marks_words:  # what pieces lack has no tokens
            return None
        if not all(map(_may_shorten_little, self.spec.normalizer)):
            return None
        if any(token.lstrip or token.rstrip for token in added if not token.special):
            return None
        longest = max((len(token.content) for token in added), default=0)
        return n * 4 * max(bytes_of_one, longest)


def _spells(step: Step) -> bool:
    """Return whether a step changes each character on its own, to one or more, or adds a prefix."""
    if isinstance(step, Replace):
        return len(step.old) == len(step.new) == 1
    return isinstance(step, Spell | Prepend)


def _strips_in_normalized(spec: TokenizerSpec) -> bool:
    """Return whether a token of a model over characters strips normalized text, or sees words.

    It sees U+2581 and unknown characters as they are; then they are spelled.
    """
    return (
        spec.characters is not None
        and not spec.marks_words
        and any(
            token.normalized and (token.lstrip or token.rstrip or token.single_word)
            for token in spec.added_tokens
        )
    )


def _total(encoder: TextEncoder, pieces: Iterable[str | AddedToken]) -> int:
    return sum(
        1 if isinstance(piece, AddedToken) else encoder._count_normalized(piece) for piece in pieces
    )


def _may_shorten_little(step: Step) -> bool:
    """Return whether a step makes at least one character of four."""
    if isinstance(step, Replace):
        return len(step.old) <= len(step.new)
    return isinstance(step, ByteLetters | Form | Lower | Prepend | Spell)
