"""A changed `.cutline` file is refused with its path named, or makes an encoding that saves.

Input: bytes that choose a tokenizer, and how the fields of its spec and its vocabulary are changed,
as in the target `tokenizer_json`; the file has true sizes and checksums.
"""

import hashlib
import json
import random
import struct
from collections.abc import Iterator
from typing import Any, Final

from cutline.errors import UnsupportedPatternError
from cutline.formats.cutline_file import write_cutline
from cutline.formats.typed_json import to_json
from cutline.normalizing import (
    Form,
    Lead,
    Lower,
    NewerForm,
    Prepend,
    Replace,
    Spell,
    Strip,
    Unknown,
)
from cutline.pretokenize.splitting import Splitting
from cutline.spec import AddedToken, Characters, TokenizerSpec
from cutline.words.joining import JoinMetaspace, JoinWordPiece
from cutline.words.models import Unigram, WordPiece
from cutline.words.splitting import Metaspace, SplitClass, WhitespaceSplit
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite, ReplaceEach
from fuzz.grammar import Choices
from fuzz.scratch import scratch
from fuzz.target_native import START, load
from fuzz.target_tokenizer_json import MAX_SEED, change, check, copied
from fuzz.target_tokenizer_json import VALUES as SCALARS
from tests.pipeline import characters, ended_characters, families
from tests.words.configurations import CONFIGURATIONS
from tests.words.tokenizers_of import MODELS, tokenizer_of

VALUES: Final = (
    *(value for value in SCALARS if not isinstance(value, dict)),
    "AAAA", "NFD", "always", "first", "removed", "\u2581", 2**32 - 1, 2**32, [[1, "YQ=="]],
    *map(to_json, (
        Form("NFC"), Lower(), Strip(True, False), Replace("a", ""), Replace(" ", "\u2581"),
        Prepend("\u2581"), Prepend(""), ByCharacter("bert accents"), ByCharacter("nmt"),
        Collapse(" "), Collapse(""), CollapseWhite(),
        Spell("ab", "".join(map(chr, range(0xE000, 0xE080)))),
        Unknown("ab", "?", True), WordPiece(0), WordPiece(1, ""), Unigram(b"", 0), Metaspace(),
        Metaspace("first"), WhitespaceSplit(), SplitClass("digits", "contiguous"),
        JoinWordPiece(), JoinMetaspace("never", "\u2581", True), Splitting("a|b", "removed", True),
        AddedToken("ab", 1), AddedToken("x", 2**31, False, True, True, True, True),
        Characters({}, 0, False), NewerForm("NFKC"), Lead("\u2581"), Lead(""),
        ReplaceEach("[0-9]", " "), ReplaceEach("ab", ""), SplitClass("[^a]", "removed"),
    )),
)  # fmt: skip


def run(data: bytes) -> None:
    rng = Choices(data) if len(data) > MAX_SEED else random.Random(data)
    header, vocabulary = rng.choice(FILES)
    fields: Any = copied(header)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        others, other_vocabulary = rng.choice(FILES)
        what = rng.randrange(6)
        if what == 0:
            vocabulary = other_vocabulary
        elif what == 1 and isinstance(fields, dict):
            key = rng.choice([*others])
            fields[key] = copied(others[key])
        else:
            fields = change(rng, fields, VALUES)
    path = scratch("fuzzed.cutline")
    path.write_bytes(sealed(json.dumps(fields).encode(), vocabulary))
    encoding = load(path)
    if encoding is None:
        return
    try:
        check(encoding)
    except UnsupportedPatternError:  # the pattern that falls back matches nothing in a text
        assert not encoding._has_automaton


def sealed(header: bytes, vocabulary: bytes) -> bytes:
    """Make a file of its parts."""
    body = struct.pack("<I", len(header)) + header + vocabulary
    return START + hashlib.sha256(body).digest() + body


def specs() -> Iterator[TokenizerSpec]:
    """Make tokenizers of all kinds that are read."""
    documents = [families.build(name, 300).to_str() for name in families.FAMILIES]
    documents += map(characters.make_document, characters.CONFIGURATIONS)
    documents += [ended_characters.trained(kind, 0).to_str() for kind in ended_characters.KINDS]
    rng = random.Random(0)
    documents += [
        tokenizer_of(MODELS[place % len(MODELS)], name, rng).to_str()
        for place, name in enumerate(CONFIGURATIONS)
    ]
    path = scratch("tokenizer.json")
    for document in documents:
        path.write_text(document, encoding="utf-8")
        if (encoding := load(path)) is not None:
            yield encoding._make_spec()


def parts_of(spec: TokenizerSpec) -> tuple[dict[str, Any], bytes]:
    """Write a file, and take it apart."""
    path = scratch("x.cutline")
    write_cutline(spec, path)
    body = path.read_bytes()[len(START) + 32 :]
    (size,) = struct.unpack_from("<I", body)
    return json.loads(body[4 : 4 + size]), body[4 + size :]


FILES: Final = tuple(map(parts_of, specs()))
"""Header and packed vocabulary of tokenizers of all kinds."""
