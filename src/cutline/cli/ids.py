"""Token ids as text: the input of `cutline decode`."""

from typing import TYPE_CHECKING

from cutline.cli.decoding import InputError
from cutline.errors import UnknownTokenError

if TYPE_CHECKING:
    from cutline import Encoding

# Ids are uint32: at most 4,294,967,295.
_MAX_ID_DIGITS = 10
_MAX_SHOWN_CHARACTERS = 40
# Brackets and commas count as white space, so that JSON arrays are read.
_SEPARATORS_TO_SPACES = bytes.maketrans(b"[],", b"   ")


def decode_ids(encoding: "Encoding", content: bytes) -> bytes:
    """Decode whole numbers, separated by white space or in JSON arrays.

    Raises:
        InputError: a word is no number, or the encoding has no such id; names the line.
    """
    return b"".join(
        _decode_line(encoding, line_number, line)
        for line_number, line in enumerate(content.splitlines(), start=1)
    )


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
