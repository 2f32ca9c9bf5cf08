"""Token ids as text: the input of `cutline decode`."""

import re
from typing import TYPE_CHECKING, Final

from cutline.cli.decoding import InputError
from cutline.errors import UnknownTokenError

if TYPE_CHECKING:
    from cutline import Encoding

# Ids are uint32: at most 4,294,967,295.
_MAX_ID_DIGITS = 10
_MAX_SHOWN_CHARACTERS = 40
# Brackets and commas count as white space, so that JSON arrays are read.
_SEPARATORS_TO_SPACES = bytes.maketrans(b"[],", b"   ")
# A bracket, a comma, or words with a comma between each two.
_PARTS_OF_ARRAYS: Final = re.compile(rb"[\[\],]|[^\s\[\],]+(?:\s*,\s*[^\s\[\],]+)*")


def decode_ids(encoding: "Encoding", content: bytes) -> bytes:
    """Decode whole numbers, separated by white space or in JSON arrays.

    Raises:
        InputError: a word is no number, the encoding has no such id, or an array is incomplete;
            names the line.
    """
    if b"[" in content or b"]" in content:
        _check_arrays(content)
    return b"".join(
        _decode_line(encoding, line_number, line)
        for line_number, line in enumerate(content.splitlines(), start=1)
    )


def _check_arrays(content: bytes) -> None:
    """Refuse arrays that do not end, as where the input is cut off, or lack a comma or an id.

    Raises:
        InputError: one does; names the line.
    """
    begun: list[int] = []  # where the arrays begin that do not end yet
    before = b"["  # in an array: what is before, of which a word stands for any value
    for found in _PARTS_OF_ARRAYS.finditer(content):
        part, at = found[0], found.start()
        is_value = part not in (b"]", b",")
        if part == b"]" and not begun:
            raise InputError(f"line {_line_of(content, at)}: ']' ends no array")
        if begun and is_value and before not in (b"[", b","):
            raise InputError(f"line {_line_of(content, at)}: a comma is missing in a JSON array")
        if begun and not is_value and (before == b"," or (part == b"," and before == b"[")):
            raise InputError(f"line {_line_of(content, at)}: an id is missing in a JSON array")
        if part == b"[":
            begun.append(at)
        elif part == b"]":
            begun.pop()
        before = part
    if begun:
        raise InputError(
            f"line {_line_of(content, begun[-1])}: a JSON array begins, and does not end: is the "
            "input cut off?"
        )


def _line_of(content: bytes, at: int) -> int:
    return len(content[: at + 1].splitlines())


def _decode_line(encoding: "Encoding", line_number: int, line: bytes) -> bytes:
    words = line.translate(_SEPARATORS_TO_SPACES).split()
    for word in words:
        if not word.isdigit() or len(word) > _MAX_ID_DIGITS:
            shown = word.decode("utf-8", "backslashreplace")[:_MAX_SHOWN_CHARACTERS]
            raise InputError(
                f"line {line_number}: {shown!r} is not a token id; ids are whole numbers, "
                f"separated by white space or in JSON arrays"
            )
    try:
        return encoding.decode_bytes([int(word) for word in words])
    except (UnknownTokenError, OverflowError) as error:
        raise InputError(f"line {line_number}: {error}") from error
