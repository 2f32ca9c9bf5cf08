"""Growing normal forms are compared with what the steps make of each whole text."""

import random

import pytest

from cutline.normalizing import Form, Step, normalize
from cutline.words.cuts import Cuts, Part, cuts_under
from cutline.words.growing_form import GrowingForm
from tests.words.configurations import CONFIGURATIONS, rules_of
from tests.words.test_prefixes import HIDDEN_BY_NONE, POOLS


def check_growth(
    steps: tuple[Step, ...], rng: random.Random, n: int, *, at_end: bool
) -> tuple[int, int]:
    """Return the characters of all that was settled, and of the normal forms."""
    begun, n_settled, n_characters = GrowingForm.of(steps, at_end=at_end), 0, 0

    def put(text: str, more: str) -> str:
        return text + more if at_end else more + text

    for _ in range(n):
        pool = rng.choice(POOLS)
        form, settled, text, rest = begun, "", "", ""
        for _ in range(rng.randint(1, 4)):
            more = "".join(rng.choices(pool, k=rng.randint(0, rng.choice((2, 5, 25, 300)))))
            text, rest = put(text, more), put(rest, more)
            wanted = normalize(text, steps)
            assert put(settled, form.ended(rest)) == wanted, (ascii(text), at_end)
            if found := form.grow(rest):
                made, form = found
                settled, rest = put(settled, made), ""
            ended = "".join(rng.choices(pool, k=rng.randint(0, 6)))
            wanted = normalize(put(put(text, ""), ended), steps)
            assert put(settled, form.ended(put(rest, ended))) == wanted, (ascii(text), at_end)
            n_characters += len(wanted)
            n_settled += len(settled)
    return n_settled, n_characters


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_growing_form_is_the_normal_form_of_the_text(name: str, at_end: bool) -> None:
    steps = rules_of(*CONFIGURATIONS[name]()).char_steps
    n_settled, n_characters = check_growth(steps, random.Random(name), 200, at_end=at_end)
    assert n_settled > n_characters / 4


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("steps", HIDDEN_BY_NONE, ids=str)
def test_steps_that_no_other_step_hides(steps: tuple[Step, ...], at_end: bool) -> None:
    check_growth(steps, random.Random(str(steps)), 600, at_end=at_end)


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("name", ["xlm-r", "t5", "albert", "rembert", "NFKD, bert"])
@pytest.mark.parametrize(
    "pattern", ["e" + 99 * "\u0301", "e\u0301", "'ab", "\U0001f469\u200d", " "], ids=ascii
)
def test_little_is_held(name: str, pattern: str, at_end: bool) -> None:
    steps = rules_of(*CONFIGURATIONS[name]()).char_steps
    form, text = GrowingForm.of(steps, at_end=at_end), (pattern * 2000)[:2000]
    for start in range(0, 2000, 200):
        found = form.grow(text[start : start + 200])
        assert found is not None
        form = found[1]
        assert form.n_held <= len(pattern) + 8


@pytest.mark.parametrize("at_end", [True, False])
def test_what_would_be_held_is_not_taken(at_end: bool) -> None:
    # It would be read again with each of many parts.
    form = GrowingForm.of((Form("NFC"),), at_end=at_end)
    assert form.grow("\u0301\u0323" * 50) is None


@pytest.mark.parametrize("name", ["xlm-r", "NFC, bert", "NFKD, bert", "several replaced"])
def test_cuts_are_sought_near_the_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sought = list[int]()

    def noted(part: Part, text: str) -> Cuts:
        sought.append(len(text))
        return cuts_under(part, text)

    monkeypatch.setattr("cutline.words.growing_form.cuts_under", noted)
    form = GrowingForm.of(rules_of(*CONFIGURATIONS[name]()).char_steps, at_end=True)
    assert form.grow("e\u0301tat `` " * 1_000)
    assert sought
    assert max(sought) < 160
