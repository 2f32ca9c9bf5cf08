"""Load and call each tokenizer the fastest way its own documentation offers.

One small class a peer. Calls are the peer's own bound methods wherever its method
does the whole job, so that a 10-character slice isn't charged for our wrapper.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar, NoReturn

from benchmarks.peer_files import PeerFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cutline import Encoding


@dataclass(frozen=True, slots=True)
class Contender:
    """A loaded tokenizer, reduced to the calls that are compared.

    Special-token text is ordinary text in all of them. `None` means that the
    peer has no such call.
    """

    name: str
    encode_to_list: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]
    encode_to_numpy: "Callable[[str], NDArray[np.uint32]] | None" = None
    count: Callable[[str], int] | None = None


class Peer(ABC):
    """A tokenizer package: how to load it here, and how a fresh process would."""

    distribution: ClassVar[str]

    @abstractmethod
    def load(self, encoding: str, files: PeerFiles) -> Contender:
        """Load the encoding. Raises ImportError when the package is missing."""

    @abstractmethod
    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        """Source text that binds `encode` (text to list); its first line imports the package."""

    def load_without_pattern(self, encoding: str) -> Callable[[str], list[int]] | None:
        """Load an encoder to which the whole text is one piece; None if the peer has none."""
        return None

    def version(self) -> str:
        """Name the installed version."""
        return metadata.version(self.distribution)


def cutline_without_pattern(encoding: str) -> "Encoding":
    """Make an encoding with the same vocabulary to which every text is one piece."""
    import cutline

    return cutline.Encoding(
        f"{encoding} without pattern",
        pat_str=None,
        mergeable_ranks=cutline.get_encoding(encoding)._mergeable_ranks,
        special_tokens={},
    )


class _Cutline(Peer):
    distribution = "cutline"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        import cutline

        enc = cutline.get_encoding(encoding)
        return Contender(
            self.distribution,
            enc.encode_ordinary,
            enc.decode,
            lambda text: enc.encode_to_numpy(text, disallowed_special=()),
            enc.count,
        )

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        return f"import cutline\nencode = cutline.get_encoding({encoding!r}).encode_ordinary"

    def load_without_pattern(self, encoding: str) -> Callable[[str], list[int]]:
        return cutline_without_pattern(encoding).encode_ordinary

    def version(self) -> str:
        try:
            return super().version()
        except metadata.PackageNotFoundError:
            return "from the source tree"


class _Tiktoken(Peer):
    """The oracle. Its ranks come from its own file cache, filled beforehand."""

    distribution = "tiktoken"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        import tiktoken

        enc = tiktoken.get_encoding(encoding)
        return Contender(
            self.distribution,
            enc.encode_ordinary,
            enc.decode,
            lambda text: enc.encode_to_numpy(text, disallowed_special=()),
        )

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        return f"import tiktoken\nencode = tiktoken.get_encoding({encoding!r}).encode_ordinary"

    def load_without_pattern(self, encoding: str) -> Callable[[str], list[int]]:
        import tiktoken

        ranks = tiktoken.get_encoding(encoding)._mergeable_ranks
        enc = tiktoken.Encoding(
            f"{encoding} without pattern",
            pat_str="(?s:.+)",
            mergeable_ranks=ranks,
            special_tokens={},
        )
        return enc.encode_ordinary


class _Quicktok(Peer):
    distribution = "quicktok-v1"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        import quicktok

        enc = quicktok.get_encoding(encoding)
        return Contender(
            self.distribution,
            enc.encode_ordinary,
            enc.decode,
            lambda text: enc.encode_batch([text], 1)[0],  # its only call that gives an array
            enc.count,
        )

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        return f"import quicktok\nencode = quicktok.get_encoding({encoding!r}).encode_ordinary"


class _RsBpe(Peer):
    distribution = "rs-bpe"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        from rs_bpe.bpe import openai

        enc = getattr(openai, encoding)()
        return Contender(self.distribution, enc.encode, enc.decode, count=enc.count)

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        return f"from rs_bpe.bpe import openai\nencode = openai.{encoding}().encode"

    def load_without_pattern(self, encoding: str) -> Callable[[str], list[int]]:
        from rs_bpe.bpe import openai

        encode = getattr(openai, encoding)().bpe().encode_via_backtracking
        return lambda text: encode(text.encode())


class _Gigatoken(Peer):
    """Arrays from its own face, lists and decoding from its tiktoken face.

    Its own face always reads special-token text as special tokens; the corpora
    hold none.
    """

    distribution = "gigatoken"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        import gigatoken

        enc = gigatoken.Tokenizer.from_tiktoken(files.rank_file(encoding))
        tiktoken_face = enc.as_tiktoken()
        return Contender(
            self.distribution, tiktoken_face.encode_ordinary, tiktoken_face.decode, enc.encode
        )

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        return (
            "import gigatoken\n"
            f"enc = gigatoken.Tokenizer.from_tiktoken({str(files.rank_file(encoding))!r})\n"
            "encode = enc.as_tiktoken().encode_ordinary"
        )


class _HuggingFaceTokenizers(Peer):
    """`encode_batch_fast` leaves out the offsets and takes half of `encode`'s time."""

    distribution = "tokenizers"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        from tokenizers import Tokenizer

        enc = Tokenizer.from_file(str(files.tokenizer_json(encoding)))
        return Contender(
            self.distribution,
            lambda text: enc.encode_batch_fast([text], add_special_tokens=False)[0].ids,
            enc.decode,
        )

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        return (
            "import tokenizers\n"
            f"enc = tokenizers.Tokenizer.from_file({str(files.tokenizer_json(encoding))!r})\n"
            "encode = lambda text: enc.encode_batch_fast([text], add_special_tokens=False)[0].ids"
        )


class _Splintr(Peer):
    distribution = "splintr-rs"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        import splintr

        enc = splintr.Tokenizer.from_pretrained(encoding)
        return Contender(self.distribution, enc.encode, enc.decode)

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        return f"import splintr\nencode = splintr.Tokenizer.from_pretrained({encoding!r}).encode"


class Toktok(Peer):
    """It counts and does nothing else, so it is no contender where tokens are compared."""

    distribution = "toktok-rs"

    def load(self, encoding: str, files: PeerFiles) -> Contender:
        """Load the encoding."""
        import toktok

        def has_no_tokens(_: object) -> NoReturn:
            raise NotImplementedError("toktok gives counts alone")

        def count(text: str) -> int:
            counts: list[int] = toktok.batch_count([text], encoding)
            return counts[0]

        return Contender(self.distribution, has_no_tokens, has_no_tokens, count=count)

    def cold_start(self, encoding: str, files: PeerFiles) -> str:
        """Source text that loads it and counts."""
        return f"import toktok\nencode = lambda text: toktok.batch_count([text], {encoding!r})"


ORACLE = _Tiktoken.distribution
SUBJECT = _Cutline.distribution
PEERS: tuple[Peer, ...] = (
    _Cutline(),
    _Tiktoken(),
    _Quicktok(),
    _RsBpe(),
    _Gigatoken(),
    _Splintr(),
    _HuggingFaceTokenizers(),
)
