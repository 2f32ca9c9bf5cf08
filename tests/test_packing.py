"""`pack` by its definition: groups, required items and cuts, each tried in its place."""

import random
import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline import Group, Item, pack, truncate
from cutline.errors import BudgetError
from tests.oracles import Count, counter

Given = Sequence[Item | Group]
WORDS = ("one", " two", "'t", "don", "…", "\n", " ", "中文", "👍🏿", "12", "s", "é", "jumps")


class Oracle:
    """Places items one by one, each time counting the whole text.

    The definition of docs/budgets.md, "Packing", and nothing but it.
    """

    def __init__(self, given: Given, n: int, separator: str | None, marker: str) -> None:
        self.given, self.n, self.separator, self.marker = given, n, separator, marker
        self.count: Count = counter("o200k_base")
        self.placed: dict[tuple[int, int], str] = {}
        self.entries = [
            (part, at, item)
            for part, one in enumerate(given)
            for at, item in enumerate(one.items if isinstance(one, Group) else [one])
        ]

    def part_text(self, part: int, placed: dict[tuple[int, int], str]) -> str | None:
        texts = [placed[key] for key in sorted(placed) if key[0] == part]
        one = self.given[part]
        if not texts or isinstance(one, Item):
            return texts[0] if texts else None
        return one.before + one.separator.join(texts) + one.after

    def overhead(self, part: int, placed: dict[tuple[int, int], str]) -> int:
        own = [
            item.overhead_tokens for p, at, item in self.entries if p == part and (p, at) in placed
        ]
        one = self.given[part]
        return sum(own) + (one.overhead_tokens if own and isinstance(one, Group) else 0)

    def text(self, placed: dict[tuple[int, int], str]) -> str:
        parts = [self.part_text(part, placed) for part in range(len(self.given))]
        return (self.separator or "").join(text for text in parts if text is not None)

    def total(self, placed: dict[tuple[int, int], str]) -> int:
        parts = [self.part_text(part, placed) for part in range(len(self.given))]
        overheads = sum(self.overhead(part, placed) for part in range(len(self.given)))
        if self.separator is None:
            return overheads + sum(self.count(text) for text in parts if text is not None)
        return overheads + self.count(self.text(placed))

    def fits(self, placed: dict[tuple[int, int], str]) -> bool:
        for part, one in enumerate(self.given):
            if isinstance(one, Group) and one.max_tokens is not None:
                text = self.part_text(part, placed)
                if text is not None:
                    own = self.count(text) + self.overhead(part, placed)
                    if own > one.max_tokens:
                        return False
        return self.total(placed) <= self.n

    def order(self) -> list[tuple[int, int, Item]]:
        def rank(entry: tuple[int, int, Item]) -> tuple[bool, bool, float, int, int]:
            part, at, item = entry
            one = self.given[part]
            within = -at if isinstance(one, Group) and one.fill == "newest" else at
            cut = item.required and item.min_tokens is not None
            return not item.required, cut, -item.priority, part, within

        return sorted(self.entries, key=rank)

    def pack(self) -> tuple[str, list[str]]:
        closed: set[int] = set()
        status = {}
        for part, at, item in self.order():
            status[part, at] = "dropped"
            if part in closed and not item.required:
                continue
            one = self.given[part]
            if self.fits({**self.placed, (part, at): item.text}):
                self.placed[part, at], status[part, at] = item.text, "whole"
                continue
            if isinstance(one, Group) and one.fill != "priority" and not item.required:
                closed.add(part)
            text = self.cut(part, at, item)
            if text is not None:
                self.placed[part, at], status[part, at] = text, "truncated"
            elif item.required:
                raise BudgetError(f"{part} {at}")
        return self.text(self.placed), [status[part, at] for part, at, _ in self.entries]

    def cut(self, part: int, at: int, item: Item) -> str | None:
        if item.min_tokens is None:
            return None
        begun = any(key[0] == part for key in self.placed)
        one = self.given[part]
        overhead = item.overhead_tokens
        overhead += one.overhead_tokens if isinstance(one, Group) and not begun else 0
        if self.n - self.total(self.placed) - overhead < item.min_tokens:
            return None
        for length in range(len(item.text) - 1, 0, -1):
            text = item.text[:length] + self.marker
            if item.keep == "end":
                text = self.marker + item.text[len(item.text) - length :]
            if self.fits({**self.placed, (part, at): text}):
                return text if self.count(text) >= item.min_tokens else None
        return None


def random_item(rng: random.Random) -> Item:
    return Item(
        "".join(rng.choices(WORDS, k=rng.randint(0, 9))),
        rng.randrange(3),
        rng.choice((None, 0, 1, 3)),
        rng.choice((0, 0, 2)),
        rng.choice(("start", "end")),
        rng.random() < 0.1,
    )


def random_given(rng: random.Random) -> list[Item | Group]:
    given: list[Item | Group] = []
    for _ in range(rng.randint(0, 4)):
        if rng.random() < 0.5:
            given.append(random_item(rng))
            continue
        given.append(
            Group(
                [random_item(rng) for _ in range(rng.randint(0, 4))],
                rng.choice((None, 4, 12)),
                separator=rng.choice(("", "\n", " ", "--")),
                before=rng.choice(("", "<p>", "Notes:\n")),
                after=rng.choice(("", "</p>", "\n")),
                overhead_tokens=rng.choice((0, 3)),
                fill=rng.choice(("priority", "newest", "oldest")),
            )
        )
    return given


@pytest.mark.parametrize("separator", ["\n\n", "", " ", None])
@settings(max_examples=250)
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_pack_is_its_definition(separator: str | None, seed: int, n: int) -> None:
    rng = random.Random(seed)
    given, marker = random_given(rng), rng.choice(("…", "", " [cut]"))
    oracle = Oracle(given, n, separator, marker)
    try:
        text, statuses = oracle.pack()
    except BudgetError:
        with pytest.raises(BudgetError, match="is required and does not fit"):
            pack(given, n, separator=separator, marker=marker)
        return
    packed = pack(given, n, separator=separator, marker=marker)
    assert (packed.text, [one.status for one in packed.items]) == (text, statuses)
    assert packed.total_tokens == oracle.total(oracle.placed) <= n
    for one in packed.items:
        assert one.text == packed.text[one.start_index or 0 : one.end_index or 0]
    for group in packed.groups:
        part = [at for at, one in enumerate(given) if one is group.group]
        assert group.text in [oracle.part_text(at, oracle.placed) or "" for at in part]
        assert group.text == packed.text[group.start_index or 0 : group.end_index or 0]
        assert group.token_count == oracle.count(group.text)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 80))
def test_groups_keep_all_limits(seed: int, n: int, most_bytes: int) -> None:
    given = random_given(random.Random(seed))
    try:
        packed = pack(given, n, also_fits={"gpt2": n, "bytes": most_bytes}, boundary="word")
    except BudgetError:
        return
    assert packed.total_tokens <= n
    assert counter("gpt2")(packed.text) <= n
    assert len(packed.text.encode()) <= most_bytes


def test_a_required_item_that_does_not_fit_is_named() -> None:
    with pytest.raises(TypeError, match="required must be True or False, got 'false'"):
        Item("one", required="false")  # type: ignore[arg-type]
    long = Item("one two three four five", required=True)
    with pytest.raises(
        BudgetError,
        match=r"item 1 is required and does not fit max_tokens=4: it takes 5 tokens, and .* 4$",
    ):
        pack(["x", long], 4)
    with pytest.raises(BudgetError, match=r"item 0 of the group at 1 .* max_tokens=3 of the group"):
        pack(["x", Group([long], 3)], 40)
    with pytest.raises(BudgetError, match="the 3 of also_fits: it takes 23 bytes"):
        pack([long], 40, also_fits={"bytes": 3})


def test_required_items_come_first_and_those_that_may_be_cut_after_the_others() -> None:
    cut = Item("one two three four five", 5, min_tokens=2, required=True)
    packed = pack([cut, Item("six seven", required=True), Item("eight", 9)], 6, separator=" ")
    assert packed.text == "one two three … six seven"
    assert [one.status for one in packed.items] == ["truncated", "whole", "dropped"]


def test_the_newest_without_holes() -> None:
    history = ["old", "a very long message in the middle of them all", "new", "newest"]
    packed = pack([Group(history, separator="\n", fill="newest")], 6)
    assert packed.text == "new\nnewest"
    assert pack([Group(history, separator="\n")], 8).text == "old\nnew\nnewest"
    oldest = pack([Group(history, separator="\n", fill="oldest")], 6)
    assert oldest.text == "old"


def test_a_frame_is_there_only_around_something() -> None:
    passages = Group(["a passage"], before="<p>", after="</p>")
    assert pack(["Answer.", passages], 20).text == "Answer.\n\n<p>a passage</p>"
    assert pack(["Answer.", passages], 6).text == "Answer."
    assert pack(["Answer.", passages], 6).groups[0].text == ""


def test_a_cut_that_merges_with_its_neighbour_is_found() -> None:
    packed = pack(["x", Item("'t", min_tokens=0)], 2, separator=" ", marker="")
    assert packed.text == "x '"


def test_groups_refuse_what_they_cannot_do() -> None:
    with pytest.raises(TypeError, match="put it into a list"):
        Group("one")
    with pytest.raises(ValueError, match="fill must be"):
        Group(["one"], fill="last")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_tokens must be 0 or more"):
        Group(["one"], -1)
    with pytest.raises(ValueError, match="overhead_tokens must be 0 or more"):
        Group(["one"], overhead_tokens=-1)


# Special tokens

SPECIAL_WORDS = (*WORDS, "<|endoftext|>", "<|endofprompt|>", "<|endof", "text|>", "<|", "<")


def special_count(text: str) -> int:
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.get_encoding("o200k_base")
    return len(encoding.encode(text, allowed_special="all"))


@settings(max_examples=150)
@given(st.lists(st.sampled_from(SPECIAL_WORDS), max_size=30), st.integers(0, 20))
def test_special_tokens_are_counted_and_never_cut(words: list[str], n: int) -> None:
    enc, text = cutline.get_encoding("o200k_base"), "".join(words)
    tokens = enc.encode(text, allowed_special="all", disallowed_special=())
    assert enc.count(text, allowed_special="all") == len(tokens)
    assert enc.count_batch([text, ""], allowed_special="all").tolist() == [len(tokens), 0]
    assert enc.fits(text, n, allowed_special="all") == (len(tokens) <= n)
    assert enc.count(text, allowed_special={"<|endoftext|>"}) == len(
        enc.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=())
    )
    for keep in ("start", "end", "both"):
        if n == 0:
            continue
        cut = truncate(text, n, keep, allowed_special="all")
        assert enc.count(cut, allowed_special="all") <= n
        if len(tokens) <= n:
            assert cut == text
            continue
        head, _, tail = cut.partition("…") if "…" not in text else (cut, "", "")
        if "…" not in text:
            spans = [m.span() for m in re.finditer(r"<\|endof(text|prompt)\|>", text)]
            for edge in {len(head), len(text) - len(tail)}:
                assert not any(start < edge < end for start, end in spans)


def test_a_start_with_special_tokens_is_as_long_as_any() -> None:
    enc = cutline.get_encoding("o200k_base")
    text = "<|endoftext|>".join(["one two", "three four", "five"] * 4)
    inside = {
        at + inner
        for at in range(len(text))
        if text.startswith("<|endoftext|>", at)
        for inner in range(1, len("<|endoftext|>"))
    }
    for n in range(1, 24):
        cut = truncate(text, n, marker="", allowed_special="all")
        ends = (end for end in range(len(text) + 1) if end not in inside)
        assert cut == text[: max(e for e in ends if enc.fits(text[:e], n, allowed_special="all"))]


def test_pack_counts_special_tokens() -> None:
    texts = ["<|endoftext|>", "one two", "<|endoftext|>"]
    packed = pack(texts, 4, separator="", allowed_special="all")
    assert (packed.text, packed.total_tokens) == ("".join(texts), 4)
    assert pack(texts, 4, separator="").text == "one two"


def test_special_tokens_are_refused_where_they_mean_nothing() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"one": 0}, unk_token="one"))
    wrapped = cutline.wrap(backend)
    with pytest.raises(TypeError, match="decides itself"):
        pack(["one"], 4, encoding=wrapped, allowed_special="all")
    with pytest.raises(TypeError, match="must be a set of str or 'all'"):
        truncate("one", 4, allowed_special="some")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pack(["a", "b"], 9, separator=5), "separator must be a str, got int"),
        (lambda: Group(["a"], separator=None), "separator must be a str, got NoneType"),
        (lambda: Group(["a"], before=5), "before must be a str, got int"),
        (lambda: Group(["a"], after=b""), "after must be a str, got bytes"),
        (lambda: pack(None, 9), "items must be several, got NoneType"),
        (lambda: pack("ab", 9), "items must be several, got one str: put it into a list"),
        (lambda: Group("ab"), "items must be several, got one str: put it into a list"),
        (lambda: pack([None], 9), "got NoneType: fill or drop missing values first"),
        (lambda: pack(pa.array(["a"]), 9), r"got StringScalar: pass to_pylist\(\) of an Arrow arr"),
    ],
)
def test_what_is_no_text_is_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()
