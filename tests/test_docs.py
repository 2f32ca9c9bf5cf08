"""The documentation tells the truth: its worked example is computed again, and by cutline.

The example of docs/algorithm.md stands in fenced blocks, each behind a comment such as
`<!-- example: merging -->`. Vocabulary and word are read from the document; every other
block is written again by the plain functions below, straight from the definitions.
"""

import doctest
import itertools
import random
import re
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.conftest import needs_sources

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FRONT = re.compile(r"<!-- needs: ([\w., ]+?)(?:; marked: (\w+))? -->")
BLOCK = re.compile(r"<!-- example: (\w+) -->\n```text\n(.*?)```", re.DOTALL)
NEVER = 1 << 32

Ranks = dict[str, int]
Splits = dict[str, tuple[str, str]]


def example() -> dict[str, str]:
    """The blocks of the worked example by name."""
    return dict(BLOCK.findall((DOCS / "algorithm.md").read_text(encoding="utf-8")))


def ranks_of(vocabulary: str) -> Ranks:
    """Read lines such as `256  ab  = a + b`; single letters rank by their byte."""
    ranks = {chr(byte): byte for byte in range(128)}
    for line in vocabulary.splitlines():
        rank, token = line.split()[:2]
        ranks[token] = int(rank)
    return ranks


def merging(ranks: Ranks, piece: str) -> list[tuple[list[str], int]]:
    """The parts before each merge with the place of the merge, and at last with -1."""
    parts = list(piece)
    steps: list[tuple[list[str], int]] = []
    while True:
        options = [
            (ranks[left + right], place)
            for place, (left, right) in enumerate(itertools.pairwise(parts))
            if left + right in ranks
        ]
        if not options:
            return [*steps, (list(parts), -1)]
        place = min(options)[1]
        steps.append((list(parts), place))
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


def encode(ranks: Ranks, piece: str) -> list[str]:
    """Byte pair encoding of one piece, by the definition."""
    return merging(ranks, piece)[-1][0]


def canonical_splits(ranks: Ranks) -> Splits:
    """The last merge of every token that merging reaches."""
    splits: Splits = {}
    for token in ranks:
        steps = merging(ranks, token)
        if len(token) > 1 and steps[-1][0] == [token]:
            left, right = steps[-2][0]
            splits[token] = left, right
    return splits


def check_pair(ranks: Ranks, left: str, right: str) -> tuple[bool, list[str]]:
    """The pair check by undoing merges: the answer, and a line for each look at the seam."""
    splits = canonical_splits(ranks)
    merged_at = {parts: ranks[token] for token, parts in splits.items()}
    before = NEVER
    lines: list[str] = []
    while True:
        merged = merged_at.get((left, right), NEVER)
        seam = f"{left}|{right}: no merge"
        if merged < NEVER:
            order = "first" if merged < before else "too late"
            seam = f"{left}|{right}: {left + right} ({merged}) comes {order}"
        if merged < before:
            return False, [*lines, f"{seam}: incompatible"]
        go_left = left in splits and (right not in splits or ranks[left] > ranks[right])
        if not go_left and right not in splits:
            return True, [*lines, f"{seam}; nothing to undo: compatible"]
        undone = left if go_left else right
        lines.append(f"{seam}; undo {undone} ({ranks[undone]})")
        if go_left:
            before, left = ranks[left], splits[left][1]
        else:
            before, right = ranks[right] + 1, splits[right][0]


def backtrack(ranks: Ranks, piece: str) -> tuple[list[str], list[str]]:
    """Encode by longest matches and the pair check: the tokens, and a line for each try."""
    reachable = {token for token in ranks if encode(ranks, token) == [token]}
    tokens: list[str] = []
    ruled_out: set[int] = set()
    lines: list[str] = []
    start = 0
    too_long = len(piece) + 1
    shorter_than = too_long
    while True:
        matches = [piece[start:end] for end in range(start + 1, len(piece) + 1)]
        token = max(
            (m for m in matches if m in reachable and len(m) < shorter_than), key=len, default=""
        )
        end = start + len(token)
        if not token:
            ruled_out.add(start)
            dropped = tokens.pop()
            lines.append(f"at {start}: no token is left; rule out {start}, take back {dropped}")
            start -= len(dropped)
            shorter_than = len(dropped)
        elif end in ruled_out:
            lines.append(f"at {start}: {token} ends at {end}, which is ruled out")
            shorter_than = len(token)
        elif tokens and not check_pair(ranks, tokens[-1], token)[0]:
            lines.append(f"at {start}: {token} is incompatible with {tokens[-1]}")
            shorter_than = len(token)
        else:
            lines.append(f"at {start}: take {token}")
            tokens.append(token)
            start, shorter_than = end, too_long
            if end == len(piece):
                return tokens, lines


def parents(ranks: Ranks, piece: str) -> list[str]:
    """Each prefix of a piece, the empty one first, without its last token."""
    prefixes = [piece[:length] for length in range(1, len(piece) + 1)]
    return ["", *(prefix.removesuffix(encode(ranks, prefix)[-1]) for prefix in prefixes)]


def number_nodes(above: list[str]) -> list[tuple[int, int]]:
    """First and last number of each prefix and what is below it, in preorder."""
    numbers: dict[int, tuple[int, int]] = {}

    def visit(node: int, first: int) -> int:
        last = first
        for child in range(node + 1, len(above)):
            if len(above[child]) == node:
                last = visit(child, last + 1)
        numbers[node] = first, last
        return last

    visit(0, 0)
    return [numbers[node] for node in range(len(above))]


def draw_tree(ranks: Ranks, word: str) -> str:
    """A line for each prefix of a word: its parent, and the numbers from it on downwards."""
    above = parents(ranks, word)
    width = max(len(word), len("(empty)"))
    return "".join(
        f"{word[:node] or '(empty)':<{width}}"
        f"  parent {(above[node] or '(empty)') if node else '(none)':<{width - 1}}"
        f"  numbers {first} to {last}\n"
        for node, (first, last) in enumerate(number_nodes(above))
    )


def meet(ranks: Ranks, word: str, start: int) -> str:
    """How the part of a word from `start` on meets the tree of its prefixes."""
    numbers = number_nodes(parents(ranks, word))
    assert not numbers[start][0] <= numbers[-1][0] <= numbers[start][1], "no meeting is needed"
    width, depth = len(word) - 1, len(encode(ranks, word))
    lines = []
    for end in range(start + 1, len(word) + 1):
        part, prefix = encode(ranks, word[start:end]), encode(ranks, word[:end])
        line = (
            f"{word[start:end]:<{width}}  ends with {part[-1]:<4}"
            f"  prefix {word[:end]} ends with {prefix[-1]}"
        )
        on_the_way = numbers[end][0] <= numbers[-1][0] <= numbers[end][1]
        if part[-1] == prefix[-1] and on_the_way:
            total = len(part) + depth - len(prefix)
            lines.append(
                f"{line}, which is on the path: {len(part)} + {depth} - {len(prefix)}"
                f" = {total} tokens"
            )
            assert total == len(encode(ranks, word[start:]))
            assert end < len(word)
            break
        lines.append(f"{line}, which is not on the path" if part[-1] == prefix[-1] else line)
    return "\n".join(lines) + "\n"


def write_blocks(ranks: Ranks, word: str) -> dict[str, str]:
    """What the document has to say."""
    splits = canonical_splits(ranks)
    vocabulary = [f"{ranks[t]}  {t:<5} = {left} + {right}" for t, (left, right) in splits.items()]
    merges = []
    for parts, place in merging(ranks, word):
        shown = "|".join(parts)
        if place < 0:
            merges.append(f"{shown:<{2 * len(word)}} end")
        else:
            token = parts[place] + parts[place + 1]
            merges.append(f"{shown:<{2 * len(word)}} {token} ({ranks[token]})")
    prefixes = []
    for length in range(1, len(word) + 1):
        tokens = encode(ranks, word[:length])
        prefixes.append(f"{word[:length]:<{len(word)}}  last {tokens[-1]:<4}  tokens {len(tokens)}")
    pairs = example()["pairs"].strip().split("\n\n")
    checks = []
    for asked in pairs:
        left, right = asked.splitlines()[0].removesuffix("?").split(" then ")
        checks.append("\n".join([f"{left} then {right}?", *check_pair(ranks, left, right)[1]]))
    longer = example()["longer"].strip()
    return {
        "vocabulary": "\n".join(vocabulary) + "\n",
        "merging": "\n".join(merges) + "\n",
        "pairs": "\n\n".join(checks) + "\n",
        "backtracking": "\n".join(backtrack(ranks, word)[1]) + "\n",
        "prefixes": "\n".join(prefixes) + "\n",
        "longer": longer + "\n",
        "tree": draw_tree(ranks, longer),
        "meeting": meet(ranks, longer, 3),
        "word": word + "\n",
    }


def encoding_of(ranks: Ranks) -> cutline.Encoding:
    """Cutline over the same vocabulary, and all bytes; the text is one piece."""
    mergeable = {bytes([byte]): byte for byte in range(256)}
    mergeable |= {token.encode(): rank for token, rank in ranks.items()}
    return cutline.Encoding("docs", pat_str=None, mergeable_ranks=mergeable, special_tokens={})


@pytest.fixture(scope="module")
def ranks() -> Ranks:
    return ranks_of(example()["vocabulary"])


@pytest.mark.parametrize("name", sorted(example()))
def test_worked_example_says_what_the_definitions_give(ranks: Ranks, name: str) -> None:
    assert example()[name] == write_blocks(ranks, example()["word"].strip())[name]


def test_worked_example_has_all_its_blocks(ranks: Ranks) -> None:
    assert example().keys() == write_blocks(ranks, example()["word"].strip()).keys()


def test_cutline_encodes_every_prefix_of_the_example_like_the_document(ranks: Ranks) -> None:
    word, encoding = example()["longer"].strip(), encoding_of(ranks)
    assert word.startswith(example()["word"].strip())
    for length in range(1, len(word) + 1):
        tokens = encode(ranks, word[:length])
        assert encoding.encode_ordinary(word[:length]) == [ranks[token] for token in tokens]
        assert tokens == backtrack(ranks, word[:length])[0]


def test_cutline_finds_the_same_pairs_compatible(ranks: Ranks) -> None:
    encoding = encoding_of(ranks)
    tokens = [token for token in ranks if len(token) > 1 or token in "abcd"]
    for left, right in itertools.product(tokens, repeat=2):
        if left + right not in ranks:
            kept = encoding.encode_ordinary(left + right) == [ranks[left], ranks[right]]
            assert (left, right, check_pair(ranks, left, right)[0]) == (left, right, kept)


def test_cutline_backtracks_long_pieces_to_the_same_tokens(ranks: Ranks) -> None:
    rng, encoding = random.Random(6), encoding_of(ranks)
    letters = sorted(set(example()["word"].strip()))
    for length in (65, 66, 80, 100, 150):
        for _ in range(10):
            piece = "".join(rng.choices(letters, k=length))
            want = [ranks[token] for token in encode(ranks, piece)]
            assert encoding.encode_ordinary(piece) == want
            assert [ranks[token] for token in backtrack(ranks, piece)[0]] == want


def pages() -> list[Any]:
    """Every page, marked as its first line says."""
    found = []
    for path in sorted(DOCS.rglob("*.md")):
        marks = []
        if front := FRONT.match(path.read_text(encoding="utf-8")):
            marks.append(pytest.mark.filterwarnings("ignore"))  # of optional packages
            marks += [getattr(pytest.mark, front[2])] if front[2] else []
        found.append(pytest.param(path, marks=marks, id=path.relative_to(DOCS).as_posix()))
    return found


@pytest.mark.parametrize("path", pages())
def test_examples_in_the_documentation_run(path: Path) -> None:
    if front := FRONT.match(path.read_text(encoding="utf-8")):
        for package in front[1].split(", "):
            pytest.importorskip(package, reason=f"the page needs {package}, which is not installed")
    failed, attempted = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert failed == 0
    assert (attempted > 0) == (">>> " in path.read_text(encoding="utf-8"))


def test_table_of_encodings_is_that_of_the_package() -> None:
    page = (DOCS / "tokenizers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| (.*) \|$", page, re.MULTILINE)
    sizes = {name: int(size.replace(",", "")) for name, size, _ in rows}
    assert sizes == {
        name: cutline.get_encoding(name).n_vocab for name in cutline.list_encoding_names()
    }


def test_links_between_the_documents_lead_somewhere() -> None:
    for path in DOCS.rglob("*.md"):
        for target, anchor in re.findall(
            r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)", path.read_text(encoding="utf-8")
        ):
            linked = (path.parent / target).resolve() if target else path
            assert (path.name, target, linked.exists()) == (path.name, target, True)
            if anchor:
                assert anchor[1:] in anchors(linked), (path.name, target, anchor)


@needs_sources
def test_files_that_the_documents_name_exist() -> None:
    """Names of files, and of kernels by folder and file, in backquotes."""
    files = [
        path.relative_to(ROOT).as_posix()
        for folder in ("benchmarks", "src", "tests", "tools")
        for path in (ROOT / folder).rglob("*")
    ]
    known = {f"/{file}" for file in files} | {f"/{file.rpartition('.')[0]}" for file in files}
    named = [
        (path.name, name)
        for path in DOCS.rglob("*.md")
        for name in re.findall(
            r"`((?:\w+/)+\w*|(?:\w+/)*\w+\.(?:py|pyx|pxd))`", path.read_text(encoding="utf-8")
        )
    ]
    assert len(named) > 40
    assert [
        (page, name)
        for page, name in named
        if not any(file.endswith(f"/{name.rstrip('/')}") for file in known)
    ] == []


@needs_sources
def test_headings_that_docstrings_name_exist() -> None:
    sources = [*(ROOT / "src").rglob("*.p*"), *(ROOT / "tests").rglob("*.py")]
    named = [
        (path.name, page, " ".join(heading.replace("#", " ").split()))
        for path in sources
        if path.suffix in {".py", ".pyx", ".pxd", ".pyi"}
        for page, heading in re.findall(
            r'docs/([\w/-]+\.md)[,:][\s#]+"([^"]+)"', path.read_text(encoding="utf-8")
        )
    ]
    assert len(named) > 20
    for path, page, heading in named:
        text = (DOCS / page).read_text(encoding="utf-8")
        assert (path, page, heading, f"# {heading}\n" in text) == (path, page, heading, True)


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives a document's headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
