"""`WordPipeline`: an encoding whose model encodes words apart: WordPiece or Unigram.

Most texts go to the kernel as they are: it normalizes, splits and encodes in one pass. Where
characters change one another, the parts around them are normalized here first. Source:
docs/words.md.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from sys import maxsize
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.checks import need_no_surrogates, plain_text
from cutline.counting.till_limit import count_till_limit
from cutline.errors import VocabularyError
from cutline.kernels.encode.decode import ids_to_list
from cutline.kernels.words.char_map import CharMap
from cutline.kernels.words.encoder import WordEncoder
from cutline.normalizing import SPACE, Form, Step, Strip, Traced, normalize, trace
from cutline.pipeline.added import is_of_word
from cutline.pipeline.changed_runs import ChangedRuns
from cutline.pipeline.part_normalizer import PartNormalizer
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.stand_alone import tokens_stand_alone
from cutline.pipeline.token_search import Found, TokenSearch
from cutline.pipeline.tokens_of_slices import slices_may_have
from cutline.pipeline.unigram_cover import UnigramCover
from cutline.spec import AddedToken, TokenizerSpec
from cutline.text_encoder import TextEncoder
from cutline.vocabulary import Vocabulary
from cutline.words.char_rules import CharRules
from cutline.words.first_word import found_in_first
from cutline.words.models import Unigram, WordPiece
from cutline.words.neighbours import LEFT, RIGHT
from cutline.words.prefixes import PrefixMaker
from cutline.words.splitting import Metaspace

__all__ = ["WordPipeline"]

_META: Final = b"\xfd"  # what stands for the replacement of a blank
_WHITE = 32  # the kernel's flag
_SURROGATES: Final = range(0xD8, 0xE0)  # blocks of 256
_UNKNOWN_PENALTY = 10.0  # as in sentencepiece and tokenizers
_LEAST_GAP = 24  # characters from one safe split point to the next
_KNOWN = 1024  # characters whose normal forms are kept
_LONGEST_PART: Final = 4096  # characters of several entangled parts that are normalized at once
_LONGEST_BETWEEN: Final = 64  # ... and of what lies between two
_LONGEST_WORD: Final = 2**64 - 1  # the greatest limit that tokenizers reads


class WordPipeline(Pipeline):
    """Encodes and counts texts with the model of a spec.

    Args:
        spec: the tokenizer; its model is not BPE.

    Raises:
        VocabularyError: the model lacks what it needs.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        model = spec.model
        assert model is not None
        _check_model(spec, model)
        self.rules = rules = CharRules(spec.normalizer, spec.splitters, model)
        space = next((one for one in spec.splitters if isinstance(one, Metaspace)), None)
        self._meta = b"" if space is None else space.replacement.encode()
        self._only_first = space is not None and space.prepend == "first"
        if self._only_first:
            _check_added(spec)
        self._strips_raw = any(rules.strips_raw) and not rules.splits_white
        raw = CharMap(self._characters, rules.maker)
        plain = CharMap(rules.plain.characters, rules.plain.maker)
        self.kernel = WordEncoder(raw, plain, *self._tables(spec, model))
        self._searches_normalized = bool(self.finder_of_normalized.texts)

    def __reduce__(self) -> tuple[type["WordPipeline"], tuple[TokenizerSpec]]:
        return WordPipeline, (self.spec,)

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

    def _tables(
        self, spec: TokenizerSpec, model: WordPiece | Unigram
    ) -> tuple[bytes, NDArray[np.int64], NDArray[np.uint32], int, dict[str, Any]]:
        """Return the arguments of the kernel that are the model's."""
        vocabulary, rules = spec.vocabulary, self.rules
        options: dict[str, Any] = {
            "prefixes": rules.prefix,
            "collapses": rules.collapses,
            "strips_start": self._strips_raw and rules.strips_raw[0],
            "strips_end": 1 if rules.strips_end else 2 if self._strips_raw else 0,
            "changed_runs": self._changed_runs() if rules.keeps_blanks else None,
        }
        arena, offsets = _with_meta(vocabulary, self._meta)
        if isinstance(model, WordPiece):
            prefix = model.prefix.encode()
            options["continuation"] = prefix.replace(self._meta, _META) if self._meta else prefix
            # No text is longer than the latter.
            options["most_characters"] = min(model.max_word_characters, maxsize)
            return arena, offsets, vocabulary.ids, model.unk_id, options
        assert model.unk_id is not None
        scores = np.frombuffer(model.scores, dtype="<f8").astype(np.float64)
        lowest = float(scores.min(initial=np.inf)) - _UNKNOWN_PENALTY
        byte_ids: list[int | None] = []
        if model.byte_fallback:
            ids = vocabulary.to_ranks()
            byte_ids = [ids.get(b"<0x%02X>" % byte) for byte in range(256)]
            _check_bytes(byte_ids)
        self._falls_back = falls_back = model.byte_fallback and None not in byte_ids
        options |= {
            "scores": scores,
            "unk_score": lowest,
            # Sums have at most a summand for each byte; each adds half a unit in the last place.
            "rounding": float(np.abs(np.append(scores, lowest)).max()) * 1e-15,
            "fuses": model.fuse_unk,
            "meta": self._meta,
            "byte_ids": np.array(byte_ids, dtype=np.uint32) if falls_back else None,
        }
        return arena, offsets, vocabulary.ids, model.unk_id, options

    def _changed_runs(self) -> ChangedRuns:
        def count_normalized(text: str, prefixes: bool) -> int:
            tokens: int = self.kernel.count(text, True, prefixes, True)
            return tokens

        def count_end(text: str, begins: bool) -> int:
            return self._count_parts(_repaired(text), begins)

        return ChangedRuns(self.rules.char_steps, self._meta.decode(), count_normalized, count_end)

    # What differs from byte-level BPE

    def changes(self, text: str) -> bool:
        """Return True: no text goes to the byte-level encoder."""
        return True

    def changes_after(self, text: str) -> bool:
        """Return True."""
        return True

    def max_characters_of(self, encoder: TextEncoder, n: int) -> int | None:
        """Return None: an unknown word has any length."""
        return None

    @cached_property
    def safe_points(self) -> Any:
        """Finds the safe split points of texts."""
        return _SafePoints(self)

    def may_have_tokens(self, text: str) -> bool:
        """Return whether a text, or a slice of it, may have added tokens."""
        found = [one.find(text) for one in self._ordinary_searches]
        if any(found):
            return True
        return None in found and self._slices_may_have(text)

    def _slices_may_have(self, text: str) -> bool:
        """Return the same, by the normal form of the text."""
        steps = self.spec.normalizer
        normalized = normalize(text, steps)
        if any(one.may_find(text) or one.may_find(normalized) for one in self.ordinary_finders):
            return True
        tokens = self.finder_of_normalized.texts
        return bool(tokens) and slices_may_have(tokens, steps, text, normalized)

    @cached_property
    def _ordinary_searches(self) -> tuple[TokenSearch, ...]:
        """What finds added tokens that are not special: as they are, and in normalized text."""
        ways = (self.ordinary_of_raw, ()), (self.ordinary_of_normalized, self.spec.normalizer)
        return tuple(TokenSearch(one.texts, steps) for one, steps in ways if one.texts)

    @cached_property
    def _searches(self) -> tuple[TokenSearch, TokenSearch]:
        """The same for all added tokens, for special ones hide others."""
        raw, normalized = self.finder_of_raw.texts, self.finder_of_normalized.texts
        return TokenSearch(raw, ()), TokenSearch(normalized, self.spec.normalizer)

    def standing_tokens(self, text: str) -> NDArray[np.int64] | None:
        """Find added tokens, each of which every slice has that has its text; and no other ones.

        What is beside one is encoded like a text.

        Returns:
            Starts and ends: int64, shape (tokens, 2), from left to right. None: this is not so.
        """
        if not self._tokens_stand_apart:
            return None
        spans: list[tuple[int, int]] = []
        for search in self._ordinary_searches:
            found = search.find(text)
            if found is None or (found and found[0][2].normalized and self._moves_white):
                return None
            spans += [(start, end) for start, end, _ in found]
        spans.sort()
        if any(end > start for (_, end), (start, _) in pairwise(spans)):
            return None
        return np.array(spans, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def _tokens_stand_apart(self) -> bool:
        ordinary = [token for one in self.ordinary_finders for token in one.texts.values()]
        return self._tokens_stand_alone and not any(token.single_word for token in ordinary)

    @cached_property
    def _moves_white(self) -> bool:
        """Whether tokens in normalized text, or what is beside them, may lose white space."""
        if self._strips_at_tokens or self.rules.strips_end:
            return True
        texts = filter(None, self.ordinary_of_normalized.texts)
        return any(text[0] in SPACE or text[-1] in SPACE for text in texts)

    def beyond_tokens(self, text: str, place: int) -> int:
        """Return a place before which each added token ends that begins before another place."""
        searches = self._ordinary_searches
        return max((one.place_after(text, place) for one in searches), default=place)

    @cached_property
    def _strips_at_tokens(self) -> bool:
        """Whether white space beside a token may be cut off that is found in normalized text."""
        return self._strips_raw or self.rules.last_strip.left

    # Parts of texts

    def _sections(
        self, text: str, allowed: frozenset[str]
    ) -> Iterator[tuple[int, int, AddedToken | None]]:
        """Cut a text into added tokens that are found in it as it is, and the text between."""
        if not text:
            return
        if not allowed and not self.ordinary_finders:
            yield 0, len(text), None
            return
        found = self._plain_tokens(self._searches[0], text, allowed)
        if found is None:
            yield from self.finder_of_raw.cut(text, self.counting(allowed))
            return
        done = 0
        for start, end, token in found:
            if done < start:
                yield done, start, None
            yield start, end, token
            done = end
        if done < len(text):
            yield done, len(text), None

    def _plain_tokens(
        self, search: TokenSearch, text: str, allowed: frozenset[str]
    ) -> list[Found] | None:
        """Find the tokens of a text that count; None: what is beside one decides, or is a part."""
        counts, found = self.counting(allowed), search.find(text)
        if found is None:
            return None
        plain = [one for one in found if counts(one[2])]
        if any(token.single_word or token.lstrip or token.rstrip for _, _, token in plain):
            return None
        return plain

    def _tokens_of_section(self, section: str, allowed: frozenset[str]) -> list[Found] | None:
        """Find the tokens of a section in its normal form, by the given characters.

        None: they are not known so.
        """
        if not self._searches_normalized or not (allowed or self.ordinary_finders):
            return []
        found = self._plain_tokens(self._searches[1], section, allowed)
        return None if found and self._strips_at_tokens else found

    def _steps_from(self, begins: bool) -> tuple[Step, ...]:
        """Return the steps for a section of a text; `begins`: it is not inside one."""
        steps = self.spec.normalizer
        if begins:
            return steps
        return tuple(Strip(False, one.right) if isinstance(one, Strip) else one for one in steps)

    def _normalized_pieces(
        self, section: str, allowed: frozenset[str], *, begins: bool = True
    ) -> list[tuple[int, int, AddedToken | None]] | None:
        """Cut normalized text into added tokens and the text between; None: there are none."""
        if not self._searches_normalized or not (allowed or self.ordinary_finders):
            return None
        text = normalize(section, self._steps_from(begins))
        if not text or not self.finder_of_normalized.may_find(text):
            return None
        pieces = [*self.finder_of_normalized.cut(text, self.counting(allowed))]
        return pieces if any(token is not None for _, _, token in pieces) else None

    @cached_property
    def _tokens_stand_alone(self) -> bool:
        return tokens_stand_alone(self.spec)

    @cached_property
    def _strips_starts(self) -> bool:
        return any(isinstance(step, Strip) and step.left for step in self.spec.normalizer)

    def ends_of_tokens(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield starts and ends of added tokens after which what follows is a text of its own.

        So it is in each slice that has all of the token.
        """
        if not self._tokens_stand_alone:
            return
        may_change = self.kernel.raw.is_entangled
        parts_words = self.safe_points.may_part_words
        for start, end, token in self._ordinary_tokens(text):
            if end + 1 >= len(text):
                continue  # more text could change what is next
            if parts_words(text[end - 1], text[end]):
                continue
            if start and parts_words(text[start - 1], text[start]):
                continue
            # In normalized text, what is beside a token is neither cut off nor changed with it.
            if token.normalized and (
                self._strips_starts
                or text[end - 1] in SPACE
                or may_change(text[max(0, start - 2) : end + 2])
            ):
                continue
            yield start, end

    def _ordinary_tokens(self, text: str) -> Iterator[tuple[int, int, AddedToken]]:
        """Yield the added tokens of a text that are whole characters of it."""
        for start, end, token in self._sections(text, frozenset()):
            if token is not None:
                yield start, end, token
                continue
            inside = self._tokens_of_section(text[start:end], frozenset())
            if inside is not None:
                for begin, stop, inner in inside:
                    yield start + begin, start + stop, inner
                continue
            found = self._normalized_pieces(text[start:end], frozenset())
            if found is None:
                continue
            spans = trace(Traced.of(text[start:end]), self.spec.normalizer).spans.tolist()
            for first, last, piece in found:
                begin, stop = spans[first][0], spans[last - 1][1]
                is_whole = first == 0 or spans[first - 1][1] <= begin
                is_whole &= last == len(spans) or spans[last][0] >= stop
                if piece is not None and is_whole:
                    yield start + begin, start + stop, piece

    def _pieces(self, text: str, allowed: frozenset[str], at_start: bool) -> Iterator["_Piece"]:
        """Cut a text into pieces for one call of the kernel each.

        Args:
            text: without surrogates.
            allowed: the special tokens to find.
            at_start: False: the text begins at a safe split point of a longer one.
        """
        for start, end, token in self._sections(text, allowed):
            if token is not None:
                yield _Piece(start, end, token)
            else:
                begins = at_start or start > 0
                prefixes = (at_start and start == 0) or not self._only_first
                yield from self._section(text[start:end], start, allowed, begins, prefixes)

    def _section(
        self, section: str, start: int, allowed: frozenset[str], begins: bool, prefixes: bool
    ) -> Iterator["_Piece"]:
        """Cut what is between two added tokens of a text, which are found in it as it is.

        Args:
            section: it.
            start: where it is.
            allowed: the special tokens to find in normalized text.
            begins: whether it is not inside a section.
            prefixes: whether its first word gets the prefix.
        """
        tokens = self._tokens_of_section(section, allowed)
        if tokens is None:
            found = self._normalized_pieces(section, allowed, begins=begins)
            if found is not None:
                yield from self._traced_pieces(section, start, found, begins, prefixes)
                return
        done = 0
        for first, last, token in tokens or ():
            prefix = prefixes and (done == 0 or not self._only_first)
            ends = begins and done == 0, False
            yield from self._between(section[done:first], start + done, ends, prefix)
            yield _Piece(start + first, start + last, token)
            done = last
        prefix = prefixes and (done == 0 or not self._only_first)
        yield from self._between(section[done:], start + done, (begins and done == 0, True), prefix)

    def _traced_pieces(
        self,
        section: str,
        start: int,
        found: list[tuple[int, int, AddedToken | None]],
        begins: bool,
        prefixes: bool,
    ) -> Iterator["_Piece"]:
        """Yield the pieces of the normal form of a section, with what they come from."""
        traced = trace(Traced.of(section), self._steps_from(begins))
        for first, last, inner in found:
            part = traced.part(first, last)
            begin, stop = int(part.spans[0, 0]), int(part.spans[-1, 1])
            made = _Normalized(part.text, partial(_known, part), start)
            prefix = prefixes and (first == 0 or not self._only_first)
            yield _Piece(start + begin, start + stop, inner or made, prefix, True)

    def _between(
        self, text: str, start: int, ends: tuple[bool, bool], prefixes: bool
    ) -> Iterator["_Piece"]:
        """Cut what is between two added tokens; `ends`: whether it begins and ends a section."""
        kept, cut_off = self._stripped(text, ends[0])
        for first, last, is_entangled in self._few_parts(kept):
            part_text = kept[first:last]
            begin = start + cut_off + first
            if is_entangled:
                own = ends[0] and first == 0, ends[1] and last == len(kept)
                what: str | _Normalized = self._normalized(part_text, begin, own)
            else:
                what = part_text
            prefix = prefixes and (first == 0 or not self._only_first)
            yield _Piece(begin, begin + len(part_text), what, prefix, not ends[1])

    def _parts(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Cut a text where its characters change one another.

        Yields:
            Start and end of each part, and whether it must be normalized on its own.
        """
        if not self.kernel.raw.is_entangled(text):
            yield 0, len(text), False
            return
        starts, kinds = self.kernel.raw.entangled_parts(text)
        for (start, end), kind in zip(pairwise([*starts, len(text)]), kinds, strict=True):
            yield start, end, kind

    def _few_parts(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Cut a text like `_parts`, with what is between two entangled parts, if it is short.

        Normalizing and counting it takes less time than two calls for what is before and after.
        """
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

    def _normalized(self, part: str, start: int, ends: tuple[bool, bool]) -> "_Normalized":
        """Normalize a part of a text; `ends` says which ends of the text are its own."""
        steps = (*self.rules.char_steps, self.strip_at(*ends))
        return _Normalized(normalize(part, steps), partial(_trace, steps), start)

    def _encode_parts(
        self, text: str, *, traces: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode a text without added tokens, whose characters are entangled, in one call.

        Args:
            text: without surrogates; what is cut off its ends first is cut off.
            traces: the characters that each token comes from are asked for.
        """
        starts, kinds = self.kernel.raw.entangled_parts(text)
        spans = [*pairwise([*starts, len(text)])]
        entangled = [span for span, kind in zip(spans, kinds, strict=True) if kind]
        made = iter(self._entangled_of(text, entangled, traces))
        parts = [
            (
                *(start, end),
                *(next(made) if is_entangled else (None, None)),
                start == 0 or not self._only_first,
            )
            for (start, end), is_entangled in zip(spans, kinds, strict=True)
        ]
        return self.kernel.encode_parts(text, parts, traces)

    def _entangled_of(
        self, text: str, parts: list[tuple[int, int]], traces: bool
    ) -> Iterator[tuple[str, NDArray[np.int64] | None]]:
        """Normalize parts of a text, and trace them."""
        normalizer, n = self._part_normalizer, len(text)
        traced = normalizer.trace_parts(text, parts) if traces else []
        for place, (start, end) in enumerate(parts):
            strip = self.strip_at(start == 0, end == n)
            if strip.left or strip.right:
                part = trace(Traced.of(text[start:end]), (*self.rules.char_steps, strip))
                yield part.text, np.ascontiguousarray(part.spans)
            elif traces:
                yield traced[place][0].decode(), traced[place][1]
            else:
                yield normalizer(text[start:end], False).decode(), None

    @cached_property
    def _part_normalizer(self) -> PartNormalizer:
        return PartNormalizer(self.rules.char_steps)

    def strip_at(self, start: bool, end: bool) -> Strip:
        """Return what cuts off white space last, where a part begins or ends the text."""
        strip = self.rules.last_strip
        return Strip(strip.left and start, strip.right and end)

    def steps_for(self, *, inside: bool) -> tuple[Step, ...]:
        """See `Pipeline`; `count_normalized` takes what they make."""
        if self._searches_normalized:
            return self._steps_from(not inside)
        rules, begins = self.rules, not inside
        left, right = rules.strips_raw if self._strips_raw else (False, False)
        first, last = Strip(left and begins, right), self.strip_at(begins, True)
        return (first, *rules.char_steps, last)

    # Slices with entangled characters

    def normalized_slice(self, text: str, *, begins: bool) -> str:
        """Normalize all of a slice, for `count_normalized`.

        Args:
            text: it ends a text, and
            begins: begins it, or else a word begins there whatever is before it.
        """
        kept, _ = self._stripped(text, begins)
        return self.strip_at(begins, True).apply(normalize(kept, self.rules.char_steps))

    def count_normalized(self, normalized: str, *, begins: bool) -> int:
        """Count the tokens of a normalized text."""
        tokens: int = self.kernel.count(normalized, True, begins or not self._only_first)
        return tokens

    def count_kept(self, normalized: str) -> int:
        """Count the tokens of normalized text, of which all that is cut off is cut off already."""
        tokens: int = self.kernel.count(normalized, True, keeps_end=True)
        return tokens

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
        return UnigramCover(self.spec, falls_back=self._falls_back)

    def _stripped(self, section: str, begins: bool) -> tuple[str, int]:
        """Cut off white space at the ends that is cut off first; and say how much at the start."""
        if not self._strips_raw:
            return section, 0
        left, right = self.rules.strips_raw
        kept = section.rstrip(SPACE) if right else section
        n = len(kept)
        kept = kept.lstrip(SPACE) if left and begins else kept
        return kept, n - len(kept)

    def _whole(self, text: str) -> str | None:
        """Return the text if the kernel can take it at once, unless characters are entangled."""
        text = plain_text(text)
        if self.ordinary_finders and self.may_have_tokens(_repaired(text)):
            return None
        return self._stripped(text, begins=True)[0]

    # Counting and encoding

    def count(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of a text."""
        if (whole := self._whole(text)) is not None:
            tokens = self.kernel.count(whole)
            return tokens if tokens >= 0 else self._count_parts(_repaired(whole))
        return self._count_pieces(encoder, _repaired(text), at_start=True)

    def count_after(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of a text that begins at a safe split point."""
        return self._count_pieces(encoder, text, at_start=False)

    def _count_parts(self, text: str, at_start: bool = True) -> int:
        """Count the tokens of a text without added tokens, whose characters are entangled.

        `at_start`: or else of the rest of one from a run on.
        """
        total, steps = 0, self.rules.char_steps
        for start, end, is_entangled in self._few_parts(text):
            begins, part = at_start and start == 0, text[start:end]
            if is_entangled:
                strip = self.strip_at(begins, end == len(text))
                total += self.count_normalized(strip.apply(normalize(part, steps)), begins=begins)
            else:
                total += self.kernel.count(part, False, begins or not self._only_first)
        return total

    def count_section(self, encoder: TextEncoder, text: str) -> int:
        """Count the tokens of what is between two added tokens, which are found as they are."""
        prefixes = not self._only_first
        return self._total(self._section(text, 0, frozenset(), True, prefixes)) if text else 0

    def _count_pieces(self, encoder: TextEncoder, text: str, *, at_start: bool) -> int:
        return self._total(self._pieces(text, frozenset(), at_start))

    def _total(self, pieces: Iterable["_Piece"]) -> int:
        total = 0
        for piece in pieces:
            match piece.what:
                case str() as raw:
                    total += self.kernel.count(raw, False, piece.prefixes, piece.keeps_end)
                case _Normalized() as made:
                    total += self.kernel.count(made.text, True, piece.prefixes, piece.keeps_end)
                case _:
                    total += 1
        return total

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
            return ids_to_list(self._encode_parts(_repaired(whole), traces=False)[0])
        return self.encode(encoder, text, frozenset())

    def encode_to_numpy(self, encoder: TextEncoder, text: str) -> NDArray[np.uint32]:
        """Encode like `encode_ordinary`, into an array."""
        if (whole := self._whole(text)) is not None:
            tokens: NDArray[np.uint32] | None = self.kernel.encode(whole, False)
            if tokens is not None:
                return tokens
            return self._encode_parts(_repaired(whole), traces=False)[0]
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
        for piece in self._pieces(_repaired(plain_text(text)), allowed, at_start):
            match piece.what:
                case str() as raw:
                    ids += (
                        self.kernel.encode(raw, True, False, piece.prefixes, piece.keeps_end) or ()
                    )
                case _Normalized() as made:
                    ids += (
                        self.kernel.encode(made.text, True, True, piece.prefixes, piece.keeps_end)
                        or ()
                    )
                case token:
                    ids.append(token.id)
        return ids

    def encode_with_offsets(
        self, text: str, allowed: frozenset[str]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode a text, with the characters that each token comes from.

        Raises:
            SurrogateError: (a ValueError) the text has surrogate code points.
        """
        need_no_surrogates(text)
        if not allowed and not (self.ordinary_finders and self.may_have_tokens(text)):
            kept, cut_off = self._stripped(text, begins=True)
            whole = self.kernel.encode_with_spans(kept)
            if whole is None:
                whole = self._encode_parts(kept, traces=True)
            return whole[0], whole[1] + cut_off if cut_off else whole[1]
        ids, spans = [np.empty(0, dtype=np.uint32)], [np.empty((0, 2), dtype=np.int64)]
        for piece in self._pieces(text, allowed, at_start=True):
            match piece.what:
                case str() as raw:
                    found, places = self._traced(raw, False, piece.prefixes, piece.keeps_end)
                    places += piece.start
                case _Normalized() as made:
                    found, places = self._traced(made.text, True, piece.prefixes, piece.keeps_end)
                    traced = made.trace(text[piece.start : piece.end])
                    places = traced.spans_of(places) + made.offset
                case token:
                    found = np.array([token.id], dtype=np.uint32)
                    places = np.array([(piece.start, piece.end)], dtype=np.int64)
            ids.append(found)
            spans.append(places)
        return np.concatenate(ids), np.concatenate(spans)

    def _traced(
        self, text: str, is_plain: bool, prefixes: bool, keeps_end: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        found = self.kernel.encode_with_spans(text, is_plain, prefixes, keeps_end)
        assert found is not None  # `_pieces` took care of what is entangled
        return found


def _check_model(spec: TokenizerSpec, model: WordPiece | Unigram) -> None:
    """Refuse a model that cannot encode some texts, or gives ids that cannot be decoded."""
    kind, unk_id = type(model).__name__, model.unk_id
    if unk_id is None:
        raise VocabularyError(f"the model {kind} has no unknown token: some texts have no ids")
    others = (*(token.id for token in spec.added_tokens), *spec.unreachable_tokens.values())
    if unk_id not in spec.vocabulary.ids and unk_id not in others:
        raise VocabularyError(
            f"the model {kind} has the unknown token with id {unk_id}, and no token has this id, "
            "so unknown words could not be decoded: unk_id must be that of a token"
        )
    if isinstance(model, WordPiece) and not 1 <= model.max_word_characters <= _LONGEST_WORD:
        raise VocabularyError(
            f"the model {kind} has max_word_characters {model.max_word_characters}, which must be "
            "from 1 to 2**64 - 1: where no word is too long, the latter"
        )


def _check_bytes(byte_ids: list[int | None]) -> None:
    """Refuse tokens for some bytes only: of unknown characters in a row all or none are spelled."""
    if None in byte_ids and any(token_id is not None for token_id in byte_ids):
        raise VocabularyError(
            "the model Unigram has byte_fallback, and no token "
            f"<0x{byte_ids.index(None):02X}>: some bytes have one, and all must, or none; "
            "cutline.wrap(tokenizer) counts and cuts with any tokenizer"
        )


def _check_added(spec: TokenizerSpec) -> None:
    """Refuse added tokens after which `tokenizers` may see the start of a text once more."""
    tokens = (token.content for token in spec.added_tokens if token.normalized)
    if (text := found_in_first(spec.normalizer, tokens)) is not None:
        raise VocabularyError(
            f"the added token {text!r} is searched for in normalized text and may end inside what "
            'a character becomes; what follows it may be prefixed, by Metaspace with "first"; '
            "cutline.wrap(tokenizer) counts and cuts with any tokenizer"
        )


def _trace(steps: tuple[Step, ...], text: str) -> Traced:
    return trace(Traced.of(text), steps)


def _known(traced: Traced, text: str) -> Traced:
    return traced


class _Normalized(NamedTuple):
    """Normalized text.

    Attributes:
        text: it.
        trace: makes the same of the text that it comes from, with spans.
        offset: what is added to these.
    """

    text: str
    trace: Callable[[str], Traced]
    offset: int


def _with_meta(vocabulary: Vocabulary, meta: bytes) -> tuple[bytes, NDArray[np.int64]]:
    """Return the arena and the offsets of tokens with a byte for what stands for a blank."""
    arena, offsets = vocabulary.arena, vocabulary.offsets.astype(np.int64)
    if len(meta) < 2 or meta not in arena:
        return arena.replace(meta, _META) if meta else arena, offsets
    data = np.frombuffer(arena, dtype=np.uint8)
    found = np.zeros(len(data) + 1, dtype=np.int64)
    n_places = len(data) - len(meta) + 1
    parts = [data[at : at + n_places] == byte for at, byte in enumerate(meta)]
    np.cumsum(np.logical_and.reduce(parts), out=found[1 : n_places + 1])
    found[n_places + 1 :] = found[n_places]
    return arena.replace(meta, _META), offsets - (len(meta) - 1) * found[offsets]


class _Piece(NamedTuple):
    """A span of a text with an added token, text as it is, or normalized text."""

    start: int
    end: int
    what: AddedToken | str | _Normalized
    prefixes: bool = True
    keeps_end: bool = False  # what is cut off at the end of a text is cut off already


class _SafePoints:
    """Finds where a text can be split so that its parts are encoded separately."""

    def __init__(self, pipeline: WordPipeline) -> None:
        self._char_map = pipeline.kernel.raw
        # Special ones hide others, and are found where they are allowed.
        tokens = pipeline.spec.added_tokens
        steps = pipeline.spec.normalizer
        texts = [t for one in tokens for t in (one.content, normalize(one.content, steps))]
        self._within = {pair for text in texts for pair in pairwise(text)}
        self._edges = {edge for text in texts if text for edge in (text[0], text[-1])}
        self._strips = any(one.lstrip or one.rstrip for one in tokens)
        # What follows a token is stripped as a text is.
        strips = pipeline._strips_starts
        self._last = {text[-1] for text in texts if text} if strips else set[str]()
        single = [one.content for one in tokens if one.single_word]
        single += [normalize(text, steps) for text in single]
        self._first_of_words = {text[0] for text in single if text}
        self._last_of_words = {text[-1] for text in single if text}
        self._are_changed = any(one.normalized for one in tokens)
        # A token of white space may be what becomes of a whole run, or of CR and LF together.
        self._are_runs = bool(steps) and self._are_changed
        self._are_runs &= any(one in SPACE for one in set().union(*texts))
        self._normal = pipeline.normal_of

    def find(self, text: str, begin: int = 0) -> list[int]:
        """List points after `begin`: not all of them, but none closer than _LEAST_GAP."""
        return self._find(text, begin, _LEAST_GAP)

    def holds_at(self, text: str, place: int) -> bool:
        """Return whether a place is a point; two characters on each side decide."""
        begin = max(0, place - 2)
        return place - begin in self._find(text[begin : place + 2], 0, 1)

    def first(self, text: str, begin: int = 0) -> int | None:
        """Find the first point of a text after `begin`; None: it has none."""
        return next(iter(self._find(text, begin, 1)), None)

    def _find(self, text: str, begin: int, gap: int) -> list[int]:
        points = self._char_map.sure_starts(text, begin, gap)
        if not (self._edges or self._are_runs):
            return points
        return [point for point in points if not self._crosses(text[point - 1], text[point])]

    def _crosses(self, before: str, after: str) -> bool:
        """Whether an added token may match or look across a point, in normalized text too."""
        return self._may_hold(self._touches, before, after)

    def may_part_words(self, before: str, after: str) -> bool:
        """Return whether a token for single words beside a place may count only in slices.

        One that is a part of a word counts in a slice that begins or ends beside it.
        """
        if not self._first_of_words:
            return False
        return self._may_hold(self._parts_words, before, after)

    def _may_hold(self, holds: Callable[[str, str], bool], before: str, after: str) -> bool:
        """Whether something holds for two characters, or may for what they become."""
        if holds(before, after):
            return True
        if not self._are_changed:
            return False
        before, after = self._normal(before)[-1:], self._normal(after)[:1]
        # Of what vanishes, the neighbours would have to be known.
        return not before or not after or holds(before, after)

    def _parts_words(self, before: str, after: str) -> bool:
        if after in self._first_of_words and is_of_word(before):
            return True
        return before in self._last_of_words and is_of_word(after)

    def _touches(self, before: str, after: str) -> bool:
        if (before, after) in self._within or before in self._last:
            return True
        if self._are_runs and before in SPACE and after in SPACE:
            return True
        if self._parts_words(before, after):
            return True
        if not self._strips:
            return False
        both = {before, after}
        return bool(both & self._edges) or (before in SPACE and after in SPACE)


def _repaired(text: str) -> str:
    """Replace surrogates as tiktoken does: pairs by their character, others by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
