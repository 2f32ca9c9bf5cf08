"""Arrow columns in, columns of chunks and counts out: equal to what Chunk objects say."""

import json
import random
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.chunking.chunker import Chunker
from tests.texts import NAMED_TEXTS, random_texts

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from cutline.integrations import arrow  # noqa: E402 (needs pyarrow)
from cutline.integrations.arrow import (  # noqa: E402 (needs pyarrow)
    ArrowTexts,
    chunk_batch,
    chunk_schema,
    count_batch,
    encode_batch,
)

ENC = cutline.get_encoding("o200k_base")
PLAIN = cutline.TokenChunker(ENC, 8)


def as_sent(chunk: cutline.Chunk) -> int:
    """Count two tokens more than the chunk has."""
    return chunk.token_count + 2


def lower_case_encoding() -> cutline.Encoding:
    """One that changes texts before it splits them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    letters = pre_tokenizers.ByteLevel.alphabet()
    made = Tokenizer(models.BPE({letter: n for n, letter in enumerate(sorted(letters))}, []))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return cutline.Encoding.from_tokenizers(made, "lower")


CHUNKERS: dict[str, Chunker] = {
    "tokens": PLAIN,
    "tokens, overlap": cutline.TokenChunker(ENC, 8, 3),
    "tokens, most overlap": cutline.TokenChunker(ENC, 5, 4),
    "tokens, stripped": cutline.TokenChunker(ENC, 8, strip=True),
    "tokens, counted otherwise": cutline.TokenChunker(ENC, 8, count_text=as_sent),
    "tokens of changed text": cutline.TokenChunker(lower_case_encoding(), 40),
    "graphemes": cutline.TokenChunker(ENC, 8, boundary="grapheme"),
    "text": cutline.TextChunker(ENC, 10),
    "text, overlap": cutline.TextChunker(ENC, 10, 3),
}
TEXTS: list[str | None] = [*NAMED_TEXTS.values(), None, "", *random_texts(11, 60)]
TYPES: dict[str, Callable[[Sequence[str | None]], Any]] = {
    "string": lambda texts: pa.array(texts, pa.string()),
    "large_string": lambda texts: pa.array(texts, pa.large_string()),
    "string_view": lambda texts: pa.array(texts, pa.string_view()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
}

USES: dict[str, Callable[[Any], Any]] = {
    "chunk": lambda rows: chunk_batch(rows, PLAIN),
    "count": lambda rows: count_batch(rows, ENC),
    "encode": lambda rows: encode_batch(rows, ENC),
    "train": lambda rows: cutline.count_pieces(ArrowTexts(rows)),
}


def rows_of(chunker: Chunker, texts: Sequence[str | None]) -> list[dict[str, Any]]:
    """What `chunk` gives, text by text, with the number of the text as `id`."""
    return [
        {
            "id": row,
            "text": chunk.text,
            "start_index": chunk.start_index,
            "end_index": chunk.end_index,
            "token_count": chunk.token_count,
            "index": chunk.index,
            "headings": list(chunk.headings),
            "boundary": chunk.metadata["boundary"],
            "metadata": {k: v for k, v in chunk.metadata.items() if k != "boundary"},
        }
        for row, text in enumerate(texts)
        for chunk in (chunker.chunk(text) if text is not None else [])
    ]


@cache
def wanted(name: str) -> list[dict[str, Any]]:
    """The same for one of the chunkers and all texts."""
    return rows_of(CHUNKERS[name], TEXTS)


def as_rows(batch: Any) -> list[dict[str, Any]]:
    """The rows of a batch, with metadata read."""
    batch.validate(full=True)
    rows: list[dict[str, Any]] = batch.to_pylist()
    return [row | {"metadata": json.loads(row["metadata"])} for row in rows]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", CHUNKERS)
def test_columns_are_what_chunk_objects_say(name: str, kind: str) -> None:
    table = pa.table({"id": range(len(TEXTS)), "text": TYPES[kind](TEXTS)})
    want = wanted(name)
    assert as_rows(chunk_batch(table, CHUNKERS[name])) == want
    assert as_rows(chunk_batch(table.to_batches()[0], CHUNKERS[name], num_threads=1)) == want


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["tokens", "tokens, overlap", "text"])
def test_slices_and_chunked_columns_are_cut_like_whole_ones(name: str, kind: str) -> None:
    table = pa.table({"id": range(len(TEXTS)), "text": TYPES[kind](TEXTS)})
    want = wanted(name)
    for first, stop in ((3, 30), (len(TEXTS) - 40, len(TEXTS)), (5, 5), (4, 5)):
        part = table.slice(first, stop - first)
        batch = table.to_batches()[0].slice(first, stop - first)
        between = [row for row in want if first <= row["id"] < stop]
        assert as_rows(chunk_batch(part, CHUNKERS[name])) == between
        assert as_rows(chunk_batch(batch, CHUNKERS[name])) == between
    pieces = pa.concat_tables([table.slice(at, 17) for at in range(0, len(TEXTS), 17)])
    assert pieces["text"].num_chunks > 5
    assert as_rows(chunk_batch(pieces, CHUNKERS[name])) == want


@pytest.mark.parametrize("kind", TYPES)
def test_text_keeps_its_type_and_the_schema_is_known_before(kind: str) -> None:
    table = pa.table({"id": range(3), "text": TYPES[kind](["one two", None, "three"])})
    for chunker in CHUNKERS.values():
        for rows in (table, table.slice(0, 0), table.slice(1, 1)):
            got = chunk_batch(rows, chunker)
            assert got.schema == chunk_schema(table.schema)
            assert len(got) or not rows["text"].drop_null().to_pylist()
    values = table["text"].type.value_type if kind == "dictionary" else table["text"].type
    assert chunk_schema(table.schema).field("text").type == values


@settings(max_examples=60)
@given(
    texts=st.lists(st.none() | st.text(max_size=40), max_size=8),
    first=st.integers(0, 4),
    chunk_size=st.integers(4, 9),
    overlap=st.integers(0, 3),
    threads=st.integers(1, 3),
)
def test_any_slice_of_any_texts(
    texts: list[str | None], first: int, chunk_size: int, overlap: int, threads: int
) -> None:
    chunker = cutline.TokenChunker(ENC, chunk_size, overlap)
    batch = pa.record_batch({"id": pa.array(range(len(texts)), pa.int64()),
                             "text": pa.array(texts, pa.string())}).slice(first)  # fmt: skip
    want = [row for row in rows_of(chunker, texts) if row["id"] >= first]
    assert as_rows(chunk_batch(batch, chunker, num_threads=threads)) == want
    counts = [None if text is None else ENC.count(text) for text in texts[first:]]
    assert count_batch(batch, ENC)["token_count"].to_pylist() == counts


def test_many_texts_are_cut_in_blocks_by_threads() -> None:
    rng = random.Random(5)
    words = " ".join(rng.choices(["one", "zwei", "três", "四", "\n"], k=60_000)).split("zwei")
    texts = ["".join(words[at : at + 5]) for at in range(0, len(words), 5)]
    texts.insert(7, " ".join(words) * 3)
    assert sum(map(len, texts)) > 2 << 18
    table = pa.table({"id": range(len(texts)), "text": texts})
    chunker = cutline.TokenChunker(ENC, 32, 4)
    want = rows_of(chunker, texts)
    for threads in (1, 3):
        assert as_rows(chunk_batch(table, chunker, num_threads=threads)) == want


def test_structure_goes_into_headings_and_metadata() -> None:
    pytest.importorskip("pyromark", reason="pyromark is not installed")
    chunker = cutline.MarkdownChunker(ENC, 12)
    text = "# Fish\n\n## Red\n\n```\n" + "one fish\n" * 20 + "```\n"
    got = as_rows(chunk_batch(pa.table({"id": [0], "text": [text]}), chunker))
    assert got == rows_of(chunker, [text])
    assert got[1]["headings"] == ["Fish", "Red"]
    assert {"continues", "continued_to"} <= got[1]["metadata"].keys()


def test_other_columns_are_carried_along_whatever_their_type() -> None:
    others = {
        "id": pa.array([3, None, 5], pa.int16()),
        "tags": pa.array([["a", "b"], None, []]),
        "source": pa.array(["x", "y", "x"]).dictionary_encode(),
        "place": pa.array([{"page": 1}, {"page": None}, None]),
    }
    table = pa.table({"text": ["one two three four five", "six", "seven eight"], **others})
    chunks = chunk_batch(table, cutline.TokenChunker(ENC, 2))
    assert chunks.column_names == [*others, *arrow.CHUNK_COLUMNS]
    rows = [0, 0, 0, 1, 2]
    for name, column in others.items():
        assert chunks[name].to_pylist() == [column.to_pylist()[row] for row in rows]
        assert chunks.schema.field(name) == table.schema.field(name)
    some = chunk_batch(table, PLAIN, carry=["tags", "id"])
    assert some.column_names == ["tags", "id", *arrow.CHUNK_COLUMNS]
    assert chunk_batch(table, PLAIN, carry=[]).column_names == [*arrow.CHUNK_COLUMNS]


def test_schema_metadata_about_columns_that_are_gone_is_left_out() -> None:
    table = pa.table({"text": ["one"]}).replace_schema_metadata({"pandas": "{}"})
    assert chunk_batch(table, PLAIN).schema.metadata is None
    assert count_batch(table, ENC).schema.metadata == {b"pandas": b"{}"}


def test_a_column_by_the_name_of_a_new_one_is_refused_with_two_ways_out() -> None:
    table = pa.table({"body": ["one two"], "index": [5], "text": ["title"], "id": [1]})
    with pytest.raises(ValueError, match=r"'index', 'text' would occur .* prefix=.* carry="):
        chunk_batch(table, PLAIN, "body")
    chunks = chunk_batch(table, PLAIN, "body", prefix="chunk_")
    assert chunks.column_names[:5] == ["index", "text", "id", "chunk_text", "chunk_start_index"]
    assert chunks.select(["index", "chunk_index", "text", "chunk_text"]).to_pylist() == [
        {"index": 5, "chunk_index": 0, "text": "title", "chunk_text": "one two"}
    ]
    assert chunk_batch(table, PLAIN, "body", carry=["id"])["text"].to_pylist() == ["one two"]
    with pytest.raises(ValueError, match="cannot carry 'page'"):
        chunk_batch(table, PLAIN, "body", carry=["page"])
    with pytest.raises(ValueError, match="there is a column 'index' already"):
        count_batch(table, ENC, name="index")


@pytest.mark.parametrize("use", USES)
def test_a_column_that_holds_no_strings_is_refused(use: str) -> None:
    with pytest.raises(cutline.SourceError, match="no column 'text'; there is 'body'"):
        USES[use](pa.table({"body": ["one"]}))
    with pytest.raises(cutline.SourceError, match="'text' must contain strings, its type is int64"):
        USES[use](pa.table({"text": [1]}))
    with pytest.raises(cutline.SourceError, match="more than one column 'text'"):
        USES[use](pa.Table.from_arrays([pa.array(["a"])] * 2, names=["text", "text"]))


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_a_column_of_nulls_is_one_of_strings(is_dictionary: bool) -> None:
    """Whoever makes a table of None alone gets this type: pandas, `pa.table`, JSON readers."""
    nulls = pa.nulls(2)
    if is_dictionary:
        nulls = pa.DictionaryArray.from_arrays(pa.array([None, 0], pa.int8()), pa.nulls(1))
    table = pa.table({"id": [1, 2], "text": nulls})
    for chunker in (PLAIN, CHUNKERS["text"]):
        chunks = chunk_batch(table, chunker)
        assert (chunks.num_rows, chunks.schema.field("text").type) == (0, pa.string())
    assert count_batch(table, ENC)["token_count"].to_pylist() == [None, None]
    assert encode_batch(table, ENC)["tokens"].to_pylist() == [None, None]


def invalid(kind: str, parts: Sequence[bytes]) -> Any:
    """Strings that Arrow never checked."""
    data, views = pa.array(parts, pa.binary()), pa.array(parts, pa.binary_view())
    if kind == "string_view":
        return pa.Array.from_buffers(pa.string_view(), len(parts), views.buffers())
    return pa.Array.from_buffers(pa.string(), len(parts), data.buffers())


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["string", "string_view"])
@pytest.mark.parametrize(
    "parts",
    [[b"one", b"two", b"a\xffb"], [b"", b"x", b"\xed\xa0\x80"], [b"a", b"b", b"\xc3", b"\xa9"]],
    ids=["no utf-8", "a surrogate", "a character across two rows"],
)
def test_invalid_utf8_is_refused_and_the_row_named(use: str, kind: str, parts: list[bytes]) -> None:
    table = pa.Table.from_arrays([invalid(kind, parts)], names=["text"])
    both = pa.concat_tables([pa.table({"text": pa.array(["a", "b"], table["text"].type)}), table])
    for rows, number in ((table, 2), (both, 4)):
        with pytest.raises(cutline.SourceError, match=f"row {number} of column 'text'.* utf-8"):
            USES[use](rows)


def test_invalid_utf8_in_a_dictionary_is_refused() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0]), invalid("string", [b"\xff"]))
    with pytest.raises(cutline.SourceError, match=r"column 'text': .*UTF8"):
        chunk_batch(pa.table({"text": column}), PLAIN)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("places", [[0, 50, 3], [0, 3, 1], [0, -4, 3], [2, 1 << 30, 3]])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_offsets_that_leave_the_buffer_are_refused(
    use: str, places: list[int], kind: pa.DataType
) -> None:
    """Arrow ends the process that looks at such a row."""
    width = np.int32 if kind == pa.string() else np.int64
    offsets = pa.py_buffer(np.array(places, dtype=width))
    column = pa.Array.from_buffers(kind, 2, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(cutline.SourceError, match="column 'text'"):
        USES[use](pa.record_batch([column], names=["text"]))


def test_bytes_below_a_null_are_not_looked_at() -> None:
    whole = pa.array([b"one two", b"\xffhree", b"vier"])
    mask = pa.py_buffer(bytes([0b101]))
    column = pa.Array.from_buffers(pa.string(), 3, [mask, *whole.buffers()[1:]])
    batch = pa.record_batch([column], names=["text"])
    for chunker in (PLAIN, CHUNKERS["tokens, overlap"], CHUNKERS["text"]):
        assert chunk_batch(batch, chunker)["text"].to_pylist() == ["one two", "vier"]
    assert count_batch(batch, ENC)["token_count"].to_pylist() == [2, None, 1]


@pytest.mark.parametrize("chunker", [cutline.TokenChunker(ENC, 1), cutline.TextChunker(ENC, 1)])
def test_a_character_that_does_not_fit_is_named_with_its_row(chunker: Chunker) -> None:
    table = pa.concat_tables([pa.table({"text": ["a", "b"]}), pa.table({"text": ["c", "a𓀀"]})])
    with pytest.raises(cutline.BudgetError, match="'𓀀' at offset 1") as caught:
        chunk_batch(table, chunker)
    assert caught.value.__notes__ == ["in row 3 of column 'text'"]


@pytest.mark.filterwarnings("ignore::cutline.PatternFallbackWarning")
def test_a_pattern_that_tells_no_boundaries_is_refused_but_counts() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    enc = cutline.Encoding("odd", pat_str=r"(?<=a)b|.", mergeable_ranks=ranks, special_tokens={})
    table = pa.table({"text": ["ab b"]})
    with pytest.raises(cutline.UnsupportedPatternError):
        chunk_batch(table, cutline.TokenChunker(enc, 4))
    assert count_batch(table, enc)["token_count"].to_pylist() == [enc.count("ab b")]


def test_a_subclass_of_token_chunker_cuts_as_it_says() -> None:
    class Halves(cutline.TokenChunker):
        def chunk(self, text: str) -> list[cutline.Chunk]:
            middle = len(text) // 2
            return [
                cutline.Chunk(text[:middle], 0, middle, 1, 0),
                cutline.Chunk(text[middle:], middle, len(text), 1, 1),
            ]

    chunks = chunk_batch(pa.table({"text": ["abcd"]}), Halves(ENC, 8))
    assert chunks["text"].to_pylist() == ["ab", "cd"]
    assert chunks["boundary"].to_pylist() == [None, None]


def test_plain_chunks_without_overlap_share_one_copy_of_the_column() -> None:
    table = pa.table({"text": ["one two three " * 50] * 20})
    text = chunk_batch(table, PLAIN)["text"].chunk(0)
    assert text.buffers()[2].size == len("one two three ") * 1000
    assert len(text) > 100


@cache
def encodings() -> dict[str, cutline.Encoding]:
    """One for each way in which a kernel can come to a text's tokens."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cutline.PatternFallbackWarning)
        return {
            "packaged": ENC,
            "with gaps": cutline.Encoding(
                "gaps", pat_str="[a-zé]+", mergeable_ranks=ranks, special_tokens={}
            ),
            "without an automaton": cutline.Encoding(
                "odd", pat_str=r"(?<=a)b|.", mergeable_ranks=ranks, special_tokens={}
            ),
            "changing texts": lower_case_encoding(),
        }


@pytest.mark.parametrize("num_threads", [1, 4])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "name", ["packaged", "with gaps", "without an automaton", "changing texts"]
)
def test_counts_and_tokens_are_those_of_the_encoding(
    name: str, kind: str, num_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutline.threads.BLOCK_CHARACTERS", 300)
    encoding = encodings()[name]
    table = pa.table({"text": TYPES[kind](TEXTS)})
    pieces = pa.concat_tables([table.slice(0, 50), table.slice(50)])
    want = [None if text is None else encoding.encode_ordinary(text) for text in TEXTS]
    counts = [None if tokens is None else len(tokens) for tokens in want]
    for rows in (table, pieces, table.to_batches()[0]):
        got = count_batch(rows, encoding, name="tokens", num_threads=num_threads)
        assert type(got) is type(rows)
        assert got.column_names == ["text", "tokens"]
        assert got["tokens"].to_pylist() == counts
        encoded = encode_batch(rows, encoding, name="ids", num_threads=num_threads)
        encoded.validate(full=True)
        assert type(encoded) is type(rows)
        assert encoded.schema.field("ids").type == pa.list_(pa.uint32())
        assert encoded["ids"].to_pylist() == want
    for first, stop in ((3, 30), (len(TEXTS) - 40, len(TEXTS)), (5, 5)):
        batch = table.to_batches()[0].slice(first, stop - first)
        assert count_batch(batch, encoding)["token_count"].to_pylist() == counts[first:stop]
        assert encode_batch(batch, encoding)["tokens"].to_pylist() == want[first:stop]
    assert count_batch(table.slice(0, 0), encoding).num_rows == 0
    assert encode_batch(table.slice(0, 0), encoding)["tokens"].to_pylist() == []


def test_tokens_lie_in_one_array_and_decode_where_they_lie() -> None:
    batch = pa.record_batch({"text": ["hello world", None, "", "é 中文"]})
    column = encode_batch(batch, "o200k_base")["tokens"]
    want = [token for text in ("hello world", "é 中文") for token in ENC.encode(text)]
    assert column.values.to_pylist() == want
    assert ENC.decode(column.values) == "hello worldé 中文"
    assert ENC.decode(column[0].values) == "hello world"
    assert ENC.decode_bytes(pa.chunked_array([column.values, column.values[1:]])) == (
        "hello worldé 中文 worldé 中文".encode()
    )
    with pytest.raises(TypeError):
        ENC.decode(pa.array([5, None]))


@pytest.mark.parametrize("wrong", [["a"], pa.array(["a"]), {"text": ["a"]}])
def test_what_is_no_table_is_told_how_to_become_one(wrong: Any) -> None:
    for call, other in ((chunk_batch, PLAIN), (count_batch, ENC), (encode_batch, "gpt2")):
        with pytest.raises(TypeError, match=r"^batch must be a pyarrow\.Table.*pyarrow\.table\("):
            call(wrong, other)  # type: ignore[type-var, arg-type]


def test_what_neither_cuts_nor_counts_is_refused() -> None:
    table = pa.table({"text": ["a"]})
    for encoding in (ENC, "gpt2"):
        with pytest.raises(TypeError, match="chunker must be one of cutline's chunkers, got "):
            chunk_batch(table, encoding)  # type: ignore[arg-type]
    for call in (count_batch, encode_batch):
        with pytest.raises(TypeError, match="encoding must be an Encoding or its name, got Token"):
            call(table, PLAIN)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a", None], "got NoneType at place 1: fill or drop missing values first"),
        (["a", float("nan")], "got float at place 1: fill or drop missing values first"),
        (pa.array(["a"]), r"got StringScalar at place 0: pass to_pylist\(\) of an Arrow array"),
        ([["a"]], "got list at place 0$"),
    ],
)
def test_columns_that_are_no_texts_are_told_how_to_become_some(texts: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"texts must be str, {said}"):
        ENC.count_batch(texts)


def test_a_new_column_must_have_a_new_name() -> None:
    table = pa.table({"text": ["a"], "tokens": [1]})
    with pytest.raises(ValueError, match="there is a column 'tokens' already"):
        encode_batch(table, ENC)
    with pytest.raises(ValueError, match="there is a column 'tokens' already"):
        count_batch(table, ENC, name="tokens")


# Texts to train on


@pytest.mark.parametrize("special", [[], ["<|endoftext|>", "the"]])
@pytest.mark.parametrize("kind", TYPES)
def test_pieces_of_a_column_are_those_of_its_texts(kind: str, special: list[str]) -> None:
    long = "to be or not to be, é 四 " * 100_000
    texts: list[str | None] = [*TEXTS, long]
    table = pa.table({"text": TYPES[kind](texts)})
    want = cutline.count_pieces((t for t in texts if t is not None), special_tokens=special)
    parts = table.slice(3).to_batches(), [table.slice(0, 3).to_batches()[0]]
    for source in (table, table.to_batches()[0], table.to_reader(), [*parts[1], *parts[0]]):
        got = cutline.count_pieces(ArrowTexts(source), special_tokens=special)
        assert got == want


def test_documents_are_the_rows_that_are_not_null() -> None:
    table = pa.table({"body": ["to be", None, "", "é"]})
    parts = [table.slice(0, 2), *table.slice(2).to_batches()]
    found = [(document.text, b"".join(document.blocks())) for document in ArrowTexts(parts, "body")]
    assert found == [("to be", b"to be"), ("", b""), ("é", "é".encode())]


def test_training_on_a_column_is_training_on_its_texts() -> None:
    texts = ["low low low lower lowest", "to be or not to be"]
    table = pa.table({"body": texts})
    ours = cutline.train(ArrowTexts(table, "body"), 270)
    assert ours._mergeable_ranks == cutline.train(iter(texts), 270)._mergeable_ranks


def test_a_column_without_text_is_nothing_to_train_on() -> None:
    empty = pa.table({"text": pa.array([None, ""], pa.string())})
    for table in (empty, empty.slice(0, 0)):
        with pytest.raises(cutline.SourceError, match="no text to train on: nothing in column"):
            cutline.count_pieces(ArrowTexts(table))
        assert len(cutline.count_pieces(ArrowTexts(table, may_be_empty=True))) == 0
