"""Where may a text be cut in two such that its tokens are those of both parts? At blanks.

Tokenizers of BERT's kind take the white space out and encode words apart: in front of a blank
nothing depends on what stands beyond it. This is read from what a tokenizer is made of, and
only believed of parts that are known; proof in docs/wrap.md, "Seams".
"""

import json
import re
from typing import Any, Final

__all__ = ["seams_of"]

_BLANK: Final = re.compile(r"[ \t\n\r]")
# None of them looks across a blank, or makes or drops anything there but blanks.
_NORMALIZERS: Final = frozenset(
    {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents"}
)
_WORD_SPLITTERS: Final = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})
_FINER_SPLITTERS: Final = frozenset({"Digits", "Punctuation"})


def seams_of(tokenizer: Any) -> re.Pattern[str] | None:
    """Return what finds the seams of a text, at the starts of its matches; None: nothing does.

    Args:
        tokenizer: any; only what has the parts of a `tokenizers.Tokenizer` can have seams.
    """
    try:
        normalizers = _kinds(tokenizer.normalizer, "normalizers")
        splitters = _kinds(tokenizer.pre_tokenizer, "pretokenizers")
        added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        if tokenizer.normalizer is not None:
            added += [tokenizer.normalizer.normalize_str(content) for content in added]
    except Exception:  # parts written in Python, or of another make: nothing is known of them
        return None
    if not splitters or splitters[0] not in _WORD_SPLITTERS:
        return None
    known = _NORMALIZERS.issuperset(normalizers)
    known = known and (_WORD_SPLITTERS | _FINER_SPLITTERS).issuperset(splitters)
    return _BLANK if known and not any(re.search(r"\s", content) for content in added) else None


def _kinds(part: Any, members: str) -> list[str]:
    """List the kinds of parts in order, those of a sequence one by one."""
    if part is None:
        return []
    spec = json.loads(part.__getstate__())
    found = spec[members] if spec["type"] == "Sequence" else [spec]
    return [member["type"] for member in found]
