"""Where may a text be cut in two such that its tokens are those of both parts? At blanks.

Tokenizers of BERT's kind take the white space out and encode words apart: in front of a blank
nothing depends on what stands beyond it. This is read from what a tokenizer is made of, and
only believed of parts that are known; proof in docs/wrap.md, "Safe split points".
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from unicodedata import normalize

__all__ = ["find_safe_points"]

_BLANK: Final = re.compile(r"[ \t\n\r]")
# None of them looks across a blank, or makes or drops anything there but blanks.
_NORMALIZERS: Final = frozenset(
    {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
)
_WORD_SPLITTERS: Final = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})
_FINER_SPLITTERS: Final = frozenset({"Digits", "Punctuation"})


def find_safe_points(document: Mapping[str, Any] | None) -> re.Pattern[str] | None:
    """Return what finds safe split points, at the starts of its matches; None: nothing does.

    Args:
        document: the tokenizer's `tokenizer.json`; None: it is of another make.
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
    """Tell whether an added token has white space, or has some in a normal form."""
    return any(re.search(r"\s", form) for form in (content, normalize("NFKC", content)))


def _kinds(part: Any, members: str) -> list[str]:
    """List the kinds of parts in order, those of a sequence one by one."""
    if part is None:
        return []
    found = part[members] if part["type"] == "Sequence" else [part]
    return [member["type"] for member in found]
