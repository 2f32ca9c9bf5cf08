"""Counts of runs that are looked up, against `tokenizers`: met before or not, in any text."""

import random
from pathlib import Path

import pytest

import cutline
from tests.conftest import short_or_long
from tests.words.configurations import CONFIGURATIONS
from tests.words.test_encoding import CASES, ids
from tests.words.tokenizers_of import LETTERS, both, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

# Characters that change with no other one; what may end a run so that what follows is not apart.
CALM = "abcde5.,$=\u00e9\u4e16\U0001f600\u2581\u0432"
ENDS = ("\u200b", "\u3000", "\u00a0", "\r", "\t", "\u2581", "\x00", "\u3231", "\ufdfa")


def words_of(rng: random.Random) -> list[str]:
    letters = rng.choice((CALM, CALM[:9], LETTERS))
    lengths = [*range(1, 20), *rng.choices((14, 15, 16, 40, 90), k=4)]
    words = ["".join(rng.choices(letters, k=n)) for n in lengths]
    words += [word[:3] + rng.choice(ENDS) for word in words[:8]] + [*ENDS]
    return words


def text_of(rng: random.Random, words: list[str]) -> str:
    """A text of a few looks at 64 characters each."""
    between = rng.choice(((" ",), (" ", "\n"), (" ", "  ", "\n", " \n")))
    parts = [rng.choice(("", " ", "\n", words[0]))]
    while sum(map(len, parts)) < 400:
        parts += [rng.choice(words), rng.choice(between)]
    return "".join(parts[: rng.choice((-1, None))])


@short_or_long("n_rounds", 2, 4)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_counts_do_not_depend_on_what_was_met(
    kind: str, name: str, tmp_path: Path, n_rounds: int
) -> None:
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    for _ in range(n_rounds):
        words = words_of(rng)
        for _ in range(8):
            text = text_of(rng, words)
            expected = len(ids(oracle, text))
            # Characters of one text take one, two or four bytes each.
            wider = [text + " " + one for one in ("\u4e16", "\U0001f600")]
            assert encoding.count(text) == expected, ascii(text)
            assert encoding.count(text) == expected, ascii(text)
            for one in wider:
                assert encoding.count(one) == len(ids(oracle, one)), ascii(one)


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
def test_first_run_is_kept_apart(kind: str) -> None:
    # The first one gets a prefix, the second one is a blank and begins with what stands for one.
    rng = random.Random(kind)
    for name in CONFIGURATIONS:
        oracle = tokenizer_of(kind, name, rng)
        try:
            encoding = cutline.Encoding.from_tokenizers(oracle)
        except cutline.VocabularyError:
            continue
        for word in ("\u2581ab", "ab", "\u4e16" * 20, "\u2581", "\u2581" * 5, "\u2581" * 20):
            tail = " abc" * 50
            for text in (word + tail, "ab " + word + tail, word + tail, " " + word + tail):
                assert encoding.count(text) == len(ids(oracle, text)), (name, text)


@short_or_long("others", "b\u4e17", "b\u0432\u4e17\U0001f601")
@pytest.mark.parametrize("n", [1, 14, 15, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("letter", ["a", "\u0432", "\u4e16", "\U0001f600"])
def test_runs_of_all_lengths(n: int, letter: str, others: str, tmp_path: Path) -> None:
    oracle, encoding = both("Unigram", next(iter(CONFIGURATIONS)), random.Random(1), tmp_path)
    for begin in ("", " "):
        for other in others:
            # Runs of a batch whose keys would not fit together, and such that differ at the end.
            text = begin + " ".join([letter * n, letter * n + other, other + letter * n] * 20)
            text += " " + "a" * 80
            for _ in range(2):
                assert encoding.count(text) == len(ids(oracle, text))


@pytest.mark.parametrize("letter", "abcde")
def test_keys_of_two_and_of_four_bytes_a_character_differ(letter: str, tmp_path: Path) -> None:
    oracle, encoding = both("Unigram", "nothing, at white space", random.Random(1), tmp_path)
    for word in (f"\U0001f600{letter}", f"\uf600{letter}\1\0"):
        text = f" {word}" + " abc" * 40
        assert encoding.count(text) == len(ids(oracle, text))


def test_a_hundred_thousand_words_take_turns(tmp_path: Path) -> None:
    oracle, encoding = both("Unigram", next(iter(CONFIGURATIONS)), random.Random(2), tmp_path)
    rng = random.Random(3)
    words = ["".join(rng.choices("abcd", k=rng.randint(3, 18))) for _ in range(100_000)]
    for _ in range(3):
        text = " ".join(rng.choices(words, k=100_000))
        assert encoding.count(text) == len(ids(oracle, text))


def test_keys_tell_characters_and_places_apart() -> None:
    # Runs whose keys differ in one thing: how many characters, how wide they are, whether one is
    # the first of a text; and such as spell the unknown token.
    tokens = ["a", "b", "\uf600", "\U0001f600\U0001f600", "\u4e16\u754c", "\u4e16", "\u2581"]
    rows = [("<unk>", 0.0), *((token, -1.0 - len(token) / 8) for token in tokens)]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
    before = tokenizers.pre_tokenizers
    for splitters in ([], [before.Metaspace()], [before.Metaspace(prepend_scheme="never")]):
        oracle.pre_tokenizer = before.Sequence([before.WhitespaceSplit(), *splitters])
        encoding = cutline.Encoding.from_tokenizers(oracle)
        for n in (1, 2, 3, 7, 8, 9, 15, 16, 17, 18, 40):
            for part in ("\uf600", "\U0001f600", "\u4e16\u754c", "\u4e16b", "<unk>", "ab"):
                word = part * n
                for run in (word, word + "\0", word[:-1] + "b", f"{word}<", f"<unk>{word}"):
                    for text in (f"{run} b " + "a " * 40, f"b {run} " + "\uf600 " * 40):
                        for _ in range(2):
                            assert encoding.count(text) == len(ids(oracle, text)), (n, text)


@pytest.mark.parametrize("letter", ["a", "\u0432", "\u4e16", "\U0001f600"])
def test_runs_at_the_ends_of_texts(letter: str, tmp_path: Path) -> None:
    oracle, encoding = both("Unigram", next(iter(CONFIGURATIONS)), random.Random(1), tmp_path)
    rng = random.Random(letter)
    for n in (*range(250, 262), *range(318, 326)):
        for end in (
            "",
            " ",
            "\n",
            "  ",
            " b",
            f" {letter * 20}",
            f"b {letter}",
            "\u3000",
            " \u200b",
        ):
            text = "".join(rng.choices(f"{letter}{letter}ab ", k=n)) + end
            for _ in range(2):
                assert encoding.count(text) == len(ids(oracle, text)), (n, text)


def test_words_that_begin_with_a_blank_s_token_or_are_cut_from_it() -> None:
    rng = random.Random(5)
    before = tokenizers.pre_tokenizers
    letters = "\u2581ab12.,"
    tokens = {"".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(120)}
    rows = [("<unk>", 0.0), *((token, -rng.uniform(1, 9)) for token in sorted(tokens))]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
    for splitters in (
        [before.Digits(False), before.Metaspace()],
        [before.Punctuation("contiguous"), before.Metaspace()],
        [before.WhitespaceSplit(), before.Metaspace(split=False)],
        [before.WhitespaceSplit(), before.Digits(False), before.Metaspace(prepend_scheme="never")],
    ):
        oracle.pre_tokenizer = before.Sequence(splitters)
        encoding = cutline.Encoding.from_tokenizers(oracle)
        for _ in range(40):
            words = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(90)]
            text = " ".join(words)
            for _ in range(2):
                assert encoding.count(text) == len(ids(oracle, text)), text


def random_unigram(rng: random.Random, letters: str) -> "tokenizers.Tokenizer":
    """Tokens of any lengths, many with equal scores, so that sums tie; some letters are none."""
    rows = {letter: -rng.randint(1, 40) / 4 for letter in letters if rng.random() < 0.95}
    longest = rng.choice((2, 3, 4, 5, 9, 20, 60))
    for _ in range(rng.choice((5, 30, 200, 2_000))):
        token = "".join(rng.choices(letters, k=rng.randint(1, longest)))
        rows.setdefault(rng.choice(("", "", "\u2581")) + token, -rng.randint(1, 40) / 4)
        # Many that end at the same place.
        rows.setdefault(token[rng.randrange(len(token)) :], -rng.randint(1, 40) / 4)
    unknown = rng.choice(("<unk>", letters[0], letters[:2]))
    rows.pop(unknown, None)
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram([(unknown, -3.0), *rows.items()], 0))
    before = tokenizers.pre_tokenizers
    metaspace = before.Metaspace(prepend_scheme=rng.choice(("always", "never")))
    oracle.pre_tokenizer = before.Sequence([before.WhitespaceSplit(), metaspace])
    return oracle


@pytest.mark.parametrize("seed", range(40))
def test_new_runs_of_any_tokens(seed: int) -> None:
    rng = random.Random(seed)
    letters = ("ab", "abcde", "a\u4e16\u754c\u0432", "ab\U0001f600\U0001f601")[seed % 4]
    oracle = random_unigram(rng, letters)
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for known in (letters, letters + "z\u2581"):
        lengths = rng.choices((1, 2, 3, 5, 8, 16, 40, 254, 255, 256, 257), k=100)
        words = ["".join(rng.choices(known, k=n)) for n in lengths]
        words += [rng.choice(letters) * n for n in (3, 50, 255)]
        text = " ".join(words) + " a" * 40
        assert encoding.count(text) == len(ids(oracle, text))


def test_scores_beyond_all_sums() -> None:
    # Of a text without its first letter there is a token, of one score or of another.
    rows = [("<unk>", 0.0), ("a", -1.5e300), ("b", -1e299), ("ab", -1.6e300), ("aa", -3.5e300)]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    encoding = cutline.Encoding.from_tokenizers(oracle)
    text = " ".join(("abba", "aab", "ba", "aaaab")) + " ab" * 100
    assert encoding.count(text) == len(ids(oracle, text))


@pytest.mark.parametrize("longest", [30, 300])
def test_letters_with_which_many_tokens_begin(longest: int) -> None:
    # All places of a run begin as many texts that go on, or as many tokens, as a run has letters.
    for lengths in ([longest], range(2, longest)):
        rows = [("<unk>", 0.0), *(("a" * n, -1.0 - n / 4) for n in (1, *lengths))]
        oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
        oracle.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        encoding = cutline.Encoding.from_tokenizers(oracle)
        text = " ".join("a" * n for n in range(1, 256)) + " a" * 40
        assert encoding.count(text) == len(ids(oracle, text))


def test_what_is_before_new_runs() -> None:
    # A prefix that a run has already; a blank that is apart from digits, as these are from letters.
    tokens = [
        "\u2581",
        "a",
        "b",
        "1",
        "2",
        "\u2581a",
        "\u2581\u2581",
        "\u25811",
        "12",
        "ab",
        "a1",
        "\u2581ab",
    ]
    rows = [("<unk>", 0.0), *((token, -4.0 + len(token) / 2) for token in tokens)]
    before, normalizers = tokenizers.pre_tokenizers, tokenizers.normalizers
    whole = before.Metaspace(split=False)
    digits = before.Digits(individual_digits=False)
    for steps, normalizer in (
        ([before.WhitespaceSplit(), whole], None),
        ([before.WhitespaceSplit(), before.Metaspace()], None),
        ([digits, before.Metaspace()], normalizers.Replace(tokenizers.Regex(" {2,}"), " ")),
        ([before.Metaspace()], normalizers.Replace(tokenizers.Regex(" {2,}"), " ")),
    ):
        oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
        oracle.pre_tokenizer = before.Sequence(steps)
        if normalizer is not None:
            oracle.normalizer = normalizer
        encoding = cutline.Encoding.from_tokenizers(oracle)
        rng = random.Random(7)
        for letters in ("ab", "12", "\u2581ab", "ab12"):
            words = ["".join(rng.choices(letters, k=rng.randint(1, 30))) for _ in range(60)]
            text = " ".join(words) + " ab" * 100
            assert encoding.count(text) == len(ids(oracle, text)), (steps, letters)
