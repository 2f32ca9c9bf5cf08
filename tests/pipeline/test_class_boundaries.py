"""Where pre-tokenizers by classes split, at every code point, by `tokenizers` of each version.

Tokens lie across all ends of characters, so that ids tell where pieces end.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.vocabulary.letters import as_text
from tests.conftest import short_or_long

tokenizers = pytest.importorskip("tokenizers")

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
SPLITTERS: dict[str, dict[str, Any]] = {
    "digits": {"type": "Digits", "individual_digits": False},
    "each digit": {"type": "Digits", "individual_digits": True},
    **{
        f"punctuation {how}": {"type": "Punctuation", "behavior": how}
        for how in ("Isolated", "Contiguous", "Removed", "MergedWithNext", "MergedWithPrevious")
    },
    "words and signs": {"type": "Whitespace"},
    "bert": {"type": "BertPreTokenizer"},
    "white space": {"type": "WhitespaceSplit"},
    "scripts": {"type": "UnicodeScripts"},
}
POINTS = [*range(0xD800), *range(0xE000, 0x110000)]


def document(splitter: dict[str, Any]) -> dict[str, Any]:
    letters = [as_text(bytes([byte])) for byte in range(256)]
    others = [one for one in letters if one not in "ab"]
    merges = [*product("a", others), *product(others, "b")]
    tokens = [*letters, *map("".join, merges)]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "post_processor": None, "decoder": BYTES,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [splitter, BYTES]},
        "model": {
            "type": "BPE", "merges": merges,
            "vocab": {token: number for number, token in enumerate(tokens)},
        },
    }  # fmt: skip


@short_or_long("every", 13, 1)
@pytest.mark.parametrize("name", SPLITTERS)
def test_pieces_end_where_they_do_there(name: str, every: int, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document(SPLITTERS[name])), encoding="utf-8")
    there = tokenizers.Tokenizer.from_file(str(path))
    here = cutline.Encoding.from_tokenizers(there)
    texts = [f"a{chr(code)}b" for code in POINTS[::every]]
    found = there.encode_batch(texts, add_special_tokens=False)
    for text, ids, one in zip(texts, here.encode_ordinary_batch(texts), found, strict=True):
        assert ids == list(one.ids), ascii(text)
