"""A random `tokenizer.json`: any model, normalizers, pre-tokenizers, decoders and added tokens.

Parts are put together whether they go together or not: what is refused is for the reader to say.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tests.pipeline.characters import metaspace
from tests.words.charsmaps import charsmap
from tests.words.configurations import SMALL_MAP
from tests.words.tokenizers_of import LETTERS, MODELS, model_of, pieces

Part = dict[str, Any]

BLANK = "\u2581"
WORDS = (
    "ab",
    "abc",
    "the",
    "E\u0301",
    "\u00e9",
    "=",
    " ",
    "  ",
    "\n",
    "a b",
    "<x>",
    "<y>",
    "[",
    "e",
)
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
BEHAVIORS = ("Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext")
PATTERNS = (
    r"\s+", r"\p{L}+", r"[^\s\p{L}]+", r"\d",
    r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"[\p{L}\p{M}]+|\p{N}", r"\w+|[^\w\s]+", r"[.,]", r"\n", r"(?=\p{Lu})", r"a+b?", r"\p{N}{1,3}",
)  # fmt: skip
_LETTERS_FOR_BYTES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]


@cache
def byte_letters() -> list[str]:
    """GPT-2's letter for each byte."""
    rest = [byte for byte in range(256) if byte not in _LETTERS_FOR_BYTES]
    return [
        chr(byte if byte in _LETTERS_FOR_BYTES else 0x100 + rest.index(byte)) for byte in range(256)
    ]


@cache
def small_charsmap() -> str:
    return base64.b64encode(charsmap(SMALL_MAP)).decode()


def flag(rng: random.Random) -> bool:
    return rng.random() < 0.5


def replace(rng: random.Random, old: str | None = None, new: str | None = None) -> Part:
    if old is None and rng.random() < 0.5:
        pattern = {"Regex": rng.choice((r"\s+", " {2,}", "[.,]", r"\p{N}", r"[^a-z ]", r"\n", "b"))}
    else:
        pattern = {
            "String": rng.choice(("ab", "``", "=", "c", " ", "\u0301")) if old is None else old
        }
    content = rng.choice(("", " ", "b", BLANK, "E\u0301", "``", "d.e")) if new is None else new
    return {"type": "Replace", "pattern": pattern, "content": content}


ENDS = {"type": "Replace", "pattern": {"Regex": r"\A +| +\z"}, "content": ""}
NORMALIZERS: tuple[Callable[[random.Random], Part], ...] = (
    *(lambda rng, form=form: {"type": form} for form in FORMS),
    lambda rng: {"type": "Lowercase"},
    lambda rng: {"type": "StripAccents"},
    lambda rng: {"type": "Nmt"},
    lambda rng: {"type": "Strip", "strip_left": flag(rng), "strip_right": flag(rng)},
    lambda rng: ENDS,
    lambda rng: {"type": "Prepend", "prepend": rng.choice((BLANK, "a", " "))},
    lambda rng: {"type": "Precompiled", "precompiled_charsmap": small_charsmap()},
    lambda rng: {
        "type": "BertNormalizer",
        "clean_text": flag(rng),
        "handle_chinese_chars": flag(rng),
        "strip_accents": rng.choice((None, False, True)),
        "lowercase": flag(rng),
    },
    replace,
    replace,
)


RUNS = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
STRIP_END = {"type": "Strip", "strip_left": False, "strip_right": True}
QUOTES = [{"type": "Replace", "pattern": {"String": old}, "content": '"'} for old in ("``", "''")]


def published_normalizers(rng: random.Random) -> list[Part]:
    """Draw normalizers of models that are published: T5, XLM-R, RemBERT, DeBERTa, mT5."""
    charsmap_part = {"type": "Precompiled", "precompiled_charsmap": small_charsmap()}
    both = {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "}
    forms = (
        [charsmap_part, STRIP_END, RUNS | {"content": BLANK}],
        [charsmap_part, RUNS],
        [*QUOTES, RUNS, charsmap_part],
        [*QUOTES, RUNS, {"type": "NFKD"}, {"type": "StripAccents"}, charsmap_part],
        [both, {"type": "NFC"}, STRIP_END],
        [{"type": "Nmt"}, {"type": "NFKC"}, RUNS],
    )
    return rng.choice(forms)


def split(rng: random.Random) -> Part:
    one = rng.choice(PATTERNS)
    pattern = (
        {"Regex": one} if rng.random() < 0.8 else {"String": rng.choice((" ", BLANK, ".", "ab"))}
    )
    behavior = rng.choice(BEHAVIORS)
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": rng.random() < 0.3}


SPLITTERS: tuple[Callable[[random.Random], Part], ...] = (
    lambda rng: {"type": "BertPreTokenizer"},
    lambda rng: {"type": "Whitespace"},
    lambda rng: {"type": "WhitespaceSplit"},
    lambda rng: {"type": "Digits", "individual_digits": flag(rng)},
    lambda rng: {"type": "Punctuation", "behavior": rng.choice(BEHAVIORS)},
    lambda rng: {"type": "CharDelimiterSplit", "delimiter": rng.choice("._ a\n")},
    lambda rng: {"type": "UnicodeScripts"},
    lambda rng: {"type": "FixedLength", "length": rng.randint(1, 5)},
    lambda rng: metaspace(rng.choice(("always", "first", "never")), flag(rng)),
    split,
    split,
)


def byte_level(rng: random.Random, *, splits: bool = True) -> Part:
    prefix = rng.random() < 0.25
    return {
        "type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True,
        "use_regex": splits and flag(rng),
    }  # fmt: skip


def some(
    rng: random.Random, of: Sequence[Callable[[random.Random], Part]], most: int
) -> list[Part]:
    return [rng.choice(of)(rng) for _ in range(rng.choice((0, *range(most + 1))))]


def merged(rng: random.Random, first: Sequence[str], n: int) -> tuple[list[str], list[list[str]]]:
    """Merge random tokens, frequent letters more often; a vocabulary and its merges in order."""
    tokens = dict.fromkeys(first)
    merges: dict[tuple[str, str], None] = {}
    likely = [*first]
    while len(merges) < n:
        left, right = rng.choice(likely), rng.choice(likely)
        if len(left + right) > 8 or (left + right in tokens and rng.random() < 0.9):
            n -= rng.random() < 0.1
            continue
        merges[left, right] = None
        tokens[left + right] = None
        likely.append(left + right)
    return [*tokens], [*map(list, merges)]


def numbered(rng: random.Random, tokens: Sequence[str]) -> dict[str, int]:
    """Give tokens ids: in order, permuted, or sparse."""
    kind = rng.randrange(4)
    if kind < 2:
        ids = [*range(len(tokens))]
    else:
        ids = rng.sample(range(len(tokens) * (1 if kind == 2 else 3)), len(tokens))
    return dict(zip(tokens, ids, strict=True))


def bpe(vocab: dict[str, int], merges: list[list[str]], **settings: Any) -> Part:
    return {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
        "ignore_merges": False, **settings, "vocab": vocab, "merges": merges,
    }  # fmt: skip


def bytes_model(rng: random.Random) -> Part:
    """BPE over bytes, merges of the bytes that texts have."""
    letters = byte_letters()
    frequent = [letters[byte] for byte in "".join(LETTERS + " \n").encode()]
    frequent += [letters[ord(one)] for one in "abcde 5"] * 9
    tokens, merges = merged(rng, frequent, rng.randint(5, 200))
    tokens = [*dict.fromkeys([*letters, *tokens])]
    if rng.random() < 0.2:  # tokens that no merge makes
        tokens += [one for one in ("Ġthe", "abcde", "ĠĠĠ") if one not in tokens]
    if rng.random() < 0.1:
        rng.shuffle(merges)
    return bpe(numbered(rng, tokens), merges, ignore_merges=rng.random() < 0.2)


def characters_model(rng: random.Random) -> Part:
    """BPE over characters, with bytes for those unknown, or a token."""
    letters = [one for one in dict.fromkeys(LETTERS + BLANK + "\n") if one != " "]
    first = ["<unk>", *rng.sample(letters, rng.randint(20, len(letters))), BLANK, *"abcde"]
    frequent = [*first[1:], *[BLANK, *"abcde5"] * 9]
    tokens, merges = merged(rng, frequent, rng.randint(5, 60))
    falls_back = flag(rng)
    if falls_back:
        tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    return bpe(
        numbered(rng, [*dict.fromkeys(["<unk>", *tokens])]), merges,
        byte_fallback=falls_back, unk_token="<unk>", fuse_unk=flag(rng),
    )  # fmt: skip


def ended_model(rng: random.Random) -> Part:
    """BPE whose tokens say that they end a word, or do not begin one; over bytes, as CLIP's."""
    letters = [*dict.fromkeys([byte_letters()[byte] for byte in "".join(LETTERS).encode()])]
    if flag(rng):
        first = [*byte_letters(), *(f"{one}</w>" for one in byte_letters())]
        frequent = [*letters, *(f"{one}</w>" for one in letters), *["a", "b", "b</w>", "e</w>"] * 9]
        affix = {"end_of_word_suffix": "</w>"}
    else:
        first = [*byte_letters(), *(f"##{one}" for one in byte_letters())]
        frequent = [*letters, *(f"##{one}" for one in letters), *["a", "b", "##b", "##e"] * 9]
        affix = {"continuing_subword_prefix": "##"}
    tokens, merges = [*first], dict[tuple[str, str], None]()
    for _ in range(rng.randint(5, 200)):
        left, right = rng.choice(frequent), rng.choice(frequent)
        if left.endswith("</w>") or ("##" in affix.values() and not right.startswith("##")):
            continue
        whole = left + right.removeprefix("##")
        if len(whole) < 12 and whole not in tokens:
            merges[left, right] = None
            tokens.append(whole)
            frequent.append(whole)
    return bpe(numbered(rng, [*dict.fromkeys(tokens)]), [*map(list, merges)], **affix)


def words_model(rng: random.Random) -> Part:
    """WordPiece, Unigram or WordLevel; the ids of Unigram are places in its list."""
    kind = rng.choice((*MODELS, "WordLevel"))
    if kind == "WordLevel":
        tokens = [*dict.fromkeys(["[UNK]", *pieces(rng, 120), *"abcde", BLANK + "a", BLANK])]
        return {"type": kind, "vocab": numbered(rng, tokens), "unk_token": "[UNK]"}
    import tokenizers

    made: Part = json.loads(tokenizers.Tokenizer(model_of(kind, rng)).to_str())["model"]
    if kind == "WordPiece":
        made["vocab"] = numbered(rng, [*made["vocab"]])
        made["max_input_chars_per_word"] = rng.choice((3, 12, 100))
    return made


def added_tokens(rng: random.Random, model: Part) -> list[Part]:
    """Draw added tokens, some of them tokens of the model, with the ids that they will get."""
    vocab = model["vocab"]
    ids = vocab if isinstance(vocab, dict) else {one[0]: at for at, one in enumerate(vocab)}
    known = [text for text in ids if text.isprintable() and text]
    newest, found = -1, {}
    for _ in range(rng.choice((0, 0, 1, 2, 4))):
        text = rng.choice(WORDS) if rng.random() < 0.85 else rng.choice(known)
        special = rng.random() < 0.4
        simple = flag(rng)
        flags = {
            name: not simple and rng.random() < 0.4
            for name in ("lstrip", "rstrip", "single_word", "normalized")
        }
        if text in found:
            continue
        number = ids.get(text, max(len(vocab), newest + 1))
        newest = newest if text in ids else number
        found[text] = {"id": number, "content": text, "special": special, **flags}
    return [*found.values()]


def processor(rng: random.Random, ids: Sequence[tuple[str, int]]) -> Part | None:
    kind = rng.randrange(5)
    first, second = rng.choice(ids), rng.choice(ids)
    if kind == 0:
        return {
            "type": "RobertaProcessing", "sep": [*first], "cls": [*second],
            "trim_offsets": flag(rng), "add_prefix_space": flag(rng),
        }  # fmt: skip
    if kind == 1:
        return {"type": "BertProcessing", "sep": [*first], "cls": [*second]}
    if kind == 2:
        return {
            "type": "ByteLevel", "add_prefix_space": flag(rng), "trim_offsets": flag(rng),
            "use_regex": True,
        }  # fmt: skip
    return None


def in_sequence(parts: list[Part], members: str) -> Part | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", members: parts}


def draw(rng: random.Random) -> Part:
    """Draw a tokenizer."""
    kind = rng.choice(("bytes", "bytes", "ended", "characters", "words", "words", "words"))
    normalizers, splitters = some(rng, NORMALIZERS, 3), some(rng, SPLITTERS, 3)
    decoders: list[Part] = []
    if kind in ("bytes", "ended"):
        model = bytes_model(rng) if kind == "bytes" else ended_model(rng)
        splitters = splitters[:2] if rng.random() < 0.8 else []
        splitters.append(byte_level(rng))
        if rng.random() < 0.1:
            splitters.append({"type": "Digits", "individual_digits": flag(rng)})
        decoders = [{**byte_level(rng), "add_prefix_space": True}]
    elif kind == "characters":
        model = characters_model(rng)
        splitters = []
        if flag(rng):
            splitters = [metaspace(rng.choice(("always", "first", "never")), flag(rng))]
            if rng.random() < 0.3:  # as transformers 5 converts a .model
                led_twice = {"type": "Replace", "pattern": {"Regex": rf"\A{BLANK}"}}
                normalizers = [*normalizers[:1], *[ENDS, RUNS] * flag(rng)]
                normalizers.append(replace(rng, " ", BLANK))
                normalizers.append(led_twice | {"content": BLANK * 2})
        else:
            normalizers += [{"type": "Prepend", "prepend": BLANK}] * flag(rng)
            normalizers.append(replace(rng, " ", BLANK))
        decoders = [replace(rng, BLANK, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
        decoders += [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] * flag(rng)
    else:
        model = words_model(rng)
        if model["type"] == "Unigram" and rng.random() < 0.8:
            scheme = rng.choice(("always", "always", "first", "never"))
            if rng.random() < 0.4:
                normalizers, splitters = published_normalizers(rng), splitters[:1] * flag(rng)
            splitters = [*splitters[:2], metaspace(scheme, rng.random() < 0.8)]
            decoders = [metaspace(scheme, True)]
        elif model["type"] == "WordPiece":
            decoders = [{"type": "WordPiece", "prefix": "##", "cleanup": flag(rng)}]
    vocab = model["vocab"]
    ids = (
        [*vocab.items()]
        if isinstance(vocab, dict)
        else [(one[0], at) for at, one in enumerate(vocab)]
    )
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": added_tokens(rng, model),
        "normalizer": in_sequence(normalizers, "normalizers"),
        "pre_tokenizer": in_sequence(splitters, "pretokenizers"),
        "post_processor": processor(rng, ids),
        "decoder": in_sequence(decoders, "decoders"),
        "model": model,
    }  # fmt: skip


def draw_text(rng: random.Random, document: Part) -> str:
    """Draw a text: letters, tokens, added tokens; now and then one of many runs, met again."""
    added = [one["content"] for one in document["added_tokens"]]
    vocab = document["model"]["vocab"]
    tokens = [one if isinstance(one, str) else one[0] for one in vocab]
    letters = rng.choice(
        (LETTERS, LETTERS + "\n\t\r\u00a0\u3000", "abcde  ", "aB5 .\n", "a \u0301")
    )

    def part() -> str:
        kind = rng.randrange(10)
        if kind < 2 and added:
            return rng.choice(added)
        if kind < 3:
            return rng.choice(tokens).replace("\u0120", " ").replace(BLANK, " ")
        if kind < 4:
            return rng.choice((" ", "\n", "a", "b", "\u0301", "=", string.digits)) * rng.randint(
                1, 6
            )
        return "".join(rng.choices(letters, k=rng.randint(1, 6)))

    size = rng.choice((1, 3, 6, 6, 12, 12, 40))
    words = [part() for _ in range(size)]
    if size == 40:
        words = rng.choices(words[:20], k=size)
    return rng.choice(("", " ", "", "\n")).join(words)
