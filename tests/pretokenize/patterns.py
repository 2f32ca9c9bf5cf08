"""Split patterns in public use, by the tokenizers that use them.

Sources: tiktoken 0.14 (`tiktoken_ext/openai_public.py`); the tokenizer.json and
tokenization_*.py files of the named models, as collected in llama.cpp
(`src/llama-vocab.cpp`), where those that tokenizer.json spells with a flag are
noted as "original regex". Patterns are facts about the models, not code.
"""

from cutline.vocabulary.openai import CL100K_PAT_STR, O200K_PAT_STR, R50K_PAT_STR

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_NO_HAN = r"&&[^\p{Han}]"
_SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_DEEPSEEK_MAIN = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*" + _SPACES
)
_GPT2_ORIGINAL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _cased_words(suffix: str, limit: str = "", apart: str = "[^\\r\\n\\p{L}\\p{N}]?") -> str:
    """The two word alternatives of o200k and its descendants."""
    upper, lower = f"[{_UPPER}{limit}]", f"[{_LOWER}{limit}]"
    return f"{apart}{upper}*{lower}+{suffix}|{apart}{upper}+{lower}*{suffix}"


PATTERNS: dict[str, str] = {
    # OpenAI: tiktoken_ext/openai_public.py
    "r50k, p50k": R50K_PAT_STR,
    "cl100k": CL100K_PAT_STR,
    "o200k": O200K_PAT_STR,
    # The comment above r50k's pattern there; also MPT, OLMo, JAIS, GPT-NeoX, RoBERTa
    "gpt2 as released": _GPT2_ORIGINAL,
    # cl100k's pattern before tiktoken 0.8, as other projects keep it
    "cl100k as released": (
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _SPACES
    ),
    # tokenizer.json of Meta-Llama-3; also DBRX, Smaug, OLMo 2, Phi-4, ChatGLM 4
    "llama 3": (
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _SPACES
    ),
    # tokenizer.json of Qwen2, Qwen2.5 and Qwen3; also StableLM 2, Grok 2, Hunyuan
    "qwen 2 and 3": (
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _SPACES
    ),
    # tokenizer.json of Qwen3.5
    "qwen 3.5": (
        _CONTRACTIONS
        + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
        + _SPACES
    ),
    # tokenizer.json of DeepSeek-V3: three splits, one after the other
    "deepseek v3, numbers": r"\p{N}{1,3}",
    "deepseek v3, cjk": "[一-龥\u3040-ゟ゠-ヿ]+",
    "deepseek v3, words": _DEEPSEEK_MAIN,
    # tokenizer.json of deepseek-coder
    "deepseek-coder, newlines": r"[\r\n]",
    "deepseek-coder, letters": r"\s?\p{L}+",
    "deepseek-coder, punctuation": r"\s?\p{P}+",
    "deepseek-coder, cjk": "[一-龥\u0800-一가-\ud7ff]+",
    # tokenizer.json of deepseek-llm
    "deepseek-llm, white space": r"\s+$",
    "deepseek-llm, punctuation": "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+",
    # tokenization_kimi.py of Kimi-K2
    "kimi k2": (
        r"[\p{Han}]+|"
        + _cased_words(_CONTRACTIONS + "?", _NO_HAN)
        + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        + _SPACES
    ),
    # tekken.json of Mistral NeMo
    "mistral tekken": _cased_words("") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _SPACES,
    # tokenizer.json of StarCoder, StarCoder 2, Command-R, SmolLM: digits, then GPT-2's
    "starcoder, digits": r"\p{N}",
    # tokenizer.json of Falcon
    "falcon, punctuation": r"[\p{P}\$\+<=>\^~\|`]+",
    "falcon, digits": "[0-9][0-9][0-9]",
    # tokenizer.json of BLOOM; also Poro, Viking
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    # tokenizer.json of Ling and Ring (bailingmoe)
    "bailing": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    # tokenizer.json of Seed-Coder
    "seed-coder": (
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+" + _SPACES
    ),
    # tokenizer.json of EXAONE 4 MoE: words joined by single blanks
    "exaone moe": (
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    # tokenizer.json of Youtu-LLM
    "youtu, cjk": "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+",
    # tokenizer.json of Gemma 4, Laguna
    "lines": r"[^\n]+|[\n]+",
    # tokenizer.json of Chameleon
    "chameleon, images": r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
    "chameleon, punctuation": r"[\p{P}!-/:-@\[-`{-~]",
}

# Valid, in public use, and outside the subset: they run on the `regex` module.
FALLBACK_PATTERNS: dict[str, str] = {
    "tiny aya, digits": r"\d{1,3}(?=(?:\d{3})*\b)",
    "granite, with look-ahead inside": (
        r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _SPACES
    ),
}
