"""What decoding needs: every token id, special tokens included, and its bytes."""

from collections.abc import Mapping

import numpy as np

from cutline.errors import VocabularyError
from cutline.kernels.decode import Decoder
from cutline.vocabulary import Vocabulary

__all__ = ["build_decoder", "check_special_ids"]


def check_special_ids(vocabulary: Vocabulary, special_tokens: Mapping[str, int]) -> None:
    """Refuse special tokens whose ids cannot be told from those of other tokens.

    Two special tokens may share an id, as two of o200k_harmony do.

    Raises:
        VocabularyError: names the special token whose id is out of range or taken.
    """
    for text, token_id in special_tokens.items():
        if not 0 <= token_id < 2**32 - 1:
            raise VocabularyError(
                f"special token {text!r} has id {token_id}; ids must be from 0 to 2**32 - 2"
            )
        place = int(np.searchsorted(vocabulary.ids, token_id))
        if place < len(vocabulary) and vocabulary.ids[place] == token_id:
            raise VocabularyError(
                f"special token {text!r} has id {token_id}, which is that of the ordinary "
                f"token {vocabulary.token_bytes(place)!r}; give it an id of its own"
            )


def build_decoder(vocabulary: Vocabulary, special_tokens: Mapping[str, int]) -> Decoder:
    """Join vocabulary and special tokens into one table by id.

    Of special tokens that share an id, the first one's text is what it decodes to.

    Cost: O(n log n) in numpy.
    """
    by_id: dict[int, bytes] = {}
    for text, token_id in special_tokens.items():
        by_id.setdefault(token_id, text.encode())
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
