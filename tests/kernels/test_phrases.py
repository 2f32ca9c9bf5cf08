"""Phrases end after commas and the like, and at blanks of scripts with none between words."""

import random

import pytest
import regex

from cutline.chunking import CodeChunker, TextChunker
from cutline.kernels.breaks.breaks import PHRASE, WORD, find_breaks, find_last_break
from tests.kernels.test_sentences import is_abbreviated
from tests.texts import NAMED_TEXTS

SPACE = r"[\p{White_Space}\x1C-\x1F]"
LINE_END = r"[\r\n\x85\u2028\u2029]"
OPENING = r"[\p{Ps}\p{Pi}]"
PAUSE = rf"(?:(?!{OPENING})[\p{{SB=ATerm}}\p{{SB=STerm}}\p{{SB=SContinue}}\p{{SB=Close}}]|[།༎༏༐༑༔])"
NO_LINE_END = rf"(?!{LINE_END}){SPACE}"
THAI = r"\p{Line_Break=Complex_Context}"
PHRASE_END = regex.compile(
    rf"(?<={PAUSE}(?:{NO_LINE_END}){{1,7}})(?!{SPACE})"
    rf"|(?<={PAUSE}{SPACE}{{0,6}}{LINE_END})(?!{LINE_END})"
    rf"|(?<={THAI}(?:{NO_LINE_END}){{1,7}})(?={THAI})"
    rf"|(?<=}})(?=[\p{{L}}\p{{N}}#])|(?<=[,;]|(?=[\u2E80-\U0010FFFF]){PAUSE})(?!{SPACE})|(?<=>)(?=<[^/])"
)

REFERENCE = regex.compile(r"&#?[A-Za-z0-9]{1,30};(?!\s)")


def phrases(text: str) -> list[int]:
    found = {match.end() for match in PHRASE_END.finditer(text)} | {len(text)}
    found -= {match.end() for match in REFERENCE.finditer(text) if match.end() < len(text)}
    ended = (place for place in find_breaks(text, WORD, 0, 0, len(text)) if place in found)
    return [
        place for place in ended if not (is_blank(text, place) and is_abbreviated(text, 0, place))
    ]


def is_blank(text: str, place: int) -> bool:
    return place < len(text) and text[place - 1].isspace()


def check(text: str) -> None:
    assert (text, find_breaks(text, PHRASE, 0, 0, len(text))) == (text, phrases(text))
    for until in range(0, len(text), 7):
        before = find_breaks(text, PHRASE, 0, 0, until)
        assert find_last_break(text, PHRASE, 0, 0, until) == (before[-1] if before else -1)


@pytest.mark.parametrize("text", NAMED_TEXTS.values(), ids=NAMED_TEXTS)
def test_phrases_of_hard_texts(text: str) -> None:
    check(text[:400])


def test_phrases_of_random_texts() -> None:
    rng = random.Random(5)
    signs = [
        "Mr. ",
        *"ab1 ,;:.!?-—–)(]}{><'\"”“»«，、：；。」「》《ก่าลລាကみ漢ー\n\t་།",
        "  ",
        "></",
        "><",
        *"}#&",
        "&b1;",
        " " * 9,
    ]
    for _ in range(2_000):
        check("".join(rng.choices(signs, k=rng.randrange(30))))


@pytest.mark.parametrize(
    "text",
    [
        "The saw, | which hung (for years) | in the shed: | not here—| no, | “there” | too; | "
        "so 1,000 - | no.",
        "So said Mr. J. Smith, | e.g. in Fig. 3, | no. 5",
        "几个人在一起走路，|其中一定有人可以当我的老师、|出自《论语·述而》|等",
        "吾輩は猫である、|名前はまだ無い",
        "มีกรุงเทพมหานครเป็นเมืองหลวง |และมีประชากร 66 ล้านคน |แต่ยัง",
        "ស្ថិតនៅក្នុង |មានរាជធានី",
        '<a id="1">|<b>Saws</b></a>|<a id="2">|<c/>|<b>Glue</b></a>',
        "a{b:c;|d:e}|f{g:h}|#l{m:n} |{o}/{p}{q}",
        "a,\n|    b,  \r\n|\tc,\n|d, |e",
        "(1,|'a b'),|(2,|'c')",
    ],
)
def test_a_phrase_ends_where_a_reader_pauses(text: str) -> None:
    if " | " in text:
        text = text.replace(" | ", " |").replace("—| ", "—")
    parts = text.split("|")
    ends = find_breaks("".join(parts), PHRASE, 0, 0, len(text))
    assert ends == [sum(map(len, parts[: n + 1])) for n in range(len(parts))]


def test_chunks_end_at_phrases_where_no_sentence_fits() -> None:
    text = "ภาษาไทยเป็นภาษาราชการ แต่ยังมีภาษาถิ่นอื่นๆ อีกมากมาย และนักท่องเที่ยวนิยมเดินทางไป"
    chunks = TextChunker("o200k_base", 20)(text)
    assert len(chunks) > 1
    assert {chunk.metadata["boundary"] for chunk in chunks[:-1]} == {"phrase"}
    assert all(chunk.text.endswith(" ") for chunk in chunks[:-1])


def test_markup_of_one_line_is_cut_between_tags() -> None:
    pytest.importorskip("tree_sitter")
    text = (
        "<c>"
        + "".join(f'<b id="{n}"><t>Saws of wood</t><d>Long</d></b>' for n in range(9))
        + "</c>"
    )
    chunks = CodeChunker("xml", "o200k_base", 32)(text)
    assert len(chunks) > 3
    assert all(chunk.text.startswith("<") and chunk.text.endswith(">") for chunk in chunks)
