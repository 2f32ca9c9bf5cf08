"""Added tokens in the texts of models that encode words apart.

Some are found in a text as it is, and cut it into sections; others in what a section becomes.
Source: docs/words.md, "Added tokens".
"""

from collections.abc import Iterator
from functools import cached_property

from cutline.errors import VocabularyError
from cutline.normalizing import SPACE, Step, Strip, normalize, trace
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.stand_alone import texts_follow, texts_overlap
from cutline.pipeline.standing import NO_TOKENS, Standing, standing_tokens
from cutline.pipeline.token_search import Found, TokenSearch
from cutline.pipeline.tokens_of_slices import slices_may_have
from cutline.spec import AddedToken
from cutline.words.char_rules import CharRules
from cutline.words.first_word import found_in_first

__all__ = ["AddedAmongWords"]


class AddedAmongWords:
    """Finds added tokens in texts, and the text between them.

    Args:
        pipeline: what finds them in a string, and the tokenizer.
        rules: of the tokenizer's steps.

    Attributes:
        searches_normalized: whether there are some to find in normalized text.

    Raises:
        VocabularyError: after some, `tokenizers` may see the start of a text once more.
    """

    def __init__(self, pipeline: Pipeline, rules: CharRules) -> None:
        self._spec = pipeline.spec
        if rules.only_first:
            self._check_prefixes()
        self._rules = rules
        self._raw, self._normalized = pipeline.finder_of_raw, pipeline.finder_of_normalized
        self._ordinary = pipeline.ordinary_finders
        self.searches_normalized = bool(self._normalized.texts)
        # Special ones hide others; each is searched for as it is, and in normalized text.
        steps = pipeline.spec.normalizer
        self._search_raw = TokenSearch(self._raw.texts, ())
        self._search_normalized = TokenSearch(self._normalized.texts, steps)
        ways = (pipeline.ordinary_of_raw, ()), (pipeline.ordinary_of_normalized, steps)
        self._ordinary_searches = [TokenSearch(one.texts, how) for one, how in ways if one.texts]

    def _check_prefixes(self) -> None:
        tokens = (token.content for token in self._spec.added_tokens if token.normalized)
        if (text := found_in_first(self._spec.normalizer, tokens)) is not None:
            raise VocabularyError(
                f"the added token {text!r} is searched for in normalized text and may end inside "
                "what a character becomes; what follows it may be prefixed, by Metaspace with "
                '"first"; cutline.wrap(tokenizer) counts and cuts with any tokenizer'
            )

    # Those that are not special

    def may_be_in(self, text: str) -> bool:
        """Return whether a text, or a slice of it, may have added tokens."""
        found = [one.find(text) for one in self._ordinary_searches]
        if any(found) or None not in found:
            return any(found)
        steps = self._spec.normalizer
        normalized = normalize(text, steps)
        if any(one.may_find(text) or one.may_find(normalized) for one in self._ordinary):
            return True
        tokens = self._normalized.texts
        return bool(tokens) and slices_may_have(tokens, steps, text, normalized)

    def standing(self, text: str) -> Standing | None:
        """Find added tokens, and the texts of others that slices may have instead.

        What is beside one is encoded like a text.

        Returns:
            Those that it has, of which there may be none. None: they are not known like this.
        """
        if not self._ordinary:
            return NO_TOKENS
        if not self._stand_apart:
            return None
        # Where tokens may overlap, those must be known that may hide some: special ones, too.
        searches = [self._search_raw, self._search_normalized]
        found: list[Found] = []
        for search in searches if self._overlap else self._ordinary_searches:
            tokens = search.find(text, overlapping=self._overlap)
            if tokens is None or (tokens and tokens[0][2].normalized and self._moves_white):
                return None
            found += tokens
        return standing_tokens(found)

    @cached_property
    def stand_alone(self) -> bool:
        """Whether they are found whatever is beside them, and a text follows each."""
        return texts_follow(self._spec) and not self._overlap

    @cached_property
    def _overlap(self) -> bool:
        return texts_overlap(self._spec)

    @cached_property
    def _stand_apart(self) -> bool:
        """Whether a text follows each, and none looks at what is beside it."""
        ordinary = [token for one in self._ordinary for token in one.texts.values()]
        return texts_follow(self._spec) and not any(token.single_word for token in ordinary)

    @cached_property
    def _moves_white(self) -> bool:
        """Whether tokens in normalized text, or what is beside them, may lose white space."""
        if self._strips_beside or self._rules.strips_end:
            return True
        tokens = (item for one in self._ordinary for item in one.texts.items() if item[0])
        return any(
            token.normalized and (text[0] in SPACE or text[-1] in SPACE) for text, token in tokens
        )

    def place_after(self, text: str, place: int) -> int:
        """Return a place before which each added token ends that begins before another place."""
        searches = self._ordinary_searches
        return max((one.place_after(text, place) for one in searches), default=place)

    @cached_property
    def _strips_beside(self) -> bool:
        """Whether white space beside a token may be cut off that is found in normalized text."""
        first = self._rules.first_strip
        return first.left or first.right or self._rules.last_strip.left

    def ordinary(self, text: str) -> Iterator[tuple[int, int, AddedToken]]:
        """Yield the added tokens of a text that are whole characters of it."""
        for start, end, token in self.sections(text, frozenset()):
            if token is not None:
                yield start, end, token
                continue
            inside = self.of_section(text[start:end], frozenset())
            if inside is not None:
                for begin, stop, inner in inside:
                    yield start + begin, start + stop, inner
                continue
            found = self.normalized_parts(text[start:end], frozenset())
            if found is None:
                continue
            spans = trace(text[start:end], self._spec.normalizer).spans.tolist()
            for first, last, piece in found:
                begin, stop = spans[first][0], spans[last - 1][1]
                is_whole = first == 0 or spans[first - 1][1] <= begin
                is_whole &= last == len(spans) or spans[last][0] >= stop
                if piece is not None and is_whole:
                    yield start + begin, start + stop, piece

    # Those that are allowed

    def sections(
        self, text: str, allowed: frozenset[str]
    ) -> Iterator[tuple[int, int, AddedToken | None]]:
        """Cut a text into added tokens that are found in it as it is, and the text between."""
        if not text:
            return
        if not allowed and not self._ordinary:
            yield 0, len(text), None
            return
        found = self._plain(self._search_raw, text, allowed)
        if found is None:
            yield from self._raw.cut(text, Pipeline.counting(allowed))
            return
        done = 0
        for start, end, token in found:
            if done < start:
                yield done, start, None
            yield start, end, token
            done = end
        if done < len(text):
            yield done, len(text), None

    def _plain(self, search: TokenSearch, text: str, allowed: frozenset[str]) -> list[Found] | None:
        """Find the tokens of a text that count; None: what is beside one decides, or is a part."""
        counts, found = Pipeline.counting(allowed), search.find(text)
        if found is None:
            return None
        plain = [one for one in found if counts(one[2])]
        if any(token.single_word or token.lstrip or token.rstrip for _, _, token in plain):
            return None
        return plain

    def of_section(self, section: str, allowed: frozenset[str]) -> list[Found] | None:
        """Find the tokens of a section in its normal form, by the given characters.

        None: they are not known so, but by `normalized_parts`.
        """
        if not self.searches_normalized or not (allowed or self._ordinary):
            return []
        found = self._plain(self._search_normalized, section, allowed)
        return None if found and self._strips_beside else found

    def normalized_parts(
        self, section: str, allowed: frozenset[str], *, begins: bool = True
    ) -> list[tuple[int, int, AddedToken | None]] | None:
        """Cut normalized text into added tokens and the text between; None: there are none."""
        text = normalize(section, self.steps_from(begins))
        if not text or not self._normalized.may_find(text):
            return None
        parts = [*self._normalized.cut(text, Pipeline.counting(allowed))]
        return parts if any(token is not None for _, _, token in parts) else None

    def steps_from(self, begins: bool) -> tuple[Step, ...]:
        """Return the steps for a section of a text; `begins`: it is not inside one."""
        steps = self._spec.normalizer
        if begins:
            return steps
        return tuple(Strip(False, one.right) if isinstance(one, Strip) else one for one in steps)
