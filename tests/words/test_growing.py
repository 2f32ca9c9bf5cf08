"""Texts that grow at their end: what is settled stays as `tokenizers` has it, whatever comes."""

import random
import string
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.counting.recounted import RecountedAppender
from cutline.pipeline.settled_words import SettledWords
from cutline.words.precompiled import Precompiled
from tests.conftest import short_or_long
from tests.grown import check_growth, settle_at_once
from tests.words.charsmaps import charsmap
from tests.words.configurations import CONFIGURATIONS, RUNS
from tests.words.test_char_rules import AWKWARD, SCALARS
from tests.words.tokenizers_of import LETTERS, MODELS, both, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

CASES = [(kind, name) for kind in MODELS for name in CONFIGURATIONS]
CLUSTERS = (  # of marks, pictographs, consonants, syllables, flags, prefixes
    "\u0301\u0302",
    "\xa9\u200d\u0301\xae\u0903",
    "\xa9\u200d\xae",
    "\u0916\u094d\u0915\u0301\u0903e",
    "\u1100\u1161\u0301",
    "\U0001f1e6\u0301\u200de",
    "\u0600\u0301e",
    "e\u0301\u0302\U0001d165\u034f",
)
# Long words, blanks of all kinds around them, and characters that change one another all along.
POOLS = (
    "abcde",
    "a",
    "ab ",
    " a",
    " \n\t\x85\u3000a",
    "\r\n",
    "e\u0301",
    "ae\u0301b \u0302",
    "\u0301e \x85\xa0",
    "``ab'' \u0301",
    "\u1100\u1161\u11a8\uac00a",
    "\U0001f469\u200d\U0001f4bb\ufe0fa",
    "\u4e16\u3042\u0301",
    "\u0600\u0302a\u200b",
    "\x00\u200ba \v",
    "5.,a\u2581",
    *CLUSTERS,
    LETTERS,
    AWKWARD,
)


def parts_of(rng: random.Random) -> list[str]:
    pools = rng.choices(POOLS, k=rng.choice((1, 1, 2, 3)))
    longest = rng.choice((1, 3, 12))
    parts = []
    for _ in range(rng.randint(8, 30)):
        pool = rng.choice(pools)
        parts.append("".join(rng.choices(pool, k=rng.randint(1, longest))))
        if rng.random() < 0.02:
            parts.append(chr(rng.choice(SCALARS)))
    return parts


@pytest.fixture
def settles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    settle_at_once(monkeypatch)


@short_or_long("n_texts", 5, 30)
@pytest.mark.usefixtures("settles_at_once")
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_growing_text_is_counted_like_the_whole(
    kind: str, name: str, tmp_path: Path, n_texts: int
) -> None:
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    for _ in range(n_texts):
        check_growth(oracle, encoding, rng, parts_of(rng))


@pytest.mark.usefixtures("settles_at_once")
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["xlm-r", "t5", "precompiled, bert", "metaspace without splits"])
def test_clusters_without_end_are_settled(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, found = random.Random(f"{kind}{name}"), list[str | None]()
    _, encoding = both(kind, name, rng, tmp_path)
    stand_in = Precompiled.stand_in

    def noted(text: str) -> str | None:
        found.append(stand_in(text))
        return found[-1]

    monkeypatch.setattr(Precompiled, "stand_in", staticmethod(noted))
    for _ in range(150):
        pool, text, grown = rng.choice(CLUSTERS), "", encoding.appender()
        for _ in range(rng.randint(3, 12)):
            part = "".join(rng.choices(pool, k=rng.choice((1, 3, 10, 20))))
            if rng.random() < 0.1:
                part = rng.choice("e \U0001f600\u0916\u1161") + part
            text += part
            grown.append(part)
            assert grown.count == encoding.count(text), ascii(text)
    assert sum(one is not None for one in found) > 100


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["xlm-r", "t5", "bert uncased"])
@pytest.mark.parametrize("pattern", ["\u0301", "\u0301\u0323", "\U0001f469\u200d"], ids=ascii)
def test_long_clusters_grow_in_linear_time(kind: str, name: str, pattern: str) -> None:
    """What is counted anew stays short."""
    encoding = cutline.Encoding.from_tokenizers(tokenizer_of(kind, name, random.Random(name)))
    grown, text = encoding.appender(), "e" + 6_000 // len(pattern) * pattern
    for character in text:
        grown.append(character)
    assert grown.count == encoding.count(text)
    assert isinstance(grown, RecountedAppender)
    assert len(text) - grown._settled[-1][0] < 200


@pytest.mark.exhaustive
@pytest.mark.usefixtures("settles_at_once")
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_growing_text_for_long(kind: str, name: str, tmp_path: Path) -> None:
    for seed in range(40):
        rng = random.Random(f"{seed}{kind}{name}")
        oracle, encoding = both(kind, name, rng, tmp_path)
        for _ in range(50):
            check_growth(oracle, encoding, rng, parts_of(rng))


def random_model(rng: random.Random, letters: str) -> Any:
    """A model with tokens of any length, ids in any order, ties, and letters it does not know."""
    known = rng.sample(letters, rng.randint(1, len(letters)))
    longest = rng.choice((2, 4, 9, 40))
    tokens = {"".join(rng.choices(known, k=rng.randint(1, longest))) for _ in range(40)}
    tokens |= {rng.choice(letters) * rng.randint(1, longest) for _ in range(5)}
    if rng.random() < 0.4:
        tokens.add("<unk>" + rng.choice(letters))
    if rng.random() < 0.5:
        tokens |= {f"##{one}" for one in rng.sample(sorted(tokens), len(tokens) // 2)}
        tokens |= {f"##{one}" for one in letters if rng.random() < 0.9}
        order = ["[UNK]", *sorted(tokens)]
        rng.shuffle(order)
        return tokenizers.models.WordPiece(
            vocab={text: number for number, text in enumerate(order)},
            unk_token="[UNK]",
            max_input_chars_per_word=rng.choice((1, 5, 30, 100, 10**6)),
            continuing_subword_prefix=rng.choice(("##", "##", "")),
        )
    scores = [-1.5, -2.25, -3.1, -3.1000000000000005, -4.7, rng.uniform(-9, 0)]
    rows = [(one, rng.choice(scores)) for one in sorted(tokens | {"\u2581"})]
    rows.append(("<unk>", rng.choice((0.0, -20.0))))
    with_bytes = rng.random() < 0.5
    if with_bytes:
        rows += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    rng.shuffle(rows)
    unk = [text for text, _ in rows].index("<unk>")
    return tokenizers.models.Unigram(rows, unk, with_bytes)


@short_or_long("n_texts", 2, 6)
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_long_open_words_of_any_vocabulary(
    seed: int, at_once: bool, request: pytest.FixtureRequest, n_texts: int
) -> None:
    if at_once:
        request.getfixturevalue("settles_at_once")
    rng = random.Random(seed)
    letters = rng.choice(
        ("ab", "aby", "abcxyz<unk>", "\u4e16\u754ca", "\U0001f600e\u0301", "\u2581a")
    )
    oracle = tokenizers.Tokenizer(random_model(rng, letters))
    forms = tokenizers.normalizers
    without = forms.Replace("y", "")
    oracle.normalizer = rng.choice((None, forms.NFC(), forms.NFKD(), without))
    oracle.pre_tokenizer = rng.choice(
        (tokenizers.pre_tokenizers.Metaspace(), tokenizers.pre_tokenizers.WhitespaceSplit())
    )
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for _ in range(n_texts):
        some = rng.choice((letters, rng.choice(letters), letters + string.ascii_lowercase))
        longest = 3 if at_once else 60
        parts = ["".join(rng.choices(some, k=rng.randint(1, longest))) for _ in range(40)]
        check_growth(oracle, encoding, rng, parts)


@pytest.mark.usefixtures("settles_at_once")
@pytest.mark.parametrize("kind", MODELS)
def test_blanks_that_may_be_the_end_of_a_text_are_cut_off(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    oracle, encoding = both(kind, "deberta, with white space in words", rng, tmp_path)
    check_growth(oracle, encoding, rng, ["e", "\x85e\xa0\x85", "\xa0", " "])
    oracle.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Strip(), tokenizers.normalizers.Nmt(), RUNS]
    )
    encoding = cutline.Encoding.from_tokenizers(oracle)
    # What vanishes later keeps the blank before it.
    for parts in (["a", " \x01"], ["a", " ", "\x01", " ", "\x01\x01"], ["", " ", "\x01", " a"]):
        check_growth(oracle, encoding, rng, parts)


# What comes again and again.
ENDLESS = {
    "letters": "a",
    "Chinese": "\u4e2d\u6587\u5b57\u5178",
    "base64": "aGVsbG8gd29ybGQ",
    "blanks": " ",
    "lines": "\r\n",
    "vanishing": "\x00",
    "accents": "e\u0301",
    "quotes": "`",
    "joined emoji": "\U0001f469\u200d",
    "emoji": "\U0001f469\U0001f600",
    "consonants": "\u0915\u0916",
    "jamo": "\u1100\u1161\u11a8",
    "replacements": "\u2581",
}
NAMES = ["bert uncased", "NFKC, Lowercase", "xlm-r", "deberta", "t5", "albert", "rembert"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
@pytest.mark.parametrize("item", ENDLESS)
def test_all_but_the_end_of_a_long_word_is_settled(
    item: str, kind: str, name: str, tmp_path: Path
) -> None:
    part = ENDLESS[item]
    encoding = both(kind, name, random.Random(kind), tmp_path)[1]
    text = (part * 3_000)[:3_000]
    one: Any = encoding.appender()
    for length, character in enumerate(text, 1):
        one.append(character)
        count = one.count
        assert length - one._settled[-1][0] < 100
        assert length % 500 or count == encoding.count(text[:length])
    assert len(one._settled) <= 10
    for length in range(2_970, 0, -30):
        one.truncate(length)
        assert one.count == encoding.count(text[:length])
        assert length - one._settled[-1][0] < 100
        one.append(text[length : length + 7])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
@pytest.mark.parametrize("item", ["letters", "Chinese", "base64", "accents", "joined emoji"])
def test_all_but_the_beginning_of_a_long_word_is_settled(
    item: str, kind: str, name: str, tmp_path: Path
) -> None:
    if kind == "Unigram" and item in ("letters", "Chinese"):
        pytest.skip("tokens lie across each place, or characters are unknown")
    encoding = both(kind, name, random.Random(kind), tmp_path)[1]
    text = (ENDLESS[item] * 1_500)[:1_500]
    one: Any = encoding.prepender()
    for length, character in enumerate(reversed(text), 1):
        one.prepend(character)
        count = one.count
        assert length - one._settled[-1][0] < 200
        assert length % 500 or count == encoding.count(text[-length:])
    for length in range(1_470, 0, -30):
        one.truncate(length)
        assert one.count == encoding.count(text[-length:])
        assert length - one._settled[-1][0] < 300
        one.prepend(text[-length - 7 : -length])


def test_a_text_that_is_cut_a_little_goes_on_from_a_place_nearby(tmp_path: Path) -> None:
    encoding = both("WordPiece", "bert uncased", random.Random(1), tmp_path)[1]
    for one in (encoding.appender(), encoding.prepender()):
        grown: Any = one
        grow = getattr(grown, "append", None) or grown.prepend
        for _ in range(400):
            grow("a")
            assert grown.count
        place = grown._settled[-1][0]
        grown.truncate(place)
        assert place - 150 < grown._settled[-1][0] < place


def unigram(tokens: dict[str, float], unknown: str = "<unk>") -> Any:
    """A tokenizer of words of any length; no prefix is put before them."""
    rows = [*({unknown: 0.0} | tokens).items()]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="never")
    return oracle


def check_prepended(oracle: Any, end: str, *beginnings: str) -> None:
    """Count a text each time that something is put before it."""
    one: Any = cutline.Encoding.from_tokenizers(oracle).prepender(end)
    for beginning in ("", *beginnings):
        one.prepend(beginning)
        assert one.count == len(oracle.encode(one.text, add_special_tokens=False).ids)


def test_a_long_token_that_begins_before_the_text_may_lie_across_a_boundary() -> None:
    letters = string.ascii_letters
    scores = {one: -5.0 - place / 7 for place, one in enumerate(letters + "!")}
    oracle = unigram(scores | {"!" + letters[:40]: -1.0})
    oracle.normalizer = tokenizers.normalizers.Replace("-", "")
    for vanishing in ("", 30 * "-"):
        check_prepended(oracle, vanishing + 3 * letters, "!")


def test_sums_of_a_long_beginning_may_turn_a_tie() -> None:
    # After 40,000 letters z there is no number between the two sums.
    oracle = unigram({"a": -1.0, "b": -1.0, "ab": -2 - 3e-9, "z": -1000.0})
    check_prepended(oracle, 40 * "ab", *(3 * ["z" * 30]), *(5 * ["z" * 10_000]))


def test_a_mark_may_make_a_cluster_too_long_to_be_looked_up() -> None:
    # With one mark the cluster has less than six bytes, and becomes a letter as a whole.
    oracle = unigram({"a": -1.0, "b": -2.0, "\u0301": -3.0, "\u0302": -4.0}, unknown="u")
    oracle.normalizer = tokenizers.normalizers.Precompiled(charsmap({"\u0600": "b"}))
    pre = tokenizers.pre_tokenizers
    marks = pre.Split(tokenizers.Regex(r"\p{M}"), "isolated")
    oracle.pre_tokenizer = pre.Sequence([pre.WhitespaceSplit(), marks])
    check_prepended(oracle, "a\u0301" + 60 * "\u0302", "\u0600")


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_a_long_text_is_settled_by_halves(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle, encoding = both(kind, "bert uncased", random.Random(kind), tmp_path)
    settled, settle = list[int](), SettledWords.settle

    def noted(self: SettledWords, more: str) -> Any:
        settled.append(len(more))
        return settle(self, more)

    monkeypatch.setattr(SettledWords, "settle", noted)
    text = "".join(random.Random(1).choices("abc \u4e2d", k=100_000))
    one: Any = encoding.appender(text)
    assert one.count == len(oracle.encode(text, add_special_tokens=False).ids)
    assert len(settled) < 24
    assert sum(settled) <= 1.1 * len(text)
    # What is cut off a little at a time is settled anew a few times, not from a place far away.
    settled.clear()
    for length in range(len(text), 80_000, -50):
        one.truncate(length)
        count = one.count
        if length % 5_000 == 0:
            assert count == len(oracle.encode(text[:length], add_special_tokens=False).ids)
    assert sum(settled) <= 20 * 20_000
