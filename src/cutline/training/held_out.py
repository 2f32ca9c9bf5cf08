"""Held-out text: a part of a corpus that is not trained on, to measure compression."""

from collections.abc import Iterator

from cutline.training.file_reader import character_start
from cutline.training.sources import Document, DocumentSource, FileDocument, FileSource

__all__ = ["HeldOut"]

MOST_BYTES = 1 << 23


class HeldOut(DocumentSource):
    """The documents of files, except for a share of each text file, and some rows.

    In a text file, the last lines of each block are held out, so that the decompressed size of
    the file need not be known. So a file becomes several documents.

    Args:
        source: the files.
        share: the share to hold out, more than 0 and less than 1; at most 8 MB are held
            out.

    Attributes:
        texts: the text held out so far, in memory.
    """

    def __init__(self, source: FileSource, share: float) -> None:
        self._source = source
        self.size_bytes: int = source.size_bytes
        self._share = min(share, MOST_BYTES / max(source.size_bytes, 1))
        self._room_bytes = MOST_BYTES
        self.texts: list[str] = []

    @property
    def bytes_read(self) -> int:
        """The bytes of all files on disk that were read so far."""
        return self._source.bytes_read

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents without the held-out text.

        Raises:
            OSError, SourceError: as the source.
        """
        n_rows = 0
        for document in self._source:
            if isinstance(document, FileDocument):
                yield from self._stretches(document)
                continue
            n_rows += 1
            if document.text is None or int(n_rows * self._share) == int(
                (n_rows - 1) * self._share
            ):
                yield document
            else:
                self.texts.append(document.text)

    def _stretches(self, document: FileDocument) -> Iterator[Document]:
        cut = self._cut(document)
        while (first := next(cut, None)) is not None:
            yield _Stretch(first, cut)

    def _cut(self, document: FileDocument) -> Iterator[tuple[bytes, bool]]:
        """Yield the rest of each block, and whether the text after it is held out."""
        due_bytes = 0.0
        for block in document.blocks():
            due_bytes += len(block) * self._share
            near = max(0, len(block) - min(round(due_bytes), self._room_bytes))
            place = block.find(b"\n", near - 1) + 1 if near else 0
            place = place or character_start(block, near)
            held = block[place:]
            if held:
                due_bytes -= len(held)
                self._room_bytes -= len(held)
                self.texts.append(held.decode())
            yield block[:place], bool(held)


class _Stretch:
    """A text file from one held-out part to the next."""

    text = None

    def __init__(self, first: tuple[bytes, bool], rest: Iterator[tuple[bytes, bool]]) -> None:
        self._first = first
        self._rest = rest

    def blocks(self) -> Iterator[bytes]:
        """Yield the blocks up to a held-out part."""
        block, ends = self._first
        yield block
        while not ends and (following := next(self._rest, None)) is not None:
            block, ends = following
            yield block
