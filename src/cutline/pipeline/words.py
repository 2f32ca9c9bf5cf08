"""`WordPipeline`: an encoding whose model encodes words apart: WordPiece or Unigram.

Most texts go to the kernel as they are: it normalizes, splits and encodes in one pass. Where
characters change one another, the parts around them are normalized here first. Source:
docs/words.md.
"""

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cutline.checks import need_no_surrogates, plain_text, without_surrogates
from cutline.counting.till_limit import count_till_limit
from cutline.kernels.encode.decode import ids_to_list
from cutline.kernels.words.char_map import CharMap
from cutline.kernels.words.encoder import WordEncoder
from cutline.normalizing import SPACE, Form, Step, Strip, normalize
from cutline.pipeline.added_among_words import AddedAmongWords
from cutline.pipeline.changed_runs import ChangedRuns
from cutline.pipeline.entangled_texts import EntangledTexts
from cutline.pipeline.idle_strips import without_idle_strips
from cutline.pipeline.model_tables import checked_model, model_tables
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.text_pieces import Piece, TextPieces
from cutline.pipeline.unigram_cover import UnigramCover
from cutline.pipeline.word_safe_points import WordSafePoints
from cutline.spec import TokenizerSpec
from cutline.text_encoder import TextEncoder
from cutline.words.char_rules import CharRules
from cutline.words.models import Unigram
from cutline.words.neighbours import LEFT, RIGHT
from cutline.words.prefixes import PrefixMaker

__all__ = ["WordPipeline"]

_WHITE = 32  # the kernel's flag
_SURROGATES: Final = range(0xD8, 0xE0)  # blocks of 256
_KNOWN = 1024  # characters whose normal forms are kept


class WordPipeline(Pipeline):
    """Encodes and counts texts with the model of a spec.

    Args:
        spec: the tokenizer; its model is not BPE.

    Attributes:
        spec: the same, without what strips only white space that is in no word.
        rules: what normalizing and splitting make of each character.
        kernel: encodes words.
        added: finds added tokens.
        entangled: counts and encodes texts whose characters change one another.
        text_pieces: cuts other texts for the kernel.

    Raises:
        VocabularyError: the model lacks what it needs.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        model = checked_model(spec)
        self.rules = rules = CharRules(spec.normalizer, spec.splitters, model)
        super().__init__(without_idle_strips(spec, rules))
        self._given = spec
        self.added = AddedAmongWords(self, rules)
        raw = CharMap(self._characters, rules.maker)
        plain = CharMap(rules.plain.characters, rules.plain.maker)
        arena, offsets, ids, unk_id, options = model_tables(
            spec.vocabulary, model, rules.meta, spec.unreachable_tokens
        )
        self._spells_bytes = options.get("byte_ids") is not None
        options |= self._options()
        self.kernel = WordEncoder(raw, plain, arena, offsets, ids, unk_id, options)
        self.entangled = EntangledTexts(rules, self.kernel)
        self.text_pieces = TextPieces(rules, self.added, self.entangled)

    def __reduce__(self) -> tuple[type["WordPipeline"], tuple[TokenizerSpec]]:
        return WordPipeline, (self._given,)

    @cached_property
    def _traced_pieces(self) -> TextPieces:
        """Cuts texts so that what an added token strips is a part of it."""
        if self._given is self.spec:
            return self.text_pieces
        return TextPieces(
            self.rules, AddedAmongWords(Pipeline(self._given), self.rules), self.entangled
        )

    def _characters(self, block: int) -> tuple[list[str], bytearray]:
        """Return what characters of a block become; what is cut off at the ends is marked.

        Surrogates interact: texts with such are repaired first.
        """
        texts, flags = self.rules.characters(block)
        if block in _SURROGATES:
            flags = bytearray([LEFT | RIGHT]) * len(texts)
        for code_point in map(ord, SPACE):
            if code_point >> 8 == block:
                flags[code_point & 0xFF] |= _WHITE
        return texts, flags

    def _options(self) -> dict[str, Any]:
        """Return the options of the kernel that are not the model's."""
        rules, first = self.rules, self.rules.first_strip
        return {
            "prefixes": rules.prefix,
            "collapses": rules.collapses,
            "strips_start": first.left,
            "strips_end": 1 if rules.strips_end else 2 if first.left or first.right else 0,
            "changed_runs": self._changed_runs() if rules.keeps_blanks else None,
        }

    def _changed_runs(self) -> ChangedRuns:
        def count_normalized(text: str, prefixes: bool) -> int:
            return self.kernel.count(text, True, prefixes, True)

        def count_end(text: str, begins: bool) -> int:
            return self.entangled.count(without_surrogates(text), begins)

        return ChangedRuns(
            self.rules.char_steps, self.rules.meta.decode(), count_normalized, count_end
        )

    # What differs from byte-level BPE

    def max_characters_of(self, encoder: TextEncoder, n: int) -> int | None:
        """Return None: an unknown word has any length."""
        return None

    @cached_property
    def safe_points(self) -> Any:
        """Finds the safe split points of texts."""
        return WordSafePoints(self.spec, self.kernel.raw, self.normal_of, self.added)

    def steps_for(self, *, inside: bool) -> tuple[Step, ...]:
        """See `Pipeline`; `EntangledTexts.count_normalized` takes what they make."""
        if self.added.searches_normalized:
            return self.added.steps_from(not inside)
        first = self.rules.first_strip
        first = Strip(first.left and not inside, first.right)
        return (first, *self.entangled.steps_at(not inside, True))

    # What slices are counted with

    def count_kept(self, normalized: str) -> int:
        """Count the tokens of normalized text, of which all that is cut off is cut off already."""
        return self.kernel.count(normalized, True, keeps_end=True)

    @cached_property
    def normal_of(self) -> Callable[[str], str]:
        """What steps make of a few characters that are alone."""
        return lru_cache(_KNOWN)(partial(normalize, steps=self.rules.char_steps))

    @cached_property
    def prefixes_of(self) -> PrefixMaker:
        """What prefixes of a text become, whose characters change one another."""
        return PrefixMaker(self.rules.char_steps)

    @cached_property
    def longest_token(self) -> int:
        """The most characters of a token of Unigram; 0: an unknown word of any length is one."""
        vocabulary = self.spec.vocabulary
        if not isinstance(self.spec.model, Unigram):
            return 0
        data = np.frombuffer(vocabulary.arena, dtype=np.uint8)
        begun = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
        return max(1, int(np.diff(begun[vocabulary.offsets.astype(np.int64)]).max(initial=0)))

    @cached_property
    def marks_cover(self) -> UnigramCover | None:
        """What bounds the tokens of marks that are sorted; None: none are, or there is no bound."""
        sorts = any(isinstance(step, Form) for step in self.rules.char_steps)
        if not sorts or not isinstance(self.spec.model, Unigram):
            return None
        return UnigramCover(self.spec, falls_back=self._spells_bytes)

    # Counting and encoding

    def _whole(self, text: str) -> str | None:
        """Return the text if the kernel can take it at once, unless characters are entangled."""
        text = plain_text(text)
        if self.ordinary_finders and self.added.may_be_in(without_surrogates(text)):
            return None
        return self.entangled.stripped(text, True)[0]

    def count(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of a text."""
        if (whole := self._whole(text)) is not None:
            tokens = self.kernel.count(whole)
            return tokens if tokens >= 0 else self.entangled.count(without_surrogates(whole))
        return self._count_pieces(encoder, without_surrogates(text), at_start=True)

    def count_after(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of a text that begins at a safe split point."""
        return self._count_pieces(encoder, text, at_start=False)

    def count_section(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of what is between two added tokens, which are found as they are."""
        if not text:
            return 0
        prefixes = not self.rules.only_first
        return self._total(self.text_pieces.of_section(text, 0, frozenset(), True, prefixes))

    def _count_pieces(self, encoder: TextEncoder, text: str, *, at_start: bool) -> int:
        return self._total(self.text_pieces.of(text, frozenset(), at_start))

    def _total(self, pieces: Iterable[Piece]) -> int:
        count = self.kernel.count
        return sum(
            count(one.text, one.is_normal, one.prefixes, one.keeps_end) if one.token is None else 1
            for one in pieces
        )

    def count_till_limit(self, encoder: TextEncoder, text: str, limit: int) -> int | None:
        """Count the tokens of a text, or return None if there are more than `limit`."""
        text = plain_text(text)
        count = partial(self.count, encoder)
        return count_till_limit(text, limit, count, self.find_safe_points, encoder.split_at)

    def encode_ordinary(self, encoder: TextEncoder, text: str) -> list[int]:
        """Implement `Encoding.encode_ordinary`."""
        if (whole := self._whole(text)) is not None:
            tokens: list[int] | None = self.kernel.encode(whole, True)
            if tokens is not None:
                return tokens
            return ids_to_list(self.entangled.encode(without_surrogates(whole), traces=False)[0])
        return self.encode(encoder, text, frozenset())

    def encode_to_numpy(self, encoder: TextEncoder, text: str) -> NDArray[np.uint32]:
        """Encode like `encode_ordinary`, into an array."""
        if (whole := self._whole(text)) is not None:
            tokens: NDArray[np.uint32] | None = self.kernel.encode(whole, False)
            if tokens is not None:
                return tokens
            return self.entangled.encode(without_surrogates(whole), traces=False)[0]
        return np.array(self.encode(encoder, text, frozenset()), dtype=np.uint32)

    def encode(
        self,
        encoder: TextEncoder,
        text: str,
        allowed: frozenset[str],
        *,
        at_start: bool = True,
    ) -> list[int]:
        """Encode a text, with some special tokens allowed."""
        ids: list[int] = []
        text = without_surrogates(plain_text(text))
        for one in self.text_pieces.of(text, allowed, at_start):
            if one.token is not None:
                ids.append(one.token.id)
            else:
                asked = one.text, True, one.is_normal, one.prefixes, one.keeps_end
                ids += self.kernel.encode(*asked) or ()
        return ids

    def encode_with_offsets(
        self, text: str, allowed: frozenset[str]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode a text, with the characters that each token comes from.

        Raises:
            SurrogateError: (a ValueError) the text has surrogate code points.
        """
        need_no_surrogates(text)
        if not allowed and not (self.ordinary_finders and self.added.may_be_in(text)):
            kept, cut_off = self.entangled.stripped(text, True)
            whole = self.kernel.encode_with_spans(kept)
            if whole is None:
                whole = self.entangled.encode(kept, traces=True)
            return whole[0], whole[1] + cut_off if cut_off else whole[1]
        ids, spans = [np.empty(0, dtype=np.uint32)], [np.empty((0, 2), dtype=np.int64)]
        for one in self._traced_pieces.of(text, allowed, at_start=True):
            if one.token is not None:
                ids.append(np.array([one.token.id], dtype=np.uint32))
                spans.append(np.array([(one.start, one.end)], dtype=np.int64))
                continue
            asked = one.text, one.is_normal, one.prefixes, one.keeps_end
            found = self.kernel.encode_with_spans(*asked)
            assert found is not None  # nothing in a piece is entangled
            ids.append(found[0])
            places = found[1] if one.trace is None else one.trace().spans_of(found[1])
            spans.append(places + one.start)
        return np.concatenate(ids), np.concatenate(spans)
