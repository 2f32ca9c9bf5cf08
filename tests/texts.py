"""The texts that encoders and chunkers get wrong: a case table and seeded generators.

Every bug that is found becomes a named row of `NAMED_TEXTS`.
"""

import random
from collections.abc import Iterator

FAMILY = "👨‍👩‍👧‍👦"
HANDSHAKE = "🧑🏿‍🤝‍🧑🏻"
FLAG = "🏴󠁧󠁢󠁳󠁣󠁴󠁿"

# Inputs on which published chunkers lose text, exceed the budget or raise.
PEER_BREAKERS: dict[str, str] = {
    "nine tokens after naive slicing": "_`abg\x83\x84\n//¦§¨©ª«¬",
    "stripping a blank adds a token": " 주요음같이파출될 때",
    "heading in japanese": "# 論理演算子\n",
    "path with control characters": "/FPQ\x81\x82\x83\x84行较。越大",
    "code spans in chinese": " `_`和`_`。例",
    "korean with versions": " 앱서v1과v2모",
    "chinese with a latin word": "让们来起学习aript 脚本构建的基础知 在浏览代码前，让",
    "handshake twice": HANDSHAKE * 2,
    "special text": "Special <|endoftext|> here. " * 3,
    "repeated sentence": "The same sentence again. " * 40,
    "rare ideograph": "你𠮷" * 6,
    "three blanks": "   ",
    "jumps": "jumps",
    "blank and jumps": " jumps",
}

# Inputs on which a count, a cut or a piece boundary is not what it seems.
COUNTING_CASES: dict[str, str] = {
    "left pieces cut": "!\n x",
    "left pieces cut, many blanks": ":\n     x",
    "two blanks and a letter": "  a",
    "newline, two blanks, letter": "\n  x",
    "apostrophe s": "a's",
    "apostrophe ll": "'ll",
    "three apostrophes": "'''s''ll",
    "han, capitals, small": "日ABc",
    "han, capitals": "日AB",
    "combining accent and contraction": "E\u0301COLEs",
    "unbounded look": "日" + "A" * 300 + "b",
    "unbounded look, stopped": "中" + "A" * 300 + ".",
    "falling count I've": " I've",
    "falling count don't": "don't",
    "newline blank newline": "\n \n",
    "falling counts": "jwt xhr cgi !-- 'll",
    "large fall, german": " plötzlich",
    "large fall, portuguese": " informações",
    "large rise, class name": " QHBoxLayoutr",
    "large rise, place": " Pennsylvaniar",
    "112 dashes": "-" * 112,
    "128 blanks": " " * 128,
    "192 equal signs": "=" * 192,
    "digits in threes": "1" * 100,
    "contractions repeated": "'s" * 50,
    "overlap that stalls": "a\n\n𓀀",
    "toy abbabbbb": "abbabbbb",
    "toy bcab": "bcabcaabc",
}

PLAIN_CASES: dict[str, str] = {
    "empty": "",
    "one letter": "a",
    "NUL": "\x00",
    "NULs": "\x00" * 33,
    "every control character": "".join(map(chr, [*range(32), *range(127, 160)])),
    "every latin-1 character": "".join(map(chr, range(256))),
    "lone combining mark": "\u0301",
    "combining marks": "\u0301\u0308\u0903 \u20dd",
    "zalgo": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!",
    "family": FAMILY,
    "families": FAMILY * 20,
    "flag of tags": FLAG * 3,
    "keycap and variation selector": "1️⃣ ❤️ ☎︎",
    "lone joiners": "\u200d\u200d \ufe0f\ufe0f a\u200db",
    "surrogate neighbours": "\ud7ff\ue000\uffff\U00010000\U0010ffff",
    "byte order mark": "\ufeffhello \ufeff",
    "chinese": "量子力学是描述微观物质的理论。它与相对论一起，被认为是现代物理学的两大支柱。",
    "japanese": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。ｶﾀｶﾅ ー々〆",
    "korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "arabic": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. ٣٤٥ \u200f!",
    "hebrew with points": "בְּרֵאשִׁית בָּרָא אֱלֹהִים",
    "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता",
    "thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน",
    "russian": "Все люди рождаются свободными и равными в своём достоинстве и правах.",
    "greek final sigma": "Ὀδυσσεύς ΣΊΣΥΦΟΣ σς",
    "turkish and german case": "İıIi ßẞ ŉ ǅǆǄ ﬁ ΐ",
    "long s and kelvin": "it'ſ I'LL we'VE \u212a's 'K 'ſ'S",
    "contractions in every case": "I'm I'M i'Ll I'lL you'RE he'd HE'D 'T 't'T we've'Ve's",
    "curly apostrophes": "don’t it’s we’ll",
    "python": "def f(x):\n\tif x  :\n        return x[1:]  # comment\n\n\n",
    "windows lines": "one\r\ntwo\r\n\r\n  three\r\rfour\n\r",
    "slashes after newlines": "//\n///\r\n/ / a//\n//b",
    "blanks before the end": "end   ",
    "newline and blanks at the end": "end \n   ",
    "tabs": "\t\ta\t b\t\t",
    "unusual blanks": "a\u00a0b\u3000\u3000c\u2028d\u2029e\u0085f\u1680g\u200bh\x1c\x1d\x1e\x1f",
    "blanks of every kind": "".join(map(chr, [9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680]))
    + "".join(map(chr, [*range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])),
    "numbers of many kinds": "1234567 ٣٤٥٦ ²³¹ ⅧⅨ ½⅓ 一二三 𝟘𝟙𝟚𝟛 ௧௨௩",
    "a number": "3.14159e-10, 1,000,000 0xFFFF",
    "new letters": "\u1c89\U00010d50\u1e030\U0001e030\U00020000\U0001d7d8",
    "unassigned and private": "\u0378\ue000\U000e0000\U0010fffd",
    "title and modifier letters": "ǅaʰA ªº ᵃ ʼn",
    "url": "https://example.com/a/b?c=d&e=%20f#g",
    "base64": "TG9yZW0gaXBzdW0gZG9sb3Igc2l0IGFtZXQsIGNvbnNlY3RldHVyIGFkaXBpc2Npbmc=" * 3,
    "all special texts": "<|endoftext|><|fim_prefix|><|fim_middle|><|fim_suffix|><|endofprompt|>",
    "harmony special texts": "<|start|>user<|message|>hi<|end|><|return|><|reserved_200013|>",
    "broken special text": "<|endoftext|<|endoftext|>|> <|endof",
    "long word": "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamten" * 4,
    "one letter, 600 times": "a" * 600,
    "two letters, 600 times": "ab" * 600,
    "blanks, 700 times": " " * 700,
    "newlines, 700 times": "\n" * 700,
    "blank and newline, 300 times": " \n" * 300,
    "newline, 500 blanks, letter": "\n" + " " * 500 + "x",
    "accents, 600 times": "é" * 600,
    "wide blanks, 300 times": " \u3000" * 300,
    "punctuation run": "!?.,;:-_=+*&^%$#@~`|\\/<>(){}[]\"'" * 8,
}

NAMED_TEXTS: dict[str, str] = PLAIN_CASES | COUNTING_CASES | PEER_BREAKERS

SURROGATE_TEXTS: dict[str, str] = {
    "lone high": "\ud800",
    "lone low": "a\udc00b",
    "high at the end": "text \udbff",
    "pair": "a\ud83d\ude00b",
    "reversed pair": "\ude00\ud83d",
    "high, high, low": "\ud83d\ud83d\ude00",
    "between letters": "he\ud800llo wor\udfffld",
    "beside an astral character": "😀\ud83d😀\ude00",
    "escaped bytes": b"caf\xe9 \xff".decode("utf-8", "surrogateescape"),
    "beside special text": "\ud800 <|endoftext|> \udc00",
}

# Every construct of the packaged split patterns, and neighbours that almost match it.
ALPHABET: tuple[str, ...] = (
    *"aZbQstmdrelvSTMDRELV",
    *("'", "''", "'s", "'LL", "'Re", "'VE", "'d"),
    *("/", "\n", "\r\n", "\t", "\x0b", "\x0c", "\x00", "\x1c", " ", "  "),
    *".,(!019",
    *("\u017f", "\u212a", "\u2019", "é", "É", "ǅ", "ʰ", "ª", "中", "文"),
    *("\u0301", "\u0903", "٣", "²", "Ⅷ"),
    *("\u00a0", "\u3000", "\u2028", "\u0085", "\u1680"),
    *("😀", "\u200d", "\ufe0f", "\u1c89", "\U00010d50", "\U0001e030", "ß", "İ", "ı"),
    *("\U00020000", "\U0001d7d8", "\n  ", " \n", "HTTP"),
)
WORDS: tuple[str, ...] = (
    *("the", "Hello", "world", "don't", "I've", "JSON", "camelCase", "snake_case", "x86"),
    *("être", "naïve", "Straße", "мир", "Привет", "κόσμος", "世界", "こんにちは", "안녕", "שלום"),
    *("1984", "3.14", "...", "!=", "->", "://", "<|endoftext|>", "<|endofprompt|>", FAMILY),
)
BLANKS: tuple[str, ...] = (" ", " ", " ", "  ", "\n", "\n\n", "\r\n", "\t", "", "\u00a0", " \n ")
RUN_LIMIT = 4_000


def alphabet_text(rng: random.Random, max_items: int = 60) -> str:
    """Items of a random subset of the alphabet: small subsets make long runs."""
    some = rng.sample(ALPHABET, rng.choice((1, 2, 3, 5, 8, 20, len(ALPHABET))))
    return "".join(rng.choices(some, k=rng.randint(0, max_items)))


def word_text(rng: random.Random, max_words: int = 20) -> str:
    """Words of many scripts, numbers and special-token text between blanks of many kinds."""
    return "".join(rng.choice(WORDS) + rng.choice(BLANKS) for _ in range(rng.randint(1, max_words)))


def code_point_text(rng: random.Random, max_length: int = 30) -> str:
    """Code points from anywhere, surrogates left out."""
    tops = (0x80, 0x800, 0x3000, 0x10000, 0x110000)
    drawn = (rng.randrange(rng.choice(tops)) for _ in range(rng.randint(0, max_length)))
    return "".join(chr(c) for c in drawn if not 0xD800 <= c < 0xE000)


def random_text(rng: random.Random) -> str:
    """One short text of any of the kinds above."""
    return rng.choice((alphabet_text, alphabet_text, word_text, code_point_text))(rng)


def random_texts(seed: int, n_texts: int) -> Iterator[str]:
    """A seeded stream of short texts."""
    rng = random.Random(seed)
    return (random_text(rng) for _ in range(n_texts))


def run_length_text(rng: random.Random, max_length: int) -> str:
    """Each item repeated by a heavy-tailed count: finds what ordinary text never shows."""
    some = rng.sample(ALPHABET, rng.choice((2, 3, 5, 10)))
    parts: list[str] = []
    length = 0
    while length < max_length:
        count = min(int(rng.paretovariate(0.45)), RUN_LIMIT)
        parts.append(rng.choice(some) * count)
        length += len(parts[-1])
    return "".join(parts)[:max_length]


def lookahead_texts() -> Iterator[str]:
    """Newlines, blanks and what ends them, at every short distance."""
    for blank in (" ", "\t", "\u3000"):
        for count in range(13):
            for first in ("\n", "\r\n", "x", ""):
                for last in ("\n", "x", "", "'s", "中"):
                    yield first + blank * count + last


def base64_text(n_characters: int) -> str:
    """Base64 of seeded random bytes: one line without a blank."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "".join(random.Random(64).choices(letters, k=n_characters))


def long_pieces(length: int = 3_000) -> str:
    """Pieces of about this length, of characters of every width, three times over."""
    capitals = "日" + "A" * (length * 2 // 3)
    runs = ("-" * length, " " * length, "a" * length, "é" * length, capitals, "1" * (length // 3))
    return "".join(run + "\n!x" for run in (*runs, "e\u0301") * 3) + base64_text(length)
