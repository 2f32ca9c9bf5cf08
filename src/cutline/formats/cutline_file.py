"""`.cutline` files: a complete encoding in one compact file.

Layout, integers little-endian:

    magic         8 bytes   b"cutenc" and the version of the format, uint16
    sha256       32 bytes   of everything that follows
    header_size   4 bytes   uint32
    header                  JSON: "name", "pat_str" (null: texts are not split),
                            "special_tokens" (ids by text) or "added_tokens", and each other
                            field of `TokenizerSpec` that is not its default, as in
                            typed_json.py
    vocabulary              as in packed.py, with the left lengths, if it has any
"""

import json
import os
import struct
from collections.abc import Mapping
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np

from cutline.atomic import replace_file
from cutline.errors import CorruptDataError, PatternError, VocabularyError
from cutline.formats.bounded import read_bounded
from cutline.formats.merges import list_texts
from cutline.formats.typed_json import from_json, to_json
from cutline.normalizing import (
    Form,
    Lead,
    Lower,
    NewerForm,
    Prepend,
    Replace,
    Spell,
    Strip,
    Unknown,
)
from cutline.pretokenize.splitting import Splitting
from cutline.spec import AddedToken, Characters, TokenizerSpec, checked_special_tokens
from cutline.vocabulary import pack, unpack
from cutline.vocabulary.vocabulary import MAX_TOKEN_ID
from cutline.words.characters import members_of
from cutline.words.joining import Joiner
from cutline.words.models import Unigram, WordPiece
from cutline.words.precompiled import Precompiled
from cutline.words.splitting import Metaspace, SplitClass, Splitter
from cutline.words.steps import ByCharacter, Collapse, ReplaceEach

__all__ = ["MAGIC", "read_cutline", "write_cutline"]

MAGIC: Final = b"cutenc"
_VERSION: Final = (1).to_bytes(2, "little")
_DIGEST_BYTES: Final = 32
_BODY_START: Final = len(MAGIC) + len(_VERSION) + _DIGEST_BYTES
_SIZE: Final = struct.Struct("<I")
_LONG_BYTES: Final = 128  # of UTF-8, from 128 on

_OfText = (
    Form
    | NewerForm
    | Lower
    | Strip
    | Replace
    | Prepend
    | Lead
    | ByCharacter
    | Collapse
    | ReplaceEach
    | Precompiled
)
_Step = _OfText | Spell | Unknown
_NEEDED: Final[Mapping[str, Any]] = {"name": str, "pat_str": str | None}
_TOKENS: Final[Mapping[str, Any]] = {
    "special_tokens": Mapping[str, int],
    "added_tokens": tuple[AddedToken, ...],
}
_OTHERS: Final[Mapping[str, Any]] = {
    "normalizer": tuple[_Step, ...],
    "prefix_space": bool,
    "unreachable_tokens": Mapping[bytes, int],
    "n_template_tokens": tuple[int, int],
    "trims": tuple[bool, ...],
    "model": WordPiece | Unigram,
    "splitters": tuple[Splitter, ...],
    "joiner": Joiner,
    "max_tokens": int,
    "prompts": Mapping[str, str],
    "prefix_first": bool,
    "characters": Characters,
    "template": str,
    "marks_word_ends": bool,
    "splittings": tuple[Splitting, ...],
    "marks_word_starts": bool,
    "led_pat_str": str,
}
"""The fields of a spec that are written where they are not their defaults, and their types."""


def write_cutline(spec: TokenizerSpec, path: str | os.PathLike[str]) -> None:
    """Write a `.cutline` file.

    Args:
        spec: loads faster with left lengths.
        path: the file.

    Raises:
        OSError: the file cannot be written; it is written atomically.

    Cost: O(bytes); about 150 ms for o200k_base, nearly all of it in zlib.
    """
    fields: dict[str, Any] = {"name": spec.name, "pat_str": spec.pat_str}
    key = "special_tokens" if spec.is_plain else "added_tokens"
    fields[key] = to_json(getattr(spec, key))
    for key in _OTHERS:
        if (value := getattr(spec, key)) != TokenizerSpec._field_defaults[key]:
            fields[key] = to_json(value)
    header = json.dumps(fields).encode()
    body = _SIZE.pack(len(header)) + header + pack(spec.vocabulary)
    replace_file(path, MAGIC + _VERSION + _digest(body) + body)


def read_cutline(path: str | os.PathLike[str]) -> TokenizerSpec:
    """Read a `.cutline` file.

    Raises:
        FileNotFoundError: there is no such file.
        VocabularyError: it is damaged, truncated, of a later version or no `.cutline` file;
            names the path and the place.

    Cost: O(bytes); about 20 ms for o200k_base.
    """
    data = read_bounded(Path(path))
    if not data.startswith(MAGIC):
        start = data[: len(MAGIC)]
        raise VocabularyError(f"{path} begins with {start!r} instead of {MAGIC!r}")
    if len(data) < _BODY_START + _SIZE.size:
        raise _damaged(path, f"ends after {len(data)} bytes, inside its first fields")
    version = data[len(MAGIC) :][: len(_VERSION)]
    if version != _VERSION:
        number = int.from_bytes(version, "little")
        raise VocabularyError(
            f"{path} has version {number} of the format, and this cutline reads "
            f"{int.from_bytes(_VERSION, 'little')}: update cutline, or save the file again"
        )
    digest = data[len(MAGIC) + len(_VERSION) : _BODY_START]
    body = memoryview(data)[_BODY_START:]
    if _digest(body) != digest:
        raise _damaged(path, "does not match its own sha256")
    (header_size,) = _SIZE.unpack_from(body)
    header_end = _SIZE.size + header_size
    header = _header(bytes(body[_SIZE.size : header_end]), path)
    try:
        vocabulary = unpack(
            bytes(body[header_end:]),
            f"{path}, from byte {_BODY_START + header_end},",
            is_of_words="model" in header,
        )
    except CorruptDataError as error:
        raise _damaged(
            path, f"contains no vocabulary from byte {_BODY_START + header_end}"
        ) from error
    if "special_tokens" in header:
        tokens = header.pop("special_tokens")
        name, pat_str = header.pop("name"), header.pop("pat_str")
        return TokenizerSpec.plain(name, vocabulary, pat_str, tokens)._replace(**header)
    spec = TokenizerSpec(vocabulary=vocabulary, **header)
    _check(spec, path)
    return spec


def _header(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header's fields, with their types checked."""
    where = f"in its header from byte {_BODY_START + _SIZE.size}"
    try:
        header = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"contains no JSON {where}: {error}") from None
    known = {**_NEEDED, **_TOKENS, **_OTHERS}
    has_all = isinstance(header, dict) and header.keys() >= _NEEDED.keys()
    if has_all and len(header.keys() & _TOKENS.keys()) == 1:
        try:
            return {key: from_json(value, known[key]) for key, value in header.items()}
        except (KeyError, TypeError, ValueError, RecursionError):
            pass
    raise _damaged(path, f"contains something else than name, pat_str and special_tokens {where}")


def _check(spec: TokenizerSpec, path: str | os.PathLike[str]) -> None:
    """Refuse values that no spec has which was read from a file."""
    checked_special_tokens(spec.vocabulary, spec.own_tokens)
    if spec.model is None and spec.characters is None and not spec.marks_words:
        # An added token may be an ordinary one, too, if it is written like that; with an affix,
        # how it was written is not known.
        texts = dict(zip(spec.vocabulary.ids.tolist(), list_texts(spec.vocabulary), strict=True))
        clashing = [one for one in spec.added_tokens if texts.get(one.id, one[0]) != one.content]
        checked_special_tokens(spec.vocabulary, {one.content: one.id for one in clashing})
    if not all(_is_valid(step) for step in (*spec.normalizer, *spec.splitters)):
        raise _damaged(path, "has a step with impossible values")
    contents = [token.content for token in spec.added_tokens]
    ids = [token.id for token in spec.added_tokens] + list(spec.unreachable_tokens.values())
    match spec.model:
        case Unigram(scores, unk_id):
            ids.append(unk_id or 0)
            found = np.frombuffer(scores[: len(scores) // 8 * 8], dtype="<f8")
            if len(scores) != 8 * len(spec.vocabulary) or not all(map(isfinite, found)):
                raise _damaged(path, "has not one score for each token")
        case WordPiece(unk_id, prefix):
            ids.append(unk_id)
            contents.append(prefix or "-")
    if spec.characters is not None:
        ids += [*spec.characters.meanings, spec.characters.first_inner]
    if not all(0 <= one <= MAX_TOKEN_ID for one in ids) or not all(map(_is_text, contents)):
        raise _damaged(path, "has a token with an impossible id or text")


def _is_valid(step: object) -> bool:
    match step:
        case Spell(kept, stand_ins):
            return len(stand_ins) == _LONG_BYTES and _are_neighbours(stand_ins) and _is_text(kept)
        case Unknown(kept, stand_ins):
            return len(stand_ins) == 1 and _is_text(kept)
        case Metaspace(replacement=text):
            return len(text) == 1 and _is_text(text)
        case Replace(old):
            return old != ""
        case SplitClass(members) | ReplaceEach(members):
            return _is_class(members)
    return True


def _is_class(members: str) -> bool:
    try:
        members_of(members)
    except PatternError:
        return False
    return True


def _are_neighbours(text: str) -> bool:
    return all(ord(b) - ord(a) == 1 for a, b in pairwise(text))


def _is_text(text: str) -> bool:
    return text != "" and not any("\ud800" <= one <= "\udfff" for one in text)


def _damaged(path: str | os.PathLike[str], what: str) -> VocabularyError:
    return VocabularyError(f"{path} {what}; the file is damaged: save or download it again")


def _digest(body: bytes | memoryview) -> bytes:
    from hashlib import sha256  # loads a library

    return sha256(body).digest()
