"""Documents of many kinds, made alike each time: records, a line each; and prose, hard-wrapped.

`RECORDS` are cut well at the ends of lines, `PROSE` at the ends of sentences.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Iterator
from difflib import unified_diff
from functools import partial
from typing import Final

__all__ = ["PROSE", "RECORDS", "prose", "sentences", "wrap"]

_WORDS: Final = {
    "en": (
        "the of and to a in that is was he for it with as his on be at by had not are but from or "
        "have an they which one you were all her she there would their we him been has when who "
        "will no more if out so said what up its about into than them can only other time new some "
        "could these two may first then do any my now such like over man me even most made after "
        "also did many before must through years where much your way well down should because each "
        "just those people how too little state good very make world still see own work long here "
        "get both between life being under never day same another know while last might us great "
        "old year off come since against go came right used take three himself few house use "
        "during without again place American around however home small found London thought went "
        "say part once general high upon school every government understanding notwithstanding "
        "responsibility well-known half-hearted I don't Mary"
    ),
    "de": (
        "die der und in zu den das nicht von sie ist des sich mit dem dass er es ein ich auf so "
        "eine auch als an nach wie im für man aber aus durch wenn nur war noch werden bei hat wir "
        "was wird sein einen welche sind oder zur um haben einer mir über ihm diese einem ihr uns "
        "da zum kann doch vor dieser mich ihn du hatte seine mehr am denn nun unter sehr selbst "
        "schon hier bis habe ihre dann ihnen seiner alle wieder meine Zeit gegen vom ganz "
        "wo muss ohne eines können Jahr Haus Mensch Leben Arbeit Welt Wasser Stadt Landschaft "
        "Regierung Geschichte Entwicklung Verantwortung Donaudampfschifffahrt Straße Freiheit "
        "Unabhängigkeitserklärung Wirtschaft Berge"
    ),
    "ru": (
        "и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой "
        "ведь от так о для ты же все тот мочь вы человек такой его сказать только или ещё бы себя "
        "один как уже до время если сам когда другой вот говорить наш мой знать стать при чтобы "
        "дело жизнь кто первый очень два день её новый рука даже во со раз где там под можно "
        "какой после их работа без самый потом надо хотеть ли слово идти большой должен место "
        "иметь ничто то сейчас тут лицо каждый друг нет теперь правительство ответственность "
        "Москва Россия Иван"
    ),
    "el": "και το η του να που με σε για από τα την της των οι στο θα δεν είναι μια ένα αυτό ήταν ",
    "ko": "그리고 사람은 나는 우리가 있다 것을 그것은 시간에 때문에 하지만 오늘 세계의 "
    "어떤 하루가 좋은 생각한다 말했다",
    "ar": "في من على أن إلى هذا كان التي ما لا الذي وقد عن مع هو كل بعد بين يكون قال عند غير كانت",
}  # fmt: skip
_HAN: Final = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多"
    "经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
)


def sentences(rng: random.Random, language: str = "en") -> Iterator[str]:
    """Yield sentences without end."""
    if language == "zh":
        while True:
            parts = ("".join(rng.choices(_HAN, k=rng.randint(4, 14))) for _ in range(4))
            yield "，".join(list(parts)[: rng.randint(1, 4)]) + rng.choice("。。。！？")
    words = _WORDS[language].split()
    weights = [1 / (number + 5) for number in range(len(words))]
    while True:
        chosen = rng.choices(words, weights, k=rng.randint(4, 28))
        for at in range(len(chosen) - 1):
            if (draw := rng.random()) < 0.14:
                sign = "," if draw < 0.1 else ";" if draw < 0.11 else ")" if draw < 0.13 else ","
                if sign == ")":
                    chosen[at // 2] = "(" + chosen[at // 2]
                chosen[at] += sign
            elif draw < 0.16:
                chosen[at] = str(rng.randint(2, 1999))
        if rng.random() < 0.08:
            chosen[0], chosen[-1] = "“" + chosen[0].capitalize(), chosen[-1] + ",” he said"
        first = chosen[0]
        yield " ".join([first[:1].upper() + first[1:], *chosen[1:]]) + rng.choice("......?!")


def prose(language: str = "en", n_characters: int = 60_000, seed: int = 1) -> list[str]:
    """Make paragraphs of one line each."""
    rng, made, size = random.Random(seed), [], 0
    source, joint = sentences(rng, language), "" if language == "zh" else " "
    while size < n_characters:
        made.append(joint.join(next(source) for _ in range(rng.randint(2, 14))))
        size += len(made[-1])
    return made


def wrap(paragraphs: list[str], columns: int, line_end: str = "\n") -> str:
    """Wrap paragraphs as widely as columns allow, with a blank line after each."""
    wrapped = [textwrap.wrap(paragraph, columns) for paragraph in paragraphs]
    return "".join(line_end.join([*lines, "", ""]) for lines in wrapped)


def _wrap_prose(columns: int) -> str:
    return wrap(prose(), columns)


def _wrap_justified(columns: int) -> str:
    rng, made = random.Random(6), []
    for paragraph in prose():
        lines = textwrap.wrap(paragraph, columns)
        for at in range(len(lines) - 1):
            words = lines[at].split(" ")
            for _ in range(columns - len(lines[at])):
                words[rng.randrange(len(words) - 1)] += " "
            lines[at] = " ".join(words)
        made.append("\n".join([*lines, "", ""]))
    return "".join(made)


def _wrap_chinese(characters: int) -> str:
    """Wrap at full width; a mark that may not begin a line hangs over."""
    made = []
    for paragraph in prose("zh", 20_000):
        while paragraph:
            end = characters + (paragraph[characters : characters + 1] in set("，。！？"))
            made.append(paragraph[:end] + "\n")
            paragraph = paragraph[end:]
        made.append("\n")
    return "".join(made)


def _wrap_loosely(columns: int) -> str:
    """Wrap like programs that even out lines: each breaks up to a tenth before it must."""
    rng, made = random.Random(8), []
    for paragraph in prose():
        line = ""
        for word in paragraph.split():
            if len(line) + len(word) + 1 > columns - rng.choice((0, 2, 4, columns // 10)):
                made.append(line + "\n")
                line = ""
            line += " " * bool(line) + word
        made.append(line + "\n\n")
    return "".join(made)


def _markdown() -> str:
    rng, made = random.Random(7), []
    for number, paragraph in enumerate(prose()):
        if number % 5 == 0:
            made.append(f"## Part {number} of {rng.choice(('it', 'the whole', 'all'))}\n\n")
        body = textwrap.fill(paragraph.replace(" the ", " the *very* ", 1), 80)
        if number % 4 == 3:
            body = textwrap.fill(paragraph, 80, initial_indent="- ", subsequent_indent="  ")
        made.append(body + "\n\n")
    return "".join(made)


def _message(rng: random.Random) -> str:
    words = _WORDS["en"].split()
    return " ".join(rng.choices(words, k=rng.randint(3, 18)))


def _stamp(rng: random.Random) -> str:
    return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"


def _iso_log(rng: random.Random) -> str:
    level, name = rng.choice(("INFO", "WARN", "DEBUG")), rng.choice(("auth", "db", "web.cache"))
    time = f"2026-11-{rng.randint(1, 28):02}T{_stamp(rng)}.{rng.randrange(999):03}Z"
    return f"{time} {level} {name} {_message(rng)}"


def _syslog(rng: random.Random) -> str:
    name = rng.choice(("sshd", "kernel", "systemd", "cron"))
    sender = f"host {name}[{rng.randint(1, 9999)}]"
    return f"Nov {rng.randint(1, 28):2} {_stamp(rng)} {sender}: {_message(rng)}"


def _access_log(rng: random.Random) -> str:
    ip = ".".join(str(rng.randint(1, 254)) for _ in range(4))
    return (
        f"{ip} - - [23/Nov/2026:{_stamp(rng)} +0000] GET /{'/'.join(_message(rng).split())} "
        f"HTTP/1.1 200 {rng.randint(1, 99999)}"
    )


def _bare_log(rng: random.Random) -> str:
    first = rng.choice(("INFO", "ERROR", "starting", "worker"))
    return f"{first} {rng.randint(1, 9)} {_message(rng)} {_message(rng)}"


def _fields(rng: random.Random) -> list[str]:
    return [
        str(rng.randint(1, 10**6)),
        rng.choice(("Anna", "Bert", "maria", "Łukasz")),
        _message(rng),
        f"{rng.random():.4f}",
        rng.choice(("open", "closed", "on hold")),
    ]


def _names_csv(rng: random.Random) -> str:
    return ",".join(_fields(rng)[1:])


def _quoted_csv(rng: random.Random) -> str:
    one, *others = _fields(rng)
    return f'{one},"{_message(rng)}, {_message(rng)}",' + ",".join(others)


def _url(rng: random.Random) -> str:
    words = _message(rng).replace(" ", "-")
    return f"https://example.com/{rng.choice(('docs', 'blog'))}/{words}/{rng.randint(1, 999)}"


def _word(rng: random.Random) -> str:
    return rng.choice(_WORDS["de"].split())


def _turn(rng: random.Random) -> str:
    said = " ".join(next(sentences(rng))[:-1] for _ in range(rng.randint(1, 3)))
    return f"{rng.choice(('ANNA', 'Bert', 'Dr. Smith', 'Speaker 2'))}: {said}"


def _timed_turn(rng: random.Random) -> str:
    return f"[{_stamp(rng)}] {_turn(rng)}"


def _chat(rng: random.Random) -> str:
    return f"{_stamp(rng)[:5]} {rng.choice(('anna', 'bert'))} {_message(rng)}"


def _verse(rng: random.Random) -> str:
    line = " ".join(rng.choices(_WORDS["en"].split(), k=rng.randint(9, 14)))
    return line[:1].upper() + line[1:] + rng.choice(("", "", ",", ";", "."))


def _title(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS["en"].split(), k=rng.randint(6, 20))).capitalize()


def _requirement(rng: random.Random) -> str:
    return f"{_WORDS['en'].split()[rng.randint(0, 99)]} {_message(rng)} {_message(rng)}"


def _lines(make: Callable[[random.Random], str], line_end: str = "\n", group: int = 0) -> str:
    rng, made, size = random.Random(2), [], 0
    while size < 60_000:
        made.append(make(rng) + line_end)
        if group and len(made) % (group + 1) == group:
            made.append(line_end)
        size += len(made[-1])
    return "".join(made)


def _diff() -> str:
    before = wrap(prose(n_characters=30_000), 88).splitlines(keepends=True)
    rng = random.Random(4)
    after = [line.replace("the", "a") if rng.random() < 0.3 else line for line in before]
    return "".join(unified_diff(before, after, "a/one.txt", "b/one.txt", n=10))


def _subtitles(rng: random.Random) -> str:
    said = textwrap.wrap(next(sentences(rng)), 42)[:2]
    start = f"00:{_stamp(rng)[3:]},{rng.randint(0, 999):03}"
    return "\n".join([str(rng.randint(1, 999)), f"{start} --> {start}", *said, ""])


def _traces(rng: random.Random) -> str:
    if rng.random() < 0.8:
        return _iso_log(rng)
    frames = (
        f"    at com.example.{_word(rng)}.run(Main.java:{rng.randint(1, 99)})" for _ in range(9)
    )
    return "\n".join([_iso_log(rng), f"java.lang.IllegalStateException: {_message(rng)}", *frames])


RECORDS: Final[dict[str, Callable[[], str]]] = {
    "ISO log": lambda: _lines(_iso_log),
    "syslog": lambda: _lines(_syslog),
    "access log": lambda: _lines(_access_log),
    "log without times": lambda: _lines(_bare_log),
    "log with stack traces": lambda: _lines(_traces),
    "log, Windows line ends": lambda: _lines(_iso_log, "\r\n"),
    "log, trailing blanks": lambda: _lines(_syslog, "  \n"),
    "CSV": lambda: _lines(lambda rng: ",".join(_fields(rng))),
    "CSV, names first": lambda: _lines(_names_csv),
    "CSV, quoted": lambda: _lines(_quoted_csv),
    "TSV": lambda: _lines(lambda rng: "\t".join(_fields(rng)[1:])),
    "URL list": lambda: _lines(_url),
    "word list": lambda: _lines(_word),
    "titles": lambda: _lines(_title),
    "phrases": lambda: _lines(_requirement),
    "transcript": lambda: _lines(_turn),
    "transcript with times": lambda: _lines(_timed_turn),
    "chat": lambda: _lines(_chat),
    "verse": lambda: _lines(_verse),
    "verse in stanzas": lambda: _lines(_verse, group=8),
    "unified diff": _diff,
    "SRT subtitles": lambda: _lines(_subtitles),
}
PROSE: Final[dict[str, Callable[[], str]]] = {
    **{
        f"prose at {columns} columns": partial(_wrap_prose, columns)
        for columns in (60, 72, 80, 100)
    },
    "prose, Windows line ends": lambda: wrap(prose(), 72, "\r\n"),
    "prose, a trailing blank": lambda: wrap(prose(), 72, " \n"),
    "prose, justified": lambda: _wrap_justified(72),
    "prose, loosely wrapped": lambda: _wrap_loosely(76),
    "prose, one line a paragraph": lambda: wrap(prose(), 10**6),
    "prose, one line": lambda: " ".join(prose()),
    "Markdown": _markdown,
    "German": lambda: wrap(prose("de"), 72),
    "Russian": lambda: wrap(prose("ru"), 72),
    "Greek": lambda: wrap(prose("el"), 80),
    "Korean": lambda: wrap(prose("ko"), 60),
    "Arabic": lambda: wrap(prose("ar"), 72),
    "Chinese": lambda: _wrap_chinese(36),
}
