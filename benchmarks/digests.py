"""Results as digests, to compare machines: byte orders, C libraries, versions of Python.

    python -m benchmarks.digests --corpora DIR > here
    python -m benchmarks.digests --corpora DIR --compare here

The second, run on another machine, names what differs; what needs an extra that one of them lacks
is counted. Many results in one digest keep the file small: a name tells what to look at.
`--tokenizers FOLDER` adds tokenizers that `python -m benchmarks.equality --write FOLDER` wrote.
"""

import argparse
import hashlib
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import cutline
from benchmarks import corpora
from benchmarks.harness import add_options
from cutline.chunking.table_structure import DELIMITERS
from cutline.shortening import KINDS

_TEXT = 3_000  # characters of a corpus in one case
_LARGE = 100_000  # the same, where ids and counts are all that is asked for

Case = tuple[str, Callable[[], Any]]
"""A name, and what computes the result."""


def digest(result: Any) -> str:
    """Write what is equal on all machines in one way, and hash that."""
    content = json.dumps(result, default=_plain, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Arrays as lists, bytes as their digits, what `shorten` returns as its fields."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.hex() if isinstance(value, bytes) else asdict(value)


def parts(text: str, seed: str, size: int, n: int) -> list[str]:
    """Cut some parts of a size from random places."""
    rng = random.Random(seed)
    starts = [rng.randrange(max(1, len(text) - size)) for _ in range(n)]
    return [text[start : start + size] for start in starts]


def whole_texts(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield long parts of the corpora, of characters of one, two and four bytes."""
    for name, text in texts.items():
        for number, part in enumerate(parts(text, name, _LARGE, 7)):
            yield f"{name} {number}", part


def short_texts(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what the tests hold to be nasty, random mixtures, and parts of the corpora."""
    made = import_module("tests.texts")
    yield from made.NAMED_TEXTS.items()
    yield "long pieces", made.long_pieces(1_000)
    yield from ((f"random {n}", text) for n, text in enumerate(made.random_texts(7, 30)))
    rng = random.Random(3)
    yield from ((f"runs {n}", made.run_length_text(rng, 2_000)) for n in range(4))
    for name, text in texts.items():
        for number, part in enumerate(parts(text, name + "short", _TEXT, 3)):
            yield f"{name} {number}", part
            yield f"{name} {number}, one byte", part.encode("latin-1", "ignore").decode("latin-1")
            yield f"{name} {number}, two bytes", "".join(c for c in part if c < "\U00010000")


def whole(encoding: cutline.Encoding, text: str) -> Any:
    """Ids by each way that encodes or counts, which must agree."""
    ids = encoding.encode_ordinary(text)
    assert encoding.encode_to_numpy(text, disallowed_special=(), num_threads=3).tolist() == ids
    assert encoding.count(text) == encoding.count(text, num_threads=3) == len(ids)
    return ids


def ids_and_counts(encoding: cutline.Encoding, text: str) -> Any:
    """Ids, offsets, special tokens and decoding of one text and of its lines."""
    special = encoding.encode(text, allowed_special="all")
    ids, offsets = encoding.encode_with_offsets(text, disallowed_special=())
    lines = text.splitlines()
    return [
        *(special, ids, offsets, encoding.count(text), encoding.count_till_limit(text, 9)),
        *(encoding.decode_bytes(ids), encoding.decode_with_offsets(ids)),
        *(encoding.decode(ids[1::2]), encoding.decode_batch([ids, ids[::-1]], num_threads=2)),
        encoding.count_batch(lines, num_threads=2),
        encoding.encode_batch(lines, disallowed_special=(), num_threads=2),
    ]


def cuts(encoding: cutline.Encoding, text: str) -> Any:
    """Prefixes, truncated texts, splits, and counts and cuts of slices."""
    rng, counter = random.Random(len(text)), encoding.intervals(text)
    spans = [sorted(rng.choices(range(len(text) + 1), k=2)) for _ in range(40)]
    return [
        [encoding.split_at(text, n) for n in (0, 1, 7, 60)],
        [counter.count_many(spans), [counter.split_at(start, 11) for start, _ in spans]],
        [
            encoding.truncate(text, n, keep, boundary=boundary)
            for n in (3, 25)
            for keep in ("start", "end", "both")
            for boundary in ("character", "grapheme", "word")
        ],
        [rows(encoding.split(text, *sizes)) for sizes in ((9, 0), (60, 0), (60, 13))],
    ]


def cuts_in_bytes(encoding: cutline.Encoding, text: str) -> Any:
    """Count and cut slices whose offsets are those of UTF-8."""
    counter = encoding.intervals(text, byte_offsets=True)
    return [counter.count(0, 0), counter.total, counter.split_at(0, 12)]


def growing(encoding: cutline.Encoding, text: str) -> Any:
    """Count and encode while a text grows at its end, and at its beginning."""
    appender, prepender = encoding.appender(), encoding.prepender()
    found: list[Any] = []
    for start in range(0, len(text), 37):
        part = text[start : start + 37]
        appender.append(part)
        prepender.prepend(part)
        found += [appender.count, prepender.count, appender.fits(part[::-1], 20)]
        found.append(prepender.fits(part[::-1], 20))
    found += [appender.tokens(), prepender.tokens()]
    for growing_text in (appender, prepender):
        growing_text.truncate(growing_text.text_length // 3)
        found.append(growing_text.count)
    return found


_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "overlap": {"chunk_overlap": 9},
    "strip": {"strip": True, "chunk_overlap": 5},
    "balance": {"balance": True},
    "stable": {"stable": True},
    "fill": {"min_fill": 0.5, "line_numbers": True},
    "template": {"template": cutline.Template("{headings}: {text}")},
}


def chunked(make: Callable[..., cutline.Chunker], texts: Sequence[str]) -> Any:
    """Chunks of texts by every option, at once, from a stream of parts, and of three sizes."""
    found: list[Any] = []
    for options in _OPTIONS.values():
        chunker = make(chunk_size=40, **options)
        found += [rows(chunks) for chunks in chunker.chunk_batch(texts, num_threads=2)]
        stream = (text[start : start + 7] for text in texts for start in range(0, len(text), 7))
        found.append(rows(chunker.iter_chunks(stream)))
    levels = [cutline.HierarchicalChunker(make(chunk_size=90), (90, 30, 8)).chunk(t) for t in texts]
    return [found, [[rows(n.chunk for n in nodes) for nodes in of] for of in levels]]


def rows(chunks: Any) -> Any:
    """List what chunks say."""
    return [
        [c.start_index, c.end_index, c.token_count, [*c.headings], dict(c.metadata or {}), c.text]
        for c in chunks
    ]


def documents(texts: dict[str, str]) -> dict[str, list[str]]:
    """Make documents of each format of the lines of the corpora, some of them broken."""
    rng = random.Random(11)
    lines = [line[:200] for text in texts.values() for line in text.splitlines() if line.strip()]
    found: dict[str, list[str]] = {}
    for number in range(6):
        some = rng.sample(lines, 60)
        cells = [[rng.choice(some)[: rng.randrange(30)] for _ in range(4)] for _ in range(20)]
        pairs = zip(some[:20], cells, strict=True)
        values = {line[:9]: [line, {"a": number, "b": cell}] for line, cell in pairs}
        html = [f"<h{1 + n % 4}>{some[n]}</h{1 + n % 4}><p>{some[n + 1]}<br>" for n in range(40)]
        table = "<table>" + "".join(f"<tr><td>{'<td>'.join(row)}" for row in cells) + "</table>"
        turns = [f"{'ABC'[n % 3]}: {line}\n" for n, line in enumerate(some)]
        for name, delimiter in DELIMITERS.items():
            quoted = (['"' + cell.replace('"', '""') + '"' for cell in row] for row in cells)
            found.setdefault(name, []).append("\n".join(delimiter.join(row) for row in quoted))
        found.setdefault("json", []).append(json.dumps(values, indent=number or None))
        found.setdefault("jsonl", []).append("\n".join(map(json.dumps, [*values.items()])))
        found.setdefault("html", []).append(f"<body>{''.join(html)}{table}<ul><li>x<li>y</ul>")
        found.setdefault("transcript", []).append("".join(turns))
    return {name: [*made, made[0][:-9], made[1][5:900]] for name, made in found.items()}


def chunkers(encoding: cutline.Encoding, texts: dict[str, str]) -> Iterator[Case]:
    """Chunks by every chunker of one encoding."""
    plain = [text for name, text in short_texts(texts) if "runs" not in name]
    for at in range(0, len(plain), 10):
        for kind in (cutline.TextChunker, cutline.TokenChunker):
            make: Any = partial(kind, encoding)
            yield f"{kind.__name__} {at}", partial(chunked, make, plain[at:][:10])
    for name, made in documents(texts).items():
        for at, text in enumerate(made):
            make = partial(cutline.DataChunker, name, encoding)
            yield f"chunks of {name} {at}", partial(chunked, make, [text])
    for at in range(0, len(plain), 20):
        make = partial(cutline.MarkdownChunker, encoding)
        yield f"chunks of Markdown {at}", partial(chunked, make, plain[at:][:20])
    for name, source in import_module("tests.chunking.sources").SOURCES.items():
        make = partial(cutline.CodeChunker, name, encoding)
        yield f"chunks of {name}", partial(chunked, make, [source])


def shortened(encoding: cutline.Encoding, texts: dict[str, str]) -> Iterator[Case]:
    """Tool output that is made to fit."""
    made = documents(texts)
    for kind in KINDS:
        for at, text in enumerate(made.get(kind, made["transcript"])):
            do = partial(cutline.shorten, text, 80, kind=kind, encoding=encoding)
            yield f"shorten {kind} {at}", do


def saved(encoding: cutline.Encoding) -> Any:
    """Return the bytes of each file that an encoding is saved as, and ids by what is read."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.cutline", "a.tiktoken", "tokenizer.json"):
            path = Path(folder, name)
            encoding.save(path)
            loaded = cutline.load(path, pat_str=encoding.pat_str) if "tik" in name else None
            again = loaded or cutline.load(path)
            found.append([path.read_bytes(), again.encode_ordinary("Where was it read, 你好?")])
    return found


def trained(texts: Sequence[str], pat_str: str | None, num_threads: int, ties: Any) -> Any:
    """Train on texts, and on their counts, which are saved and read again."""
    encoding = cutline.train(
        iter(texts), 1_200, pat_str=pat_str, special_tokens=["<s>"],
        num_threads=num_threads, ties=ties,
    )  # fmt: skip
    counts = cutline.count_pieces(iter(texts), pat_str=pat_str, num_threads=num_threads)
    again = cutline.train_from_counts(counts, 700, num_threads=num_threads, ties=ties)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "counts")
        counts.save(path)
        loaded = sorted(cutline.PieceCounts.load(path).items())
    tokens = [encoding.token_byte_values(), again.token_byte_values(), loaded]
    return [*tokens, whole(encoding, texts[0])]


def training(texts: dict[str, str]) -> Iterator[Case]:
    """Training of several patterns, ties and numbers of threads."""
    patterns = {"words": r"\s?\w+|\W", "lines": r"[^\n]+|\n", "none": None}
    for name, text in texts.items():
        for kind, pattern in patterns.items():
            size, n = (2_000, 4) if pattern is None else (20_000, 8)
            given = parts(text, name, size, n)
            for threads, ties in ((1, "smallest"), (4, "smallest"), (3, "largest"), (2, "ids")):
                do = partial(trained, given, pattern, threads, ties)
                yield f"train {name}, {kind}, {threads} threads, {ties}", do


def of_encoding(name: str, encoding: cutline.Encoding, texts: Sequence[str]) -> Iterator[Case]:
    """Everything that is computed of one encoding and one text."""
    for at, text in enumerate(texts):
        for what in (ids_and_counts, cuts, cuts_in_bytes, growing):
            yield f"{name}, {what.__name__}, {at}", partial(what, encoding, text)


def cases(texts: dict[str, str], tokenizers: Path | None) -> Iterator[Case]:
    """Yield all cases: encodings, chunks, training, files of tokenizers."""
    for name in sorted(cutline.list_encoding_names()):
        encoding = cutline.get_encoding(name)
        for text_name, text in whole_texts(texts):
            yield f"{name}, whole, {text_name}", partial(whole, encoding, text)
    short = dict(short_texts(texts))
    for name in ("o200k_base", "r50k_base"):
        yield from of_encoding(name, cutline.get_encoding(name), [*short.values()])
    yield "saved", partial(saved, cutline.get_encoding("cl100k_base"))
    for make in (chunkers, shortened):
        yield from make(cutline.get_encoding("o200k_base"), texts)
    yield from training(texts)
    for path in sorted(tokenizers.iterdir()) if tokenizers else ():
        content = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tokenizer.json"
            file.write_text(json.dumps(content["tokenizer"]), encoding="utf-8")
            try:
                encoding = cutline.load(file)
            except cutline.CutlineError as error:
                yield f"{content['name']}, refused", partial(str, error)
                continue
        yield from of_encoding(content["name"], encoding, content["texts"])


def outcome(compute: Callable[[], Any]) -> str:
    """Return a result's digest, or what is raised; where an extra is missing, that it is."""
    try:
        return digest(compute())
    except ImportError:
        return "missing"
    except (cutline.CutlineError, ValueError) as error:
        return f"{type(error).__name__} {digest(str(error))}"


def compared(expected: dict[str, str], found: Iterator[tuple[str, str]]) -> bool:
    """Print what differs, and how many cases were compared; whether all are equal."""
    n_equal = n_missing = n_wrong = 0
    for name, is_now in found:
        was = expected.pop(name, "missing")
        if "missing" in (was, is_now):
            n_missing += 1
        elif was == is_now:
            n_equal += 1
        else:
            n_wrong += 1
            print(f"{name}: differs: {was} there, {is_now} here", flush=True)
    print(f"{n_equal} equal, {n_wrong} differ, {n_missing} on one machine only")
    return not n_wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, megabytes=2, what="text of each corpus")
    parser.add_argument("--tokenizers", type=Path, help="a folder that `equality --write` filled")
    parser.add_argument("--compare", type=Path, help="what another machine printed")
    parser.add_argument("--only", default="", help="part of the names of cases")
    arguments = parser.parse_args()
    texts = corpora.load(arguments.corpora, int(arguments.megabytes * 1e6)).texts
    found = (
        (name, outcome(compute))
        for name, compute in cases(texts, arguments.tokenizers)
        if arguments.only in name
    )
    if arguments.compare:
        lines = arguments.compare.read_text(encoding="utf-8").splitlines()
        expected = dict(json.loads(line) for line in lines)
        sys.exit(not compared(expected, found))
    for row in found:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
