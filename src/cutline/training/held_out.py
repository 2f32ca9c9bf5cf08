"""A part of a corpus that is read and not trained on, to measure on."""

import math
from collections.abc import Iterator

from cutline.training.sources import Document, FileDocument, FileSource, Source

__all__ = ["HeldOut"]

MOST_BYTES = 1 << 23


class HeldOut(Source):
    """The documents of files, but for a share of each text file's end, and some rows.

    Args:
        source: the files.
        share: how much to hold out, more than 0 and less than 1; less where that would be
            more than 8 MB.

    Attributes:
        texts: what was held out so far. In memory.
    """

    def __init__(self, source: FileSource, share: float) -> None:
        self._source = source
        self._share = min(share, MOST_BYTES / max(source.size_bytes, 1))
        self.texts: list[str] = []

    @property
    def size_bytes(self) -> int:
        """Of all files, as they lie on the disk."""
        return self._source.size_bytes

    @property
    def bytes_read(self) -> int:
        """How much was read of all files, as they lie on the disk."""
        return self._source.bytes_read

    def __iter__(self) -> Iterator[Document]:
        """Yield what is not held out.

        Raises:
            OSError, SourceError: as the source.
        """
        n_rows = 0
        for document in self._source:
            if isinstance(document, FileDocument):
                yield _Beginning(document, self._share, self.texts)
                continue
            n_rows += 1
            if document.text is None or int(n_rows * self._share) == int(
                (n_rows - 1) * self._share
            ):
                yield document
            else:
                self.texts.append(document.text)


class _Beginning:
    """A text file without its end, which is put to `held_out`."""

    text = None

    def __init__(self, document: FileDocument, share: float, held_out: list[str]) -> None:
        self._document = document
        self._share = share
        self._held_out = held_out
        self.name = document.name
        self.size = document.size

    def blocks(self) -> Iterator[str]:
        """Yield the text up to the first line that begins in the end; a pipe has no end."""
        kept_bytes = math.inf if self.size is None else self.size * (1 - self._share)
        bytes_before = 0
        for block in self._document.blocks():
            bytes_read = self._document.bytes_read
            if bytes_read <= kept_bytes:
                place = len(block)
            elif bytes_before > kept_bytes:
                place = 0
            else:
                share = (kept_bytes - bytes_before) / (bytes_read - bytes_before)
                near = int(len(block) * share)
                place = block.find("\n", near) + 1 or near
            bytes_before = bytes_read
            if place:
                yield block[:place]
            if place < len(block):
                self._held_out.append(block[place:])
