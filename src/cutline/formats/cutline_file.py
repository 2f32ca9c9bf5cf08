"""`.cutline` files: a complete plain encoding in one compact file.

Layout, integers little-endian:

    magic         8 bytes   b"cutenc" and the version of the format, uint16
    sha256       32 bytes   of everything that follows
    header_size   4 bytes   uint32
    header                  JSON: "name", "pat_str" (null: texts are not split),
                            "special_tokens" (ids by text) and, if they are known,
                            "max_tokens" and "prompts" (texts by name)
    vocabulary              as in packed.py, with the left lengths
"""

import json
import os
import struct
from pathlib import Path
from typing import Any, Final

from cutline.atomic import replace_file
from cutline.errors import CorruptDataError, VocabularyError
from cutline.spec import TokenizerSpec
from cutline.vocabulary import pack, unpack

__all__ = ["MAGIC", "read_cutline", "write_cutline"]

MAGIC: Final = b"cutenc"
_VERSION: Final = (1).to_bytes(2, "little")
_DIGEST_BYTES: Final = 32
_BODY_START: Final = len(MAGIC) + len(_VERSION) + _DIGEST_BYTES
_SIZE: Final = struct.Struct("<I")
_OF_MODEL: Final = frozenset({"max_tokens", "prompts"})


def write_cutline(spec: TokenizerSpec, path: str | os.PathLike[str]) -> None:
    """Write a `.cutline` file.

    Args:
        spec: a plain spec; loads faster with left lengths.
        path: the file.

    Raises:
        OSError: the file cannot be written; it is written atomically.

    Cost: O(bytes); about 150 ms for o200k_base, nearly all of it in zlib.
    """
    fields: dict[str, Any] = {
        "name": spec.name,
        "pat_str": spec.pat_str,
        "special_tokens": spec.special_tokens,
    }
    for key in sorted(_OF_MODEL):
        if value := getattr(spec, key):
            fields[key] = value
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
    data = Path(path).read_bytes()
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
            bytes(body[header_end:]), f"{path}, from byte {_BODY_START + header_end},"
        )
    except CorruptDataError as error:
        raise _damaged(
            path, f"contains no vocabulary from byte {_BODY_START + header_end}"
        ) from error
    model = {key: header.pop(key) for key in _OF_MODEL & header.keys()}
    return TokenizerSpec.plain(vocabulary=vocabulary, **header)._replace(**model)


def _header(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header's fields, with their types checked."""
    where = f"in its header from byte {_BODY_START + _SIZE.size}"
    try:
        header = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"contains no JSON {where}: {error}") from None
    match header:
        case {"name": str(), "pat_str": str() | None, "special_tokens": dict() as specials}:
            limit, prompts = header.get("max_tokens", 1), header.get("prompts", {})
            numbers = [limit, *specials.values()]
            if (
                len(header.keys() - _OF_MODEL) == 3
                and all(type(number) is int for number in numbers)
                and isinstance(prompts, dict)
                and all(isinstance(text, str) for text in prompts.values())
            ):
                return dict(header)
    raise _damaged(path, f"contains something else than name, pat_str and special_tokens {where}")


def _damaged(path: str | os.PathLike[str], what: str) -> VocabularyError:
    return VocabularyError(f"{path} {what}; the file is damaged: save or download it again")


def _digest(body: bytes | memoryview) -> bytes:
    from hashlib import sha256  # loads a library

    return sha256(body).digest()
