"""Which characters of a text each of its tokens comes from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cutline.checks import utf8_of
from cutline.kernels.encode.decode import Decoder
from cutline.kernels.scan.scan import scan_pieces
from cutline.normalizing import Prepend, Traced, trace
from cutline.pipeline.pipeline import Pipeline
from cutline.spec import TokenizerSpec
from cutline.special import SpecialFinder
from cutline.tables import build_scan_tables
from cutline.text_encoder import TextEncoder

__all__ = ["changed_parts", "plain_parts", "trim", "untrimmed_offsets"]

Spans = NDArray[np.int64]
Part = tuple[int, int, int | Traced | None]
"""The span of a part of a text, with a token's id, the changed text, or None if unchanged."""

_BLANK = Prepend(" ")
_WHITE = "\u0120" + "".join(  # GPT-2's letter for a blank
    character
    for character in map(chr, range(0x3001))
    if character.isspace() and not "\x1c" <= character <= "\x1f"
)


def untrimmed_offsets(
    encoder: TextEncoder,
    decoder: Decoder,
    pat_str: str | None,
    text: str,
    parts: Iterable[Part],
) -> tuple[list[int], Spans]:
    """Encode a text and return each token's span, blanks at its ends included.

    Args:
        encoder: encodes normalized text.
        decoder: decodes its tokens.
        pat_str: the split pattern.
        text: the text.
        parts: of `plain_parts` or `changed_parts`.

    Raises:
        SurrogateError: (a ValueError) the text has surrogate code points.
    """
    utf8_of(text)
    tokens: list[int] = []
    spans: list[Spans] = []
    for start, end, what in parts:
        if isinstance(what, int):
            tokens.append(what)
            spans.append(np.array([(start, end)], dtype=np.int64))
            continue
        part = text[start:end] if what is None else what.text
        found = encoder._encode_normalized(part)
        if not found:
            continue
        tokens += found
        places = _places(decoder, pat_str, part, found)
        if what is None:
            spans.append(places + start)
        else:
            origin = np.array(what.spans, dtype=np.int64).reshape(-1, 2)
            spans.append(np.stack([origin[places[:, 0], 0], origin[places[:, 1] - 1, 1]], axis=1))
    return tokens, np.concatenate(spans) if spans else np.empty((0, 2), dtype=np.int64)


def plain_parts(finder: SpecialFinder, ids: Mapping[str, int], text: str) -> Iterator[Part]:
    """Cut a text into special tokens and the text between them."""
    for start, end, found in finder.cut(text):
        yield start, end, None if found is None else ids[found]


def changed_parts(pipeline: Pipeline, text: str, allowed: frozenset[str]) -> Iterator[Part]:
    """Cut a text into added tokens and the text between them, traced to the original."""
    whole, counts = Traced.of(text), pipeline.counting(allowed)
    for start, end, token in pipeline.finder_of_raw.cut(text, counts):
        if token is not None:
            yield start, end, token.id
            continue
        section = trace(whole.part(start, end), pipeline.spec.normalizer)
        for first, last, inner in pipeline.finder_of_normalized.cut(section.text, counts):
            part = section.part(first, last)
            if inner is not None:
                yield part.spans[0][0], part.spans[-1][1], inner.id
            elif pipeline.spec.prefix_space and not part.text.startswith(" "):
                yield start, end, _BLANK.trace(part)
            else:
                yield start, end, part


def _places(decoder: Decoder, pat_str: str | None, text: str, tokens: list[int]) -> Spans:
    """Return for each token of an ordinary text the characters that it has bytes of."""
    edges = decoder.starts_of(tokens)
    spans = np.stack([edges[:-1], edges[1:] - 1], axis=1)  # first and last byte of each token
    utf8 = text.encode()
    tables = None if pat_str is None else build_scan_tables(pat_str)
    if tables is not None and tables.has_gaps:
        piece_starts, piece_ends, _ = scan_pieces(tables, utf8)
        is_kept = np.zeros(len(utf8) + 1, dtype=np.int64)
        np.add.at(is_kept, piece_starts, 1)
        np.add.at(is_kept, piece_ends, -1)
        spans = np.flatnonzero(np.cumsum(is_kept)[:-1])[spans]
    if len(utf8) > len(text):
        spans = (np.cumsum((np.frombuffer(utf8, np.uint8) & 0xC0) != 0x80) - 1)[spans]
    spans[:, 1] += 1
    return spans


def trim(spec: TokenizerSpec, decoder: Decoder, tokens: list[int], spans: Spans) -> None:
    """Trim blanks at the ends of tokens from their spans, in place."""
    added = {token.id: token.content for token in spec.added_tokens}
    blanks = [
        _blanks_of_added(added[token]) if token in added else _blanks(decoder.bytes_of(token))
        for token in tokens
    ]
    for takes_prefix in spec.trims:
        _trim(spans, blanks, takes_prefix)


def _blanks(token: bytes) -> tuple[int, int]:
    """Count the blanks at both ends of a token; other white space is not trimmed."""
    return len(token) - len(token.lstrip(b" ")), len(token) - len(token.rstrip(b" "))


def _blanks_of_added(token: str) -> tuple[int, int]:
    """Count white space and GPT-2's letter for a blank at both ends of an added token."""
    return len(token) - len(token.lstrip(_WHITE)), len(token) - len(token.rstrip(_WHITE))


def _trim(spans: Spans, blanks: Sequence[tuple[int, int]], takes_prefix: bool) -> None:
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
