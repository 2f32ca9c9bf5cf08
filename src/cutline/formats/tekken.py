"""Mistral's `tekken.json`: ranks of tokens, a split pattern and special tokens."""

from base64 import b64decode
from typing import Any

from cutline.errors import VocabularyError
from cutline.formats.bounded import check_count
from cutline.formats.tokenizer_json import shown
from cutline.spec import TokenizerSpec
from cutline.vocabulary import Vocabulary

__all__ = ["is_tekken", "parse_tekken"]


def is_tekken(document: Any) -> bool:
    """Return whether a JSON object is a `tekken.json`."""
    return isinstance(document, dict) and "config" in document and "vocab" in document


def parse_tekken(document: dict[str, Any], name: str, source: str) -> TokenizerSpec:
    """Parse the object that `read_json` returned.

    The first `default_num_special_tokens` ids are special tokens; those without a name are
    called `<SPECIAL_20>` and so on. The id of an ordinary token is its rank plus that number,
    and only as many ranks are used as `default_vocab_size` leaves.

    Raises:
        VocabularyError: names the place that is wrong.

    Source: mistral-common 1.13, `tokens/tokenizers/tekken.py`.
    """
    match document:
        case {
            "config": {
                "pattern": str() as pattern,
                "default_vocab_size": int() as n_vocab,
                "default_num_special_tokens": int() as n_special,
            },
            "vocab": list() as entries,
        } if 0 <= n_special <= n_vocab:
            check_count(min(n_vocab, n_special + len(entries)), "tokens", source)
        case _:
            raise VocabularyError(
                f"{source}: config is {shown(document.get('config'))} instead of a pattern, "
                "default_vocab_size and default_num_special_tokens"
            )
    ranks = {}
    for place, entry in enumerate(entries[: n_vocab - n_special]):
        try:
            token, rank = b64decode(entry["token_bytes"], validate=True), entry["rank"]
        except (KeyError, TypeError, ValueError):
            token, rank = b"", None
        if not token or rank != place or token in ranks:
            raise VocabularyError(
                f"{source}: vocab, place {place}, is {shown(entry)} instead of a new token with "
                f"rank {place}"
            )
        ranks[token] = rank + n_special
    special_tokens = _special_tokens(document.get("special_tokens"), n_special, source)
    return TokenizerSpec.plain(name, Vocabulary.from_ranks(ranks), pattern, special_tokens)


def _special_tokens(entries: Any, n_special: int, source: str) -> dict[str, int]:
    """Assign ids to the special tokens; older files do not list them."""
    if entries is None:
        entries = [{"rank": rank, "token_str": text} for rank, text in enumerate(_OLDER)]
    found: dict[int, str] = {}
    for entry in entries if isinstance(entries, list) else [entries]:
        match entry:
            case {"rank": int() as rank, "token_str": str() as text} if 0 <= rank < n_special:
                found[rank] = text
            case _:
                raise VocabularyError(
                    f"{source}: special_tokens has {shown(entry)}, and ranks are below {n_special}"
                )
    names = {rank: found.get(rank, f"<SPECIAL_{rank}>") for rank in range(n_special)}
    return {text: rank for rank, text in names.items()}


_OLDER = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]",
    "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
)  # fmt: skip
