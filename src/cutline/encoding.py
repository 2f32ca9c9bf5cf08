"""`Encoding`: encodes, decodes, counts and cuts text with one vocabulary and split pattern.

What tiktoken has is named as in tiktoken. `encode_ordinary`, `count` and
`count_till_limit` are methods of the kernel class that this class extends, so that a
short text costs no more than one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar, cast

from cutline.checks import list_of_texts, plain_text
from cutline.cutting import Cutting
from cutline.decoding import Decoding
from cutline.errors import SpecialTokenError, UnknownTokenError, VocabularyError, shown
from cutline.kernels.encode.decode import Decoder, ids_to_list
from cutline.properties import Properties
from cutline.special import (
    AllowedSpecial,
    DisallowedSpecial,
    SpecialFinder,
    disallowed_error,
    texts_of,
)
from cutline.threads import checked_threads, map_blocks, map_sized

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cutline.counting.with_special import WithSpecial
    from cutline.formats.writing import FileFormat
    from cutline.kernels.bpe.bpe import BpeTables
    from cutline.kernels.scan.scan import ScanTables
    from cutline.pipeline.pipeline import Pipeline
    from cutline.pipeline.trimming import Trimmer
    from cutline.pipeline.words import WordPipeline
    from cutline.spec import TokenizerSpec
    from cutline.vocabulary import Vocabulary

__all__ = ["Encoding"]

if not TYPE_CHECKING:
    from cutline.kernels.base.late import numpy as np  # a plain count does not need it

Result = TypeVar("Result")


class TiktokenEncoding(Protocol):
    """The attributes of a tiktoken encoding that `Encoding.from_tiktoken` reads."""

    name: str
    _pat_str: str
    _mergeable_ranks: Mapping[bytes, int]
    _special_tokens: Mapping[str, int]


class Encoding(Properties, Cutting, Decoding):
    r"""A byte-level BPE encoding. Immutable; any number of threads may use it at once.

    Args:
        name: its name; for packaged encodings use `get_encoding`.
        pat_str: the split pattern; None keeps the whole text in one piece.
        mergeable_ranks: every token's bytes with its id, which is also its merge
            priority. Each of the 256 single bytes must be there.
        special_tokens: ids of the special tokens by their text.
        explicit_n_vocab: if given, checked to be the number of tokens, with dense ids.

    Raises:
        VocabularyError: names what is wrong with tokens or ids.
        PatternError: the split pattern is no valid regular expression.

    A split pattern outside the subset that compiles to an automaton runs on the
    `regex` module: exact as well, but slower; a `PatternFallbackWarning` says so.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"abc": 257}
    >>> enc = Encoding("tiny", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})
    >>> enc.encode("abcab ab")
    [257, 256, 32, 256]
    """

    __slots__ = (
        "_drops_blank",
        "_make_decoder",
        "_make_spec",
        "_marks_ends",
        "_memo",
        "_pickled",
        "_pipeline",
        "_source",
        "_special_finder",
        "_special_token_values",
        "_special_tokens",
        "name",
    )

    name: str
    _make_decoder: Callable[[], Decoder]
    _make_spec: Callable[[], TokenizerSpec]
    _pipeline: Pipeline | None
    _special_tokens: dict[str, int]
    _special_finder: SpecialFinder
    _special_token_values: frozenset[int]
    _memo: dict[str, Any]
    _source: dict[str, Any]
    _pickled: tuple[Any, ...]

    def __init__(
        self,
        name: str,
        *,
        pat_str: str | None,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        from cutline.spec import TokenizerSpec
        from cutline.vocabulary import Vocabulary

        vocabulary = Vocabulary.from_ranks(mergeable_ranks)
        self._assemble(TokenizerSpec.plain(name, vocabulary, pat_str, special_tokens))
        if explicit_n_vocab is not None:
            _check_n_vocab(self, len(mergeable_ranks) + len(special_tokens), explicit_n_vocab)

    @classmethod
    def from_vocabulary(
        cls,
        name: str,
        *,
        pat_str: str | None,
        vocabulary: Vocabulary,
        special_tokens: Mapping[str, int],
    ) -> Self:
        """Make an encoding from a `Vocabulary`; otherwise like the constructor.

        Raises:
            VocabularyError, PatternError: as the constructor.
        """
        from cutline.spec import TokenizerSpec

        return cls.from_spec(TokenizerSpec.plain(name, vocabulary, pat_str, special_tokens))

    @classmethod
    def from_spec(cls, spec: TokenizerSpec) -> Self:
        """Make the encoding that a `TokenizerSpec` describes.

        Raises:
            VocabularyError, PatternError: as the constructor.
            TypeError: it is no `TokenizerSpec`.
        """
        from cutline.spec import TokenizerSpec

        if not isinstance(spec, TokenizerSpec):
            raise TypeError(f"spec must be a TokenizerSpec, got {type(spec).__name__}")
        encoding = cls.__new__(cls)
        encoding._assemble(spec)
        return encoding

    @classmethod
    def from_tiktoken(cls, encoding: TiktokenEncoding) -> Self:
        """Make an encoding equal to a `tiktoken.Encoding`.

        Args:
            encoding: any tiktoken encoding; its pattern, ranks and special tokens are read.

        Raises:
            VocabularyError, PatternError: as the constructor.
            TypeError: it is no encoding of tiktoken's.
        """
        if not hasattr(encoding, "_mergeable_ranks"):
            raise TypeError(
                "encoding must be one of tiktoken's, such as tiktoken.get_encoding(...) returns, "
                f"got {type(encoding).__name__}"
            )
        ranks = dict(encoding._mergeable_ranks)
        ranks.pop(b"", None)  # Whisper has an empty token, which no text has
        return cls(
            encoding.name,
            pat_str=encoding._pat_str,
            mergeable_ranks=ranks,
            special_tokens=encoding._special_tokens,
        )

    @classmethod
    def from_tokenizers(cls, tokenizer: Any, name: str | None = None) -> Self:
        """Make the encoding of a `tokenizers.Tokenizer` or a fast tokenizer of transformers.

        Args:
            tokenizer: byte-level BPE; from `tokenizers` 0.21 or later, or an object that has
                one as its `backend_tokenizer`.
            name: its name; by default the tokenizer's `name_or_path`, if it has one.

        Raises:
            VocabularyError, PatternError: as `cutline.load` for a tokenizer.json.
            TypeError: the tokenizer is neither of these.

        Source: docs/tokenizers.md.
        """
        from cutline.formats.reading import naming, read_tokenizer  # rarely needed

        name = name or getattr(tokenizer, "name_or_path", None) or "tokenizer"
        with naming(str(name)):
            return cls.from_spec(read_tokenizer(tokenizer, str(name)))

    def _assemble(self, spec: TokenizerSpec) -> None:
        if spec.model is not None:
            self._assemble_words(spec)
            return
        # Not for `import cutline` alone.
        from cutline.tables import (
            build_bpe_tables,
            build_decoder,
            build_decoder_by_id,
            build_scanner,
        )

        def spec_decoder() -> Decoder:
            tokens = spec.vocabulary
            if spec.characters is not None:
                by_id: Decoder = build_decoder_by_id(spec.bytes_by_id())
                return by_id
            return build_decoder(
                *(tokens.arena, tokens.offsets, tokens.ids),
                *(spec.own_tokens, spec.unreachable_tokens),
            )

        pipeline: Pipeline | None = None
        pat_str = spec.pat_str
        if spec.marks_words:
            from cutline.pipeline.word_ends import MarkingPipeline, marked_pattern

            pipeline, pat_str = MarkingPipeline(spec), marked_pattern(spec)
        elif not spec.is_plain:
            from cutline.pipeline.pipeline import Pipeline  # rarely needed

            pipeline = Pipeline(spec)
        self._describe(spec.name, spec.special_tokens, pipeline, lambda: spec, spec_decoder)
        if spec.splittings and not spec.marks_words:
            from cutline.pretokenize.splitting import split_spans

            self._bind(
                build_bpe_tables(spec.vocabulary),
                None,
                partial(split_spans, spec.splittings),
                pipeline=pipeline,
            )
            return
        scan_tables, find_spans = build_scanner(pat_str, stacklevel=4)
        changing = pipeline if spec.changes_texts else None
        self._bind(build_bpe_tables(spec.vocabulary), scan_tables, find_spans, pipeline=changing)

    def _assemble_words(self, spec: TokenizerSpec) -> None:
        """Assemble an encoding whose model encodes words apart."""
        from cutline.pipeline.words import WordPipeline
        from cutline.tables.word_decoder import word_decoder

        pipeline = WordPipeline(spec)
        make_decoder = partial(word_decoder, spec)
        self._describe(spec.name, spec.special_tokens, pipeline, lambda: spec, make_decoder)
        self._bind(None, None, pipeline=pipeline)

    @classmethod
    def _from_tables(
        cls,
        name: str,
        special_tokens: Mapping[str, int],
        tables: tuple[BpeTables, ScanTables],
        make_spec: Callable[[], TokenizerSpec],
        content_hash: str,
    ) -> Self:
        """Make an encoding that only splits and merges from its tables.

        The spec, which fits the tables and has this hash, is made when it is needed.
        """

        def make_decoder() -> Decoder:
            from cutline.tables import build_decoder

            arrays = tables[0].arrays
            return build_decoder(arrays["arena"], arrays["offsets"], arrays["ids"], special_tokens)

        encoding = cls.__new__(cls)
        encoding._describe(name, dict(special_tokens), None, make_spec, make_decoder)
        encoding._memo["content hash"] = content_hash
        encoding._bind(*tables)
        return encoding

    def _describe(
        self,
        name: str,
        special_tokens: dict[str, int],
        pipeline: Pipeline | None,
        make_spec: Callable[[], TokenizerSpec],
        make_decoder: Callable[[], Decoder],
    ) -> None:
        for attribute, value in (
            ("name", plain_text(name, "name")),
            ("_drops_blank", pipeline is not None and pipeline.drops_blank),
            ("_make_decoder", make_decoder),
            ("_make_spec", make_spec),
            ("_marks_ends", pipeline is not None and pipeline.spec.marks_word_ends),
            ("_pipeline", pipeline),
            ("_special_tokens", special_tokens),
            ("_special_finder", SpecialFinder(special_tokens)),
            ("_special_token_values", frozenset(special_tokens.values())),
            ("_memo", {}),
            ("_source", {}),
            ("_pickled", ()),
        ):
            object.__setattr__(self, attribute, value)
        self._expect_special(self._special_finder.prefix)

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(
            f"an encoding is immutable; cannot set {attribute!r}: make a new Encoding instead"
        )

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"an encoding is immutable; cannot delete {attribute!r}")

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self._pickled or (_rebuild, (type(self), self._spec, self._source))

    def _from(self, source: dict[str, Any]) -> Self:
        """Keep the arguments of the `cutline.load` call that made it; returns itself."""
        object.__setattr__(self, "_source", source)
        return self

    def _pickled_as(self, function: Any, arguments: tuple[Any, ...]) -> Self:
        """Keep a call that returns this same object, for pickles; returns itself."""
        object.__setattr__(self, "_pickled", (function, arguments))
        return self

    # Encoding

    def _encode_special(
        self,
        text: str,
        allowed_special: AllowedSpecial,
        disallowed_special: DisallowedSpecial,
        num_threads: int,
    ) -> list[int]:
        """Do what `encode` does with a text that may spell special tokens."""
        text = plain_text(text)
        allowed = self._check_special(text, allowed_special, disallowed_special)
        if num_threads != 1:
            return self._encode_in_threads(text, allowed, num_threads)
        return self._encode_allowed(text, allowed) if allowed else self.encode_ordinary(text)

    def _encode_allowed(
        self, text: str, allowed: frozenset[str], *, at_start: bool = True
    ) -> list[int]:
        """Encode a text, with at least one special token allowed."""
        if self._pipeline is not None:
            if at_start and not self._may_have_special(text, allowed):
                return self._pipeline.encode_ordinary(self, text)
            return self._pipeline.encode(self, text, allowed, at_start=at_start)
        tokens: list[int] = []
        for part in self._cut_at_special(text, allowed):
            if isinstance(part, int):
                tokens.append(part)
            else:
                tokens += self.encode_ordinary(part)
        return tokens

    def _encode_special_to_numpy(
        self,
        text: str,
        allowed_special: AllowedSpecial,
        disallowed_special: DisallowedSpecial,
        num_threads: int,
    ) -> NDArray[np.uint32]:
        """Do what `encode_to_numpy` does with a text that may spell special tokens."""
        text = plain_text(text)
        allowed = self._check_special(text, allowed_special, disallowed_special)
        if num_threads != 1:
            return self._encode_to_numpy_in_threads(text, allowed, num_threads)
        return self._encode_allowed_to_numpy(text, allowed)

    def _encode_allowed_to_numpy(self, text: str, allowed: frozenset[str]) -> NDArray[np.uint32]:
        """Encode like `_encode_allowed`, into an array; `allowed` may be empty."""
        if not (allowed and self._may_have_special(text, allowed)):
            return self._encode_to_numpy(text)
        if self._pipeline is not None:
            return np.array(self._pipeline.encode(self, text, allowed), dtype=np.uint32)
        parts = [
            np.array([part], dtype=np.uint32)
            if isinstance(part, int)
            else self._encode_to_numpy(part)
            for part in self._cut_at_special(text, allowed)
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)

    def encode_with_offsets(
        self,
        text: str,
        *,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
    ) -> tuple[list[int], NDArray[np.int64]]:
        """Encode like `encode`, and return the characters that each token comes from.

        Args:
            text: the text.
            allowed_special: as for `encode`.
            disallowed_special: as for `encode`.

        Returns:
            Token ids, and for each token the half-open span of the text that it comes from, in
            code points, as int64 of shape (tokens, 2). Tokens that share a character both have
            it in their spans.

        Raises:
            SpecialTokenError: (a ValueError) as for `encode`.
            SurrogateError: (a ValueError) the text has surrogate code points.

        Cost: linear in the text, a fifth to a half more than `encode`; where the tokenizer changes
        texts, about twice as much. Where characters are traced one by one, as with patterns that
        split one after another, 5 to 10 MB/s.

        >>> import cutline
        >>> tokens, spans = cutline.get_encoding("gpt2").encode_with_offsets("hello wörld")
        >>> tokens, spans.tolist()
        ([31373, 266, 30570, 335], [[0, 5], [5, 7], [7, 9], [9, 11]])
        """
        text = plain_text(text)
        allowed = self._check_special(text, allowed_special, disallowed_special)
        if allowed and not self._may_have_special(text, allowed):
            allowed = frozenset()
        tokens, spans = self._untrimmed_offsets(text, allowed)
        if self._pipeline is not None and self._spec.trims:
            self._trimmer.trim(text, tokens, spans)
        return ids_to_list(tokens), spans

    @property
    def _trimmer(self) -> Trimmer:
        def make() -> Trimmer:
            from cutline.pipeline.trimming import Trimmer

            return Trimmer(self._spec, self._decoder)

        trimmer: Trimmer = self._remember("trimmer", make)
        return trimmer

    def _untrimmed_offsets(
        self, text: str, allowed: frozenset[str] = frozenset()
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode like `encode_with_offsets`, but keep blanks at the ends of tokens in the spans."""
        if not self._is_byte_level:
            words = cast("WordPipeline", self._pipeline)
            return words.encode_with_offsets(text, allowed)
        from cutline.pipeline import offsets

        decoder, pipeline = self._decoder_of_normalized, self._pipeline
        if pipeline is None:
            parts = offsets.plain_parts(self._finder(allowed), self._special_tokens, text)
        else:
            if not allowed:
                found = offsets.offsets_among_added(pipeline, self, decoder, text)
                if found is not None:
                    return found
            parts = offsets.changed_parts(pipeline, text, allowed)
        return offsets.untrimmed_offsets(self, decoder, text, parts)

    def encode_ordinary_batch(
        self, text: Sequence[str], *, num_threads: int = 8
    ) -> list[list[int]]:
        """Encode many texts with `encode_ordinary`, in threads.

        Cost: linear in the texts. Lists are made by one thread at a time, a third to a half of
        the work; `cutline.integrations.arrow.encode_batch` makes none.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").encode_ordinary_batch(["hello world", ""])
        [[31373, 995], []]
        """
        blocks = map_blocks(self._encode_block, text, num_threads)
        return [tokens for block in blocks for tokens in block]

    def encode_batch(
        self,
        text: Sequence[str],
        *,
        num_threads: int = 8,
        allowed_special: AllowedSpecial = frozenset(),
        disallowed_special: DisallowedSpecial = "all",
    ) -> list[list[int]]:
        """Encode many texts with `encode`, in threads.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").encode_batch(["hello world", ""])
        [[31373, 995], []]
        """
        texts = list_of_texts(text, "text")
        places: Sequence[int] = range(len(texts))
        if not allowed_special and disallowed_special == "all":
            places = self._may_spell_special(texts)
        with_special = dict[int, str]()
        for place in places:
            one = texts[place]
            try:
                allowed = self._check_special(plain_text(one), allowed_special, disallowed_special)
            except (SpecialTokenError, TypeError) as error:
                error.add_note(f"in the text at place {place} of the batch")
                raise
            if allowed and self._may_have_special(one, allowed):
                with_special[place], texts[place] = one, ""
        tokens = self.encode_ordinary_batch(texts, num_threads=num_threads)
        encode = partial(self.encode, allowed_special=allowed_special, disallowed_special=())
        found = map_sized(encode, list(with_special.values()), len, num_threads)
        for place, encoded in zip(with_special, found, strict=True):
            tokens[place] = encoded
        return tokens

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of the ordinary or special token with exactly this text.

        Raises:
            UnknownTokenError: (a KeyError) no token has this text.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").encode_single_token("hello")
        31373
        """
        piece = _as_bytes(text_or_bytes)
        if self._over_characters:
            token_id = self._mergeable_ranks.get(piece)
        else:
            token_id = self._token_id(piece) if self._is_byte_level else self._word_id(piece)
        if token_id is None:
            token_id = self._spec.unreachable_tokens.get(piece)
        if token_id is None:
            added: dict[str, int] = self._remember("added tokens", lambda: self.added_tokens)
            token_id = added.get(piece.decode(errors="surrogateescape"))
        if token_id is None:
            raise UnknownTokenError(
                f"{shown(text_or_bytes)} is not a single token of {self.name!r}; "
                "encode_ordinary gives the tokens of any text"
            )
        return token_id

    def _word_id(self, token: bytes) -> int | None:
        ids: dict[bytes, int] = self._remember("ids", self._vocabulary.to_ranks)
        return ids.get(token)

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Encode without the split pattern, as one piece."""
        if self._over_characters:  # its pattern changes nothing
            return self.encode_ordinary(_as_bytes(text_or_bytes).decode())
        return self._encode_bytes_as_piece(_as_bytes(text_or_bytes))

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Encode bytes that need not be valid UTF-8, as tiktoken does.

        The valid prefix is split as usual. Its last piece and everything from the first
        invalid byte on are encoded as one piece, together with the white space before that
        piece, which could have been part of it.
        """
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            if self._changes_texts:
                raise UnicodeDecodeError(
                    "utf-8", text, error.start, error.end,
                    f"{self.name!r} changes texts before it splits them, which takes valid ones",
                ) from None  # fmt: skip
            valid = text[: error.start]
        tokens = self.encode_ordinary(valid.decode())
        reopened = len(self._encode_single_piece(self._last_piece(valid)))
        if reopened and self._is_white(tokens[-reopened]):
            while reopened < len(tokens) and self._is_white(tokens[-reopened - 1]):
                reopened += 1
        kept = tokens[: len(tokens) - reopened]
        rest = self.decode_bytes(tokens[len(kept) :]) + text[len(valid) :]
        return kept + self._encode_single_piece(rest)

    def _is_white(self, token_id: int) -> bool:
        return not self.decode_single_token_bytes(token_id).strip(b" \n\t")

    # Counting

    def _allowing(self, allowed_special: AllowedSpecial) -> Self | WithSpecial:
        """Return what counts with these special tokens; itself if there are none."""
        allowed = self._check_special("", allowed_special, ())
        if not allowed:
            return self
        from cutline.counting.with_special import WithSpecial

        return WithSpecial(self, allowed)

    def _count_allowed(self, text: str, allowed: frozenset[str], *, at_start: bool = True) -> int:
        """Count the tokens of `_encode_allowed`."""
        text = plain_text(text)
        if self._pipeline is not None:
            return len(self._pipeline.encode(self, text, allowed, at_start=at_start))
        parts = self._cut_at_special(text, allowed)
        return sum(1 if isinstance(part, int) else self.count(part) for part in parts)

    def count_batch(
        self,
        texts: Sequence[str],
        *,
        num_threads: int = 8,
        allowed_special: AllowedSpecial = frozenset(),
    ) -> NDArray[np.int64]:
        """Count the tokens of many texts, in threads: int64, shape (texts,).

        Args:
            texts: the texts.
            num_threads: maximum number of threads.
            allowed_special: as for `count`.

        Cost: linear in the texts. Threads share all of the work but 0.1 µs a text: 3 % of it for
        texts of a thousand characters, 15 % for a hundred. Each takes blocks of 2**18 characters.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").count_batch(["hello world", ""])
        array([2, 0])
        """
        counting = self._allowing(allowed_special)
        count_block = (
            self._count_block if counting is self else partial(_count_each, counting.count)
        )
        return np.concatenate(map_blocks(count_block, texts, num_threads))

    # Saving

    def save(
        self,
        path: str | PathLike[str],
        format: FileFormat | None = None,  # noqa: A002 (the usual name)
    ) -> None:
        """Write the encoding to a file, for `cutline.load`.

        Args:
            path: the file, written atomically; for "vocab.json" that file, or the folder for
                it and its `merges.txt`.
            format: "cutline" (complete and compact), "tokenizer.json" (for Hugging Face's
                `tokenizers`), "vocab.json" or "tiktoken" (tokens only, of encodings that do no
                more than split and merge: keep pattern and special tokens yourself). By default
                the path's suffix decides.

        Raises:
            ValueError: the format cannot be inferred from the path.
            VocabularyError: (a ValueError) the format cannot store the vocabulary; says why.
            UnsupportedPatternError: (a ValueError) a tokenizer.json cannot store the pattern.
            OSError: the file cannot be written.

        Source: docs/formats.md.
        """
        from cutline.formats.writing import write  # rarely needed

        write(self._spec, path, format)

    def _most_tokens_of_a_character(self) -> int | None:
        """See `TextEncoder`."""
        # Each token has at least one byte. To encode every character takes seconds.
        return None if self._changes_texts else 4

    # One long text in threads

    def _count_in_threads(self, text: str | bytes, num_threads: int) -> int:
        """Count like `count` or `_count_utf8`, a text's UTF-8."""

        def count(part: str | bytes, at_start: bool) -> int:
            if not at_start and self._changes_texts:
                return self._count_after(part if isinstance(part, str) else part.decode())
            return self.count(part) if isinstance(part, str) else self._count_utf8(part)

        return sum(self._map_parts(count, text, num_threads))

    def _encode_in_threads(self, text: str, allowed: frozenset[str], num_threads: int) -> list[int]:
        return ids_to_list(self._encode_to_numpy_in_threads(text, allowed, num_threads))

    def _encode_to_numpy_in_threads(
        self, text: str, allowed: frozenset[str], num_threads: int
    ) -> NDArray[np.uint32]:
        pipeline = self._changing_pipeline

        def encode(part: str, at_start: bool) -> NDArray[np.uint32]:
            if not at_start and pipeline is not None:
                tokens = pipeline.encode(self, part, allowed, at_start=False)
                return np.array(tokens, dtype=np.uint32)
            return self._encode_allowed_to_numpy(part, allowed)

        return np.concatenate(self._map_parts(encode, text, num_threads))

    def _map_parts(
        self, work: Callable[[Any, bool], Result], text: str | bytes, num_threads: int
    ) -> list[Result]:
        """Apply `work` to the parts of a text; see `parts.map_parts`."""
        from cutline.pipeline import parts  # for long texts only

        points = None
        num_threads = checked_threads(num_threads)
        if (
            num_threads > 1
            and parts.is_long(text)
            and (self._has_automaton or not self._is_byte_level)
        ):
            points = self._points
        return parts.map_parts(work, text, points, num_threads)

    # Internals

    def _remember(self, key: Any, make: Any) -> Any:
        """Return a cached object, made once. Two threads may both make it; all get the same one."""
        if key not in self._memo:
            self._memo.setdefault(key, make())
        return self._memo[key]

    @property
    def _decoder(self) -> Decoder:
        decoder: Decoder | None = self._memo.get("decoder")
        if decoder is None:
            decoder = self._remember("decoder", self._make_decoder)
        return decoder

    @property
    def _first_decoder(self) -> Decoder | None:
        if self._is_byte_level:
            return None
        from cutline.tables.word_decoder import word_decoder

        make = partial(word_decoder, self._spec, is_first=True)
        decoder: Decoder = self._remember("first decoder", make)
        return decoder

    @property
    def _word_ends(self) -> frozenset[int]:
        if not self._marks_ends:
            return frozenset()

        def make() -> frozenset[int]:
            rows = self._spec.bytes_by_id().items()
            return frozenset(number for number, token in rows if token.endswith(b" "))

        ends: frozenset[int] = self._remember("word ends", make)
        return ends

    @property
    def _decoder_of_normalized(self) -> Decoder:
        """The decoder to normalized text, which differs for a model over characters."""
        if not self._over_characters:
            return self._decoder

        def make() -> Decoder:
            from cutline.tables import build_decoder

            tokens = self._vocabulary
            return build_decoder(tokens.arena, tokens.offsets, tokens.ids, {})

        decoder: Decoder = self._remember("decoder of normalized text", make)
        return decoder

    def _finder(self, texts: frozenset[str]) -> SpecialFinder:
        """Make the finder for some texts; finders of special tokens, which are few, are cached."""
        if texts <= self._special_tokens.keys() and len(self._memo) < 64:
            finder: SpecialFinder = self._remember(texts, lambda: SpecialFinder(texts))
            return finder
        return SpecialFinder(texts)

    def _check_special(
        self, text: str, allowed: AllowedSpecial, disallowed: DisallowedSpecial
    ) -> frozenset[str]:
        """Refuse text with disallowed special tokens. Returns the allowed ones."""
        if not allowed and disallowed == "all":
            # The path of a plain encode(text): kept short, since short texts feel it.
            if (found := self._special_finder.first(text)) is not None:
                raise disallowed_error(found)
            return frozenset()
        known = frozenset(self._special_tokens)
        allowed_set = known & texts_of(allowed, "allowed_special", known)
        refused = texts_of(disallowed, "disallowed_special", known - allowed_set)
        if refused and (found := self._finder(refused).first(text)) is not None:
            raise disallowed_error(found)
        return allowed_set

    def _may_have_special(self, text: str, allowed: frozenset[str]) -> bool:
        """Return whether `encode` may find one of the allowed special tokens in a text."""
        if self._pipeline is not None and self._pipeline.may_write_special:
            return True
        return self._finder(allowed).first(text) is not None

    def _cut_at_special(self, text: str, allowed: frozenset[str]) -> Iterable[str | int]:
        """Yield the text between allowed special tokens, and their ids."""
        for start, end, found in self._finder(allowed).cut(text):
            yield text[start:end] if found is None else self._special_tokens[found]


def _check_n_vocab(encoding: Encoding, n_tokens: int, explicit_n_vocab: int) -> None:
    if n_tokens != explicit_n_vocab or encoding.n_vocab != explicit_n_vocab:
        raise VocabularyError(
            f"explicit_n_vocab is {explicit_n_vocab}, but there are {n_tokens} tokens and the "
            f"highest id is {encoding.max_token_value}"
        )


def _count_each(count: Callable[[str], int], texts: list[str]) -> NDArray[np.int64]:
    return np.array(list(map(count, texts)), dtype=np.int64)


def _as_bytes(text_or_bytes: str | bytes) -> bytes:
    if isinstance(text_or_bytes, str):
        return text_or_bytes.encode()
    try:
        return bytes(memoryview(text_or_bytes))  # `bytes` alone makes zeros of a number
    except TypeError:
        kind = type(text_or_bytes).__name__
        raise TypeError(f"a token's text must be a str or bytes, got {kind}") from None


def _rebuild(cls: type[Encoding], spec: TokenizerSpec, source: dict[str, Any]) -> Encoding:
    """Rebuild an encoding from its pickle."""
    return cls.from_spec(spec)._from(source)
