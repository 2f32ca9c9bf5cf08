"""The packaged encodings: their definitions and vocabularies.

Names, split patterns, special tokens and rank files are those of tiktoken 0.14
(`tiktoken_ext/openai_public.py`, MIT license); NOTICE names the sources.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = [
    "CL100K_PAT_STR",
    "CONTENT_SHA256",
    "O200K_PAT_STR",
    "PACKAGED_ENCODINGS",
    "R50K_PAT_STR",
    "RANK_FILE_SHA256",
    "PackagedEncoding",
    "list_encoding_names",
]

R50K_PAT_STR: Final = (
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
)
CL100K_PAT_STR: Final = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"""
    r"""| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
O200K_PAT_STR: Final = "|".join(
    (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"""
        r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"""
        r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    )
)

RANK_FILE_SHA256: Final[Mapping[str, str]] = MappingProxyType(
    {
        "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    }
)
"""The published sha256 of each `.tiktoken` rank file."""

CONTENT_SHA256: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cl100k_base": "981068af5d3199444c39662a27c9d86a4f49466b16c44ed33fd099942cdb9afe",
        "gpt2": "34cc85caffc3b4ffca9109a9cec1f75c0750306badcd6d6a01cd975552759971",
        "o200k_base": "6d8ce2ad7b3c335131029d6276a7a45505ba399662fd4eb6f1886553dc39ae1a",
        "o200k_harmony": "caf0bf380482acf708412ddb8713ed14927c26c8fb8b0645cc6d5a57b68cd129",
        "p50k_base": "a185c64fd8bc08771818722dbe4c1135f91a2c22b810026804900ae7c1f4fd45",
        "p50k_edit": "e359df063eb74223c4f6d11a655513d4708d13c89b6771972e7edbd02ec6b8e1",
        "r50k_base": "34cc85caffc3b4ffca9109a9cec1f75c0750306badcd6d6a01cd975552759971",
    }
)
"""`Encoding.content_hash` of each packaged encoding: tests compute it."""

"""The folder of the packed vocabularies: one `<rank file>.bin` each."""


class PackagedEncoding(NamedTuple):
    """The definition of a packaged encoding.

    Attributes:
        name: as in `get_encoding(name)`.
        rank_file: the published rank file with its vocabulary, a key of
            `RANK_FILE_SHA256`; encodings can share one.
        pat_str: the split pattern.
        special_tokens: ids by text. o200k_harmony gives id 200018 two texts.
        explicit_n_vocab: the number of ids, if published.
    """

    name: str
    rank_file: str
    pat_str: str
    special_tokens: Mapping[str, int]
    explicit_n_vocab: int | None = None


_ENDOFTEXT: Final = "<|endoftext|>"
_FIM_PREFIX: Final = "<|fim_prefix|>"
_FIM_MIDDLE: Final = "<|fim_middle|>"
_FIM_SUFFIX: Final = "<|fim_suffix|>"
_ENDOFPROMPT: Final = "<|endofprompt|>"

_GPT2_SPECIALS: Final = MappingProxyType({_ENDOFTEXT: 50256})
_P50K_EDIT_SPECIALS: Final = MappingProxyType(
    {_ENDOFTEXT: 50256, _FIM_PREFIX: 50281, _FIM_MIDDLE: 50282, _FIM_SUFFIX: 50283}
)
_CL100K_SPECIALS: Final = MappingProxyType(
    {
        _ENDOFTEXT: 100257,
        _FIM_PREFIX: 100258,
        _FIM_MIDDLE: 100259,
        _FIM_SUFFIX: 100260,
        _ENDOFPROMPT: 100276,
    }
)
_O200K_SPECIALS: Final = MappingProxyType({_ENDOFTEXT: 199999, _ENDOFPROMPT: 200018})
_HARMONY_NAMED: Final = {
    "<|startoftext|>": 199998,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
}
_HARMONY_SPECIALS: Final = MappingProxyType(
    {**_O200K_SPECIALS, **_HARMONY_NAMED}
    | {
        f"<|reserved_{token_id}|>": token_id
        for token_id in range(200000, 201088)
        if token_id not in _HARMONY_NAMED.values()
    }
)

PACKAGED_ENCODINGS: Final[Mapping[str, PackagedEncoding]] = MappingProxyType(
    {
        spec.name: spec
        for spec in (
            PackagedEncoding("gpt2", "r50k_base", R50K_PAT_STR, _GPT2_SPECIALS, 50257),
            PackagedEncoding("r50k_base", "r50k_base", R50K_PAT_STR, _GPT2_SPECIALS, 50257),
            PackagedEncoding("p50k_base", "p50k_base", R50K_PAT_STR, _GPT2_SPECIALS, 50281),
            PackagedEncoding("p50k_edit", "p50k_base", R50K_PAT_STR, _P50K_EDIT_SPECIALS),
            PackagedEncoding("cl100k_base", "cl100k_base", CL100K_PAT_STR, _CL100K_SPECIALS),
            PackagedEncoding("o200k_base", "o200k_base", O200K_PAT_STR, _O200K_SPECIALS),
            PackagedEncoding("o200k_harmony", "o200k_base", O200K_PAT_STR, _HARMONY_SPECIALS),
        )
    }
)


def list_encoding_names() -> list[str]:
    """List the names of the packaged encodings, sorted.

    >>> list_encoding_names()[:2]
    ['cl100k_base', 'gpt2']
    """
    return sorted(PACKAGED_ENCODINGS)
