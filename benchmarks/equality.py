"""Tokenizers of every kind, trained here, against `tokenizers`: ids, counts, slices and cuts.

    python -m benchmarks.equality --corpora DIR --texts 1000

For each of 336 configurations: random texts, made of the corpora and of awkward characters,
and each code point that `--step` leaves alone and in five contexts. The first texts that differ
are printed. `--write FOLDER` writes tokenizers and texts instead, and `--read FOLDER` compares
these: with `tokenizers` 1, too, which trains none.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import cutline
from benchmarks import corpora
from benchmarks.harness import add_options
from cutline.errors import CutlineError

_LINES = 20_000
_SHORT = 24  # characters: all ends of a cut are tried
_BLOCK = 4_096
_CONTEXTS = ("{}", "a{}", "{}a", " {} ", "a{}b", "1{}\u0301")
_SURROGATES = range(0xD800, 0xE000)


def trained_words(kind: str, lines: Sequence[str]) -> Any:
    """Train a model that encodes words apart."""
    import tokenizers as hf

    pre = hf.pre_tokenizers
    if kind == "WordPiece":
        made = hf.Tokenizer(hf.models.WordPiece(unk_token="[UNK]"))
        made.pre_tokenizer = pre.BertPreTokenizer()
        trainer: Any = hf.trainers.WordPieceTrainer(vocab_size=6_000, special_tokens=["[UNK]"])
    else:
        made = hf.Tokenizer(hf.models.Unigram())
        made.pre_tokenizer = pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace()])
        trainer = hf.trainers.UnigramTrainer(
            vocab_size=6_000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
        )
    made.train_from_iterator(lines, trainer)
    return made


def _test(module: str) -> Any:
    """Import what tests are made with, which is not checked for types."""
    return import_module(f"tests.{module}")


def configurations(lines: Sequence[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the names of all configurations, and what makes their tokenizers."""
    import tokenizers as hf

    characters, families = _test("pipeline.characters"), _test("pipeline.families")
    named = _test("words.configurations").CONFIGURATIONS
    kinds = _test("words.tokenizers_of").MODELS
    tokenizer_of = _test("words.tokenizers_of").tokenizer_of

    families.training_texts = lambda: [*lines]
    for name in families.FAMILIES:
        yield f"byte-level, {name}", partial(families.build, name, 4_000)
    for name in characters.CONFIGURATIONS:
        yield f"characters, {name}", partial(hf.Tokenizer.from_str, characters.make_document(name))
    ended = _test("pipeline.ended_characters")
    for name in ended.KINDS:
        yield f"word ends, {name}", partial(ended.trained, name, 0)
    for kind in ("WordPiece", "Unigram"):
        model = trained_words(kind, lines)

        def made(name: str, model: Any = model) -> Any:
            normalizer, splitter = named[name]()
            again = hf.Tokenizer.from_str(model.to_str())
            if normalizer is not None:
                again.normalizer = normalizer
            again.pre_tokenizer = splitter
            return again

        for name in named:
            yield f"{kind}, {name}", partial(made, name)
    for kind in kinds:
        for name in named:
            rng = random.Random(kind + name)
            yield f"random {kind}, {name}", partial(tokenizer_of, kind, name, rng)


def random_texts(texts: Sequence[str], tokenizer: Any, seed: str, n: int) -> list[str]:
    """Mix parts of the corpora, awkward characters and added tokens."""
    rng = random.Random(seed)
    texts_with = _test("pipeline.families").texts_with
    found: list[str] = texts_with(tokenizer, rng.randrange(1 << 30), n // 4)
    while len(found) < n:
        parts = [_part(rng, texts) for _ in range(rng.randint(1, 5))]
        found.append("".join(parts))
    return found


def _part(rng: random.Random, texts: Sequence[str]) -> str:
    """Make awkward characters, any characters, or take part of a corpus."""
    kind = rng.randrange(4)
    if kind == 0:
        return "".join(rng.choices(_test("words.tokenizers_of").LETTERS, k=rng.randint(1, 12)))
    if kind == 1:
        any_of = (rng.randrange(0xD800), rng.randrange(0xE000, 0x30000))
        return "".join(chr(rng.choice(any_of)) for _ in range(rng.randint(1, 4)))
    text, length = rng.choice(texts), rng.randint(1, 60)
    start = rng.randrange(len(text) - length)
    return text[start : start + length]


def code_points(step: int, seed: str) -> list[str]:
    """Write every `step`th code point alone and in contexts; which ones depends on the seed."""
    first = random.Random(seed).randrange(step)
    points = [at for at in range(first, 0x110000, step) if at not in _SURROGATES]
    return [context.format(chr(at)) for at in points for context in _CONTEXTS]


def ids_of(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    found = tokenizer.encode_batch([*texts], add_special_tokens=False)
    return [one.ids for one in found]


def differing(encoding: cutline.Encoding, tokenizer: Any, texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts whose ids differ, or whose counts are no counts of these."""
    special = {encoding.encode_single_token(text) for text in encoding.special_tokens_set}
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        counts = encoding.count_batch(block).tolist()
        for text, ids, count in zip(block, ids_of(tokenizer, block), counts, strict=True):
            is_counted = count == len(ids) or not special.isdisjoint(ids)
            if not is_counted or encoding.encode(text, allowed_special="all") != ids:
                yield text


def wrong_slices(
    encoding: cutline.Encoding, tokenizer: Any, texts: Sequence[str], rng: random.Random
) -> Iterator[str]:
    """Yield the texts with a slice whose count, or a cut, is another one than by its ids."""
    for text in texts:
        if any(special in text for special in encoding.special_tokens_set):
            continue
        counter, n = encoding.intervals(text), len(text)
        start = rng.randint(0, n)
        ends = range(start, n + 1) if n <= _SHORT else sorted(rng.choices(range(start, n + 1), k=3))
        counts = [*map(len, ids_of(tokenizer, [text[start:end] for end in ends]))]
        if [counter.count(start, end) for end in ends] != counts:
            yield text
        elif n <= _SHORT:
            budget = rng.randint(0, 6)
            fits = [end for end, count in zip(ends, counts, strict=True) if count <= budget]
            if counter.split_at(start, budget) != fits[-1]:
                yield text


def encoding_of(tokenizer: Any) -> cutline.Encoding:
    """Read a tokenizer from the file that it saves, or as it is: version 1 saves none."""
    if not hasattr(tokenizer, "save"):
        return cutline.Encoding.from_tokenizers(tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(str(path))
        return cutline.load(path)


def compare(name: str, tokenizer: Any, texts: Sequence[str], step: int) -> list[str]:
    """Return the texts that differ; of a quarter of them, slices are compared, too."""
    encoding = encoding_of(tokenizer)
    found = [*differing(encoding, tokenizer, texts)]
    found += wrong_slices(encoding, tokenizer, texts[: len(texts) // 4], random.Random(name))
    if step:
        found += differing(encoding, tokenizer, code_points(step, name))
    return found


Task = tuple[str, Callable[[], Any], Callable[[Any], list[str]]]
"""A configuration's name, what makes its tokenizer, and the texts for that."""


def tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    """Yield what is to be compared."""
    found = corpora.load(arguments.corpora, int(arguments.megabytes * 1e6))
    texts = [*found.texts.values(), *found.scripts.values()]
    lines = [line for text in texts for line in text.split("\n")[: _LINES // len(texts)]]
    for name, make in configurations(lines):
        yield name, make, partial(random_texts, texts, seed=name, n=arguments.texts)


def write(folder: Path, name: str, tokenizer: Any, texts: Sequence[str]) -> None:
    """Write a task for `read`."""
    content = {"name": name, "tokenizer": json.loads(tokenizer.to_str()), "texts": texts}
    path = folder / f"{len([*folder.iterdir()]):03}.json"
    path.write_text(json.dumps(content), encoding="utf-8")


def read(folder: Path) -> Iterator[Task]:
    """Yield the tasks that were written."""
    for path in sorted(folder.iterdir()):
        content = json.loads(path.read_text(encoding="utf-8"))
        yield (
            content["name"],
            partial(made, content["tokenizer"]),
            partial(_given, content["texts"]),
        )


def _given(texts: list[str], _: Any) -> list[str]:
    return texts


def made(document: Any) -> Any:
    """Make a tokenizer of a tokenizer.json, as every version can."""
    import tokenizers

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return tokenizers.Tokenizer.from_file(str(path))


def main() -> None:
    import tokenizers

    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, megabytes=2, what="text of each corpus")
    parser.add_argument("--texts", type=int, default=1_000, help="random texts per configuration")
    parser.add_argument("--step", type=int, default=0, help="of code points; 1: all, 0: none")
    parser.add_argument("--only", default="", help="part of the names of configurations")
    parser.add_argument("--write", type=Path, help="write to this folder instead of comparing")
    parser.add_argument("--read", type=Path, help="compare what is in this folder")
    arguments = parser.parse_args()
    n_compared = n_wrong = n_refused = n_done = 0
    begun = time.monotonic()
    for name, make, texts_for in read(arguments.read) if arguments.read else tasks(arguments):
        if arguments.only not in name:
            continue
        try:
            tokenizer = make()
            texts = texts_for(tokenizer)
            if arguments.write:
                write(arguments.write, name, tokenizer, texts)
                continue
            differ = compare(name, tokenizer, texts, arguments.step)
        except KeyboardInterrupt:
            break  # what was done so far is printed
        except (CutlineError, ValueError) as error:  # of tokenizers, too
            n_refused += 1
            print(f"{name}: refused: {str(error)[:200]}", flush=True)
            continue
        n_done, n_wrong = n_done + 1, n_wrong + len(differ)
        n_compared += len(texts)
        for text in differ[:3]:
            print(f"{name}: differs: {text!r}", flush=True)
    print(
        f"tokenizers {tokenizers.__version__}: {n_done} configurations, {n_refused} refused; "
        f"{n_compared} random texts, {n_wrong} differ; {time.monotonic() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()
