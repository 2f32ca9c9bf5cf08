"""`WrappedTokenizer`: any other tokenizer, with the interface of a `TokenCounter`."""

import copy
import json
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from cutline.checks import checked_budget, list_of_texts, plain_text, utf8_of
from cutline.chunks import Chunk
from cutline.counting import cutting, together, truncating
from cutline.counting.limits import AlsoFits, further_limits
from cutline.counting.recounted import RecountedAppender, RecountedPrepender
from cutline.counting.till_limit import count_till_limit
from cutline.counting.truncating import Boundary, Keep
from cutline.errors import OffsetError
from cutline.pretrained.side_files import ModelFacts
from cutline.text_encoder import TextEncoder
from cutline.threads import map_threads
from cutline.wrapping.processor import Processor, is_processor
from cutline.wrapping.safe_points import find_safe_points
from cutline.wrapping.slices import MAX_TOKEN_CHARACTERS, SHORT, TextSlices
from cutline.wrapping.versions import (
    document_of,
    encodes_with_offsets,
    is_of_tokenizers,
    template_tokens,
    without_limits,
)

if TYPE_CHECKING:
    import re

__all__ = ["WrappedTokenizer", "wrap"]

_REMEMBERED_WORDS: Final = 1 << 16


def wrap(tokenizer: Any, *, name: str | None = None) -> "WrappedTokenizer":
    """Wrap another tokenizer, so that it counts and cuts text as an `Encoding` does.

    For tokenizers that are not byte-level BPE: WordPiece, Unigram, WordLevel, SentencePiece's BPE.

    Args:
        tokenizer: a `tokenizers.Tokenizer` (0.21 or later, 1.x too), a fast tokenizer of
            `transformers`, or any object whose `encode(text, add_special_tokens=False)` returns
            `ids` and `offsets`, these in code points; or a `SentencePieceProcessor`. It is
            copied, so later changes to it have no effect. Or where its package, which must be
            installed, loads it from: the path of a `tokenizer.json`, of a `.model` file of
            sentencepiece, or of a folder with `tokenizer.json` or `tokenizer.model`; or the name
            of a model on the Hugging Face Hub, as for `cutline.from_pretrained`.
        name: its name; by default the `name_or_path` of transformers, the given name of a model,
            the name of the folder or file, or the type of the tokenizer's model.

    Returns:
        A tokenizer that can replace an encoding in all chunkers, `truncate`, `pack`, `verify`
        and `cutline.view`.

    Raises:
        TypeError: it does not encode with offsets, as transformers' slow tokenizers do not.
        ValueError: it chooses tokens at random (dropout, sampling); or it truncates or pads,
            and cannot be copied to turn that off.
        FileNotFoundError, VocabularyError: there is no such file, or it is damaged.
        UnknownEncodingError, HubError: as `cutline.from_pretrained`.
        ImportError: `tokenizers`, sentencepiece or huggingface_hub is not installed.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> vocab = {"[UNK]": 0, "un": 1, "##able": 2, "##aff": 3}
    >>> tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> tiny = wrap(tokenizer, name="tiny")
    >>> tiny.count("unaffable"), [chunk.text for chunk in tiny.split("unaffable unable", 3)]
    (3, ['unaffable ', 'unable'])
    """
    if isinstance(tokenizer, str | PathLike):
        from cutline.wrapping.opening import open_tokenizer

        opened = open_tokenizer(tokenizer)
        wrapped = WrappedTokenizer(opened.tokenizer, name=name or opened.name)
        wrapped._facts = opened.facts
        return wrapped
    if isinstance(tokenizer, TextEncoder | WrappedTokenizer):
        raise TypeError(f"{tokenizer!r} counts and cuts as it is: pass it where wrap(...) would be")
    if hasattr(tokenizer, "_mergeable_ranks"):
        raise TypeError("cutline.Encoding.from_tiktoken takes encodings of tiktoken, and wrap none")
    if is_processor(tokenizer):
        tokenizer = Processor(tokenizer.serialized_model_proto())
        name = name or "sentencepiece"
    return WrappedTokenizer(tokenizer, name=name)


class WrappedTokenizer:
    """A tokenizer that can only encode, wrapped so that it counts and cuts; see `wrap`.

    Its counts are those of `encode(text, add_special_tokens=False)`. Counts of a slice are those
    of the slice on its own. Any number of threads may use it at once. It can be pickled if the
    tokenizer can.

    Args:
        tokenizer, name: as for `wrap`.
    """

    def __init__(self, tokenizer: Any, *, name: str | None = None) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        document = _document_of(backend)
        self._has_offsets = _check_encodes(backend, type(tokenizer).__name__, document)
        _check_certain(backend, document)
        given = name or getattr(tokenizer, "name_or_path", "") or _model_name(backend, document)
        self._name = str(given)
        self._tokenizer = _whole_text_copy(backend)
        self._encode = self._tokenizer.encode
        self._points = find_safe_points(document)
        self._facts = ModelFacts()
        self.count_part = lru_cache(_REMEMBERED_WORDS)(self._count)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def tokenizer(self) -> Any:
        """The wrapped tokenizer, a copy of the given one without truncation and padding."""
        return self._tokenizer

    @cached_property
    def content_hash(self) -> str | None:
        """SHA-256 in hex over everything that determines tokens and ids, not the name.

        None if it is not known: parts of the tokenizer are written in Python, or it is not from
        the package `tokenizers`. Version 1 of that package serializes tokenizers differently.
        """
        document = _document_of(self._tokenizer)
        if document is None or not is_of_tokenizers(self._tokenizer):
            return None
        unlimited = {**document, "truncation": None, "padding": None}
        content = [unlimited, _special_text(self._tokenizer)]
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def safe_points(self) -> "re.Pattern[str] | None":
        """A pattern that finds the safe split points of a text; None if none are known."""
        return self._points

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Count the tokens that the model's template adds around a text, or around two.

        Examples are [CLS] and [SEP]. No count includes them: leave room for them in `chunk_size`.
        """
        return template_tokens(self._tokenizer, pair=pair)

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that the model reads, those of its template included.

        None if that is not known; it can be of what `wrap` loaded from a folder or by name. See
        `Encoding.max_tokens`.
        """
        return self._facts.max_tokens

    @property
    def prompts(self) -> dict[str, str]:
        """The texts that the model expects before a text, as of `Encoding.prompts`."""
        return dict(self._facts.prompts)

    def __repr__(self) -> str:
        return f"<WrappedTokenizer {self._name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        special_text = _special_text(self._tokenizer)
        return _rebuild, (self._tokenizer, self._name, special_text, self._facts)

    # Encoding

    def encode(self, text: str) -> list[int]:
        """Encode a text, without the special tokens of the template.

        Text that spells an added token is encoded as that token, unless the tokenizer's
        `encode_special_tokens` is set.

        Raises:
            SurrogateError: (a ValueError) the text has surrogate code points.
        """
        return list(self._encode(_checked(text), add_special_tokens=False).ids)

    encode_ordinary = encode

    def offsets_of(self, text: str) -> list[tuple[int, int]] | None:
        """Return each token's span in a text, in code points; None without offsets."""
        if not self._has_offsets:
            return None
        offsets = self._encode(_checked(text), add_special_tokens=False).offsets
        return [(start, end) for start, end in offsets]

    # Counting

    def count(self, text: str) -> int:
        """Count the tokens of a text: `len(encode(text))`.

        Raises:
            SurrogateError: (a ValueError) the text has surrogate code points.
        """
        return self._count(_checked(text))

    def _count(self, text: str) -> int:
        return len(self._encode(text, add_special_tokens=False).ids)

    def count_till_limit(self, text: str, limit: int) -> int | None:
        """Count the tokens, or return None if there are more than `limit`.

        Cost: that of `count`, for no more of a long text than decides if it has safe split points.
        """
        limit, text = checked_budget(limit, "limit"), _checked(text)
        return count_till_limit(text, limit, self._count, self._safe_points)

    def count_batch(self, texts: Sequence[str], *, num_threads: int = 8) -> NDArray[np.int64]:
        """Count the tokens of many texts, in threads: int64, shape (texts,)."""
        return np.array(map_threads(self.count, list_of_texts(texts), num_threads), dtype=np.int64)

    def fits(self, text: str, max_tokens: int) -> bool:
        """Return whether a text has at most `max_tokens` tokens."""
        return self.count_till_limit(text, checked_budget(max_tokens)) is not None

    def intervals(self, text: str) -> TextSlices:
        """Return a counter for the slices of a text; see `TextSlices` for the cost."""
        return TextSlices(self, text)

    # Cutting

    def split_at(self, text: str, n: int, start: int = 0, *, also_fits: AlsoFits = None) -> int:
        """Find an end such that `text[start:end]` has at most n tokens, by encoding.

        The slice never has more than n. That no later end fits can only be shown by trying them
        all. What is guaranteed, within 64 characters for each of n tokens and one more:

        - with a tokenizer like BERT's, no later end fits, if the word in which the budget runs
          out has at most 64 characters, and at most 32 of them are after the end;
        - otherwise none of the next 32 ends fits, provided that the tokens there depend only on
          the 64 characters before the end.

        Args:
            text: the text.
            n: the token budget, 0 or more.
            start: the offset to begin at, in code points.
            also_fits: further limits, as of `Encoding.split_at`.

        Raises:
            OffsetError: start lies outside the text.
            ValueError: n is negative.
            SurrogateError: (a ValueError) the text that is read has surrogate code points.

        Cost: encodes about twice the text between start and end, plus short texts.
        Source: docs/wrap.md, "How a cut is found".
        """
        text, n, start = plain_text(text), checked_budget(n, "n"), index(start)
        if limits := further_limits(also_fits):
            return together.split_at(self, text, n, start, limits)
        if not 0 <= start <= len(text):
            raise OffsetError(
                f"start must be from 0 to {len(text)}, the text's length, got {start}"
            )
        window = text[start : start + self._max_bytes_of(n)]
        utf8_of(window, start)
        return start + TextSlices(self, window).split_at(0, n)

    def split(
        self,
        text: str,
        chunk_size: int,
        chunk_overlap: int = 0,
        *,
        also_fits: AlsoFits = None,
    ) -> list[Chunk]:
        """Cut a text into chunks of at most `chunk_size` tokens, between any two characters.

        The same as `TokenChunker`; see `Encoding.split`.
        """
        text, limits = plain_text(text), further_limits(also_fits, least=1)
        return cutting.split_by_counting(
            self.intervals, text, chunk_size, chunk_overlap, None, limits
        )

    def truncate(
        self,
        text: str,
        max_tokens: int,
        keep: Keep = "start",
        marker: str = "…",
        *,
        boundary: Boundary = "character",
        also_fits: AlsoFits = None,
    ) -> str:
        """Cut a text to a token budget, with a marker; see `cutline.truncate`.

        Cost: encodes the text once, and the kept text some hundred times.
        """
        others = further_limits(also_fits)
        return truncating.truncate(self, text, max_tokens, keep, marker, boundary, others).text

    def appender(self, text: str = "") -> RecountedAppender:
        """Begin a text that grows at its end.

        Cost: each query encodes the text; with a tokenizer like BERT's, its last word.
        """
        return RecountedAppender(self, text)

    def prepender(self, text: str = "") -> RecountedPrepender:
        """Begin a text that grows at its beginning.

        Cost: each query encodes the text; with a tokenizer like BERT's, its first word.
        """
        return RecountedPrepender(self, text)

    def _safe_points(self, text: str, begin: int) -> Iterator[int]:
        """Yield the safe split points of a text after a position."""
        if self._points is None:
            return iter(())
        return (found.start() for found in self._points.finditer(text, begin + 1))

    def _is_safe_point(self, text: str, place: int) -> bool:
        """Return whether a place is a safe split point of every text with these characters."""
        return self._points is not None and self._points.match(text, place) is not None

    def _count_after(self, text: str) -> int:
        """Count the tokens of a text that begins at a safe split point."""
        return self.count_part(text) if len(text) <= SHORT else self._count(text)

    def _max_bytes_of(self, n: int) -> int:
        """Return the upper bound of `split_at` in characters."""
        return MAX_TOKEN_CHARACTERS * (n + 1)


def _checked(text: str) -> str:
    """Refuse objects that are no text, and surrogates, which have no offsets in tokenizers."""
    text = plain_text(text)
    utf8_of(text)
    return text


def _document_of(backend: Any) -> dict[str, Any] | None:
    try:
        return document_of(backend)
    except Exception:  # a part is written in Python, and unknown
        return None


def _check_encodes(backend: Any, kind: str, document: dict[str, Any] | None) -> bool:
    """Refuse tokenizers that do not encode as needed. Returns whether they give offsets."""
    try:
        has_offsets = encodes_with_offsets(backend)
    except (AttributeError, TypeError):
        document, has_offsets = None, False
    # Without both, the ids may be anything.
    if not has_offsets and document is None:
        raise TypeError(
            "tokenizer must have encode(text, add_special_tokens=False) that returns ids and "
            f"offsets, got {kind}: give a tokenizers.Tokenizer, or of transformers a fast one "
            "(AutoTokenizer.from_pretrained(..., use_fast=True))"
        )
    return has_offsets


def _model_name(backend: Any, document: dict[str, Any] | None) -> str:
    if hasattr(backend, "model"):
        return type(backend.model).__name__
    model = (document or {}).get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    return str(kind or type(backend).__name__)


def _check_certain(backend: Any, document: dict[str, Any] | None) -> None:
    """Refuse models that choose tokens at random."""
    model = getattr(backend, "model", None)
    written = (document or {}).get("model")
    for option in ("dropout", "alpha", "nbest_size"):
        said = written.get(option) if isinstance(written, dict) else None
        if value := getattr(model, option, said):
            raise ValueError(
                f"the tokenizer chooses tokens at random ({option}={value}), so that no count "
                f"holds: set tokenizer.model.{option} = None first"
            )


def _whole_text_copy(backend: Any) -> Any:
    """Copy a tokenizer and turn off truncation and padding."""
    altering = [
        what for what in ("truncation", "padding") if getattr(backend, what, None) is not None
    ]
    try:
        copied = copy.deepcopy(backend)
    except Exception as error:  # a part is written in Python: tokenizers cannot copy it
        if altering:
            raise ValueError(
                f"the tokenizer has {' and '.join(altering)} enabled and cannot be copied "
                f"({error}): call its no_truncation() and no_padding() first"
            ) from error
        return backend
    return _with_special_text(without_limits(copied), _special_text(backend))


def _special_text(tokenizer: Any) -> bool:
    """Whether the text of special tokens is encoded as ordinary text (copies lose this setting)."""
    return bool(getattr(tokenizer, "encode_special_tokens", False))


def _with_special_text(tokenizer: Any, is_ordinary: bool) -> Any:
    if is_ordinary:
        tokenizer.encode_special_tokens = True
    return tokenizer


def _rebuild(tokenizer: Any, name: str, special_text: bool, facts: ModelFacts) -> WrappedTokenizer:
    wrapped = WrappedTokenizer(_with_special_text(tokenizer, special_text), name=name)
    wrapped._facts = facts
    return wrapped
