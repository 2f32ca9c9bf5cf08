"""What prefixes become is compared with what the steps make of each prefix on its own."""

import random
from typing import SupportsIndex

import pytest

from cutline.normalizing import Form, Lead, Prepend, Replace, Step, Strip, Unknown, normalize
from cutline.words.prefixes import PrefixMaker, _CutStage
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite
from tests.words.configurations import CONFIGURATIONS, rules_of
from tests.words.test_char_rules import AWKWARD
from tests.words.tokenizers_of import LETTERS

POOLS = (
    LETTERS,
    AWKWARD,
    "e\u0301",
    "ae\u0301b \u0302",
    "\u0301e \x85\xa0",
    "``ab'' \u0301",
    "ab`'",
    "e\u0301\u0302\u0323\u0344\U0001d165",  # marks of several classes
    "\U0001f600\u200d\ufe0f\xa9e\u0301",  # clusters of emoji
    "\u0915\u094d\u093c\u0301\u0916",  # of consonants
    "\u0600e\u0301 ",  # of what comes before a letter
    "\u1100\u1161\u11a8\uac00\u0301",  # of syllables
    "\U0001f1e6\u0301\u200de",  # of flags
    "\r\n \t\u2028",
    "=\u0338\u0301\U0001d165e`",
)
HIDDEN_BY_NONE: tuple[tuple[Step, ...], ...] = (
    (Replace("ab", "`"),),
    (Replace("``", "'"),),
    (Replace("ab`", "a"), Replace("aa", "")),
    (Collapse("_"),),
    (CollapseWhite(),),
    (Form("NFC"), ByCharacter("accents")),
    (Form("NFD"), ByCharacter("accents"), Form("NFC")),
    (Form("NFD"), Replace("\u0301\u0301", "e")),
    (Strip(True, False),),
    (Strip(False, True),),
    (Strip(True, True), Form("NFC"), Strip(False, True)),
    (Form("NFD"), Prepend("_")),
    (Form("NFC"), Lead("e\u0301")),
    (Strip(True, True), Collapse("_"), Lead("__")),
    (Unknown("a e", "\ue000", fuses=True),),
    (Unknown("a e", "\ue000", fuses=False),),
)


def check_prefixes(steps: tuple[Step, ...], rng: random.Random, n: int) -> tuple[int, int, int]:
    """Return the characters of all rests, of what is settled, and of what prefixes become."""
    maker, n_rests, n_settled, n_characters = PrefixMaker(steps), 0, 0, 0
    for _ in range(n):
        pool = rng.choice(POOLS)
        text = "".join(rng.choices(pool, k=rng.randint(0, rng.choice((3, 9, 25)))))
        prefixes = maker(text)
        assert prefixes.normalized == normalize(text, steps), ascii(text)
        for end in range(len(text) + 1):
            place, rest = prefixes.of(end)
            made = prefixes.normalized[:place] + rest
            assert made == normalize(text[:end], steps), (ascii(text), end)
            n_rests += len(rest)
            settled = int(prefixes.settled[end])
            longer = text[:end] + "".join(rng.choices(pool, k=rng.randint(0, 6)))
            beginning = normalize(longer, steps)[:settled]
            assert beginning == prefixes.normalized[:settled], (ascii(longer), end)
            n_settled += settled
            n_characters += len(made)
    return n_rests, n_settled, n_characters


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_prefixes_become_a_beginning_of_the_whole_and_a_rest(name: str) -> None:
    steps = rules_of(*CONFIGURATIONS[name]()).char_steps
    n_rests, n_settled, n_characters = check_prefixes(steps, random.Random(name), 200)
    assert n_rests < n_characters / 3
    assert n_settled > n_characters / 3


@pytest.mark.parametrize("steps", HIDDEN_BY_NONE, ids=str)
def test_steps_that_no_other_step_hides(steps: tuple[Step, ...]) -> None:
    check_prefixes(steps, random.Random(str(steps)), 600)


@pytest.mark.parametrize(
    "step", [Collapse("_"), CollapseWhite(), Unknown("a", "\ue000", fuses=True)], ids=str
)
def test_of_a_run_two_characters_stand_for_all(step: Step) -> None:
    prefixes = PrefixMaker((step,))(f"a{' ' * 1000}a")
    lengths = list[int]()

    class Noted(str):
        __slots__ = ()

        def __getitem__(self, key: SupportsIndex | slice) -> str:
            part = str(self)[key]
            lengths.append(len(part))
            return part

    (stage,) = prefixes._stages
    assert isinstance(stage, _CutStage)
    stage._text = Noted(stage._text)
    assert [prefixes.of(end)[1] for end in range(3, 1001)] == [step.apply("  ")] * 998
    assert max(lengths) == 2


@pytest.mark.parametrize(
    "name", ["xlm-r", "t5", "albert", "rembert", "several replaced", "NFKD, bert"]
)
@pytest.mark.parametrize(
    "pattern", ["e" + 99 * "\u0301", "e\u0301", "`", "'ab", "\U0001f469\u200d"], ids=ascii
)
def test_rests_are_short(name: str, pattern: str) -> None:
    steps = rules_of(*CONFIGURATIONS[name]()).char_steps
    if name == "several replaced" and len(pattern) > 99:
        steps = steps[:-1]  # NFC composes the first of the marks
    n = 2000
    text = (pattern * n)[:n]
    prefixes = PrefixMaker(steps)(text)
    assert max(len(prefixes.of(end)[1]) for end in range(n + 1)) < 6
    assert n - prefixes.first_beyond(int(prefixes.settled[n])) <= len(pattern)
