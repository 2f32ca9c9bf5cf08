"""WordPiece, Unigram, SentencePiece's BPE, and byte-level BPE that changes texts, beside others.

The tokenizers are trained here.

    python -m benchmarks.words --corpora DIR

For each model and text: megabytes of UTF-8 counted in a second, of a text never met before (its
second half after the first) and of the same half once more, and of documents of 2,000 characters;
then what a chunker takes, in the same states of text beside counts, and what slices and loading
do. Where a package's ids differ from those of
`tokenizers`, the count of those that do stands behind its speeds.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import cutline
from benchmarks import corpora
from benchmarks.harness import add_options, pin_to_one_core

_DOCUMENT = 2_000
_COMPARED = 200_000  # characters
_TRAINED_ON = 1_000_000
_SLICES = 100_000
_WARM_CALLS = 3

Count = Callable[[str], Any]

BYTE_LEVEL = {
    "CLIP": [r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"],
    "DeepSeek-Coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"],
}
"""What these split by, one after another. Source: the models' tokenizer.json."""


def train(kind: str, texts: dict[str, str], path: Path) -> None:
    """Train a tokenizer like BERT's, XLM-R's, Llama 2's or those of `BYTE_LEVEL`, and save it."""
    import tokenizers as hf

    trainer: Any
    # From all over a text, for its languages come one after another.
    lines = [
        line
        for text in texts.values()
        for line in text.split("\n")[:: max(1, len(text) // _TRAINED_ON)]
    ]
    if kind == "SentencePiece BPE":
        made = hf.Tokenizer(hf.models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        made.normalizer = hf.normalizers.Sequence(
            [hf.normalizers.Prepend("\u2581"), hf.normalizers.Replace(" ", "\u2581")]
        )
        made.pre_tokenizer = hf.pre_tokenizers.Split("\u2581", "merged_with_next")
        in_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
        trainer = hf.trainers.BpeTrainer(
            vocab_size=30_000, special_tokens=["<unk>", *in_bytes], show_progress=False
        )
        made.train_from_iterator(lines, trainer)
        document = json.loads(made.to_str())
        document["added_tokens"] = document["added_tokens"][:1]
        document["pre_tokenizer"] = None  # a text is one piece
        path.write_text(json.dumps(document), encoding="utf-8")
        return
    if kind in BYTE_LEVEL:
        made = hf.Tokenizer(hf.models.BPE())
        pre = hf.pre_tokenizers
        lower = [hf.normalizers.NFC(), hf.normalizers.Replace(hf.Regex(r"\s+"), " ")]
        if is_clip := kind == "CLIP":
            made.normalizer = hf.normalizers.Sequence([*lower, hf.normalizers.Lowercase()])
        last = [pre.ByteLevel(add_prefix_space=False)] if is_clip else [
            pre.Digits(True), pre.ByteLevel(add_prefix_space=False, use_regex=False)
        ]  # fmt: skip
        how = ("removed", True) if is_clip else ("isolated", False)
        splits = [pre.Split(hf.Regex(pattern), *how) for pattern in BYTE_LEVEL[kind]]
        made.pre_tokenizer = pre.Sequence([*splits, *last])
        trainer = hf.trainers.BpeTrainer(
            vocab_size=30_000, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False,
            end_of_word_suffix="</w>" if is_clip else "",
        )  # fmt: skip
    elif kind == "WordPiece":
        made = hf.Tokenizer(hf.models.WordPiece(unk_token="[UNK]"))
        made.normalizer = hf.normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
        trainer = hf.trainers.WordPieceTrainer(vocab_size=30_000, special_tokens=["[UNK]"])
    else:
        made = hf.Tokenizer(hf.models.Unigram())
        made.normalizer = hf.normalizers.NFKC()
        made.pre_tokenizer = hf.pre_tokenizers.Sequence(
            [hf.pre_tokenizers.WhitespaceSplit(), hf.pre_tokenizers.Metaspace()]
        )
        trainer = hf.trainers.UnigramTrainer(
            vocab_size=30_000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
        )
    made.train_from_iterator(lines, trainer)
    document = json.loads(made.to_str())
    if kind == "CLIP":  # which has each letter at the end of a word
        vocab = document["model"]["vocab"]
        for letter in sorted(hf.pre_tokenizers.ByteLevel.alphabet()):
            vocab.setdefault(f"{letter}</w>", len(vocab))
    path.write_text(json.dumps(document), encoding="utf-8")


def loaders(path: Path) -> dict[str, Callable[[], tuple[Count, Callable[[str], list[int]]]]]:
    """Return what loads each package's tokenizer: its count, and its ids of a text."""
    from tokenizers import Tokenizer

    def ours() -> tuple[Count, Callable[[str], list[int]]]:
        encoding = cutline.load(path)
        return encoding.count, partial(encoding.encode, allowed_special="all")

    def hugging_face() -> tuple[Count, Callable[[str], list[int]]]:
        made = Tokenizer.from_file(str(path))

        def encode(text: str) -> list[int]:
            ids: list[int] = made.encode(text, add_special_tokens=False).ids
            return ids

        return lambda text: len(encode(text)), encode

    def tokie() -> tuple[Count, Callable[[str], list[int]]]:
        made: Any = import_module("tokie").Tokenizer.from_json(str(path))

        def encode(text: str) -> list[int]:
            return list(made.encode(text, add_special_tokens=False).ids)

        return made.count_tokens, encode

    def of_ids(encode: Callable[[str], Any]) -> tuple[Count, Callable[[str], list[int]]]:
        return lambda text: len(encode(text)), lambda text: [*map(int, encode(text))]

    def kitoken() -> tuple[Count, Callable[[str], list[int]]]:
        made: Any = import_module("kitoken").Kitoken.from_tokenizers_file(str(path))
        return of_ids(lambda text: made.encode(text, False))

    def splintr() -> tuple[Count, Callable[[str], list[int]]]:
        made: Any = import_module("splintr").from_json(str(path))
        return of_ids(made.encode)

    def gigatoken() -> tuple[Count, Callable[[str], list[int]]]:
        made: Any = import_module("gigatoken").Tokenizer.from_json(path.read_text("utf-8"))
        return of_ids(made.encode)

    return {
        "tokenizers": hugging_face,
        "cutline": ours,
        "tokie": tokie,
        "kitoken": kitoken,
        "splintr": splintr,
        "gigatoken": gigatoken,
    }


def speed(count: Count, texts: list[str]) -> float:
    """Return megabytes a second for counting some texts one after the other."""
    n_bytes = sum(len(text.encode()) for text in texts)
    begun = time.process_time()
    for text in texts:
        count(text)
    return n_bytes / 1e6 / (time.process_time() - begun)


def warm_speed(count: Count, text: str) -> float:
    """Return the same for a text met before. The first calls still get memory from the system."""
    return max(speed(count, [text]) for _ in range(_WARM_CALLS))


def differing(found: list[int], expected: list[int]) -> int:
    """Return how many places of two lists differ."""
    apart = sum(one != other for one, other in zip(found, expected, strict=False))
    return apart + abs(len(found) - len(expected))


def compare(path: Path, text: str, rounds: int) -> None:
    """Print the rows of a text."""
    half = len(text) // 2
    pieces = [text[at : at + _DOCUMENT] for at in range(half, len(text), _DOCUMENT)]
    expected: list[int] = []
    for name, load in (*loaders(path).items(),):
        best = [0.0, 0.0, 0.0]
        try:
            for _ in range(rounds):
                count, encode = load()
                count(text[:half])
                best[0] = max(best[0], speed(count, [text[half:]]))
                best[1] = max(best[1], warm_speed(count, text[half:]))
                best[2] = max(best[2], speed(count, pieces))
        except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
            print(f"    {name:11} {str(error)[:120]}")
            continue
        ids = encode(text[:_COMPARED])
        expected = expected or ids
        apart = differing(ids, expected)
        what = f"  {apart} ids differ from tokenizers'" if apart else ""
        print(f"    {name:11} fresh {best[0]:6.1f}  warm {best[1]:6.1f}  docs {best[2]:6.1f}{what}")


def in_states(make: Callable[[], Count], text: str, rounds: int) -> list[float]:
    """Return speeds: of the first call, of text never met, and of text met before."""
    half = len(text) // 2
    best = [0.0] * 3
    for _ in range(rounds):
        work = make()
        found = [speed(work, [part]) for part in (text[:half], text[half:])]
        best = [*map(max, best, [*found, warm_speed(work, text[half:])])]
    return best


def least_time(job: Callable[[], object], rounds: int) -> float:
    """Return the least CPU time of a job, in seconds, once it was done."""
    job()
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        job()
        times.append(time.process_time() - begun)
    return min(times)


def own(path: Path, text: str, rounds: int) -> None:
    """Print what is ours alone: chunks, slices, loading."""
    from tokenizers import Tokenizer

    begun = time.process_time()
    encoding = cutline.load(path)
    encoding.count("a")
    loaded = time.process_time() - begun
    begun = time.process_time()
    Tokenizer.from_file(str(path))
    other = time.process_time() - begun
    sample = text[:2_000_000]
    chunk = in_states(lambda: cutline.TextChunker(cutline.load(path), 256).chunk, text, rounds)
    count = in_states(lambda: cutline.load(path).count, text, rounds)
    shares = [one / other for one, other in zip(chunk, count, strict=True)]
    parts = [sample[at : at + _DOCUMENT] for at in range(0, len(sample), _DOCUMENT)]
    chunker = cutline.TextChunker(encoding, 256)
    jobs: list[Callable[[], object]] = [
        lambda: encoding.count_batch(parts, num_threads=1),
        lambda: chunker.chunk_batch(parts, num_threads=1),
        lambda: [*map(chunker.chunk, parts)],
    ]
    counted, cut, one_by_one = (least_time(job, rounds) / len(parts) for job in jobs)
    counter = encoding.intervals(sample)
    counter.count(0, 1)  # builds what counts
    rng = np.random.default_rng(1)
    spans = np.sort(rng.integers(0, len(sample) + 1, size=(_SLICES, 2)), axis=1)
    begun = time.process_time()
    counter.count_many(spans)
    sliced = (time.process_time() - begun) / _SLICES
    print(
        f"    TextChunker fresh  {chunk[1]:5.1f}  warm {chunk[2]:6.1f}  first {chunk[0]:5.1f}, of "
        f"count  fresh {shares[1]:.2f}  warm {shares[2]:.2f}  first {shares[0]:.2f}"
    )
    print(
        f"    documents of {_DOCUMENT} characters, met before: chunk_batch {cut * 1e6:.1f} us "
        f"each, {counted / cut:.2f} of count_batch; chunk {one_by_one * 1e6:.1f} us"
    )
    print(
        f"    a slice {sliced * 1e6:.2f} us; load {loaded * 1e3:.0f} ms, "
        f"tokenizers {other * 1e3:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_options(parser, megabytes=8, what="text of each corpus")
    parser.add_argument("--rounds", type=int, default=3)
    kinds = ["WordPiece", "Unigram", "SentencePiece BPE", *BYTE_LEVEL]
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    options = parser.parse_args()
    print(pin_to_one_core())
    found = corpora.load(options.corpora, int(options.megabytes * 1e6))
    texts = {**found.texts, **found.scripts}
    print(f"texts {found.origin}; MB/s of UTF-8, CPU time, best of {options.rounds}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds:
            path = Path(folder) / f"{kind}.json"
            train(kind, texts, path)
            for name, text in texts.items():
                print(f"{kind}, {name}")
                compare(path, text, options.rounds)
                own(path, text, options.rounds)


if __name__ == "__main__":
    main()
