"""The tokens of each chunk, and their characters.

A token can be a part of a character, or share one with others, so the unit that is shown is a
*cell*: the fewest neighbouring tokens that together are whole characters. Nearly always that
is one token.

Usually the tokens' bytes are the text. If a tokenizer changes the text first, or is not byte-level
BPE, its offsets are used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from cutline.chunks import Chunk
from cutline.encoding import Encoding
from cutline.registry import token_counter_of
from cutline.wrapping import WrappedTokenizer

__all__ = ["Cell", "ShownTokens", "Tokenizer", "tokenizer_of", "tokens_of"]

Tokenizer = Encoding | WrappedTokenizer


@dataclass(frozen=True, slots=True)
class Cell:
    """Whole characters and their tokens.

    Attributes:
        start: the start of the characters, in code points of the text.
        end: their end.
        first: the index of the first token.
        last: one past that of the last token.
    """

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ShownTokens:
    """Tokens of several texts, each encoded on its own.

    Attributes:
        of_texts: for each text its token ids. A negative number is no token, but the number of
            bytes without a token.
        sizes_bytes: the length of each id in the texts that consist of their tokens' bytes.
        widths: for each text None if it consists of its tokens' bytes; otherwise for each token
            the number of code points that end with it: 0 if it shares all of its own with the
            next.
    """

    of_texts: list[list[int]]
    sizes_bytes: dict[int, int]
    widths: list[list[int] | None]

    def cells(self, text: str, place: int = 0) -> Iterator[Cell]:
        """Yield the cells of a text, given with its place in `of_texts`.

        >>> shown = ShownTokens([[1, 2, 3]], {1: 1, 2: 2, 3: 1}, [None])
        >>> list(shown.cells("a古"))
        [Cell(start=0, end=1, first=0, last=1), Cell(start=1, end=2, first=1, last=3)]
        """
        widths = self.widths[place]
        start = end = first = missing = 0
        for number, token in enumerate(self.of_texts[place]):
            if widths is not None:
                missing += widths[number]
            else:
                missing += self.sizes_bytes[token] if token >= 0 else -token
            while missing > 0:
                missing -= 1 if widths is not None else _utf8_size(text[end])
                end += 1
            if missing == 0 and end > start:
                yield Cell(start, end, first, number + 1)
                start, first = end, number + 1


def tokenizer_of(encoding: Tokenizer | str) -> Tokenizer:
    """Return a tokenizer, given as one or by its name.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name.
        TypeError: it is another tokenizer, which must be wrapped first, or only counts.
    """
    found = token_counter_of(encoding)
    if isinstance(found, Tokenizer):
        return found
    raise TypeError(
        "encoding must be an Encoding, its name, or a wrapped tokenizer, got "
        f"{type(encoding).__name__}, which counts tokens and has none to show"
    )


def tokens_of(encoding: Tokenizer, chunks: Sequence[Chunk]) -> ShownTokens:
    """Encode the text of each chunk on its own."""
    texts = [chunk.text for chunk in chunks]
    if isinstance(encoding, WrappedTokenizer):
        found = [_placed(text, encoding.encode(text), encoding.offsets_of(text)) for text in texts]
        return ShownTokens([ids for ids, _ in found], {}, [widths for _, widths in found])
    of_texts = encoding.encode_ordinary_batch(texts)
    widths: list[list[int] | None] = [None] * len(texts)
    ids = sorted({token for tokens in of_texts for token in tokens})
    token_bytes = {token: encoding.decode_single_token_bytes(token) for token in ids}
    for place, (text, tokens) in enumerate(zip(texts, of_texts, strict=True)):
        utf8 = text.encode()
        if b"".join(map(token_bytes.__getitem__, tokens)) == utf8:
            continue
        if isinstance(encoding, Encoding) and encoding._changes_texts:
            found_tokens, spans = encoding._untrimmed_offsets(text)
            of_texts[place], widths[place] = _placed(text, found_tokens.tolist(), spans.tolist())
        else:
            of_texts[place] = _with_gaps(utf8, tokens, token_bytes)
    sizes = {token: len(content) for token, content in token_bytes.items()}
    return ShownTokens(of_texts, sizes, widths)


def _with_gaps(utf8: bytes, tokens: list[int], token_bytes: dict[int, bytes]) -> list[int]:
    """Insert the bytes without tokens, for patterns with gaps.

    Each token is put at the first place with its bytes. So none ends later than it really does,
    and there is a place for all of them.
    """
    shown = []
    done = 0
    for token in tokens:
        start = utf8.index(token_bytes[token], done)
        if start > done:
            shown.append(done - start)
        shown.append(token)
        done = start + len(token_bytes[token])
    if done < len(utf8):
        shown.append(done - len(utf8))
    return shown


def _placed(
    text: str, tokens: Sequence[int], spans: Sequence[tuple[int, int]] | None
) -> tuple[list[int], list[int]]:
    """Insert the bytes without tokens, by the spans of the tokens.

    Args:
        text: the encoded text.
        tokens: its tokens.
        spans: half-open, in code points, one for each token; they may overlap, be empty and
            have gaps. None: all tokens are one cell.

    Returns:
        One of `ShownTokens.of_texts`, and of `ShownTokens.widths`.

    >>> _placed("Ａ b", [7, 8, 9], [(0, 0), (0, 1), (2, 3)])
    ([7, 8, -1, 9], [0, 1, 1, 1])
    """
    if spans is None:
        spans = [(0, len(text))] * len(tokens)
    spans = _without_empty(spans, len(text))
    starts = (start for start, _ in reversed(spans))
    # The least start of each token and all after it.
    begins = [*accumulate(starts, min, initial=len(text))][::-1]
    shown: list[int] = []
    widths: list[int] = []
    done = reached = 0  # end of the last full cell, and of the open one
    for token, (_, end), (begin, next_begin) in zip(tokens, spans, pairwise(begins), strict=True):
        if reached == done < begin:
            shown.append(-len(text[done:begin].encode()))
            widths.append(begin - done)
            done = begin
        reached = max(reached, done, end)
        ends = reached <= next_begin
        shown.append(token)
        widths.append(reached - done if ends else 0)
        done = reached if ends else done
    if done < len(text):
        shown.append(-len(text[done:].encode()))
        widths.append(len(text) - done)
    return shown, widths


def _without_empty(spans: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Give tokens with empty spans, such as an inserted blank, the span of the next token.

    At the end they get that of the last token, and if all are empty, the whole text.
    """
    clipped = [(start, min(end, length)) for start, end in reversed(spans)]
    known = next((span for span in clipped if span[0] < span[1]), (0, length))
    filled = []
    for start, end in clipped:
        known = (start, end) if start < end else known
        filled.append(known)
    return filled[::-1]


def _utf8_size(character: str) -> int:
    point = ord(character)
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4
