"""sentencepiece's own files, `tokenizer.model`, with models of the types Unigram, BPE and CHAR.

The file is a message of protocol buffers; the few fields that matter are read here. Its fields are
documented in sentencepiece_model.proto of the sentencepiece project.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise
from math import isfinite

from cutline.errors import VocabularyError
from cutline.formats.bounded import check_count
from cutline.formats.characters import BLANK
from cutline.formats.merges import WRAP_HINT, MergeModel
from cutline.formats.metaspace import character_spec
from cutline.formats.pieces import Piece, PieceType
from cutline.formats.token_ids import Texts, TokenIds
from cutline.formats.unigram_pieces import sentencepiece_unigram
from cutline.normalizing import Lead, Prepend, Replace, Step, StripBlanks, StripPieces
from cutline.spec import AddedToken, TokenizerSpec
from cutline.vocabulary.vocabulary import MAX_TOKEN_COUNT
from cutline.words.charsmap import CharsMap
from cutline.words.steps import Collapse

__all__ = ["read_sentencepiece", "spec_of_pieces", "steps_of"]

_UNIGRAM, _BPE, _WORD, _CHAR = 1, 2, 3, 4
_TO_BLANK = Replace(BLANK, " ")
# Numbers of fields.
_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_TEXT, _SCORE, _TYPE = 1, 2, 3
_MODEL_TYPE, _IS_SUFFIX = 3, 24
_RULES, _ADDS_PREFIX, _REMOVES_BLANKS, _ESCAPES_BLANKS = 2, 3, 4, 5


def read_sentencepiece(data: bytes, name: str, source: str) -> TokenizerSpec:
    """Read a model of sentencepiece.

    Raises:
        VocabularyError: the file is damaged, or has a model or a setting that is not supported.
    """
    try:
        fields = [*islice(_fields(data), MAX_TOKEN_COUNT + 1)]
        pieces = [_piece(value) for number, value in fields if number == _PIECES]
        trainer, normalizer, denormalizer = (
            dict(_fields(_joined(fields, number)))
            for number in (_TRAINER, _NORMALIZER, _DENORMALIZER)
        )
    except (IndexError, KeyError, struct.error, TypeError, UnicodeDecodeError, ValueError):
        raise VocabularyError(
            f"{source} is neither JSON nor lines of text, perhaps a SentencePiece model that is "
            f"damaged; {WRAP_HINT}"
        ) from None
    check_count(len(fields), "pieces", source)
    _check_settings(pieces, trainer, normalizer, source)
    if denormalizer.get(_RULES):
        raise _refused(source, "rules of denormalization, by which decoded texts are changed")
    adds_prefix = bool(normalizer.get(_ADDS_PREFIX, 1))
    removes_blanks = bool(normalizer.get(_REMOVES_BLANKS, 1))
    symbols = tuple(piece.text for piece in pieces if piece.kind == PieceType.USER_DEFINED)
    charsmap = _charsmap(normalizer, symbols, source)
    if removes_blanks:
        _check_blanks(charsmap, symbols, source)
    drops_blank = adds_prefix or removes_blanks
    kind = _kind(trainer)
    make_steps = _unigram_steps if kind == _UNIGRAM else steps_of
    steps = make_steps(
        charsmap, adds_prefix=adds_prefix, removes_blanks=removes_blanks, source=source
    )
    if kind == _UNIGRAM:
        leads = {"adds_prefix": adds_prefix, "drops_blank": drops_blank}
        return sentencepiece_unigram(pieces, name, source, steps=steps, **leads)
    return spec_of_pieces(
        pieces, name, source, steps=steps, drops_blank=drops_blank, merges_pieces=kind == _BPE
    )


def _kind(trainer: dict[int, int | bytes]) -> int | bytes:
    return trainer.get(_MODEL_TYPE, _UNIGRAM)


def _charsmap(
    normalizer: dict[int, int | bytes], symbols: tuple[str, ...], source: str
) -> CharsMap | None:
    """Read what changes characters; None: nothing does."""
    rules = normalizer.get(_RULES, b"")
    if not isinstance(rules, bytes):
        raise _refused(source, "rules of normalization that are damaged")
    try:
        return CharsMap(rules, symbols) if rules else None
    except VocabularyError as error:
        raise VocabularyError(f"{source}: {error}") from None


def _check_blanks(charsmap: CharsMap | None, symbols: tuple[str, ...], source: str) -> None:
    """Refuse blanks that are not removed as all others are."""
    written = (charsmap.texts if charsmap else "", *symbols)
    if any("  " in one for one in written):
        what = "two blanks in a row in a symbol or a rule of normalization, which stay,"
        raise _refused(source, f"remove_extra_whitespaces and {what} and others do not")
    if any(one.endswith(BLANK) for one in symbols):
        what = "a symbol that ends in U+2581, which is removed at the end of a text"
        raise _refused(source, f"remove_extra_whitespaces and {what}")


def steps_of(
    charsmap: CharsMap | None, *, adds_prefix: bool, removes_blanks: bool, source: str
) -> tuple[Step, ...]:
    """Return what normalizes texts. The proof: docs/tokenizers.md, "sentencepiece's own files".

    Args:
        charsmap: what changes characters; None: nothing does.
        adds_prefix: texts get a leading blank.
        removes_blanks: of a run of blanks one is left, and none at the ends of a text.
        source: where they come from.

    Raises:
        VocabularyError: they cannot be expressed exactly.
    """
    changing: tuple[Step, ...] = () if charsmap is None else (charsmap,)
    ending: tuple[Step, ...] = (_TO_BLANK,)
    if charsmap is not None and BLANK not in charsmap.apply(BLANK) + charsmap.texts:
        ending = ()  # none is left
    if removes_blanks:
        changing, ending = (*changing, Collapse(" ")), (*ending, StripBlanks(False, True))
        if not adds_prefix:
            return (*changing, StripBlanks(True, False), *ending)
        # It is a blank of the run with which a text may begin; but U+2581 is not of that run.
        first = Lead(" ")
        return (*changing, first, *ending) if _TO_BLANK in ending else (*changing, *ending, first)
    if not adds_prefix:
        return (*changing, *ending)
    if charsmap is None or not charsmap.removes:
        return (*changing, *ending, Prepend(" "))
    # A text of which nothing is left has the prefix, too.
    if not charsmap.keeps(" "):
        raise _refused(
            source,
            "rules of normalization that remove characters, and rules for what begins with a blank",
        )
    return (Prepend(" "), *changing, *ending)


def _unigram_steps(
    charsmap: CharsMap | None, *, adds_prefix: bool, removes_blanks: bool, source: str
) -> tuple[Step, ...]:
    """Return the same for Unigram, before blanks are written U+2581, and a leading one is put."""
    changing = () if charsmap is None else (charsmap,)
    if not removes_blanks:
        if adds_prefix and charsmap is not None and charsmap.removes:
            what = (
                "rules of normalization that remove characters, without remove_extra_whitespaces: "
            )
            raise _refused(source, what + "what is left of a text may be the leading blank alone")
        return changing
    if not adds_prefix:
        raise _refused(source, "remove_extra_whitespaces without add_dummy_prefix")
    return (*changing, StripPieces(True, True), Collapse(" "))


def spec_of_pieces(
    pieces: Sequence[Piece | None],
    name: str,
    source: str,
    *,
    steps: tuple[Step, ...],
    drops_blank: bool,
    merges_pieces: bool = True,
) -> TokenizerSpec:
    """Describe a model that merges pieces, the one of the best score first.

    Args:
        pieces: their ids are their places; None: no text has this one.
        name: its name.
        source: where it comes from.
        steps: what normalizes texts; writes a blank for U+2581.
        drops_blank: decoding drops a blank at the start.
        merges_pieces: False: each character is a token.

    Raises:
        VocabularyError: it cannot be expressed exactly.
    """
    by_id = {number: piece for number, piece in enumerate(pieces) if piece is not None}
    found = [*by_id.values()]
    if len({piece.text for piece in found}) < len(found):
        raise VocabularyError(f"{source} has pieces that occur twice: {WRAP_HINT}")
    model = MergeModel(
        TokenIds.of({piece.text: number for number, piece in by_id.items() if _is_of_model(piece)}),
        Texts.of(_merges(found, source) if merges_pieces else []),
        ignore_merges=False,
        source=source,
        byte_fallback=any(piece.kind == PieceType.BYTE for piece in found),
        unk_token=next((piece.text for piece in found if piece.kind == PieceType.UNKNOWN), None),
        fuse_unk=True,
    )
    added = [
        AddedToken(piece.text, number, special=True)
        if piece.kind in (PieceType.CONTROL, PieceType.UNKNOWN)
        else AddedToken(piece.text, number, special=False, normalized=True)
        for number, piece in by_id.items()
        if piece.kind in (PieceType.CONTROL, PieceType.UNKNOWN) or _is_symbol(piece)
    ]
    spec = character_spec(name, model, tuple(added), steps, drops_blank=drops_blank)
    assert spec.characters is not None
    return spec._replace(characters=spec.characters._replace(bare_symbols=True))


def _is_of_model(piece: Piece) -> bool:
    """Return whether text can be encoded to a piece by merging: to control pieces none is."""
    return piece.kind != PieceType.CONTROL and not _is_symbol(piece)


def _is_symbol(piece: Piece) -> bool:
    """Return whether a piece is searched for in texts, which have U+2581 for a blank."""
    return piece.kind == PieceType.USER_DEFINED and " " not in piece.text


def _check_settings(
    pieces: list[Piece],
    trainer: dict[int, int | bytes],
    normalizer: dict[int, int | bytes],
    source: str,
) -> None:
    """Refuse what cannot be expressed exactly."""
    kind = _kind(trainer)
    reasons = {
        "a model of the type WORD, whose unknown words in a row are one token": kind == _WORD,
        "a model of an unknown type": kind not in (_UNIGRAM, _BPE, _WORD, _CHAR),
        "blanks at the ends of words": bool(trainer.get(_IS_SUFFIX, 0)),
        "blanks that are not written U+2581": not normalizer.get(_ESCAPES_BLANKS, 1),
        "pieces that are unused": kind != _UNIGRAM
        and any(piece.kind == PieceType.UNUSED for piece in pieces),
        "an unknown piece of one character, which a text may have": kind != _UNIGRAM
        and any(piece.kind == PieceType.UNKNOWN and len(piece.text) == 1 for piece in pieces),
        "a score that is no finite number": not all(isfinite(piece.score) for piece in pieces),
        "a piece without text": any(not piece.text for piece in pieces),
        "pieces of an unknown type": not {piece.kind for piece in pieces} <= set(PieceType),
    }
    for reason, is_so in reasons.items():
        if is_so:
            raise _refused(source, reason)


def _refused(source: str, what: str) -> VocabularyError:
    return VocabularyError(f"{source} has {what}, which is not supported: {WRAP_HINT}")


def _merges(pieces: list[Piece], source: str) -> list[str]:
    """List the two parts of each merge, the best score first."""
    normal = {piece.text for piece in pieces if piece.kind == PieceType.NORMAL}
    longer = [piece for piece in pieces if piece.kind == PieceType.NORMAL and len(piece.text) > 1]
    longer.sort(key=lambda piece: (-piece.score, -len(piece.text)))
    for _, group in groupby(longer, key=lambda piece: piece.score):
        tied = [piece.text for piece in group]
        if len(tied) > 1 and not _merge_leftmost(tied):
            raise VocabularyError(
                f"{source} has pieces with the same score, such as {tied[0]!r} and {tied[1]!r}, of "
                f"which the leftmost in a text merges first; that is not supported: {WRAP_HINT}"
            )
    return [
        part
        for piece in longer
        for end in range(1, len(piece.text))
        if piece.text[:end] in normal and piece.text[end:] in normal
        for part in (piece.text[:end], piece.text[end:])
    ]


def _merge_leftmost(tied: list[str]) -> bool:
    """Return whether pieces of one score merge as if longer ones came first.

    They are runs of one character. Both rules take its characters from the left, one after the
    other, so it is enough to compare them until the longest piece is made and a second one begun.
    """
    one, lengths = tied[0][0], set(map(len, tied))
    if any(text != one * len(text) for text in tied):
        return False
    most = max(lengths)
    for n in range(1, 2 * most + 1):
        found = _merged_run(n, lengths, leftmost=True)
        whole = [most] if n >= most else []
        rest = _merged_run(n - most, lengths, leftmost=True) if n >= most else found
        if found != _merged_run(n, lengths, leftmost=False) or found != whole + rest:
            return False
    return True


def _merged_run(n: int, lengths: set[int], *, leftmost: bool) -> list[int]:
    """Merge a run of n characters, by place or by length, into parts of these lengths."""
    parts = [1] * n
    while True:
        joined = [(-(a + b), at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in lengths]
        if not joined:
            return parts
        length, at = min(joined, key=lambda one: one[1]) if leftmost else min(joined)
        parts[at : at + 2] = [-length]


def _joined(fields: list[tuple[int, int | bytes]], wanted: int) -> bytes:
    """Join the parts of a message within a message; there may be several."""
    found = [value for number, value in fields if number == wanted]
    if any(isinstance(value, int) for value in found):
        raise ValueError("a number instead of a message")
    return b"".join(value for value in found if isinstance(value, bytes))


def _piece(value: int | bytes) -> Piece:
    fields = dict(_fields(value))
    text, score = fields[_TEXT], fields.get(_SCORE, bytes(4))
    kind = fields.get(_TYPE, PieceType.NORMAL)
    if isinstance(text, int) or isinstance(score, int) or isinstance(kind, bytes):
        raise ValueError("a piece has fields of other types")
    return Piece(text.decode(), struct.unpack("<f", score)[0], kind)


def _fields(data: int | bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a message."""
    if isinstance(data, int):
        raise ValueError("a number instead of a message")
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        if tag & 7 == 0:
            value, at = _number(data, at)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(tag & 7)
        if size is None:
            if tag & 7 != 2:
                raise ValueError("a field of an unknown type")
            size, at = _number(data, at)
        if at + size > len(data):
            raise ValueError("a field that ends after the data")
        yield tag >> 3, data[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of variable length. Returns it and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number that is too long")
