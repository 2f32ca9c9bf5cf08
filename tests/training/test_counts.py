"""`PieceCounts`: sums, files and tables give what was counted, and refuse anything else."""

import contextlib
import hashlib
import io
import pickle
import random
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline.errors import CorruptDataError, SurrogateError
from cutline.training.counts import PieceCounts
from cutline.training.counts_file import write_counts
from tests.conftest import short_or_long

pieces_and_counts = st.dictionaries(st.binary(min_size=1, max_size=40), st.integers(1, 2**40))


def counts_of(
    pieces: Mapping[bytes, int], pat_str: str | None = r"\w+", specials: Sequence[str] = ("<end>",)
) -> PieceCounts:
    return PieceCounts.from_pieces(pieces.items(), pat_str=pat_str, special_tokens=specials)


SOME = counts_of({b"to": 2, b"be": 2, b"or": 1, "nö".encode(): 7, b"x" * 50: 2**40})


@given(pieces_and_counts)
def test_counts_hold_what_they_are_made_of(pieces: dict[bytes, int]) -> None:
    counts = counts_of(pieces)
    assert list(counts) == list(counts.items()) == sorted(pieces.items())
    assert (len(counts), counts.total) == (len(pieces), sum(pieces.values()))
    assert (counts.pat_str, counts.special_tokens) == (r"\w+", ("<end>",))


@given(pieces_and_counts, st.binary(max_size=2))
def test_a_piece_is_in_its_counts(pieces: dict[bytes, int], other: bytes) -> None:
    counts = counts_of(pieces)
    assert all(piece in counts for piece in pieces)
    assert (other in counts) == (other in pieces)
    for wrong in ("to", (b"to", 2), 0):
        with pytest.raises(TypeError, match="pieces must be bytes, got "):
            wrong in counts  # noqa: B015


@given(pieces_and_counts, pieces_and_counts)
def test_a_sum_holds_the_pieces_of_both(left: dict[bytes, int], right: dict[bytes, int]) -> None:
    total = counts_of(left) + counts_of(right)
    assert total == counts_of(Counter(left) + Counter(right))
    assert total == counts_of(right) + counts_of(left)
    assert sum([counts_of(right)], counts_of(left)) == sum([counts_of(left), counts_of(right)])
    assert sum([counts_of(right), counts_of(left)]) == total
    assert PieceCounts.from_pieces(left, pat_str=None) == counts_of(left, None, [])


def test_counts_of_other_patterns_or_specials_are_not_added() -> None:
    with pytest.raises(ValueError, match=r"pat_str is '\\\\w\+' in one and None in the other"):
        SOME + counts_of({b"to": 1}, pat_str=None)
    other = PieceCounts.from_pieces([(b"to", 1)], pat_str=r"\w+")
    with pytest.raises(ValueError, match=r"special_tokens is \('<end>',\) in one and \(\) in the"):
        SOME + other
    with pytest.raises(TypeError):
        SOME + {b"to": 1}  # type: ignore[operator]
    with pytest.raises(TypeError):
        1 + SOME  # type: ignore[operator]


def test_a_sum_beyond_int64_is_refused() -> None:
    half = counts_of({b"a": 2**62})
    with pytest.raises(OverflowError, match=r"more than 2\*\*63 - 1 pieces"):
        half + half
    assert (half + counts_of({b"b": 2**62 - 1})).total == 2**63 - 1


@given(pieces_and_counts, st.integers(0, 2**40))
def test_rare_pieces_are_dropped(pieces: dict[bytes, int], n: int) -> None:
    kept = {piece: count for piece, count in pieces.items() if count >= n}
    assert counts_of(pieces).drop_below(n) == counts_of(kept)


@given(pieces_and_counts)
def test_the_most_common_come_first(pieces: dict[bytes, int]) -> None:
    want = sorted(pieces.items(), key=lambda row: (-row[1], row[0]))
    assert counts_of(pieces).most_common() == want
    assert counts_of(pieces).most_common(3) == want[:3]


def test_a_negative_number_of_most_common_is_refused() -> None:
    with pytest.raises(ValueError, match="n must be 0 or more, got -1"):
        SOME.most_common(-1)
    assert SOME.most_common(0) == []


def test_counts_are_equal_by_all_they_say() -> None:
    assert counts_of(dict(SOME)) == SOME
    assert counts_of(dict(SOME), pat_str=None) != SOME
    assert SOME != SOME + SOME
    assert dict(SOME) != SOME
    with pytest.raises(TypeError, match="unhashable"):
        hash(SOME)


def test_counts_are_immutable_and_say_what_they_are() -> None:
    with pytest.raises(AttributeError, match="piece counts are immutable; cannot set 'total'"):
        SOME.total = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="piece counts are immutable; cannot delete '_arena'"):
        del SOME._arena
    for array in SOME.arrays():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert repr(SOME) == f"<PieceCounts: 5 distinct pieces, {2**40 + 12} in all>"


def test_counts_pickle() -> None:
    assert pickle.loads(pickle.dumps(SOME)) == SOME


ARRAYS: tuple[tuple[bytes, list[int], list[int], str], ...] = (
    (b"ab", [0, 1], [1, 1], "2 counts need one more offset, got 2"),
    (b"ab", [0, 1], [1], "offsets run from 0 to 1, the pieces' bytes from 0 to 2"),
    (b"ab", [1, 2], [1], "offsets run from 1 to 2, the pieces' bytes from 0 to 2"),
    (b"ab", [0, 2, 1, 2], [1, 1, 1], "piece 1 has no bytes, or offsets that fall"),
    (b"ab", [0, 0, 2], [1, 1], "piece 0 has no bytes, or offsets that fall"),
    (b"ab", [0, 1, 2], [1, 0], "counts must be 1 or more, got 0 for piece 1"),
    (b"ab", [0, 1, 2], [-5, 1], "counts must be 1 or more, got -5 for piece 0"),
    (b"aa", [0, 1, 2], [1, 1], "1 pieces occur twice"),
    (b"ab", [0, 1, 2], [2**62, 2**62], r"more than 2\*\*63 - 1 pieces"),
)


@pytest.mark.parametrize(("arena", "offsets", "counts", "message"), ARRAYS)
def test_arrays_that_do_not_fit_are_refused(
    arena: bytes, offsets: list[int], counts: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PieceCounts(
            np.frombuffer(arena, np.uint8), np.array(offsets), np.array(counts), pat_str=None
        )


def test_arrays_of_other_types_are_refused() -> None:
    arena, offsets, counts = SOME.arrays()
    with pytest.raises(ValueError, match="counts must be int64, 1-d, got 'float64, 1-d'"):
        PieceCounts(arena, offsets, counts.astype(float), pat_str=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="arena must be uint8, 1-d, got 'uint8, 2-d'"):
        PieceCounts(arena.reshape(1, -1), offsets, counts, pat_str=None)
    with pytest.raises(ValueError, match="a count exceeds 2"):
        counts_of({b"a": 2**63})


@pytest.mark.parametrize(
    ("special_tokens", "error", "message"),
    [
        ("<end>", TypeError, "special_tokens must be several, got one str"),
        ([b"<end>"], TypeError, "a special token must be a str, got bytes"),
        ([""], ValueError, "a special token must not be empty"),
        (["a", "b", "a"], ValueError, "special token 'a' occurs twice"),
        ({"<end>": 300}, TypeError, "must be texts, got a mapping: their ids follow the last"),
        (None, TypeError, "special_tokens must be several, got NoneType"),
        (["\ud800"], SurrogateError, r"special token '\\ud800' has a surrogate code point"),
    ],
)
def test_bad_special_tokens_are_refused(
    special_tokens: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PieceCounts.from_pieces([], pat_str=None, special_tokens=special_tokens)


# Files


@settings(max_examples=25)
@given(pieces=pieces_and_counts, pat_str=st.none() | st.text(min_size=1))
def test_a_saved_file_loads_the_same(
    tmp_path_factory: pytest.TempPathFactory, pieces: dict[bytes, int], pat_str: str | None
) -> None:
    path = tmp_path_factory.mktemp("counts") / "corpus.counts"
    counts = counts_of(pieces, pat_str)
    counts.save(path)
    assert PieceCounts.load(path) == counts
    counts.save(str(path))
    assert PieceCounts.load(str(path)) == counts
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "corpus.counts"
    SOME.save(path)

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cutline.training.counts.write_counts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        (SOME + SOME).save(path)
    assert PieceCounts.load(path) == SOME
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_or_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        PieceCounts.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        SOME.save(tmp_path / "nowhere" / "corpus.counts")


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "corpus.counts"
    SOME.save(path)
    data = path.read_bytes()
    for kept in range(len(data)):
        path.write_bytes(data[:kept])
        with pytest.raises(CorruptDataError, match=r"corpus\.counts' contains no piece counts"):
            PieceCounts.load(path)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(CorruptDataError, match=r"corpus\.counts' contains no piece counts"):
            PieceCounts.load(path)


def sealed(start: bytes) -> bytes:
    """Give a file a true checksum."""
    return start + hashlib.sha256(start).digest()


@short_or_long("n_files", 400, 6_000)
def test_a_file_with_a_true_checksum_is_refused_or_says_what_it_holds(
    tmp_path: Path, n_files: int
) -> None:
    """Whatever the numbers, the header and the sizes are made to say."""
    path = tmp_path / "corpus.counts"
    SOME.save(path)
    data, rng = path.read_bytes()[:-32], random.Random(8)
    values = (0, 1, 0x22, 0x5B, 0x7F, 0x80, 0xFF)
    for _ in range(n_files):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 4))):
            damaged[rng.randrange(len(data))] = rng.choice(values)
        path.write_bytes(sealed(bytes(damaged)))
        with contextlib.suppress(CorruptDataError):
            counts = PieceCounts.load(path)
            counts.write(io.BytesIO())
            assert counts.total > 0


@pytest.mark.parametrize(
    "data", [b"", b"x", b"PK\x05\x06" + bytes(18), b"cutcnt", b"cutcnt\1\0" + b"\xff" * 20]
)
def test_another_file_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "corpus.counts"
    path.write_bytes(data)
    with pytest.raises(CorruptDataError, match=r"corpus\.counts' contains no piece counts"):
        PieceCounts.load(path)


HEADERS: tuple[object, ...] = (
    [],
    {"special_tokens": []},
    {"pat_str": "", "special_tokens": []},
    {"pat_str": 5, "special_tokens": []},
    {"pat_str": None},
    {"pat_str": None, "special_tokens": "ab"},
    {"pat_str": None, "special_tokens": [5]},
    {"pat_str": None, "special_tokens": ["a", "a"]},
    {"pat_str": None, "special_tokens": [], "note": 5},
)


@pytest.mark.parametrize("header", HEADERS)
def test_a_file_with_a_strange_header_is_refused(tmp_path: Path, header: object) -> None:
    path = tmp_path / "strange.counts"
    with path.open("wb") as sink:
        write_counts(sink, header, SOME.arrays())  # type: ignore[arg-type]
    with pytest.raises(CorruptDataError, match=r"strange\.counts' contains no piece counts"):
        PieceCounts.load(path)


@pytest.mark.parametrize("head", [b"[" * 100_000, b"\xff", b"", b"{"])
def test_a_header_that_is_no_json_is_refused(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "strange.counts"
    start = struct.pack("<6sHIQQ", b"cutcnt", 1, len(head), 0, 0)
    path.write_bytes(sealed(start + head + bytes(8)))
    with pytest.raises(
        CorruptDataError, match=r"strange\.counts' contains .* its header is no JSON"
    ):
        PieceCounts.load(path)


def test_a_file_with_bad_counts_says_which(tmp_path: Path) -> None:
    path = tmp_path / "bad.counts"
    arena, offsets, counts = SOME.arrays()
    with path.open("wb") as sink:
        write_counts(sink, SOME._header(), (arena, offsets, -counts))
    with pytest.raises(CorruptDataError, match=r"bad\.counts.*counts must be 1 or more, got -2"):
        PieceCounts.load(path)


def test_a_later_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "later.counts"
    SOME.save(path)
    path.write_bytes(b"cutcnt\2" + path.read_bytes()[7:])
    with pytest.raises(CorruptDataError, match="its format is 2, and this cutline reads 1"):
        PieceCounts.load(path)


# Arrow tables


@pytest.fixture
def pa() -> Any:
    return pytest.importorskip("pyarrow")


@settings(max_examples=25)
@given(pieces=pieces_and_counts)
def test_an_arrow_table_holds_the_same(pieces: dict[bytes, int]) -> None:
    pa = pytest.importorskip("pyarrow")
    counts = counts_of(pieces)
    table = counts.to_arrow()
    table.validate(full=True)
    assert table.schema.types == [pa.large_binary(), pa.int64()]
    assert dict(zip(*(column.to_pylist() for column in table.columns), strict=True)) == pieces
    assert PieceCounts.from_arrow(table) == counts
    # As another program may hand it back: other order, other types, several chunks.
    turned = table.take(pa.array(range(len(table))[::-1], pa.int64()))
    assert PieceCounts.from_arrow(turned) == counts
    other = table.set_column(0, "piece", table.column(0).cast(pa.binary()))
    assert PieceCounts.from_arrow(other.select(["count", "piece"])) == counts
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert PieceCounts.from_arrow(parts) == counts
    rest = dict(sorted(pieces.items())[1:])
    assert PieceCounts.from_arrow(table.slice(1)) == counts_of(rest)


Change = Callable[[Any, Any], Any]
TABLES: dict[str, tuple[Change, str]] = {
    "no metadata": (
        lambda pa, table: table.replace_schema_metadata(None),
        "does not say which split pattern made its pieces",
    ),
    "no count": (
        lambda pa, table: table.select(["piece"]),
        r"needs a column 'count', got \['piece'\]",
    ),
    "nulls": (
        lambda pa, table: table.set_column(1, "count", pa.array([None] * 5, pa.int64())),
        "column 'count' of the table has 5 nulls",
    ),
    "fractions": (
        lambda pa, table: table.set_column(1, "count", pa.array([0.5] * 5)),
        "column 'count' of the table: .*truncated",
    ),
    "numbers for pieces": (
        lambda pa, table: table.set_column(0, "piece", table.column(1)),
        "column 'piece' of the table: ",
    ),
    "negative": (
        lambda pa, table: table.set_column(1, "count", pa.array([-1] * 5)),
        "counts must be 1 or more, got -1",
    ),
    "twice": (lambda pa, table: pa.concat_tables([table, table]), "5 pieces occur twice"),
}


@pytest.mark.parametrize("name", TABLES)
def test_other_arrow_tables_are_refused(pa: Any, name: str) -> None:
    change, message = TABLES[name]
    with pytest.raises(ValueError, match=message):
        PieceCounts.from_arrow(change(pa, SOME.to_arrow()))


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'cutline\[arrow\]'"):
        SOME.to_arrow()
    with pytest.raises(ImportError, match=r"pip install 'cutline\[arrow\]'"):
        PieceCounts.from_arrow(None)


def test_counts_that_are_no_integers_are_refused() -> None:
    for count in (1.9, "3", None):
        with pytest.raises(TypeError, match="integer"):
            PieceCounts.from_pieces([(b"a", count)], pat_str=None)  # type: ignore[list-item]


def test_many_special_tokens_are_checked_in_linear_time() -> None:
    texts = [f"<{number}>" for number in range(100_000)]
    start = time.process_time()
    counts = PieceCounts.from_pieces([(b"a", 1)], pat_str=None, special_tokens=texts)
    assert counts.special_tokens == tuple(texts)
    assert time.process_time() - start < 10  # it took more than a minute


def test_pieces_are_bytes() -> None:
    with pytest.raises(TypeError, match="pieces must be bytes, got 'low'"):
        PieceCounts.from_pieces([(b"lo", 1), ("low", 5)], pat_str=None)  # type: ignore[list-item]
