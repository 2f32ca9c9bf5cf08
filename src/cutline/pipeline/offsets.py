"""Which characters of a text each of its tokens comes from."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cutline.encoding import Encoding
from cutline.kernels.scan.scan import scan_pieces
from cutline.pipeline.encoding import ChangingEncoding, TokenizerEncoding
from cutline.pipeline.facts import Facts
from cutline.pipeline.normalizing import Prepend, Traced
from cutline.tables import build_scan_tables
from cutline.text import utf8_of
from cutline.vocabulary.merges import as_text

__all__ = ["encode_with_offsets", "untrimmed_offsets"]

Spans = NDArray[np.int64]
_BLANK = Prepend(" ")
_WHITE = as_text(b" ") + "".join(
    character
    for character in map(chr, range(0x3001))
    if character.isspace() and not "\x1c" <= character <= "\x1f"
)


def encode_with_offsets(
    encoding: Encoding, text: str, allowed: frozenset[str]
) -> tuple[list[int], Spans]:
    """Encode a text and say where each token is; see `Encoding.encode_with_offsets`."""
    tokens, spans = untrimmed_offsets(encoding, text, allowed)
    facts = encoding._facts if isinstance(encoding, TokenizerEncoding) else Facts()
    if facts.trims:
        added = {token.id: token.content for token in facts.added_tokens}
        blanks = [
            _blanks_of_added(added[token]) if token in added else _blanks(data)
            for token, data in zip(tokens, encoding.decode_tokens_bytes(tokens), strict=True)
        ]
        for takes_prefix in facts.trims:
            _trim(spans, blanks, takes_prefix)
    return tokens, spans


def untrimmed_offsets(
    encoding: Encoding, text: str, allowed: frozenset[str]
) -> tuple[list[int], Spans]:
    """Encode a text and say where each token is, blanks at its ends among it."""
    utf8_of(text)
    tokens: list[int] = []
    spans: list[Spans] = []
    for part in _parts(encoding, text, allowed):
        if isinstance(part, Traced):
            found = _plain(encoding).encode_ordinary(part.text)
            places = _places(encoding, part.text, found)
            origin = np.array(part.spans, dtype=np.int64).reshape(-1, 2)
            tokens += found
            if found:
                spans.append(
                    np.stack([origin[places[:, 0], 0], origin[places[:, 1] - 1, 1]], axis=1)
                )
        else:
            token_id, start, end = part
            tokens.append(token_id)
            spans.append(np.array([(start, end)], dtype=np.int64))
    return tokens, np.concatenate(spans) if spans else np.empty((0, 2), dtype=np.int64)


def _blanks(token: bytes) -> tuple[int, int]:
    """Count the blanks at both ends of a token; other white space has letters of its own."""
    return len(token) - len(token.lstrip(b" ")), len(token) - len(token.rstrip(b" "))


def _blanks_of_added(token: str) -> tuple[int, int]:
    """Count the white space at both ends of an added token, and the letter for a blank."""
    return len(token) - len(token.lstrip(_WHITE)), len(token) - len(token.rstrip(_WHITE))


def _trim(spans: Spans, blanks: Sequence[tuple[int, int]], takes_prefix: bool) -> None:
    """Leave blanks at the ends of tokens out of their spans, as `tokenizers` does it.

    Args:
        spans: of the tokens; changed.
        blanks: at both ends of each.
        takes_prefix: a single one before the text was put there, and is in no span.
    """
    for place, (leading, trailing) in enumerate(blanks):
        start, end = spans[place].tolist()
        if leading == 1 and takes_prefix and (place == 0 or start == 0):
            leading = 0
        start = min(start + leading, end)
        if end >= trailing:
            end = max(end - trailing, start)
        spans[place] = start, end


def _plain(encoding: Encoding) -> Encoding:
    """Take the encoding for text that is changed already."""
    return encoding._inner if isinstance(encoding, ChangingEncoding) else encoding


def _parts(
    encoding: Encoding, text: str, allowed: frozenset[str]
) -> Iterator[Traced | tuple[int, int, int]]:
    """Yield what is encoded, traced to the text, and added tokens with their places."""
    whole = Traced.of(text)
    if isinstance(encoding, TokenizerEncoding):
        yield from _changed_parts(encoding, whole, allowed)
        return
    done = 0
    for part in encoding._cut_at_special(text, allowed) if allowed else [text]:
        if isinstance(part, int):
            # Special tokens may share an id, so the text tells which one it is.
            length = max(
                len(one)
                for one in allowed
                if encoding._special_tokens[one] == part and text.startswith(one, done)
            )
            yield part, done, done + length
        else:
            length = len(part)
            yield whole.part(done, done + length)
        done += length


def _changed_parts(
    encoding: TokenizerEncoding, whole: Traced, allowed: frozenset[str]
) -> Iterator[Traced | tuple[int, int, int]]:
    facts: Facts = encoding._facts
    for start, end, token in encoding._finder_of_raw.cut(whole.text, encoding._counting(allowed)):
        section = whole.part(start, end)
        if token is not None:
            yield token.id, start, end
            continue
        section = facts.trace(section)
        cut = encoding._finder_of_normalized.cut(section.text, encoding._counting(allowed))
        for first, last, inner in cut:
            part = section.part(first, last)
            if inner is not None:
                yield inner.id, part.spans[0][0], part.spans[-1][1]
            elif facts.prefix_space and not part.text.startswith(" "):
                yield _BLANK.trace(part)
            else:
                yield part


def _places(encoding: Encoding, text: str, tokens: list[int]) -> Spans:
    """Tell the characters that each token of an ordinary text has a byte of."""
    utf8 = text.encode()
    lengths = [len(token) for token in encoding.decode_tokens_bytes(tokens)]
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = ends - np.array(lengths, dtype=np.int64)
    tables = None if encoding._pat_str is None else build_scan_tables(encoding._pat_str)
    places = np.arange(len(utf8), dtype=np.int64)
    if tables is not None and tables.has_gaps:
        piece_starts, piece_ends, _ = scan_pieces(tables, utf8)
        is_kept = np.zeros(len(utf8) + 1, dtype=np.int64)
        np.add.at(is_kept, piece_starts, 1)
        np.add.at(is_kept, piece_ends, -1)
        places = np.flatnonzero(np.cumsum(is_kept)[:-1])
    character = np.cumsum((np.frombuffer(utf8, np.uint8) & 0xC0) != 0x80) - 1
    return np.stack([character[places[starts]], character[places[ends - 1]] + 1], axis=1)
