"""Safe split points of BERT-like tokenizers: before blanks.

Tokenizers like BERT's drop white space and encode words separately: at the position before a
blank, neither side depends on the other. This is derived from the parts of a tokenizer, and
only if all of them are known; proof in docs/wrap.md, "Safe split points".
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from unicodedata import normalize

__all__ = ["find_safe_points"]

_BLANK: Final = re.compile(r"[ \t\n\r]")
# None of them looks across a blank, or inserts or drops anything there but blanks.
_NORMALIZERS: Final = frozenset(
    {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
)
_WORD_SPLITTERS: Final = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})
_FINER_SPLITTERS: Final = frozenset({"Digits", "Punctuation"})


def find_safe_points(document: Mapping[str, Any] | None) -> re.Pattern[str] | None:
    """Return a pattern whose matches start at safe split points; None if none are known.

    Args:
        document: the tokenizer's `tokenizer.json`; None if it has none.
    """
    if document is None:
        return None
    normalizers = _kinds(document.get("normalizer"), "normalizers")
    splitters = _kinds(document.get("pre_tokenizer"), "pretokenizers")
    if not splitters or splitters[0] not in _WORD_SPLITTERS:
        return None
    known = _NORMALIZERS.issuperset(normalizers)
    known = known and (_WORD_SPLITTERS | _FINER_SPLITTERS).issuperset(splitters)
    added = [token["content"] for token in document.get("added_tokens") or []]
    return _BLANK if known and not any(map(_may_have_blanks, added)) else None


def _may_have_blanks(content: str) -> bool:
    """Return whether an added token has white space, as written or in a normal form."""
    return any(re.search(r"\s", form) for form in (content, normalize("NFKC", content)))


def _kinds(part: Any, members: str) -> list[str]:
    """List the types of parts in order, those of a sequence one by one."""
    if part is None:
        return []
    found = part[members] if part["type"] == "Sequence" else [part]
    return [member["type"] for member in found]
