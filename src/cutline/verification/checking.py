"""`verify`: checks that chunks are slices of their text, within budget, and lose nothing."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from cutline.checks import checked_flag, checked_integer, need_several, plain_text
from cutline.chunks import ChunkSize, size_for
from cutline.counting.limits import AlsoFits, Limit, further_limits, unit_of
from cutline.template import SENT_TOKENS, Template, need_template
from cutline.verification.duck_typing import (
    ReadChunk,
    Tokenizer,
    counter_of,
    named_count_of,
    own_tokenizer,
    read_chunk,
    whole_chunk,
)
from cutline.verification.locating import Place, locate, span_holds, uncovered
from cutline.verification.report import Fill, Finding, FindingKind, Report

__all__ = ["verify"]

_SHOWN = 40


def verify(
    text: str,
    chunks: Iterable[Any],
    *,
    encoding: Tokenizer = "o200k_base",
    chunk_size: ChunkSize,
    chunk_overlap: int = 0,
    strip: bool = False,
    template: Template | None = None,
    count_text: Callable[[Any], int] | None = None,
    also_fits: AlsoFits = None,
) -> Report:
    """Check the chunks of a text, from any library, and report everything that is wrong.

    It checks that every chunk is within budget, is the slice of the text at its offsets, and
    has its `token_count`; that all the text is in the chunks, in order; that chunks share no
    more than `chunk_overlap` tokens, and each adds new text.

    Args:
        text: the text that was cut.
        chunks: for each chunk its text, and if known its offsets and tokens: a str; a pair of
            offset and str, or of offsets; or a mapping or an object with `text`, `page_content`
            or `content`, with `start_index`, `start_char_idx`, `split_idx_start` or `start`, with
            `end_index`, `end_char_idx` or `end`, and with `token_count`. All but the text may
            be in `metadata` or `meta`.
        encoding: an `Encoding`, its name, a wrapped tokenizer, a function from text to number of
            tokens, or an object with `encode` (of tiktoken, tokenizers, transformers); no special
            tokens are added.
        chunk_size: the budget; "model" for what the encoding's model reads, as for chunkers.
        chunk_overlap: maximum number of tokens that a chunk shares with the text before it.
        strip: white space between chunks may be missing.
        template: what is sent for a chunk, as the chunker had it: that counts against the budget,
            special tokens included, and the further limits, as the text alone does. Fields of the
            document must be filled. Headings, and what of them is left out, are those that the
            chunk has, itself or in its metadata.
        count_text: without a template, returns the tokens that are really sent for a given chunk,
            which count against the budget; the same function that the chunker had. By default
            the chunk's own tokens.
        also_fits: further limits that each chunk's text must fit: maximum numbers by tokenizer,
            which may be all that `encoding` may be, and of "characters" or "bytes".

    Returns:
        The report, true if there are no findings.

    Raises:
        TypeError: a chunk has no text, or an encoding cannot count; or `chunks` is one str.
        ValueError: chunk_size or another limit is below 1, or chunk_overlap negative; template and
            count_text are both given, or a field of the template has no value.

    Chunks without offsets, or with wrong ones, are located from left to right. If repeated text
    occurs at several positions, a position without findings is taken.

    Cost: each chunk is counted and compared at its expected position: linear in the text. Chunks
    that are not found there are searched for: see docs/budgets.md.
    Source: docs/budgets.md, "Verifying".

    >>> report = verify("one two three", ["one two", "three"], chunk_size=2)
    >>> report.ok
    False
    >>> print(report.findings[0])
    white space lost: chunk 1: ' ' at 7 is in no chunk
    >>> print(verify("one two", ["one", " two"], chunk_size=2, also_fits={"bytes": 3}))
    2 chunks of 7 characters: 1 finding
    mean fill 50.0%, largest chunk 1 token, 0 characters and 0 of white space lost
    mean fill 116.7%, largest chunk 4 bytes
      over budget: 1
    - over budget: chunk 1: 4 bytes, over the 3 of also_fits: ' two'
    """
    text = plain_text(text)
    need_several(chunks, "chunks")
    size = size_for(own_tokenizer(encoding), chunk_size, template is not None)
    size = checked_integer(size, "chunk_size")
    chunk_overlap = checked_integer(chunk_overlap, "chunk_overlap")
    if size < 1:
        raise ValueError(f"chunk_size must be 1 or more tokens, got {size}")
    if chunk_overlap < 0:
        raise ValueError(f"chunk_overlap must be 0 or more tokens, got {chunk_overlap}")
    strip = checked_flag(strip, "strip")
    if template is not None:
        need_template(template)
    count, limits = counter_of(encoding), further_limits(also_fits, 1, named_count_of)
    sending = _Sending(template, count_text, count, _special_tokens(template, encoding))
    if template is not None:
        template.need_values()
        if count_text is not None:
            raise ValueError("template and count_text are both given: leave count_text out")
    further: list[list[int]] = [[] for _ in limits]
    given = list(chunks)
    read = [read_chunk(chunk, number, text) for number, chunk in enumerate(given)]
    findings: list[Finding] = []
    sent: list[int] = []
    for number, chunk in enumerate(read):
        tokens = count(chunk.text)
        made = sending.made(given[number], chunk, number, tokens)
        sent.append(made.tokens)
        findings += _check_counts(number, chunk, tokens, made, size)
        for limit, counts in zip(limits, further, strict=True):
            counts.append(max(map(limit.measure.count, made.texts)))
            findings += _check_limit(number, chunk, counts[-1], limit)
    count_shared = lru_cache(count)  # repeated overlaps are counted once
    places = locate(text, read, count_shared, chunk_overlap, strip)
    findings += _check_places(text, read, places, count_shared, chunk_overlap)
    found = (
        (place.start, place.end, number)
        for number, place in enumerate(places)
        if place.start is not None and place.end is not None
    )
    lost = list(uncovered(found, len(text)))
    for start, end, following in lost:
        if not (strip and text[start:end].isspace()):
            findings.append(_loss(text, start, end, following))
    last = len(read)
    findings.sort(key=lambda found: last if found.chunk is None else found.chunk)
    blanks = sum(character.isspace() for start, end, _ in lost for character in text[start:end])
    return Report(
        findings=tuple(findings),
        chunk_count=len(read),
        text_length=len(text),
        mean_fill=_mean_fill(sent, size),
        most_tokens=max(sent, default=0),
        lost_characters=sum(end - start for start, end, _ in lost) - blanks,
        lost_white_space=blanks,
        also_fits=tuple(map(_fill, limits, further)),
    )


class _Made(NamedTuple):
    """What is sent for a chunk."""

    tokens: int
    said: object  # of these tokens, by the chunk's metadata
    texts: set[str]  # what must fit further limits


class _Sending(NamedTuple):
    template: Template | None
    count_text: Callable[[Any], int] | None
    count: Callable[[str], int]
    special_tokens: int

    def made(self, given: Any, read: ReadChunk, number: int, tokens: int) -> _Made:
        if self.template is None:
            sent = tokens if self.count_text is None else self.count_text(given)
            return _Made(sent, None, {read.text})
        chunk = whole_chunk(given, read, number, read.start or 0, tokens)
        rendered = self.template.render(chunk)
        sent = self.count(rendered) + self.special_tokens
        return _Made(sent, chunk.metadata.get(SENT_TOKENS), {read.text, rendered})


def _special_tokens(template: Template | None, encoding: Tokenizer) -> int:
    return 0 if template is None else template.special_tokens_of(own_tokenizer(encoding))


def _fill(limit: Limit, counts: list[int]) -> Fill:
    most = limit.most
    return Fill(unit_of(limit.measure), most, max(counts, default=0), _mean_fill(counts, most))


def _mean_fill(counts: list[int], most: int) -> float:
    return sum(counts) / len(counts) / most if counts else 0.0


def _check_counts(
    number: int, chunk: ReadChunk, tokens: int, made: _Made, chunk_size: int
) -> Iterator[Finding]:
    # With a template, the text alone is within the budget, too.
    most = max(made.tokens, tokens) if len(made.texts) > 1 else made.tokens
    if most > chunk_size:
        message = f"{most} tokens, over chunk_size={chunk_size}: {_shown(chunk.text)}"
        yield Finding("over budget", number, message)
    if made.said is not None and made.said != made.tokens:
        message = (
            f"{SENT_TOKENS} is {made.said!r}, but for {_shown(chunk.text)} it is {made.tokens}"
        )
        yield Finding("wrong token count", number, message)
    if chunk.token_count is not None and chunk.token_count != tokens:
        message = f"token_count is {chunk.token_count}, but {_shown(chunk.text)} has {tokens}"
        yield Finding("wrong token count", number, message)


def _check_limit(number: int, chunk: ReadChunk, count: int, limit: Limit) -> Iterator[Finding]:
    if count > limit.most:
        over = f"{count} {unit_of(limit.measure)}, over the {limit.most} of also_fits"
        yield Finding("over budget", number, f"{over}: {_shown(chunk.text)}")


def _check_places(
    text: str,
    chunks: list[ReadChunk],
    places: list[Place],
    count: Callable[[str], int],
    chunk_overlap: int,
) -> Iterator[Finding]:
    """Check each chunk's position against its offsets, and against the chunks before it."""
    for number, (chunk, place) in enumerate(zip(chunks, places, strict=True)):
        if chunk.start is not None:
            yield from _check_offsets(text, number, chunk, place)
        before = place.previous
        if place.start is None or place.end is None or before is None:
            message = f"{_shown(chunk.text)} is not in the text"
            yield Finding("invented text", number, message)
            continue
        start, end = place.start, place.end
        if end - start < len(chunk.text):
            message = f"of {_shown(chunk.text)} only {_shown(text[start:end])} is in the text"
            yield Finding("invented text", number, message, start, end)
        shared = text[start : min(before.covered, end)]
        if start < before.last_start:
            message = f"begins at {start}, before the one in front of it, at {before.last_start}"
            yield Finding("out of order", number, message, start, end)
        elif end <= before.covered or not chunk.text:
            message = f"{_shown(chunk.text)} at {start} ends at {end}, no farther than those before"
            yield Finding("nothing new", number, message, start, end)
        elif shared and (not chunk_overlap or count(shared) > chunk_overlap):
            message = f"{_shown(shared)} at {start}, {count(shared)} tokens, is shared, over "
            yield Finding(
                "overlap too large", number, message + f"chunk_overlap={chunk_overlap}", start, end
            )


def _check_offsets(text: str, number: int, chunk: ReadChunk, place: Place) -> Iterator[Finding]:
    start = chunk.start or 0
    end = start + len(chunk.text) if chunk.end is None else chunk.end
    if not span_holds(text, chunk):
        there = _shown(text[start:end]) if 0 <= start <= end else "nothing"
        message = f"text[{start}:{end}] is {there}, the chunk {_shown(chunk.text)}"
        yield Finding("wrong offsets", number, message)
    elif place.start != start:
        message = f"{_shown(chunk.text)} is at {start} too, but what follows is at {place.start}"
        yield Finding("wrong offsets", number, message, place.start, place.end)


def _loss(text: str, start: int, end: int, number: int | None) -> Finding:
    message = f"{_shown(text[start:end])} at {start} is in no chunk"
    kind: FindingKind = "white space lost" if text[start:end].isspace() else "text lost"
    return Finding(kind, number, message, start, end)


def _shown(text: str) -> str:
    """Return the text as shown in findings."""
    if len(text) <= _SHOWN:
        return repr(text)
    return f"{text[:_SHOWN]!r}… ({len(text)} characters)"
