"""sentencepiece's processor, with the interface that `wrap` needs of a tokenizer."""

from typing import Any, NamedTuple

__all__ = ["Processor", "is_processor"]


class _Encoded(NamedTuple):
    """What `encode` returns: ids, and each token's span in code points."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Processor:
    """Encodes with the package `sentencepiece`.

    Args:
        model: the content of a `.model` file.

    Raises:
        ImportError: `sentencepiece` is not installed.
        RuntimeError: the model is damaged.
    """

    def __init__(self, model: bytes) -> None:
        from sentencepiece import SentencePieceProcessor

        self._model = model
        self._processor: Any = SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)

    def encode(self, text: str, add_special_tokens: bool = False) -> _Encoded:
        """Encode a text; special tokens are never added."""
        if hasattr(self._processor, "EncodeAsOffsetMapping"):
            found = self._processor.EncodeAsOffsetMapping(text)
            return _Encoded(found["ids"], found["offsets"])
        pieces = self._processor.EncodeAsImmutableProto(text).pieces  # of older versions
        return _Encoded(
            [piece.id for piece in pieces], [(piece.begin, piece.end) for piece in pieces]
        )

    def __reduce__(self) -> tuple[type["Processor"], tuple[bytes]]:
        return Processor, (self._model,)


def is_processor(tokenizer: Any) -> bool:
    """Return whether it is a processor of `sentencepiece`."""
    return type(tokenizer).__module__.partition(".")[0] == "sentencepiece" and hasattr(
        tokenizer, "serialized_model_proto"
    )
