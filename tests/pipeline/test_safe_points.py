"""Safe split points of a whole text: those that two characters have, wherever they are met."""

import random

import pytest

import cutline
from cutline.errors import CutlineError
from cutline.pipeline.safe_points import SafePoints
from tests.conftest import short_or_long
from tests.pipeline.characters import CONFIGURATIONS, make_document
from tests.texts import random_text

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
families = pytest.importorskip("tests.pipeline.families")

PARTS = [
    *("the ", "<x>", "<", "x", ">", "日本", "日", "本", "日 本", "\u2581", " ", "  ", "\n\n", "é"),
    *("e\u0301", "\u0e01", "\u0e02\u0e03", "😀", "😀😀", "\t", "a", "b<", "\ud800", "\udc00"),
    *("，", "<mask>", "< x>"),
]


def points_of(name: str) -> SafePoints | None:
    """Those of a tokenizer; None: it finds points otherwise, or is refused."""
    try:
        if name in CONFIGURATIONS:
            encoding = cutline.Encoding.from_tokenizers(
                tokenizers.Tokenizer.from_str(make_document(name))
            )
        else:
            encoding = cutline.Encoding.from_tokenizers(families.build(name))
    except CutlineError:
        return None
    found = encoding._pipeline and encoding._pipeline.safe_points
    return found if isinstance(found, SafePoints) else None


@short_or_long("n_texts", 60, 3_000)
@pytest.mark.parametrize("name", [*CONFIGURATIONS, *families.FAMILIES])
def test_points_of_a_text_are_those_of_two_characters(name: str, n_texts: int) -> None:
    rng, points = random.Random(name), points_of(name)
    if points is None:
        return
    for _ in range(n_texts):
        text = "".join(rng.choices(PARTS, k=rng.randint(1, 20))) + random_text(rng)[:30]
        single = [at for at in range(1, len(text)) if points.holds_at(text, at)]
        candidates = {*points._candidates(text).tolist()}
        assert points.all_of(text).tolist() == [at for at in single if at in candidates]
        assert candidates.issuperset(single), ascii(text)


def test_scripts_without_blanks_ask_for_no_pair() -> None:
    """They have more pairs than are kept; only added tokens are looked at."""
    asked = list[str]()
    for name in ("llama 2", "gemma", "added tokens and a prefix"):
        points = points_of(name)
        assert points is not None
        decide = points._decide

        def noted(before: str, after: str, decide=decide) -> bool:  # type: ignore[no-untyped-def]
            asked.append(before + after)
            return bool(decide(before, after))

        points._decide = noted  # type: ignore[method-assign]
        text = "".join(map(chr, range(0x4E00, 0x5E00)))
        assert len(points.all_of(text)) > 1000
        points.all_of(f"{text}<x>{text}")
    assert {*asked} <= {"<x", "x>", ">\u4e00", "\u672c\u672d"}
