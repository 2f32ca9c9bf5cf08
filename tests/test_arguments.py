"""What is taken for a batch, a special token, a number, and what is refused.

Texts, offsets and budgets: tests/counting/test_contract.py.
"""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutline
from tests.alarms import StopError, alarm
from tests.oracles import real_tiktoken

enc = cutline.get_encoding("o200k_base")
SINGLE_BYTES = {bytes([byte]): byte for byte in range(256)}


@pytest.mark.parametrize("call", [enc.encode_batch, enc.encode_ordinary_batch, enc.count_batch])
def test_one_text_is_no_batch(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="got one str: put it into a list"):
        call("abc")
    assert enc.encode_ordinary_batch(np.array(["a b"])) == [enc.encode_ordinary("a b")]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda: cutline.pack("abc", 5),
        lambda: cutline.Group("abc"),
        lambda: cutline.verify("abc", "abc", chunk_size=5),
        lambda: cutline.batches("abc"),
        lambda: cutline.TextChunker(enc, 5, levels="word"),
        lambda: cutline.HierarchicalChunker(enc, 5),  # type: ignore[arg-type]
    ],
)
def test_one_is_not_several(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"got (one str|5).*put it into a list"):
        call()


class Frame:
    """Iterates over the names of its columns, as pandas' DataFrame does."""

    columns = ("text", "id")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.mark.parametrize("table", [Frame(), {"text": ["a"], "id": [1]}])
@pytest.mark.parametrize(
    "call",
    [
        enc.count_batch,
        enc.encode_batch,
        lambda table: CHUNKER.chunk_batch(table),
        lambda table: CHUNKER.iter_chunks(table),
        lambda table: cutline.pack(table, 5),
        cutline.Group,
        lambda table: cutline.verify("a", table, chunk_size=5),
        lambda table: cutline.batches(table, count=enc.count),
    ],
)
def test_names_of_columns_are_not_taken_for_texts(
    call: Callable[[Any], object], table: Any
) -> None:
    kind = type(table).__name__
    said = rf"one column of the {kind}, which has \['text', 'id'\]($|; or its rows, by to_dict)"
    with pytest.raises(TypeError, match=said) as caught:
        call(table)
    assert ("its rows" in str(caught.value)) == str(caught.value).startswith("chunks ")
    assert enc.count_batch(dict.fromkeys(["a", "b c", "a"])).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cutline.pack([{"text": "a"}], 5), r"texts or Items, got dict$"),
        (lambda: cutline.pack(enc.split("a", 5), 5), r"texts or Items, got Chunk: pass its text$"),
        (lambda: cutline.Group([5]), r"texts or Items, got int$"),
        (lambda: cutline.wrap(enc), r"^<Encoding 'o200k_base'> counts and cuts as it is: pass it "),
        (lambda: cutline.wrap(real_tiktoken("gpt2")), r"^cutline.Encoding.from_tiktoken takes "),
        (lambda: cutline.Encoding.from_tiktoken("gpt2"), r"one of tiktoken's, .*, got str$"),
    ],
)
def test_what_is_something_else_is_told_where_it_belongs(
    call: Callable[[], object], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        call()


def test_the_hub_is_not_asked_to_wrap_a_packaged_encoding() -> None:
    with pytest.raises(cutline.UnknownEncodingError, match=r"no model .o200k_base.; that is a "):
        cutline.wrap("o200k_base")


@pytest.mark.parametrize("wrong", [enc, "o200k_base", 512])
@pytest.mark.parametrize("kind", [cutline.CodeChunker, cutline.DataChunker])
def test_an_encoding_in_the_first_place_is_told_what_comes_there(kind: Any, wrong: Any) -> None:
    said = r"(language|data_format) comes first, such as '(python|csv)', then the encoding: got "
    with pytest.raises(TypeError, match=said):
        kind(wrong, 512)


def test_an_unknown_unit_of_a_limit_is_told_the_known_ones() -> None:
    with pytest.raises(cutline.UnknownEncodingError) as caught:
        cutline.TextChunker(enc, 12, also_fits={"chars": 5})
    assert str(caught.value).startswith("also_fits: no encoding is named 'chars'; ")
    assert str(caught.value).endswith(" (units are 'characters' and 'bytes')")


def test_a_refused_text_of_a_batch_is_named_by_its_place() -> None:
    with pytest.raises(ValueError, match="disallowed special token") as caught:
        enc.encode_batch(["a", "b", "<|endoftext|>"])
    assert caught.value.__notes__ == ["in the text at place 2 of the batch"]


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (enc.decode_batch, [[64], [65, 10**9]]),
        (enc.decode_bytes_batch, [[64], None]),
        (lambda batch: enc.decode_batch(batch, errors="strict"), [[64], [255, 255]]),
    ],
)
def test_a_refused_list_of_ids_of_a_batch_is_named_by_its_place(
    call: Callable[[Any], object], wrong: Any
) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)) as caught:
        call(wrong)
    assert caught.value.__notes__ == ["at place 1 of the batch"]


def test_a_missing_text_is_named_by_its_place_among_special_tokens_too() -> None:
    with pytest.raises(TypeError, match="got NoneType at place 1: fill or drop missing values"):
        enc.count_batch(["a", None], allowed_special="all")  # type: ignore[list-item]


class Labelled(list[Any]):
    """Finds its items by labels, not by their places, as a Series of pandas does."""

    def __getitem__(self, label: Any) -> Any:
        return super().__getitem__(len(self) - 1 - label)


def test_items_of_batches_are_taken_in_their_order_not_by_their_labels() -> None:
    texts, ids = ["a<|endoftext|>", "b<|endoftext|>", "c"], [[64], [65], [66]]
    encoded = [enc.encode(text, allowed_special="all") for text in texts]
    for batch in (Labelled(texts), iter(texts), dict.fromkeys(texts)):
        assert enc.encode_batch(batch, allowed_special="all") == encoded  # type: ignore[arg-type]
    assert enc.count_batch(Labelled(texts), allowed_special="all").tolist() == [2, 2, 1]
    for batch in (Labelled(ids), iter(ids)):
        assert enc.decode_batch(batch) == ["a", "b", "c"]  # type: ignore[arg-type]
    assert enc.decode_bytes_batch(Labelled(ids)) == [b"a", b"b", b"c"]


def test_a_str_of_allowed_special_tokens_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a set of str or 'all'"):
        enc.encode("a", allowed_special="<|endoftext|>")  # type: ignore[arg-type]


def test_special_token_ids_become_plain_integers() -> None:
    special = {"<s>": np.int64(300)}
    tiny = cutline.Encoding("t", pat_str=None, mergeable_ranks=SINGLE_BYTES, special_tokens=special)
    assert tiny.encode("a<s>", allowed_special="all") == [97, 300]
    assert type(tiny.encode_single_token("<s>")) is int


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ({"<s>": 300.0}, "ids must be integers"),
        ({"<s>": "300"}, "ids must be integers"),
        ({b"<s>": 300}, "is no text"),
        ({1: 300}, "is no text"),
        ({"": 300}, "is no text"),
        ({"\ud800": 300}, "without surrogates"),
        ({"<s>": 97}, "is that of the ordinary token b'a'"),
        ({"<s>": -1}, "ids must be from 0"),
        ({"<s>": 2**32}, "ids must be from 0"),
    ],
)
def test_what_is_no_special_token_is_refused(special: Any, message: str) -> None:
    with pytest.raises(cutline.VocabularyError, match=message):
        cutline.Encoding("t", pat_str=None, mergeable_ranks=SINGLE_BYTES, special_tokens=special)


@pytest.mark.parametrize("spec", [None, "o200k_base", {}])
def test_what_is_no_spec_is_refused(spec: Any) -> None:
    with pytest.raises(TypeError, match=f"spec must be a TokenizerSpec, got {type(spec).__name__}"):
        cutline.Encoding.from_spec(spec)


@pytest.mark.parametrize("tokens", [["a"], [1.0], [None], "ab", np.array([1.0])])
def test_what_is_no_token_id_is_refused(tokens: Any) -> None:
    with pytest.raises(TypeError):
        enc.decode(tokens)


INTEGERS: dict[str, Callable[[Any], object]] = {
    "limit of truncate: max_tokens": lambda n: cutline.truncate("a b", n),
    "limit of pack: max_tokens": lambda n: cutline.pack(["a b"], n).text,
    "limit of shorten: max_tokens": lambda n: cutline.shorten("a b", n).text,
    "limit of fits: max_tokens": lambda n: enc.fits("a b", n),
    "limit of split_at: n": lambda n: enc.split_at("a b", n),
    "limit of a count: limit": lambda n: enc.count_till_limit("a b", n),
    "one id: a token id": enc.decode_single_token_bytes,
    "budget of an item: min_tokens": lambda n: cutline.Item("a b", min_tokens=n).text,
    "cost of an item: overhead_tokens": lambda n: cutline.Item("a b", overhead_tokens=n).text,
    "chunks: chunk_size": lambda n: enc.split("a b", n),
    "a check: chunk_size": lambda n: cutline.verify("a b", ["a b"], chunk_size=n),
    "windows: around": lambda n: list(cutline.sentence_windows("a. B. C.", enc, n)),
    "batches: max_items": lambda n: list(cutline.batches(["a"], max_items=n, count=len)),
    "counting: num_threads": lambda n: enc.count("a b", num_threads=n),
    "encoding: num_threads": lambda n: enc.encode("a b", num_threads=n),
    "counting a batch: num_threads": lambda n: list(enc.count_batch(["a"], num_threads=n)),
    "chunking a batch: num_threads": lambda n: cutline.TokenChunker(enc, 2).chunk_batch(
        ["a"], num_threads=n
    ),
    "pieces: num_threads": lambda n: cutline.count_pieces(iter(["a"]), num_threads=n),
}


@pytest.mark.parametrize("call", INTEGERS)
@pytest.mark.parametrize("wrong", [5.0, float("nan"), "5", [5]])
def test_what_is_no_integer_is_named(call: str, wrong: Any) -> None:
    _, argument = call.split(": ")
    with pytest.raises(TypeError) as caught:
        INTEGERS[call](wrong)
    assert str(caught.value) == f"{argument} must be an integer, got {wrong!r}"


@pytest.mark.parametrize("call", INTEGERS)
@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.array])
def test_integers_of_numpy_are_integers(call: str, kind: Callable[[int], Any]) -> None:
    # Unsigned ones turn into large ones below 0, and to floats beside signed ones.
    assert INTEGERS[call](kind(2)) == INTEGERS[call](2)


@pytest.mark.parametrize("wrong", [None, "5", float("nan")])
def test_a_priority_that_has_no_order_is_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"priority must be a number.*, got "):
        cutline.Item("a", priority=wrong)
    assert cutline.Item("a", priority=np.float32(0.5)).priority == 0.5


@pytest.mark.parametrize("wrong", [1, [104], None, Path("hello")])
def test_what_is_no_text_is_no_token(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a token's text must be a str or bytes, got "):
        enc.encode_single_token(wrong)
    for text in ("hello", b"hello", bytearray(b"hello"), memoryview(b"hello")):
        assert enc.encode_single_token(text) == 24912  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [b"a.md", None, 3, ["a.md"]])
def test_what_names_no_document_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"document comes first, .* got"):
        cutline.chunker_for(wrong, enc, 9)


@pytest.mark.parametrize("wrong", [b"{}", Path("a.ipynb"), None, {"nbformat": 4}])
def test_what_is_no_text_is_no_notebook(wrong: Any) -> None:
    with pytest.raises(TypeError, match="text must be a str, got "):
        cutline.notebook_text(wrong)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_a_long_split_can_be_interrupted() -> None:
    with alarm(), pytest.raises(StopError):  # noqa: PT012
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        enc.split("-" * 1_000_000, 256, 255)


HUGE_NAMES: dict[str, Callable[[Any], Any]] = {
    "get_encoding": cutline.get_encoding,
    "encoding_for_model": cutline.encoding_for_model,
    "from_pretrained": cutline.from_pretrained,
    "chunker": lambda name: cutline.TextChunker(name, 9),
    "also_fits": lambda name: cutline.TextChunker(enc, 9, also_fits={name: 9}),
    "boundary": lambda name: cutline.TextChunker(enc, 9, boundary=name),
    "lines": lambda name: cutline.TextChunker(enc, 9, lines=name),
    "never_across": lambda name: cutline.TextChunker(enc, 9, never_across=name),
    "levels": lambda name: cutline.TextChunker(enc, 9, levels=[name]),
    "language": lambda name: cutline.CodeChunker(name, enc, 9),
    "data_format": lambda name: cutline.DataChunker(name, enc, 9),
    "template": cutline.Template,
    "keep": lambda name: cutline.truncate("a", 9, name, encoding=enc),
    "boundaries": lambda name: cutline.boundaries("a", name),
    "token": enc.encode_single_token,
    "chunk_size": lambda size: cutline.TextChunker(enc, size),
}


@pytest.mark.parametrize("call", HUGE_NAMES.values(), ids=HUGE_NAMES)
def test_a_huge_name_is_not_written_whole(call: Callable[[Any], Any]) -> None:
    kinds = (ValueError, TypeError, KeyError)
    with pytest.raises(kinds, match=r"'x{59}\.\.\.x{59}' \(100,002 characters\)") as caught:
        call("x" * 100_000)
    assert len(str(caught.value)) < 1_000


HUGE_BUDGETS: dict[str, Callable[[int], Any]] = {
    "chunk_size": lambda n: cutline.TextChunker(enc, n),
    "chunk_overlap": lambda n: cutline.TextChunker(enc, 9, n),
    "min_fill": lambda n: cutline.TextChunker(enc, 9, min_fill=n),
    "also_fits": lambda n: cutline.TextChunker(enc, 9, also_fits={"bytes": n}),
    "split_at": lambda n: enc.split_at("a", n),
    "fits": lambda n: enc.fits("a", n),
    "shorten": lambda n: cutline.shorten("a", n, encoding=enc),
    "num_threads": lambda n: enc.encode_batch(["a"], num_threads=n),
    "decode": lambda n: enc.decode([n]),
}


@pytest.mark.parametrize("call", HUGE_BUDGETS.values(), ids=HUGE_BUDGETS)
def test_a_number_that_python_does_not_write_is_described(call: Callable[[int], Any]) -> None:
    with pytest.raises((ValueError, KeyError), match="integer of 16610 bits"):
        call(-(10**5_000))


def test_a_name_of_a_chat_template_is_no_number() -> None:
    with pytest.raises(TypeError, match="name must be a str or a path, got int"):
        cutline.ChatTemplate.from_pretrained(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: enc.decode("a"), r"integers, got one str: it is text already"),
        (lambda: enc.decode_bytes("a"), r"integers, got one str: it is text already"),
        (lambda: enc.decode(["a"]), r"integers, got 'a' at place 0$"),
        (lambda: enc.decode_bytes((5, 6.5)), r"integers, got 6\.5 at place 1$"),
        (lambda: enc.decode_stream().feed(None), r"integers, got None at place 0$"),
        (lambda: enc.decode(5), r"integers, got one integer: put it into a list"),
        (lambda: enc.decode_tokens_bytes(None), r"integers, got NoneType$"),
        (lambda: enc.decode_with_offsets(None), r"integers, got NoneType$"),
        (lambda: enc.encode("a", allowed_special=5), r"allowed_special must .*, got 5$"),
        (lambda: enc.encode("a", allowed_special={5}), r"allowed_special must .*, got \{5\}$"),
        (
            lambda: enc.encode("a", disallowed_special=None),
            r"disallowed_special must .*, got None$",
        ),
        (lambda: enc.encode("a", disallowed_special="<|x|>"), r"must .*, got the str '<\|x\|>'$"),
        (lambda: make(mergeable_ranks=[]), r"mergeable_ranks must be a mapping .*, got list$"),
        (lambda: make(special_tokens=None), r"special_tokens must be a mapping .*, got NoneType$"),
        (lambda: cutline.plan(5, []), r"old must be chunks or mappings, got int$"),
        (lambda: cutline.plan([], None), r"new must be chunks or mappings, got NoneType$"),
        (
            lambda: [*cutline.MarkdownChunker(enc, 5).iter_chunks(["a", 5])],
            r"source must be parts of a text, which are str: .* int found$",
        ),
        (lambda: enc.encode_batch(None), r"text must be a sequence of str, got NoneType$"),
        (lambda: enc.count_batch(None), r"texts must be a sequence of str, got NoneType$"),
        (lambda: CHUNKER.chunk_batch(None), r"texts must be a sequence of str, got NoneType$"),
        (lambda: CHUNKER.iter_chunks(None), r"a Path, got NoneType: use chunk for a text"),
        (lambda: CHUNKER.iter_chunks(b"a"), r"a Path, got bytes: use chunk for a text"),
        (lambda: cutline.TextChunker(enc, 5, min_fill="0.5"), r"min_fill must .*, got '0\.5'$"),
        (
            lambda: cutline.TextChunker(real_tiktoken("gpt2"), 5),
            r"got tiktoken\.core\.Encoding: use cutline\.Encoding\.from_tiktoken\(\.\.\.\)$",
        ),
    ],
)
def test_what_is_nothing_of_the_kind_is_told_what_is(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()


CHUNKER: Any = cutline.TextChunker(enc, 5)


def make(**changed: Any) -> cutline.Encoding:
    ranks = {bytes([byte]): byte for byte in range(256)}
    options = {"mergeable_ranks": ranks, "special_tokens": {}, **changed}
    return cutline.Encoding("made", pat_str=None, **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda: cutline.TextChunker(enc, True),
        lambda: cutline.TextChunker(enc, 5, True),
        lambda: cutline.TextChunker(enc, 5, also_fits={"bytes": True}),
        lambda: cutline.truncate("a", True, encoding=enc),
        lambda: cutline.pack(["a"], True, encoding=enc),
        lambda: cutline.HierarchicalChunker(CHUNKER, [5, True]),
        lambda: enc.fits("a", True),
    ],
)
def test_a_bool_is_no_limit(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"integers?( or 'model')?( as values)?, got True"):
        call()


@pytest.mark.parametrize("n_before", [0, 1, 2_400_000])
@pytest.mark.parametrize("wrong", [b"\xff", b"\xe5\x90"])
def test_a_byte_that_is_not_utf8_is_told_by_its_offset_in_the_file(
    tmp_path: Path, n_before: int, wrong: bytes
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(("é" * (n_before // 2)).encode() + b"x" * (n_before % 2) + wrong)
    said = rf"^{path}: invalid utf-8 at byte offset {n_before} \(byte 0x{wrong[0]:x}: "
    with pytest.raises(UnicodeDecodeError, match=said):
        list(CHUNKER.iter_chunks(path))
