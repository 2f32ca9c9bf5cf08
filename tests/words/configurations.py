"""Normalizers and pre-tokenizers of WordPiece and Unigram tokenizers, built with `tokenizers`."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from cutline.formats.stages import make_steps
from cutline.formats.tokenizer_json import flat
from cutline.formats.word_json import done_by_metaspace, make_splitters
from cutline.words.char_rules import CharRules
from tests.words.charsmaps import charsmap

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
norm = tokenizers.normalizers
pre = tokenizers.pre_tokenizers

BERT = pre.BertPreTokenizer()
SPLIT = pre.WhitespaceSplit()
META = pre.Metaspace()
RUNS = norm.Replace(tokenizers.Regex(" {2,}"), " ")
WHOLE = pre.Metaspace(split=False)
OF_NO_CLASS = (
    norm.Replace(tokenizers.Regex(r"\A +| +\z"), ""),
    RUNS,
    norm.Replace(" ", "\u2581"),
    norm.Replace(tokenizers.Regex("\\A\u2581"), "\u2581\u2581"),
)
"""As transformers 5 converts a sentencepiece model whose class it is not told."""

SMALL_MAP = {
    "e\u0301": "\u00e9",
    "e\u0302": "\u00ea",
    "\u00a9": "(c)",
    "\u00ae": "",
    "\r": " ",
    "\n": " ",
    "\t": " ",
    "\u00a0": " ",
    "\u0085": " ",
    "\u200b": " ",
    "\u2581": " ",
    "\u0916": "kha",
    "\uac00": "ga",
    "\u1161": "a",
    "\ufb01": "fi",
    "\u0627\u0653": "\u0622",
    "\u0344": "\u0308\u0301",
    "\u0001": "",
    "\uff01": "!",
    "\u3000": " ",
    "\ufdfa": "\u0635 \u0644  \u0639",
} | dict.fromkeys(
    "\v\f\u1680\u2028\u2029\u202f\u205f" + "".join(map(chr, range(0x2000, 0x200B))), " "
)


@cache
def small_map() -> Any:
    return norm.Precompiled(charsmap(SMALL_MAP))


@cache
def odd_map() -> Any:
    """Leave some white space as it is, as sentencepiece's maps do, and remove some."""
    odd = {one: made for one, made in SMALL_MAP.items() if one not in "\x85\u2028"} | {"\v": ""}
    return norm.Precompiled(charsmap(odd))


def replaced(pattern: str, new: str) -> Any:
    return norm.Replace(tokenizers.Regex(pattern), new)


def at(pattern: str, how: str, *, invert: bool = False) -> Any:
    return pre.Split(tokenizers.Regex(pattern), how, invert)


def bert(**switches: Any) -> Any:
    return norm.BertNormalizer(**switches)


def steps(*parts: Any) -> Any:
    return norm.Sequence(list(parts))


def splits(*parts: Any) -> Any:
    return pre.Sequence(list(parts))


CONFIGURATIONS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "bert uncased": lambda: (bert(lowercase=True), BERT),
    "bert cased": lambda: (bert(lowercase=False), BERT),
    "bert uncased with accents": lambda: (bert(lowercase=True, strip_accents=False), BERT),
    "bert cased without accents": lambda: (bert(lowercase=False, strip_accents=True), BERT),
    "bert without clean text": lambda: (bert(lowercase=True, clean_text=False), BERT),
    "bert without Chinese": lambda: (bert(lowercase=True, handle_chinese_chars=False), BERT),
    "bert without all": lambda: (
        bert(lowercase=False, clean_text=False, handle_chinese_chars=False, strip_accents=False),
        BERT,
    ),
    "nothing, bert": lambda: (None, BERT),
    "nothing, at white space": lambda: (None, SPLIT),
    "nothing, Whitespace": lambda: (None, pre.Whitespace()),
    "bert, Whitespace": lambda: (bert(lowercase=True), pre.Whitespace()),
    "bert, digits": lambda: (
        bert(lowercase=True),
        splits(BERT, pre.Digits(individual_digits=True)),
    ),
    "runs of digits": lambda: (
        bert(lowercase=False),
        splits(pre.Whitespace(), pre.Digits(individual_digits=False)),
    ),
    **{
        f"punctuation {how}": lambda how=how: (None, splits(SPLIT, pre.Punctuation(how)))
        for how in ("isolated", "contiguous", "removed", "merged_with_previous", "merged_with_next")
    },
    **{
        f"{form}, bert": lambda form=form: (getattr(norm, form)(), BERT)
        for form in ("NFC", "NFD", "NFKC", "NFKD")
    },
    "NFKC, Lowercase": lambda: (steps(norm.NFKC(), norm.Lowercase()), META),
    "trained by sentencepiece in tokenizers": lambda: (steps(norm.Nmt(), norm.NFKC(), RUNS), META),
    "albert": lambda: (
        steps(
            norm.Replace("``", '"'),
            norm.Replace("''", '"'),
            norm.NFKD(),
            norm.StripAccents(),
            norm.Lowercase(),
            small_map(),
        ),
        splits(SPLIT, META),
    ),
    "albert with runs": lambda: (
        steps(
            norm.Replace("``", '"'),
            norm.Replace("''", '"'),
            norm.NFKD(),
            norm.StripAccents(),
            norm.Lowercase(),
            small_map(),
            RUNS,
        ),
        META,
    ),
    "xlm-r, as first converted": lambda: (small_map(), splits(SPLIT, META)),
    "xlm-r": lambda: (steps(small_map(), RUNS), META),
    "t5": lambda: (
        steps(
            small_map(),
            norm.Strip(left=False, right=True),
            norm.Replace(tokenizers.Regex(" {2,}"), "\u2581"),
        ),
        META,
    ),
    "deberta": lambda: (steps(norm.Strip(), small_map(), RUNS), META),
    "runs inside words": lambda: (steps(small_map(), RUNS), WHOLE),
    "runs and the end inside words": lambda: (
        steps(norm.NFC(), norm.Strip(left=False, right=True), replaced(" {2,}", "\u2581")),
        pre.Metaspace(prepend_scheme="never", split=False),
    ),
    "stripped, inside words": lambda: (steps(odd_map(), norm.Strip(), RUNS), WHOLE),
    "white space and stripped, inside words": lambda: (
        steps(norm.NFKC(), norm.Lowercase(), replaced(r"\s+", " "), norm.Strip()),
        WHOLE,
    ),
    "sentencepiece, of no class": lambda: (steps(small_map(), *OF_NO_CLASS), WHOLE),
    "sentencepiece, of no class, as it is": lambda: (steps(*OF_NO_CLASS), WHOLE),
    "sentencepiece, of no class, that keeps blanks": lambda: (steps(*OF_NO_CLASS[2:]), WHOLE),
    "blanks stripped, at white space": lambda: (steps(odd_map(), *OF_NO_CLASS[:2]), META),
    "deberta, with white space in words": lambda: (
        steps(norm.Strip(), odd_map(), RUNS),
        META,
    ),
    "t5, with white space in words": lambda: (
        steps(
            odd_map(),
            norm.Strip(left=False, right=True),
            norm.Replace(tokenizers.Regex(" {2,}"), "\u2581"),
        ),
        META,
    ),
    "stripped, with white space in words": lambda: (
        steps(norm.NFKC(), norm.Strip(), RUNS),
        META,
    ),
    "deberta by punctuation": lambda: (
        steps(norm.Strip(), small_map(), RUNS),
        splits(pre.Punctuation("isolated"), META),
    ),
    "deberta, of transformers 5": lambda: (
        steps(replaced(r"\s{2,}|[\n\r\t]", " "), norm.NFC(), norm.Strip(left=False, right=True)),
        META,
    ),
    "pegasus, of transformers 5": lambda: (steps(replaced(r"\n", " "), RUNS), META),
    "big bird, of transformers 5": lambda: (
        steps(
            norm.Strip(left=False, right=False),
            norm.Replace(tokenizers.Regex(" {2,}"), "\u2581"),
        ),
        META,
    ),
    "deberta, of transformers 5, lower case": lambda: (
        steps(norm.StripAccents(), norm.Lowercase(), replaced(r"\s{2,}", " "), norm.NFD()),
        splits(pre.Punctuation("isolated"), META),
    ),
    "precompiled, Whitespace": lambda: (small_map(), pre.Whitespace()),
    "precompiled, bert": lambda: (small_map(), BERT),
    "metaspace never": lambda: (None, pre.Metaspace(prepend_scheme="never")),
    "metaspace first": lambda: (None, pre.Metaspace(prepend_scheme="first")),
    "NFC, metaspace first": lambda: (norm.NFC(), pre.Metaspace(prepend_scheme="first")),
    "metaspace without splits": lambda: (small_map(), pre.Metaspace(split=False)),
    "digits, metaspace": lambda: (None, splits(pre.Digits(individual_digits=False), META)),
    "each digit, metaspace": lambda: (
        norm.NFKC(),
        splits(pre.Digits(individual_digits=True), META),
    ),
    "several replaced": lambda: (
        steps(norm.Replace("ab", "`"), norm.Replace("``", '"'), norm.NFC()),
        BERT,
    ),
    "classes replaced": lambda: (
        steps(
            replaced(r"[.,]", ""),
            replaced(r"\p{N}", "0\u0301"),
            replaced(r"[^\x00-\x{1fff}]", "-"),
            norm.NFC(),
        ),
        BERT,
    ),
    "white space replaced": lambda: (replaced(r"\s+", " "), META),
    "runs removed": lambda: (steps(replaced(r"[\p{Po}\s]+", ""), norm.NFKC()), META),
    "classes apart": lambda: (
        None,
        splits(
            SPLIT,
            at(r"\p{Lu}", "merged_with_next"),
            pre.Split(".", "isolated"),
            at(r"\w+", "contiguous"),
            at(r"[ab]+", "isolated"),
        ),
    ),
    "at a delimiter": lambda: (norm.Lowercase(), splits(pre.CharDelimiterSplit("."), META)),
    "words kept": lambda: (norm.NFC(), at(r"[\p{L}\p{M}]+", "removed", invert=True)),
    "controls vanish before NFKC": lambda: (steps(norm.Nmt(), norm.NFKC()), BERT),
    "metaspace, strip at the end": lambda: (
        steps(
            norm.Nmt(),
            norm.NFKC(),
            norm.Replace("\x85", " "),
            RUNS,
            norm.Strip(left=True, right=True),
        ),
        META,
    ),
    "long replacements": lambda: (
        steps(norm.Replace("=", "d.e" * 90), norm.Replace("(", "\u0301b" * 70), norm.NFC()),
        BERT,
    ),
    "many blanks": lambda: (steps(norm.Replace("=", "d " * 90), RUNS), META),
    "the last code point": lambda: (
        steps(norm.Replace("c", "\U0010ffff"), norm.NFKC()),
        SPLIT,
    ),
    "metaspace of NUL": lambda: (None, pre.Metaspace("\0")),
    "seven groups": lambda: (
        None,
        splits(
            *(at(f"[{one}]", "contiguous") for one in ("ab", "bc", "cd", "de", "e5", r"5\.", ","))
        ),
    ),
    "t5, first": lambda: (
        steps(
            small_map(),
            norm.Strip(left=False, right=True),
            norm.Replace(tokenizers.Regex(" {2,}"), "\u2581"),
        ),
        pre.Metaspace(prepend_scheme="first"),
    ),
    "xlm-r, first": lambda: (steps(odd_map(), RUNS), pre.Metaspace(prepend_scheme="first")),
    "deberta, of transformers 5, first": lambda: (
        steps(replaced(r"\s{2,}|[\n\r\t]", " "), norm.NFC(), norm.Strip(left=False, right=True)),
        pre.Metaspace(prepend_scheme="first"),
    ),
    "replaced, metaspace first": lambda: (
        steps(norm.Replace("c", "E\u0301"), replaced("[.,]", "ab"), norm.NFKC(), norm.Lowercase()),
        pre.Metaspace(prepend_scheme="first"),
    ),
    "rembert": lambda: (
        steps(norm.Replace("``", '"'), norm.Replace("''", '"'), RUNS, small_map()),
        META,
    ),
    "rembert, without accents": lambda: (
        steps(
            norm.Replace("``", '"'),
            norm.Replace("''", '"'),
            RUNS,
            norm.NFKD(),
            norm.StripAccents(),
            norm.Lowercase(),
            odd_map(),
        ),
        META,
    ),
}

ONE_WORD = (
    "metaspace without splits",
    "runs inside words",
    "runs and the end inside words",
    "stripped, inside words",
    "white space and stripped, inside words",
    "sentencepiece, of no class",
    "sentencepiece, of no class, as it is",
    "sentencepiece, of no class, that keeps blanks",
)
"""Those by which a text is one word, its blanks included."""


def rules_of(normalizer: Any, splitter: Any) -> CharRules:
    tok = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a"))
    if normalizer is not None:
        tok.normalizer = normalizer
    tok.pre_tokenizer = splitter
    document = json.loads(tok.to_str())
    before = [*flat(document["normalizer"], "normalizers", "it", "normalizer")]
    splitters = [*flat(document["pre_tokenizer"], "pretokenizers", "it", "pre_tokenizer")]
    before, leads_all = done_by_metaspace(before, splitters, [])
    splits = make_splitters(splitters, "it", leads_all=leads_all)
    return CharRules(make_steps(before, "it"), splits, None)


def words_of(normalizer: Any, splitter: Any) -> Callable[[str], list[str]]:
    """The words as `tokenizers` finds them."""
    normalize = normalizer.normalize_str if normalizer is not None else str
    return lambda text: [word for word, _ in splitter.pre_tokenize_str(normalize(text))]
