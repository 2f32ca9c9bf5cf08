"""Prepare the files that peers want on disk, so that none of them asks the network.

Everything is written once into a folder under the system's temporary directory,
from the ranks that cutline packages:

- `<encoding>.tiktoken`: gigatoken reads this format and tells the split pattern
  from the file name;
- the same bytes under the SHA-1 of OpenAI's address, which is how tiktoken names
  files in TIKTOKEN_CACHE_DIR. tiktoken checks their SHA-256 against its own
  source, so a wrong rank here can't go unnoticed;
- `<encoding>.json`: a tokenizer file for Hugging Face tokenizers.

quicktok and rs-bpe carry their vocabularies inside the package.
"""

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"

# tiktoken now writes cl100k with possessive quantifiers, and Oniguruma (inside
# tokenizers) reads `{1,3}+` as a repetition of the group. This is the pattern
# tiktoken had before; its matches are the same.
_CL100K_WITHOUT_POSSESSIVES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True)
class PeerFiles:
    """The folder of prepared files; each is made when it is first asked for."""

    folder: Path

    @classmethod
    def in_temporary_folder(cls) -> "PeerFiles":
        """Use a folder that later runs find again."""
        folder = Path(tempfile.gettempdir()) / "cutline-benchmarks"
        folder.mkdir(exist_ok=True)
        return cls(folder)

    def rank_file(self, encoding: str) -> Path:
        """Give `<encoding>.tiktoken`, named so that gigatoken knows the encoding."""
        return self._made_once(f"{encoding}.tiktoken", lambda path: _write_ranks(path, encoding))

    def tiktoken_cache(self, encoding: str) -> Path:
        """Give the folder to name in TIKTOKEN_CACHE_DIR."""
        cached_name = hashlib.sha1(_ADDRESS.format(encoding).encode()).hexdigest()
        ranks = self.rank_file(encoding)
        self._made_once(cached_name, lambda path: path.write_bytes(ranks.read_bytes()))
        return self.folder

    def tokenizer_json(self, encoding: str) -> Path:
        """Give the encoding as a Hugging Face tokenizer file."""
        ranks = self.rank_file(encoding)
        return self._made_once(
            f"{encoding}.json", lambda path: _write_tokenizer_json(path, ranks, encoding)
        )

    def _made_once(self, name: str, write: Callable[[Path], object]) -> Path:
        path = self.folder / name
        if not path.exists():
            unfinished = self.folder / f"{name}.{os.getpid()}"
            write(unfinished)
            unfinished.replace(path)
        return path


def _write_ranks(path: Path, encoding: str) -> None:
    import cutline

    ranks = cutline.get_encoding(encoding)._mergeable_ranks
    by_rank = sorted(ranks.items(), key=lambda item: item[1])
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in by_rank))


def _read_ranks(path: Path) -> dict[bytes, int]:
    pairs = (line.split() for line in path.read_bytes().splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _write_tokenizer_json(path: Path, rank_file: Path, encoding: str) -> None:
    """Express ranks as the vocabulary and merges of a Hugging Face BPE model."""
    import tiktoken
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    ranks = _read_ranks(rank_file)
    letters = _letter_of_each_byte()

    def spell(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    merges = [_last_merge(token, ranks) for token in sorted(ranks, key=ranks.__getitem__)]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={spell(token): rank for token, rank in ranks.items()},
            merges=[(spell(parts[0]), spell(parts[1])) for parts in merges if len(parts) == 2],
            ignore_merges=True,  # a piece that is a token stays whole, as in tiktoken
        )
    )
    pattern = (
        _CL100K_WITHOUT_POSSESSIVES
        if encoding == "cl100k_base"
        else tiktoken.get_encoding(encoding)._pat_str
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(path))


def _last_merge(token: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Find the two parts whose merge makes a token; a single byte has no parts."""
    parts = [token[i : i + 1] for i in range(len(token))]
    unmergeable = len(ranks)
    while len(parts) > 2:
        best = min(
            range(len(parts) - 1),
            key=lambda i: ranks.get(parts[i] + parts[i + 1], unmergeable),
        )
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts


def _letter_of_each_byte() -> list[str]:
    """List the byte-level alphabet: printable Latin-1 as itself, the rest from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    shifted = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(shifted)) for byte in range(256)]
