"""Which characters of a text each of its tokens comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cutline.checks import utf8_of
from cutline.kernels.encode.decode import Decoder, ids_to_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cutline.kernels.base.alignment import Alignment
    from cutline.normalizing import Traced
    from cutline.pipeline.pipeline import Pipeline
    from cutline.spec import TokenizerSpec
    from cutline.special import SpecialFinder
    from cutline.text_encoder import TextEncoder

__all__ = [
    "changed_parts",
    "ends_of_bytes",
    "plain_parts",
    "trim",
    "untrimmed_offsets",
    "white_ends",
]

Spans: TypeAlias = "NDArray[np.int64]"
Tokens: TypeAlias = "NDArray[np.uint32]"
Ends: TypeAlias = tuple[int, int]
Part: TypeAlias = "tuple[int, int, int | Traced | Alignment | None]"
"""The span of a part of a text, with a token's id, the changed text, or None if unchanged."""

# Where a post-processor trims: GPT-2's letter for a blank, and Unicode's white space.
_WHITE = (
    "\u0120\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
_NONE = (0, 0)


def untrimmed_offsets(
    encoder: TextEncoder, decoder: Decoder, text: str, parts: Iterable[Part]
) -> tuple[list[int], Spans]:
    """Encode a text and return each token's span, blanks at its ends included.

    Args:
        encoder: encodes normalized text.
        decoder: decodes its tokens.
        text: the text.
        parts: of `plain_parts` or `changed_parts`.

    Raises:
        SurrogateError: (a ValueError) the text has surrogate code points.
    """
    utf8_of(text)
    tokens: list[Tokens] = []
    spans: list[Spans] = []
    for start, end, what in parts:
        if isinstance(what, int):
            tokens.append(np.array([what], dtype=np.uint32))
            spans.append(np.array([(start, end)], dtype=np.int64))
            continue
        part = text[start:end] if what is None else what.text
        found = encoder._encode_normalized_to_numpy(part)
        places = _places(encoder, decoder, part, found)
        tokens.append(found)
        if what is not None:
            places = what.spans_of(places)
        elif start:
            places += start
        spans.append(places)
    if len(spans) == 1:  # nothing to copy: most texts
        return ids_to_list(tokens[0]), spans[0]
    return (
        ids_to_list(np.concatenate([np.empty(0, dtype=np.uint32), *tokens])),
        np.concatenate([np.empty((0, 2), dtype=np.int64), *spans]),
    )


def plain_parts(finder: SpecialFinder, ids: Mapping[str, int], text: str) -> Iterator[Part]:
    """Cut a text into special tokens and the text between them."""
    for start, end, found in finder.cut(text):
        yield start, end, None if found is None else ids[found]


def changed_parts(pipeline: Pipeline, text: str, allowed: frozenset[str]) -> Iterator[Part]:
    """Cut a text into added tokens and the text between them, traced to the original."""
    if not allowed and (aligned := pipeline.aligned(text)) is not None:
        yield 0, len(text), None if isinstance(aligned, str) else aligned
        return
    from cutline.normalizing import Prepend, Traced, trace  # for tokenizers that change texts

    blank = Prepend(" ")
    whole, counts = Traced.of(text), pipeline.counting(allowed)
    for start, end, token in pipeline.finder_of_raw.cut(text, counts):
        if token is not None:
            yield start, end, token.id
            continue
        section = trace(whole.part(start, end), pipeline.steps_before_search)
        for first, last, inner in pipeline.finder_of_normalized.cut(section.text, counts):
            part = section.part(first, last)
            if inner is not None:
                yield int(part.spans[0, 0]), int(part.spans[-1, 1]), inner.id
                continue
            part = trace(part, pipeline.steps_after_search)
            if (
                pipeline.spec.prefix_space
                and not part.text.startswith(" ")
                and not (pipeline.spec.prefix_first and start + first)
            ):
                yield start, end, pipeline.trace_marks(blank.trace(part))
            else:
                yield start, end, pipeline.trace_marks(part)


def _places(encoder: TextEncoder, decoder: Decoder, text: str, tokens: Tokens) -> Spans:
    """Return for each token of an ordinary text the characters that it has bytes of."""
    spans = decoder.spans_of(tokens)
    if len(spans) and spans[-1, 1] == len(text):
        return spans
    # Some characters are in no piece: the spans are those of the others.
    utf8 = text.encode()
    starts, ends = encoder._find_pieces(utf8)
    edges = np.zeros(len(utf8) + 1, dtype=np.int64)
    np.add.at(edges, starts, 1)
    np.add.at(edges, ends, -1)
    begins = (np.frombuffer(utf8, np.uint8) & 0xC0) != 0x80
    kept = np.flatnonzero(np.cumsum(edges[:-1])[begins])
    return np.stack([kept[spans[:, 0]], kept[spans[:, 1] - 1] + 1], axis=1)


def trim(
    spec: TokenizerSpec, ends: Callable[[int], Ends], text: str, tokens: list[int], spans: Spans
) -> None:
    """Trim blanks at the ends of tokens from their spans, in place.

    Args:
        spec: the tokenizer.
        ends: `ends_of_bytes`, or looks up what `white_ends` found.
        text: the text.
        tokens: its tokens.
        spans: theirs.
    """
    from cutline.normalizing import Prepend, Strip, normalize  # for tokenizers that change texts

    added = {token.id: token.content for token in spec.added_tokens}
    strips = {
        token.id: spec.normalizer if token.normalized else ()
        for token in spec.added_tokens
        if token.lstrip or token.rstrip
    }
    contents = {
        token: normalize(added[token], steps, at_start=False) for token, steps in strips.items()
    }
    unknown, blank = _unknown_of(spec)
    inside = tuple(one for one in spec.normalizer if not isinstance(one, Prepend | Strip))

    def blanks(token: int, start: int, end: int) -> Ends:
        if token == unknown:
            return _white_ends(normalize(text[start:end], inside).replace(" ", blank))
        if token in strips:
            matched = normalize(text[start:end], strips[token], at_start=start == 0)
            # A match includes the white space that is stripped. Else the model made the token.
            if contents[token] in matched:
                return _white_ends(matched)
        if token in added:
            return _white_ends(added[token])
        return ends(token)

    found = [
        blanks(token, start, end)
        for token, (start, end) in zip(tokens, spans.tolist(), strict=True)
    ]
    for takes_prefix in spec.trims:
        _trim(spans, found, takes_prefix)


def _unknown_of(spec: TokenizerSpec) -> tuple[int | None, str]:
    """Return the id whose tokens keep the text that is unknown, and what blanks are there."""
    if spec.model is None:
        return None, " "
    from cutline.words.models import Unigram  # not for models over bytes
    from cutline.words.splitting import Metaspace

    blank = next((one.replacement for one in spec.splitters if isinstance(one, Metaspace)), " ")
    return spec.model.unk_id if isinstance(spec.model, Unigram) else None, blank


def ends_of_bytes(spec: TokenizerSpec, decoder: Decoder) -> Callable[[int], Ends]:
    """Return what counts the blanks at both ends of a token of bytes; no other white space."""
    if spec.marks_words and not spec.led_pat_str:
        return lambda token: _NONE  # its blank is no character

    def ends(token: int) -> Ends:
        written = decoder.bytes_of(token)
        return len(written) - len(written.lstrip(b" ")), len(written) - len(written.rstrip(b" "))

    return ends


def white_ends(spec: TokenizerSpec) -> dict[int, Ends]:
    """Count white space at both ends of the tokens over characters or of words that have any."""
    tokens = zip(spec.vocabulary.ids.tolist(), spec.vocabulary.tokens(), strict=True)
    written = {token_id: token.decode(errors="replace") for token_id, token in tokens}
    if spec.characters is not None:
        from cutline.normalizing import Spell

        # Its blanks are U+2581 in the file, which writes what stands for a byte as its number.
        meant = spec.characters.meanings
        falls_back = isinstance(spec.normalizer[-1], Spell)
        bare = {bytes([byte]) for byte in range(128)} - set(meant.values())
        written = {
            token_id: token.replace(" ", "\u2581")
            for token_id, token in written.items()
            if token_id not in meant and not (falls_back and token.encode() in bare)
        }
    found = {token_id: _white_ends(token) for token_id, token in written.items()}
    return {token_id: ends for token_id, ends in found.items() if ends != _NONE}


def _white_ends(token: str) -> Ends:
    """Count white space and GPT-2's letter for a blank at both ends of a token's text."""
    return len(token) - len(token.lstrip(_WHITE)), len(token) - len(token.rstrip(_WHITE))


def _trim(spans: Spans, blanks: Sequence[Ends], takes_prefix: bool) -> None:
    """Trim once, as `tokenizers` does it.

    Args:
        spans: the tokens' spans; changed in place.
        blanks: the number of blanks at both ends of each token.
        takes_prefix: a single blank before the text was inserted, and is in no span.
    """
    for place, (leading, trailing) in enumerate(blanks):
        start, end = spans[place].tolist()
        if leading == 1 and takes_prefix and (place == 0 or start == 0):
            leading = 0
        start = min(start + leading, end)
        if end >= trailing:
            end = max(end - trailing, start)
        spans[place] = start, end
