"""Files and patterns that would take the memory, or no end of time, end in an error that says why.

docs/limits.md lists the limits. Each call runs in a process that has a gigabyte of memory.
"""

import re
import subprocess
import sys
import sysconfig
import zlib
from pathlib import Path
from struct import pack
from typing import Final

import pytest

import cutline
from cutline.errors import CorruptDataError, SourceError
from cutline.formats.bounded import MAX_FILE_BYTES
from cutline.training import counters, file_reader
from cutline.vocabulary import packed
from cutline.vocabulary.vocabulary import MAX_TOKEN_COUNT
from tests.conftest import needs_code

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits of processes")

SECONDS: Final = 60  # of CPU: only what never ends takes so long
# Without the GIL, Python takes a gigabyte of addresses at its start, which is no memory yet.
MOST_BYTES: Final = (2 if sysconfig.get_config_var("Py_GIL_DISABLED") else 1) << 30
CHILD: Final = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({most_bytes}, {most_bytes}))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
import warnings
import cutline
from cutline.errors import CutlineError
warnings.simplefilter("ignore")
try:
    {code}
except CutlineError as error:
    print("refused:", error)
else:
    print("done")
"""
SINGLE_BYTES: Final = {bytes([byte]): byte for byte in range(256)}


def outcome(code: str, *arguments: str, given: str = "") -> str:
    """What a call ends in, to which stdin is given: an error of Cutline, or a result."""
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            CHILD.format(code=code, seconds=SECONDS, most_bytes=MOST_BYTES),
            *arguments,
        ],
        capture_output=True,
        check=False,
        input=given,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


# Files


LOAD: Final = "cutline.load(sys.argv[1], **eval(sys.argv[2]))"


def gguf_of(fields: int, *parts: bytes) -> bytes:
    key = b"tokenizer.ggml.tokens"
    head = b"GGUF" + pack("<IQQ", 3, 0, fields)
    return head + (pack("<Q", len(key)) + key + b"".join(parts) if parts else b"")


def tekken_of(n_vocab: int, n_special: int) -> bytes:
    return (
        b'{"config": {"pattern": ".", "default_vocab_size": %d, "default_num_special_tokens": %d},'
        b'"vocab": []}' % (n_vocab, n_special)
    )


STEPS: Final = b'{"type": "Sequence", "normalizers": ['
FILES: Final[dict[str, tuple[str, bytes]]] = {
    "JSON nested deep": ("tokenizer.json", b"[" * 100_000 + b"]" * 100_000),
    "JSON nested deep, objects": ("tokenizer.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "steps nested deep": (
        "tokenizer.json",
        b'{"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": '
        + STEPS * 100_000
        + b"]}" * 100_000
        + b"}",
    ),
    "JSON of many empty values": ("tokenizer.json", b'{"a": [' + b"[]," * 30_000_000 + b"[]]}"),
    "a number of many digits": ("tokenizer.json", b'{"version": ' + b"1" * 1_000_000 + b"}"),
    "special tokens without number": ("tekken.json", tekken_of(2**60, 2**59)),
    "many special tokens": ("tekken.json", tekken_of(2**31, 10**8)),
    "many empty lines": ("many.tiktoken", b"\n" * 100_000_000),
    "many lines of a list": ("vocab.txt", b"\n" * 100_000_000),
    "fields that are not there": ("a.gguf", gguf_of(2**60)),
    "an array that is not there": ("a.gguf", gguf_of(1, pack("<IIQ", 9, 4, 2**60))),
    "an array of many bytes": (
        "a.gguf",
        gguf_of(1, pack("<IIQ", 9, 0, 100 << 20), bytes(100 << 20)),
    ),
    "many strings of no bytes": ("a.gguf", gguf_of(1, pack("<IIQ", 9, 8, 2**60), bytes(100 << 20))),
    "arrays nested deep": (
        "a.gguf",
        gguf_of(1, pack("<IIQ", 9, 9, 1), pack("<IQ", 9, 1) * 100_000),
    ),
    "a string that is not there": ("a.gguf", b"GGUF" + pack("<IQQQ", 3, 0, 1, 2**63)),
    "many pieces": ("many.model", b"\x0a\x00" * (MAX_TOKEN_COUNT + 1)),
}


@pytest.mark.parametrize(("name", "content"), FILES.values(), ids=FILES)
def test_a_hostile_file_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert outcome(LOAD, str(path), given_for(name)).startswith(f"refused: {path}")


@pytest.mark.parametrize(
    "name",
    [
        "a.tiktoken",
        "tokenizer.json",
        "tekken.json",
        "vocab.json",
        "vocab.txt",
        "a.cutline",
        "a.model",
    ],
)
def test_a_file_beyond_the_limit_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(b"\xff" if name.endswith("model") else b"{")
        file.truncate(MAX_FILE_BYTES + 1)
    said = outcome(LOAD, str(path), given_for(name))
    assert re.fullmatch(rf"refused: {re.escape(str(path))} has more than the \d+ bytes.*\n", said)


def given_for(name: str) -> str:
    """The arguments that a file of this name needs."""
    return "{'pat_str': None}" if name in ("vocab.json",) or name.endswith("tiktoken") else "{}"


def test_a_packed_vocabulary_unpacks_to_no_more_than_it_says() -> None:
    deflater = zlib.compressobj(9)
    bomb = b"".join([*(deflater.compress(bytes(1 << 20)) for _ in range(300)), deflater.flush()])
    for counts in ((256, 256), (256, 300 << 20), (300 << 20, 256)):
        body = packed._COUNTS.pack(*counts, len(bomb), 1, 0, 1) + bomb + bomb
        with pytest.raises(CorruptDataError, match=r"claims|another size"):
            packed.unpack(packed._MAGIC + packed.sha256(body) + body)


# Texts to train on


def test_a_line_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "MAX_LINE_BYTES", 3_000_000)
    path = tmp_path / "long.jsonl"
    path.write_text('{"text": "%s"}\n' % ("a " * 1_400_000) * 2)
    assert cutline.count_pieces(path, column="text").total == 2 * 1_400_000 + 2
    path.write_text('{"text": "%s"}' % ("a " * 1_600_000))
    with pytest.raises(SourceError, match=r"long.jsonl: a line has more than 3000000 bytes"):
        cutline.count_pieces(path, column="text")


@pytest.mark.parametrize("pat_str", [r"\w+|\s+", r"(?<=^|a)\w+|\s+"], ids=["automaton", "regex"])
@pytest.mark.filterwarnings("ignore::cutline.PatternFallbackWarning")
def test_a_piece_beyond_the_limit_is_refused(
    pat_str: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "MAX_PIECE_BYTES", 3_000_000)
    path = tmp_path / "long.txt"
    path.write_text("a" * 2_900_000)
    assert cutline.count_pieces(path, pat_str=pat_str).total == 1
    path.write_text("a" * 12_000_000)
    with pytest.raises(SourceError, match="a piece of the text is longer than 3000000 bytes"):
        cutline.count_pieces(path, pat_str=pat_str)


# Split patterns

PATTERNS: Final = {
    "counts of counts": "(a{1000}){1000}",
    "counts of counts of counts": "((a{100}){100}){100}",
    "a count": "a{999999999}",
    "many states": "[ab]*a[ab]{20}c|.|\n",
    "many optional parts": "(?:[ab]?){9000}c|(?s:.)",
    "many classes": "|".join(map(chr, range(0x4E00, 0x4E00 + 4000))),
    "many threads": r"(?:\w{0,40}\d{0,40}\s{0,40}){1,40}x|.",
    "many groups": "(" * 100_000 + "a" + ")" * 100_000,
    "many alternatives": "a|" * 100_000 + "b",
    "many characters of a class": "[^" + "a" * 1_000_000 + "]",
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_hostile_pattern_is_refused_or_has_a_result(pattern: str) -> None:
    code = (
        "cutline.Encoding('a', pat_str=sys.stdin.read(), special_tokens={}, "
        "mergeable_ranks={bytes([byte]): byte for byte in range(256)}).count('xyz 12')"
    )
    assert outcome(code, given=pattern).startswith(("done", "refused"))


@pytest.mark.parametrize("pattern", ["a{100001}", "(?:ab){50001}", "(?:a{2}){50001}", "a" * 65_537])
@pytest.mark.filterwarnings("ignore::cutline.PatternFallbackWarning")
def test_limits_of_patterns_are_those_documented(pattern: str) -> None:
    with pytest.raises(cutline.UnsupportedPatternError, match=r"100000|65536"):
        cutline.Encoding("a", pat_str=pattern, mergeable_ranks=SINGLE_BYTES, special_tokens={})
    fewer = pattern.replace("00001", "00000").replace("50001", "33000")[:65_536]
    cutline.Encoding("a", pat_str=fewer, mergeable_ranks=SINGLE_BYTES, special_tokens={})


# Documents

DEEP: Final = {
    "Markdown quotes": ("cutline.MarkdownChunker('o200k_base', 64)", ">" * 100_000 + " x"),
    "Markdown lists": ("cutline.MarkdownChunker('o200k_base', 64)", "- " * 100_000 + "x"),
    "HTML": ("cutline.DataChunker('html', 'o200k_base', 64)", "<div>" * 100_000),
    "JSON": ("cutline.DataChunker('json', 'o200k_base', 64)", "[" * 100_000 + "]" * 100_000),
    "JSON objects": ("cutline.DataChunker('json', 'o200k_base', 64)", '{"a":' * 100_000),
    "Python": pytest.param(
        "cutline.CodeChunker('python', 'o200k_base', 64)", "(" * 100_000, marks=needs_code
    ),
}


@pytest.mark.parametrize(("chunker", "text"), DEEP.values(), ids=DEEP)
@pytest.mark.filterwarnings("ignore::cutline.errors.UnparsedWarning")
def test_documents_nested_deep_are_cut(chunker: str, text: str) -> None:
    joined = f"''.join(chunk.text for chunk in {chunker}.chunk(text)) == text"
    assert outcome(f"text = sys.stdin.read(); assert {joined}", given=text) == "done\n"


def test_a_notebook_nested_deep_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        cutline.notebook_text("[" * 100_000)
