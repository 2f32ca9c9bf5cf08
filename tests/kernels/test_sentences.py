"""Sentences end where ICU says, once lines are joined, but not after abbreviations or in quotes."""

from functools import cache
from itertools import accumulate, pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from icu4py.breakers import SentenceBreaker

from cutline.chunking.break_tables import words_before_stops
from cutline.kernels.breaks.breaks import SENTENCE, find_breaks, find_last_break, keep_graphemes
from cutline.pretokenize.unicode import find_property
from tests.kernels.wrapped_lines import LINE_END, LINE_ENDS, is_wrapped
from tests.texts import NAMED_TEXTS

ABBREVIATIONS, BEFORE_NUMBERS, BEFORE_ORDINALS = (
    "(?:" + "|".join(map(regex.escape, words)) + ")" for words in words_before_stops()
)
EXTEND = r"[\p{SB=Extend}\p{SB=Format}]"
SPACE = r"[\p{White_Space}\x1C-\x1F]"
FIRST = r"(?:^|[^\p{L}\p{N}\p{SB=Extend}\p{SB=Format}])"
CAPITAL = rf"{FIRST}(?:\p{{Lu}}|(\p{{Lu}})\1){EXTEND}*"
OTHER_LETTER = (
    r"[[\p{SB=Lower}\p{SB=OLetter}]--[\p{Lu}яєèéåöő\u1100-\u11FF\u2E80-\uA4CF\uA960-\uA97F"
    r"\uAC00-\uD7FF\uF900-\uFAFF\U0001B000-\U0010FFFF]]"
)
INITIAL = rf"(?:^|[\p{{Ps}}\p{{Pi}}]|(?:^|\P{{SB=Numeric}}){SPACE}){OTHER_LETTER}{EXTEND}*"
BEFORE_ERA = regex.compile(rf"(?V1){SPACE}{OTHER_LETTER}{EXTEND}*\.$")
ERA = regex.compile(r"(?=[CKHΧ])[\p{L}\p{N}]{1,3}\.")
ORDINAL = rf"{FIRST}{BEFORE_ORDINALS}{SPACE}+(?:\p{{SB=Numeric}}{{1,3}}|[IVXLC]+)"
NO_END = regex.compile(
    rf"(?V1)(?:{FIRST}{ABBREVIATIONS}|{CAPITAL}|{INITIAL}|{ORDINAL})\.$", regex.VERSION1
)
NO_END_BEFORE_NUMBER = regex.compile(rf"{FIRST}{BEFORE_NUMBERS}\.$")
SIGN_OF_LIST = regex.compile(
    r"(^|[\r\n\x85\u2028\u2029])[^\p{L}\p{N}\r\n\x85\u2028\u2029]*(?:[\p{SB=Numeric}.]{1,5}|[IVXLCivxlc]{1,5})\.$"
)
NUMBER = regex.compile(r"\p{SB=Numeric}")
FOREIGN_STOP = regex.compile(
    r"(?<=[\u0370-\u03FF\u1F00-\u1FFF])[;\u037E](?=[\p{White_Space}\x1C-\x1F\p{SB=Close}]|$)"
    r"|(?<=[\u0531-\u058F]):(?=[\p{White_Space}\x1C-\x1F\p{SB=Close}]|$)"
)
ETHIOPIC_STOP = regex.compile(r"(?<=\u1361)\u1361|[།༎༏༐༑༔]")
BEFORE_PARTICLE = regex.compile(r"[\p{SB=STerm}\p{SB=ATerm}]\p{SB=Close}+\Z")
PARTICLE = regex.compile(r"[\u3041-\u3096\uAC00-\uD7A3]")
GUILLEMET = regex.compile(r"(?<=\p{SB=Sp})»(?![\p{L}\p{N}\p{Ps}\p{Pi}])")
GOES_ON_AFTER_GUILLEMET = regex.compile(
    r"[\p{SB=Lower}\p{SB=SContinue}\p{SB=Sep}\p{SB=CR}\p{SB=LF}]|\Z"
)
IN_TITLE = regex.compile(r"[《〈][^》〉\r\n\x85\u2028\u2029]*\Z")
IN_QUOTE = regex.compile(r"\p{SB=STerm}\p{SB=Close}+\p{SB=Sp}*\Z")
LOWER = regex.compile(r"\p{SB=Lower}")
IN_ADDRESS = regex.compile(r"(?<=[?!])(?:[a-z0-9]|[A-Za-z0-9_]{0,16}=)")
BEFORE_IMAGE = regex.compile(r"(?<![^\p{SB=Sp}\p{SB=Sep}\p{SB=CR}\p{SB=LF}\p{Ps}\p{Pi}])!(?=\[)")
MARKUP = regex.compile(
    r"(?<![\p{SB=Sp}\p{SB=Sep}\p{SB=CR}\p{SB=LF}])(?:[*_~`]|\[\^?[A-Za-z0-9_]*\]|(?![\p{Ps}\p{Pi}])\p{SB=Close})+"
)
BLANKS = regex.compile(r"\p{SB=Sp}*")
ANY_BLANK = regex.compile(r"[\p{SB=Sp}\p{SB=Sep}\p{SB=CR}\p{SB=LF}]")
GOES_ON = regex.compile(r"[\p{SB=Lower}\p{SB=Sep}\p{SB=CR}\p{SB=LF}]|\Z")


@cache
def opening() -> frozenset[int]:
    """Brackets and quotes that open."""
    both = [find_property(name) for name in ("Ps", "Pi")]
    return frozenset(p for chars in both for r in chars.ranges() for p in range(*r))  # type: ignore[union-attr]


def unwrapped(text: str, start: int, first: int, end: int) -> str:
    """text[first:end], with blanks for line ends that only wrap."""
    characters = [*text[first:end]]
    for match in LINE_END.finditer(text, first, end):
        if match.end() < end and is_wrapped(text, start, match.end()):
            for place in range(*match.span()):
                characters[place - first] = " "
    return "".join(characters)


def after_markup(part: str, place: int) -> int:
    """Where a sentence ends after what closes; -1: it goes on."""
    markup = MARKUP.match(part, place, place + 32)
    if not markup or (markup.end() < len(part) and not ANY_BLANK.match(part, markup.end())):
        return place
    blanks = BLANKS.match(part, markup.end())
    assert blanks
    return -len(part) - 1 if GOES_ON.match(part, blanks.end()) else blanks.end()


def with_stops(part: str) -> str:
    """The stops that some scripts have, as others have them."""
    return FOREIGN_STOP.sub(".", ETHIOPIC_STOP.sub("‼", part))


def after_guillemet(part: str, place: int) -> int:
    """Where a sentence ends after one that closes; -1: it goes on."""
    if place < 0 or not GUILLEMET.match(part, place):
        return place
    blanks = BLANKS.match(part, place + 1)
    assert blanks
    return -len(part) - 1 if GOES_ON_AFTER_GUILLEMET.match(part, blanks.end()) else blanks.end()


def is_abbreviated(text: str, start: int, place: int) -> bool:
    """Whether a full stop before a place ends no sentence."""
    earliest = max(start, place - 16)
    near = text[earliest:place].rstrip()
    sign = SIGN_OF_LIST.search(near)
    return bool(
        NO_END.search(near)
        or (NUMBER.match(text, place) and NO_END_BEFORE_NUMBER.search(near))
        or (ERA.match(text, place) and BEFORE_ERA.search(near))
        or (sign and (sign[1] or earliest == start))
    )


def sentences(text: str, start: int, first: int, until: int) -> list[int]:
    """Where sentences end in text[first:until], of a chunk that begins at `start`."""
    part = with_stops(unwrapped(text, start, first, min(len(text), until + 64)))
    found = set()
    for length in accumulate(map(len, SentenceBreaker(part, "en"))):
        while length and ord(part[length - 1]) in opening():
            length -= 1
        place = first + length
        ended = part[max(0, length - 16) : length]
        goes_on = (
            (LOWER.match(part, length) and IN_QUOTE.search(ended))
            or (PARTICLE.match(part, length) and BEFORE_PARTICLE.search(ended))
            or IN_TITLE.search(part[max(0, length - 32) : length])
            or IN_ADDRESS.match(part, length)
            or BEFORE_IMAGE.match(part, length - 1)
        )
        is_end = length and not is_abbreviated(text, start, place) and not goes_on
        place = first + after_guillemet(part, after_markup(part, length))
        is_end = is_end and first < place <= until
        if is_end and keep_graphemes(text, first, (place,)):
            found.add(place)
    return sorted(found)


def last_sentence(text: str, start: int, after: int, until: int) -> int:
    width, searched = 200, until + 1
    while True:
        begin = until - width if until - width - start >= width else start
        found = sentences(text, start, max(start, begin - 64), until)
        found = [place for place in found if max(begin, after) < place < searched]
        if found or begin <= after:
            return found[-1] if found else -1
        searched = begin + 1
        width *= 4


def check(text: str, start: int, after: int, until: int) -> None:
    every = sentences(text, start, max(start, after - 200), until)
    expected = [place for place in every if place > after]
    assert find_breaks(text, SENTENCE, start, after, until) == expected
    last = find_last_break(text, SENTENCE, start, after, until)
    assert last == last_sentence(text, start, after, until)


@pytest.mark.parametrize("text", NAMED_TEXTS.values(), ids=NAMED_TEXTS)
def test_sentences_of_hard_texts(text: str) -> None:
    text = text[:1_000]
    check(text, 0, 0, len(text))
    for until in range(1, len(text), 29):
        check(text, max(0, until - 700), max(0, until - 650), until)


def test_sentences_of_corpora(corpus: str) -> None:
    for start in range(0, len(corpus) - 3_000, 99_991):
        check(corpus, start, start + start % 900, start + 1_000 + start % 2_000)


SIGNS = "aBcZ1.?!)(\"'“”«»,;:-—…。！「」日éÉǅªاก한٣😀𝒜_  かα;ա:፡།»《》द«дА'X"
STRINGS = [
    "\r\n",
    "\u00a0",
    "\u0301",
    "\u200d",
    "\u00ad",
    "\ufeff",
    "Mr",
    "e.g",
    "z.B",
    "x" * 49,
    "é" * 50,
    " " * 17,
    "**",
    "`",
    "~~",
    "[1]",
    "[^note]",
    "![",
    "?q=",
    "!Ab_1=",
    "?aB",
    "am 3. ",
    "im XIX.",
    "\n 10.2. ",
    "\niv. ",
    "no. 5",
    "डॉ. ",
    "EE. ",
    "? »",
    "。」と",
    "can't. ",
    "ул. ",
    "4 v. ",
    "Chr.",
    "X я. ",
]
parts = st.sampled_from([*SIGNS, *LINE_ENDS, *STRINGS])


@settings(max_examples=600)
@given(
    st.one_of(
        st.lists(parts, max_size=60),
        st.lists(parts, max_size=5).flatmap(lambda few: st.lists(st.sampled_from(few or ["."]))),
    ),
    st.lists(st.integers(0, 400), min_size=3, max_size=3),
)
def test_sentences_of_any_text(parts: list[str], places: list[int]) -> None:
    text = "".join(parts)
    start, after, until = sorted(min(place, len(text)) for place in places)
    check(text, start, after, until)
    check(text, 0, 0, len(text))


@pytest.mark.exhaustive
def test_sentences_around_each_character() -> None:
    """Each where the rules look: before and after a full stop, blanks, and letters."""
    assigned = find_property("Assigned")
    assert assigned is not None
    for point in (point for start, end in assigned.ranges() for point in range(start, end)):
        if 0xD800 <= point < 0xE000 or point == 0x295:  # of another class in Unicode 17
            continue
        sign = chr(point)
        text = f"x. {sign} y. {sign} Y.{sign}Y.{sign}y {sign}.Y? {sign} y {sign}. B{sign}"
        expected = sentences(text, 0, 0, len(text))
        assert find_breaks(text, SENTENCE, 0, 0, len(text)) == expected, hex(point)


def test_a_sentence_goes_on_after_a_quoted_question() -> None:
    parts = [
        '"Why?" asked Tom. ',
        "“No!” said I (really?) and left. ",
        '"Why?" ',
        "Tom left. ",
        "Why? ",
        "no! ",
        "End.",
    ]
    text = "".join(parts)
    ends = find_breaks(text, SENTENCE, 0, 0, len(text))
    assert [text[start:end] for start, end in pairwise([0, *ends])] == parts


def ends_of(text: str) -> list[str]:
    ends = find_breaks(text, SENTENCE, 0, 0, len(text))
    return [text[start:end] for start, end in pairwise([0, *ends])]


@pytest.mark.parametrize(
    "sentence",
    [
        "See https://a.org/?q=saw&n=1 and https://a.org/?ID=3#x for more. ",
        "If a!=b, or a != b, go on. ",
        "A picture ![of a saw](saw.png) is here. ",
        "A badge [![of a saw](saw.png)](saw) is here. ",
        "**Note.** ",
        "_Really!_  ",
        "***Why?*** ",
        "`Why?` ",
        "~~Old.~~ ",
        "**“Why?”** ",
        "(**Why?**) ",
        "Known since 1920.[1] ",
        "Known since 1920![^note][12] ",
        "**Why?** asked Tom. ",
        "Known?[1] by all. ",
        "**Note.**\n",
        "Known.[1] \n",
    ],
)
def test_a_sentence_has_its_addresses_markup_and_references(sentence: str) -> None:
    assert ends_of(f"One. {sentence}Then.") == ["One. ", sentence, "Then."]
    assert ends_of(f"One. {sentence}") == ["One. ", sentence]


@pytest.mark.parametrize(
    "text",
    [
        "Am 3. Oktober ging er. | Das ist z. B. Unsinn. | Im 18. und 19. Jh. war es so. | "
        "Im XIX. Jh. auch. | Vgl. Abb. 3. | Dipl.-Ing. Meier kam um 5. | Er ging. | ",
        "« Comment ça va ? » demanda-t-il. | « Bien. » | Elle partit. | « Oui ! », dit-elle. | "
        "Mgr. Curie vint. | ",
        "El Sr. López y Dña. Ana en EE. UU. ganaron. | Av. Reforma, pág. 5. | ¿Qué? | ",
        "А. С. Пушкин жил на ул. Ленина в г. Москве. | Стр. 5. | Проф. Иванов ушёл. | ",
        "TP. Hồ Chí Minh rất đẹp. | GS. Trần nói. | ",
        "Např. Praha. | MUDr. Nový přišel. | Np. Kraków. | Inż. Nowak wyszedł. | ",
        "Sok. No. 5'te oturuyor. | Av. Mehmet geldi. | ",
        "Ο κ. Παπαδόπουλος ήρθε. | Τι κάνεις; | Τίποτα. | Γιατί; ρώτησε. | ",
        "Տղան գնաց: | Լավ եմ: | ",
        "ልጁ ሄደ፡፡ | ደህና ነኝ፡፡ | ",
        "ཡིན། | སོང་། །| ཁྱེད་རང་། | ",
        "डॉ. शर्मा आए। | श्री. मोहन गए। | ",
        "திரு. குமார் வந்தார். | నేను డా. రావు. | ",
        "قال الدكتور د. أحمد نعم. | ثمّ خرج. | ",
        '김 박사는 "안녕하세요."라고 말했다. | 네. | ',
        "「元気ですか？」と彼は言った。|「はい。」って。|",
        "《你好！李焕英》很好看。|是的。|",
        "No. | I said no. | It was red. | Take his cap, old chap. | A str. | "
        "See No. 5, chap. 3, Fig. 4. | ",
        "Это я. | Он думал о нем. | См. рис. 5. | Вот рис. | Она ушла. | ",
        "Dov’è chi è. | Det är vad han gör. | Den är ny. | "
        "Ich sage es dir. | Quiero ir. | Ez ő. | ",
        "Cäsar starb 44 v. Chr. in Rom. | Murió en 300 a. C. en Roma. | "
        "Til 5 f. Kr. i Oslo. | Το 44 π. Χ. έγινε. | ",
        "Add 5 m. | Chris has 5 m. | Then I can't. | "
        "Open saw.c. | Then go, see no. 5. | No, I said no. | Go. | ",
    ],
)
def test_full_stops_of_many_languages(text: str) -> None:
    expected = text.split("|")[:-1]
    expected = [part.removeprefix(" ") if text.count(" | ") else part for part in expected]
    assert ends_of("".join(expected)) == expected


def test_the_sign_of_a_list_is_no_sentence() -> None:
    for sign in ("1.", "10.2.", "a.", "iv.", "§ 5.", "- 3."):
        assert ends_of(f"Do this:\n{sign} Cut it. Then\n") == [
            "Do this:\n",
            f"{sign} Cut it. ",
            "Then\n",
        ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\n\n", "\u2029"])
def test_signs_of_a_list_begin_the_next_sentence(line_end: str) -> None:
    for item in ("* One. ", "* One", "[1] One", "_One_ two."):
        text = f"Why?{line_end}{item}"
        assert find_breaks(text, SENTENCE, 0, 0, len(text))[-2:] == [
            len(text) - len(item),
            len(text),
        ]


def test_what_opens_at_once_begins_the_next_sentence() -> None:
    for following in ("*Then*.", "[a link](to)", "(Then).", "Then."):
        assert ends_of(f"Why?{following}") == ["Why?", following]


def test_a_wrapped_line_of_any_kind_ends_no_sentence() -> None:
    line = "a line of fifty characters and more that wraps here"
    for line_end in ("\n", "\r\n", "\r", "\u2028"):
        text = f"{line}{line_end}and goes on. Next."
        assert find_breaks(text, SENTENCE, 0, 0, len(text)) == [len(text) - 5, len(text)]


@pytest.mark.parametrize("kind", [-1, 32])
def test_other_kinds_are_refused(kind: int) -> None:
    with pytest.raises(ValueError, match=f"there is no kind {kind} of breaks"):
        find_breaks("a", kind, 0, 0, 1)
