"""Provide the texts that are encoded.

Either the three files of a folder given with `--corpora`, or text that every
machine can make for itself: Python's own documentation and source, and sentences
in many scripts shuffled word by word.
"""

import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FILES = {
    "prose": "prose_en.txt",
    "code": "code_python.txt",
    "multilingual": "docs_multilingual.md",
}

_SCRIPTS = {
    "Chinese": re.compile("[\u4e00-\u9fff]"),
    "Japanese": re.compile("[\u3040-\u30ff]"),
    "Russian": re.compile("[\u0400-\u04ff]"),
}

_SENTENCES = (
    "A tokenizer cuts the text into pieces, and every piece into tokens.",
    "Der Zerteiler schneidet längere Wörter in mehrere Stücke; übrig bleibt nichts.",
    "Le découpage tient compte des accents, des élisions et de l'écriture inclusive.",
    "La cuenta de señales cambia según el idioma, ¿no es así? ¡Claro que sí!",
    "A contagem não depende só do número de palavras, mas também da língua.",
    "Dlaczego zażółcona gęś liczy więcej żetonów niż jaźń po angielsku?",
    "Kelimelerin sonuna gelen ekler sayıyı beklenenden çok değiştirir.",
    "Số lượng mã của một câu tiếng Việt phụ thuộc vào các dấu thanh.",
    "Каждое слово делится на части, и каждая часть получает свой номер.",
    "Кожне речення має власну довжину, і лічильник її знає.",
    "Κάθε λέξη χωρίζεται σε κομμάτια και κάθε κομμάτι παίρνει έναν αριθμό.",
    "كل كلمة تنقسم إلى أجزاء صغيرة ولكل جزء رقم خاص به.",
    "כל מילה נחלקת לחלקים קטנים ולכל חלק יש מספר משלו.",
    "हर शब्द छोटे टुकड़ों में बँटता है और हर टुकड़े की अपनी संख्या होती है।",
    "প্রতিটি শব্দ ছোট ছোট অংশে ভাগ হয় এবং প্রতিটি অংশের একটি সংখ্যা থাকে।",
    "ทุกคำถูกแบ่งออกเป็นชิ้นเล็กๆ และแต่ละชิ้นมีหมายเลขของตัวเอง",
    "每个句子先被切成小段，然后每一段都会得到自己的编号。",
    "文章はまず小さな部分に分けられ、それぞれの部分に番号が付きます。",
    "모든 문장은 작은 조각으로 나뉘고 조각마다 번호가 붙습니다.",
    "See `count(text)` 👩‍💻 — 3.14 × 10² ≈ 314, n = 1,024; ✅ done → next 🚀",
)


@dataclass(frozen=True, slots=True)
class Corpora:
    """Texts by name, and a sentence that says where they come from.

    `scripts` are the multilingual text's lines that are mostly of one script.
    """

    texts: dict[str, str]
    scripts: dict[str, str]
    origin: str

    @property
    def zh(self) -> str:
        """Lines of mostly Han characters."""
        return self.scripts["Chinese"]

    def of_size(self, n_bytes: int) -> dict[str, str]:
        """Prose, code and zh with just so many bytes, repeated if they are short."""
        sources = {"prose": self.texts["prose"], "code": self.texts["code"], "zh": self.zh}
        return {name: _repeated(text, n_bytes) for name, text in sources.items()}

    def zh_origin(self) -> str:
        """Say what zh is."""
        n_bytes = len(self.zh.encode())
        return (
            f"the multilingual text's lines of mostly Han characters, {n_bytes:,} bytes, repeated"
        )

    def of_scripts(self, n_bytes: int) -> dict[str, str]:
        """Return lines of mostly one script with just so many bytes, repeated if they are short."""
        return {name: _repeated(text, n_bytes) for name, text in self.scripts.items() if text}


def load(folder: Path | None, max_bytes: int) -> Corpora:
    """Read or make the corpora, each at most `max_bytes` of UTF-8."""
    if folder is not None:
        texts = {name: _head(folder / file, max_bytes) for name, file in _FILES.items()}
        whole = (folder / _FILES["multilingual"]).read_text("utf-8")
        return Corpora(
            texts,
            _in_scripts(whole),
            "from the folder given with --corpora",
        )
    texts = {
        "prose": _filled(_stdlib_prose(), max_bytes),
        "code": _filled(_stdlib_source(), max_bytes),
        "multilingual": _filled(_multilingual_paragraphs(), max_bytes),
    }
    return Corpora(
        texts,
        _in_scripts(texts["multilingual"]),
        "made here: the Python manual's topics (shuffled, repeated), the standard library's "
        "source, generated sentences in 20 languages; it repeats itself, which flatters caches",
    )


def _head(path: Path, max_bytes: int) -> str:
    with path.open("rb") as file:
        # The cut can fall inside a character; only that character is dropped.
        return file.read(max_bytes).decode(errors="ignore")


def _in_scripts(text: str) -> dict[str, str]:
    """Keep, for each script, the lines of which at least half is characters of it."""
    lines = text.splitlines(keepends=True)
    return {
        name: "".join(
            line for line in lines if 2 * len(script.findall(line)) >= len(line.strip()) > 0
        )
        for name, script in _SCRIPTS.items()
    }


def _repeated(text: str, n_bytes: int) -> str:
    utf8 = text.encode()
    # The cut can fall inside a character; only that character is dropped.
    return (utf8 * -(-n_bytes // len(utf8)))[:n_bytes].decode(errors="ignore")


def _filled(paragraphs: Iterator[str], max_bytes: int) -> str:
    """Join paragraphs until there is enough text."""
    kept: list[str] = []
    n_bytes = 0
    while n_bytes < max_bytes:
        # Some contenders always read special tokens, so no text may hold one.
        kept.append(next(paragraphs).replace("<|", "< |"))
        n_bytes += len(kept[-1].encode())
    return "".join(kept).encode()[:max_bytes].decode(errors="ignore")


def _stdlib_prose() -> Iterator[str]:
    from pydoc_data.topics import topics

    paragraphs = [p + "\n\n" for topic in topics.values() for p in topic.split("\n\n")]
    rng = random.Random(1)
    while True:
        rng.shuffle(paragraphs)
        yield from paragraphs


def _stdlib_source() -> Iterator[str]:
    library = Path(os.__file__).parent
    files = sorted(f for f in library.rglob("*.py") if "site-packages" not in f.parts)
    rng = random.Random(2)
    while True:
        rng.shuffle(files)
        for file in files:
            yield file.read_text("utf-8", errors="ignore")


def _multilingual_paragraphs() -> Iterator[str]:
    """Paragraphs in one language each, their words (or characters) shuffled."""
    rng = random.Random(3)
    while True:
        sentence = rng.choice(_SENTENCES)
        words = sentence.split(" ")
        if len(words) < 3:  # written without spaces
            words, joint = list(sentence), ""
        else:
            joint = " "
        lines = (joint.join(rng.sample(words, len(words))) for _ in range(rng.randint(1, 6)))
        yield "\n".join(lines) + "\n\n"
