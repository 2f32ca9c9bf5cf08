"""Which characters of a text each of its tokens comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cutline.checks import need_no_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cutline.kernels.base.alignment import Alignment
    from cutline.kernels.encode.decode import Decoder
    from cutline.normalizing import Traced
    from cutline.pipeline.pipeline import Pipeline
    from cutline.special import SpecialFinder
    from cutline.text_encoder import TextEncoder

__all__ = ["changed_parts", "offsets_among_added", "plain_parts", "untrimmed_offsets"]

Spans: TypeAlias = "NDArray[np.int64]"
Tokens: TypeAlias = "NDArray[np.uint32]"
Part: TypeAlias = "tuple[int, int, int | Traced | Alignment | None]"
"""The span of a part of a text, with a token's id, the changed text, or None if unchanged."""


def untrimmed_offsets(
    encoder: TextEncoder, decoder: Decoder, text: str, parts: Iterable[Part]
) -> tuple[Tokens, Spans]:
    """Encode a text and return each token's span, blanks at its ends included.

    Args:
        encoder: encodes normalized text.
        decoder: decodes its tokens.
        text: the text.
        parts: of `plain_parts` or `changed_parts`.

    Raises:
        SurrogateError: (a ValueError) the text has surrogate code points.
    """
    need_no_surrogates(text)
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
        return tokens[0], spans[0]
    return (
        np.concatenate([np.empty(0, dtype=np.uint32), *tokens]),
        np.concatenate([np.empty((0, 2), dtype=np.int64), *spans]),
    )


def offsets_among_added(
    pipeline: Pipeline, encoder: TextEncoder, decoder: Decoder, text: str
) -> tuple[Tokens, Spans] | None:
    """Do it for a text with added tokens, by a kernel; None: it has none, or is no such text."""
    need_no_surrogates(text)
    found = pipeline.encode_among_added(encoder, text, aligns=True)
    if found is None:
        return None
    tokens, places, of_added, alignment = found
    assert alignment is not None
    is_other = np.ones(len(tokens), dtype=np.bool_)
    is_other[places] = False
    others = decoder.spans_of(tokens[is_other])
    if alignment.length_of(len(text)) != (others[-1, 1] if len(others) else 0):
        return None  # some characters are in no piece
    spans = np.empty((len(tokens), 2), dtype=np.int64)
    spans[is_other] = alignment.spans_of(others)
    spans[places] = of_added
    return tokens, spans


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
