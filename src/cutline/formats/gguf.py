"""The tokenizer in a `.gguf` file of llama.cpp: its fields `tokenizer.ggml.*`.

Only the fields before the tensors are read, so the size of the weights does not matter. (The
package `gguf` makes several objects of each token: 11 s for a vocabulary of 128,000 tokens, which
takes 0.2 s here.) The layout, integers little-endian:

    magic         4 bytes   b"GGUF"
    version       4 bytes   uint32, 2 or 3
    tensor_count  8 bytes
    field_count   8 bytes
    fields                  each a string, a type (uint32) and a value; a string is its size
                            (8 bytes) and UTF-8; an array a type, a size (8 bytes) and values

A file names how its texts are split (`tokenizer.ggml.pre`) and says no more, so this is known
here, for the models that use it: as their tokenizer.json has it.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from struct import unpack_from
from typing import Any, Final, NamedTuple

from cutline.errors import VocabularyError
from cutline.formats.bounded import MAX_FILE_BYTES
from cutline.formats.documents import checked, spec_of
from cutline.formats.huggingface import DECODER, bpe_model
from cutline.formats.llama_unigram import llama_unigram_spec
from cutline.formats.merges import WRAP_HINT
from cutline.formats.pieces import Piece, PieceType
from cutline.formats.sentencepiece_model import spec_of_pieces, steps_of
from cutline.formats.tokenizer_json import Part
from cutline.formats.vocab_txt import bert_document
from cutline.spec import TokenizerSpec
from cutline.vocabulary.vocabulary import MAX_TOKEN_COUNT

__all__ = ["MAGIC", "read_gguf"]

MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_SIZES: Final = {"B": 1, "b": 1, "H": 2, "h": 2, "I": 4, "i": 4, "f": 4, "?": 1, "Q": 8, "q": 8,
                 "d": 8}  # fmt: skip
_MARK: Final = "\u2581"
_ADDED: Final = (PieceType.CONTROL, PieceType.UNKNOWN, PieceType.USER_DEFINED)
_FIRST_BYTES: Final = 1 << 25  # nearly always enough
_MAX_ARRAY: Final = MAX_TOKEN_COUNT

_CONTRACTIONS: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES: Final = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_APART: Final = r"[^\r\n\p{L}\p{N}]?"


def _words(digits: str) -> str:
    return rf"{_CONTRACTIONS}|{_APART}\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*{_SPACES}"


def _cased(suffix: str, digits: str) -> str:
    return (
        rf"{_APART}{_UPPER}*{_LOWER}+{suffix}|{_APART}{_UPPER}+{_LOWER}*{suffix}|{digits}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_SPACES}"
    )


_DEEPSEEK_WORDS: Final = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*" + _SPACES
)
_DIGITS: Final = {"type": "Digits", "individual_digits": True}


class _Pre(NamedTuple):
    """How the models with one value of `tokenizer.ggml.pre` split.

    Attributes:
        patterns: of the Splits, one after the other; None in place of GPT-2's, in ByteLevel.
        normalizer: a normal form.
        has_digits: each digit is split off first.
        ignore_merges: a piece that is a token is that token.
    """

    patterns: tuple[str | None, ...]
    normalizer: str | None = None
    has_digits: bool = False
    ignore_merges: bool = False


_GPT2: Final = _Pre((None,))
_NEOX: Final = _Pre((None,), "NFC")
_LLAMA: Final = _Pre((_words(r"\p{N}{1,3}"),), ignore_merges=True)
_STARCODER: Final = _Pre((None,), has_digits=True)
_BLOOM: Final = _Pre((r" ?[^(\s|[.,!?…。，、।۔،])]+",))
_PRE: Final[Mapping[str, _Pre]] = {
    "gpt-2": _GPT2,
    "phi-2": _GPT2,
    "olmo": _NEOX,
    "mpt": _NEOX,
    "llama-bpe": _LLAMA,
    "llama-v3": _LLAMA,
    "llama3": _LLAMA,
    "qwen2": _Pre((_words(r"\p{N}"),), "NFC"),
    "deepseek-v3": _Pre((r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", _DEEPSEEK_WORDS)),
    "starcoder": _STARCODER,
    "refact": _STARCODER,
    "smollm": _STARCODER,
    "command-r": _Pre((None,), "NFC", has_digits=True),
    "bloom": _BLOOM,
    "tekken": _Pre((_cased("", r"\p{N}"),), ignore_merges=True),
    "gpt-4o": _Pre((_cased(f"{_CONTRACTIONS}?", r"\p{N}{1,3}"),)),
    "llama4": _Pre((_cased(f"{_CONTRACTIONS}?", r"\p{N}{1,3}"),)),
}


def read_gguf(path: Path, name: str, source: str) -> TokenizerSpec:
    """Read the spec of the tokenizer in a `.gguf` file.

    Raises:
        OSError: the file cannot be read.
        VocabularyError: it is damaged, or has a tokenizer that is not supported; says why.

    Cost: that of the tokens and merges; the tensors are not read.
    """
    fields = _tokenizer_fields(path, source)
    kind = str(fields.get("model"))
    readers = {"gpt2": _byte_level, "llama": _sentencepiece, "bert": _word_piece, "t5": _unigram}
    if kind not in readers:
        raise _refused(
            source,
            "model",
            kind,
            f"only {', '.join(readers)} can be read here; "
            "of others the model's tokenizer.json may be",
        )
    tokens, types = fields.get("tokens"), fields.get("token_type")
    if types is None and isinstance(tokens, list):
        types = [PieceType.NORMAL] * len(tokens)
    if not _are_rows(tokens, types):
        raise VocabularyError(f"{source} has no tokens, or not a type for each")
    limit = fields.get("context_length")
    spec = readers[kind](fields | {"token_type": types}, name, source)
    return spec._replace(max_tokens=limit if type(limit) is int and limit > 0 else None)


def _are_rows(tokens: Any, types: Any) -> bool:
    return (
        isinstance(tokens, list)
        and isinstance(types, list)
        and len(tokens) == len(types)
        and all(isinstance(text, str) for text in tokens)
        and all(isinstance(one, int) for one in types)
    )


def _byte_level(fields: Part, name: str, source: str) -> TokenizerSpec:
    """Read byte-level BPE, by way of the tokenizer.json that it stands for."""
    how = _PRE.get(str(fields.get("pre")))
    if how is None:
        known = f"how it splits is known for {', '.join(_PRE)}"
        raise _refused(source, "pre", fields.get("pre"), known)
    ids = _ids(fields, source)
    merges = fields.get("merges")
    if not isinstance(merges, list):
        raise VocabularyError(f"{source} has no merges")
    pairs = [(left, right) for left, _, right in (str(one).partition(" ") for one in merges)]
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    splitters: list[Part] = [_DIGITS] if how.has_digits else []
    splitters += [
        {"type": "Split", "pattern": {"Regex": one}, "behavior": "Isolated", "invert": False}
        for one in how.patterns
        if one is not None
    ]
    splitters.append(last | {"use_regex": None in how.patterns})
    document = {
        "version": "1.0",
        "added_tokens": [*_added(fields)],
        "normalizer": how.normalizer and {"type": how.normalizer},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": splitters},
        "post_processor": _template(fields),
        "decoder": DECODER,
        "model": bpe_model(ids, pairs, ignore_merges=how.ignore_merges),
    }
    return spec_of(document, name, source)


def _sentencepiece(fields: Part, name: str, source: str) -> TokenizerSpec:
    """Read SentencePiece's BPE."""
    if fields.get("remove_extra_whitespaces", False):
        raise _refused(source, "remove_extra_whitespaces", True, "only false can be read")
    known = set(PieceType) - {PieceType.UNUSED}
    pieces = [one if one.kind in known else None for one in _pieces(fields, source)]
    adds_prefix = bool(fields.get("add_space_prefix", True))
    steps = steps_of(None, adds_prefix=adds_prefix, removes_blanks=False, source=source)
    spec = spec_of_pieces(pieces, name, source, steps=steps, drops_blank=adds_prefix)
    return _with_template(spec, _template(fields, adds_bos=True), source)


def _pieces(fields: Part, source: str) -> list[Piece]:
    scores = fields.get("scores")
    tokens, types = fields["tokens"], fields["token_type"]
    if not isinstance(scores, list) or len(scores) != len(tokens) or not _are_finite(scores):
        raise VocabularyError(f"{source} has not a score for each token")
    return [*map(Piece, tokens, scores, types)]


def _with_template(spec: TokenizerSpec, template: Part | None, source: str) -> TokenizerSpec:
    count = len(template["single"]) - 1 if template else 0
    spec = spec._replace(
        n_template_tokens=(count, 2 * count),
        template=json.dumps(template, ensure_ascii=False, sort_keys=True) if template else "",
    )
    return checked(spec, source, is_done=False)


def _are_finite(scores: list[Any]) -> bool:
    return all(isinstance(one, float) and isfinite(one) for one in scores)


def _unigram(fields: Part, name: str, source: str) -> TokenizerSpec:
    """Read Unigram. Its defaults are llama.cpp's; an id that no token has is as if not there."""
    pieces = _pieces(fields, source)
    known = {
        key: value
        for key, value in fields.items()
        if not key.endswith("_token_id") or (type(value) is int and 0 <= value < len(pieces))
    }
    fields = {"eos_token_id": 1, "unknown_token_id": 2} | known
    if fields["unknown_token_id"] >= len(pieces):
        raise VocabularyError(f"{source} has no unknown token")
    spec = llama_unigram_spec(pieces, fields, name, source)
    return _with_template(spec, _template(fields, adds_eos=True), source)


def _word_piece(fields: Part, name: str, source: str) -> TokenizerSpec:
    """Read WordPiece: the tokens that begin a word have U+2581 here, and the others no mark."""
    rows = [*zip(fields["tokens"], fields["token_type"], strict=True)]
    written = [_as_bert(text, kind) for text, kind in rows]
    ids = {text: number for number, text in enumerate(written)}
    if len(ids) < len(written):
        raise VocabularyError(f"{source} has a token twice: {WRAP_HINT}")
    plain = (text for text, (_, kind) in zip(written, rows, strict=True) if kind not in _ADDED)
    capital = next((one for one in plain if one != one.lower() and not _is_bracketed(one)), None)
    if capital is not None:
        why = "and the file does not say whether texts are lowercased before"
        raise VocabularyError(f"{source} has tokens with capitals, {capital!r}, {why}: {WRAP_HINT}")
    roles = {role: f"[{role.upper()}]" for role in ("unk", "sep", "pad", "cls", "mask")}
    for role in ("unk", "sep", "cls"):
        if roles[role] not in ids:
            raise VocabularyError(f"{source} has no token {roles[role]!r}, which BERT needs")
    added = [*_added({**fields, "tokens": written})]
    return spec_of(bert_document(ids, roles, added), name, source)


def _as_bert(text: str, kind: int) -> str:
    """Write a token as BERT's vocab.txt does."""
    if kind in _ADDED:  # marked like the others, but for those in brackets
        return text.removeprefix(_MARK)
    if _is_bracketed(text) and not text.startswith(_MARK):
        return text
    if text.startswith(_MARK) and text != _MARK:
        return text.removeprefix(_MARK)
    return f"##{text}"


def _is_bracketed(text: str) -> bool:
    return len(text) > 2 and text[0] == "[" and text[-1] == "]"


def _ids(fields: Part, source: str) -> dict[str, int]:
    """Return the ids of the tokens but for those that only fill the vocabulary."""
    rows = enumerate(zip(fields["tokens"], fields["token_type"], strict=True))
    kept = [(text, number) for number, (text, kind) in rows if kind != PieceType.UNUSED]
    ids = dict(kept)
    if len(ids) < len(kept):
        raise VocabularyError(f"{source} has a token twice: {WRAP_HINT}")
    return ids


def _added(fields: Part) -> Iterator[Part]:
    for number, (text, kind) in enumerate(zip(fields["tokens"], fields["token_type"], strict=True)):
        if kind in _ADDED and text:
            special = kind != PieceType.USER_DEFINED
            yield {"id": number, "content": text, "special": special}


def _template(fields: Part, *, adds_bos: bool = False, adds_eos: bool = False) -> Part | None:
    """Describe the tokens that are put around a text."""
    tokens = fields["tokens"]
    around = {}
    for role, is_added in (("bos", adds_bos), ("eos", adds_eos)):
        number = fields.get(f"{role}_token_id")
        if fields.get(f"add_{role}_token", is_added) and type(number) is int:
            if not 0 <= number < len(tokens):
                continue
            around[role] = {"SpecialToken": {"id": tokens[number], "type_id": 0}}
    if not around:
        return None

    def led(name: str) -> list[Part]:
        whole = [around.get("bos"), {"Sequence": {"id": name, "type_id": 0}}, around.get("eos")]
        return [part for part in whole if part is not None]

    used = {part["SpecialToken"]["id"] for part in around.values()}
    return {
        "type": "TemplateProcessing",
        "single": led("A"),
        "pair": [*led("A"), *led("B")],
        "special_tokens": {
            text: {"id": text, "ids": [tokens.index(text)], "tokens": [text]} for text in used
        },
    }


def _refused(source: str, field: str, got: Any, why: str) -> VocabularyError:
    return VocabularyError(
        f"{source}: tokenizer.ggml.{field} is {got!r}, which is not supported; {why}: {WRAP_HINT}"
    )


# The file


def _tokenizer_fields(path: Path, source: str) -> dict[str, Any]:
    """Read the fields of the tokenizer, without "tokenizer.ggml.", and three others."""
    with path.open("rb") as file:
        size = _FIRST_BYTES
        while True:
            data = file.read(size)
            try:
                return dict(_fields(data, source))
            except (struct.error, IndexError) as error:
                # Perhaps there is more. (Were the file mapped, it could end while it is read.)
                if len(data) == size < MAX_FILE_BYTES:
                    size *= 4
                    file.seek(0)
                    continue
                raise _damaged(source) from error
            except (KeyError, UnicodeDecodeError, RecursionError) as error:
                raise _damaged(source) from error


def _damaged(source: str) -> VocabularyError:
    return VocabularyError(
        f"{source} is a .gguf file that is damaged, or has more than {MAX_FILE_BYTES} bytes before "
        "its tensors: download it again"
    )


def _fields(data: bytes, source: str) -> Iterator[tuple[str, Any]]:
    version, _, n_fields = unpack_from("<IQQ", data, len(MAGIC))
    if data[: len(MAGIC)] != MAGIC or version not in _VERSIONS:
        raise VocabularyError(
            f"{source} begins with {data[:8]!r}: only versions 2 and 3 of GGUF, little-endian, can "
            "be read"
        )
    at = len(MAGIC) + 20
    for _ in range(n_fields):
        key, at = _value(data, at, _STRING)
        (kind,) = unpack_from("<I", data, at)
        value, at = _value(data, at + 4, kind)
        field = key.removeprefix("tokenizer.ggml.")
        if field != key:
            yield field, value
        elif key in ("general.architecture", "general.name"):
            yield key.removeprefix("general."), value
        elif key.endswith(".context_length"):
            yield "context_length", value


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """Read a value. Returns it and where it ends."""
    if kind == _STRING:
        (size,) = unpack_from("<Q", data, at)
        end = at + 8 + size
        if end > len(data):
            raise IndexError("a string that ends after the file")
        return data[at + 8 : end].decode(), end
    if kind == _ARRAY:
        inner, count = unpack_from("<IQ", data, at)
        at += 12
        if count > _MAX_ARRAY:
            raise KeyError("an array that no tokenizer has")
        if inner in _SCALARS:
            code = _SCALARS[inner]
            values = list(unpack_from(f"<{count}{code}", data, at))
            return values, at + count * _SIZES[code]
        values = []
        for _ in range(count):
            value, at = _value(data, at, inner)
            values.append(value)
        return values, at
    code = _SCALARS[kind]
    (value,) = unpack_from(f"<{code}", data, at)
    return value, at + _SIZES[code]
