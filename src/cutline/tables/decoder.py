"""What decoding needs: every token id, special tokens included, and its bytes."""

from collections.abc import Mapping
from operator import index

import numpy as np

from cutline.errors import VocabularyError
from cutline.kernels.encode.decode import Decoder
from cutline.vocabulary import Vocabulary

__all__ = ["build_decoder", "checked_special_tokens"]


def checked_special_tokens(
    vocabulary: Vocabulary, special_tokens: Mapping[str, int]
) -> dict[str, int]:
    """Refuse special tokens that cannot be told from other tokens, or not be written.

    Two special tokens may share an id, as two of o200k_harmony do.

    Returns:
        A dictionary of plain ints.

    Raises:
        VocabularyError: names the special token that is empty or no text, or whose id is
            no integer, out of range or taken.
    """
    checked: dict[str, int] = {}
    by_id = np.argsort(vocabulary.ids, kind="stable")
    ids = vocabulary.ids[by_id]
    for text, token_id in special_tokens.items():
        if not isinstance(text, str) or not text or not _is_unicode(text):
            raise VocabularyError(
                f"special token {text!r} is no text: it must be a str of at least a character, "
                "without surrogates"
            )
        try:
            number = index(token_id)
        except TypeError:
            raise VocabularyError(
                f"special token {text!r} has id {token_id!r}; ids must be integers"
            ) from None
        if not 0 <= number < 2**32 - 1:
            raise VocabularyError(
                f"special token {text!r} has id {number}; ids must be from 0 to 2**32 - 2"
            )
        place = int(np.searchsorted(ids, number))
        if place < len(vocabulary) and ids[place] == number:
            raise VocabularyError(
                f"special token {text!r} has id {number}, which is that of the ordinary "
                f"token {vocabulary.token_bytes(int(by_id[place]))!r}; give it an id of its own"
            )
        checked[text] = number
    return checked


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def build_decoder(
    vocabulary: Vocabulary,
    special_tokens: Mapping[str, int],
    others: Mapping[bytes, int] | None = None,
) -> Decoder:
    """Join vocabulary, special tokens and others into one table by id.

    Of special tokens that share an id, the first one's text is what it decodes to.

    Cost: O(n log n) in numpy.
    """
    by_id: dict[int, bytes] = {}
    for text, token_id in special_tokens.items():
        by_id.setdefault(token_id, text.encode())
    for token, token_id in (others or {}).items():
        by_id.setdefault(token_id, token)
    ids = np.concatenate([vocabulary.ids, np.fromiter(by_id, np.uint32, len(by_id))])
    lengths = np.concatenate(
        [np.diff(vocabulary.offsets), np.fromiter(map(len, by_id.values()), np.uint64, len(by_id))]
    )
    starts = np.zeros(len(ids), dtype=np.uint64)
    np.cumsum(lengths[:-1], out=starts[1:])
    order = np.argsort(ids, kind="stable")
    return Decoder(
        vocabulary.arena + b"".join(by_id.values()),
        ids[order],
        starts[order],
        lengths[order].astype(np.uint32),
    )
