"""Random compositions of tokenizers, against `tokenizers`: all that an encoding does with texts.

    python -m fuzz.composed --seconds 600 --seed 1

A round draws a `tokenizer.json` (`compositions.py`) and some texts. It is refused by name, or ids,
offsets, decoding, counts, slices, cuts, growing and truncated texts, and what it saves, are
compared. `--round N` runs one round alone; `--folder DIR` takes its texts from files, of any kind.
"""

import argparse
import itertools
import json
import os
import random
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import cutline
from cutline.errors import CutlineError
from cutline.pipeline import parts
from fuzz.compositions import Part, draw, draw_text, small_charsmap
from fuzz.file_texts import FileTexts
from fuzz.scratch import scratch

N_TEXTS = 60
MOST_ENDS = 40
JOINING = ("NFC", "NFKC", "NFKD", "NFD", "Replace", "Precompiled", "BertNormalizer", "StripAccents")


class Subject:
    """A tokenizer, and the encoding of its file."""

    def __init__(self, document: Part) -> None:
        import tokenizers

        path = scratch("tokenizer.json")
        path.write_text(json.dumps(document), encoding="utf-8")
        self.document = document
        self.oracle = tokenizers.Tokenizer.from_file(str(path))
        self.ordinary = tokenizers.Tokenizer.from_file(str(path))
        self.ordinary.encode_special_tokens = True
        self.encoding = cutline.load(path)

    @cached_property
    def saved(self) -> cutline.Encoding:
        """What a `.cutline` file makes of the encoding."""
        path = scratch("saved.cutline")
        self.encoding.save(path)
        return cutline.load(path)

    @cached_property
    def exported(self) -> Any:
        """What `tokenizers` makes of a tokenizer.json that is written; None: it cannot be."""
        import tokenizers

        path = scratch("exported.json")
        try:
            self.encoding.save(path, "tokenizer.json")
        except CutlineError:
            return None
        return tokenizers.Tokenizer.from_file(str(path))

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, special tokens found."""
        found: list[int] = self.oracle.encode(text, add_special_tokens=False).ids
        return found

    def lengths(self, texts: list[str]) -> list[int]:
        """Count the tokens of ordinary texts."""
        found = self.ordinary.encode_batch(texts, add_special_tokens=False)
        return [len(one.ids) for one in found]


def check_ids(one: Subject, text: str, rng: random.Random) -> None:
    assert one.encoding.encode(text, allowed_special="all") == one.ids(text)
    assert one.encoding.encode_batch([text], allowed_special="all") == [one.ids(text)]
    ordinary = one.ordinary.encode(text, add_special_tokens=False).ids
    assert one.encoding.encode_ordinary(text) == ordinary
    assert one.encoding.encode_to_numpy(text, disallowed_special=()).tolist() == ordinary


def check_counts(one: Subject, text: str, rng: random.Random) -> None:
    (n,) = one.lengths([text])
    assert one.encoding.count(text) == n
    assert one.encoding.count(text) == n
    assert one.encoding.count_batch([text, text]).tolist() == [n, n]
    assert one.encoding.count(text, allowed_special="all") == len(one.ids(text))
    assert one.encoding.count_till_limit(text, n) == n
    assert n == 0 or one.encoding.count_till_limit(text, n - 1) is None


def check_offsets(one: Subject, text: str, rng: random.Random) -> None:
    found, spans = one.encoding.encode_with_offsets(text, allowed_special="all")
    want = one.oracle.encode(text, add_special_tokens=False)
    assert found == want.ids
    if not any(name in str(one.document["normalizer"]) for name in JOINING):
        assert spans.tolist() == [[*span] for span in want.offsets]


def check_decoding(one: Subject, text: str, rng: random.Random) -> None:
    ids = one.ids(text)
    want = one.oracle.decode(ids, skip_special_tokens=False)
    added = one.oracle.get_added_tokens_decoder()
    # It decodes an added token to its normal form, and its letters to bytes.
    has_letters = "ByteLevel" in str(one.document["decoder"])
    is_changed = any(
        one.oracle.id_to_token(key) != added[key].content
        or (has_letters and not added[key].content.isascii())
        for key in {*ids} & {*added}
    )
    marks = one.document["model"].get("end_of_word_suffix") or one.document["model"].get(
        "continuing_subword_prefix"
    )
    is_marked = one.document["model"]["type"] == "BPE" and marks  # decoded as by transformers
    if not (is_marked or is_changed or "\ufffd" in want):
        assert one.encoding.decode(ids) == want
    stream = one.encoding.decode_stream()
    assert "".join([*map(stream.feed, ids), stream.finish()]) == one.encoding.decode(ids)
    assert one.encoding.decode_tokens_bytes(ids) == [
        *map(one.encoding.decode_single_token_bytes, ids)
    ]
    assert one.encoding.decode_batch([ids]) == [one.encoding.decode(ids)]


def check_slices(one: Subject, text: str, rng: random.Random) -> None:
    start = rng.randint(0, len(text))
    ends = [*range(start, min(len(text), start + MOST_ENDS) + 1)]
    counts = one.lengths([text[start:end] for end in ends])
    counter = one.encoding.intervals(text)
    assert [counter.count(start, end) for end in ends] == counts
    end = rng.randint(start, len(text))
    assert counter.count(start, end) == one.lengths([text[start:end]])[0]
    assert counter.total == one.lengths([text])[0]
    budget = rng.randint(0, 6)
    best = max(end for end, n in zip(ends, counts, strict=True) if n <= budget)
    if ends[-1] == len(text):
        assert counter.split_at(start, budget) == best
        assert one.encoding.split_at(text, budget, start) == best


def check_chunks(one: Subject, text: str, rng: random.Random) -> None:
    budget = rng.randint(4, 20)
    overlap = rng.choice((0, 0, budget // 3))
    try:
        chunks = one.encoding.split(text, budget, overlap)
    except cutline.BudgetError:
        return
    counts = one.lengths([chunk.text for chunk in chunks]) if chunks else []
    assert [chunk.token_count for chunk in chunks] == counts
    assert all(n <= budget for n in counts)
    assert all(text[chunk.start_index : chunk.end_index] == chunk.text for chunk in chunks)
    if not overlap:
        assert "".join(chunk.text for chunk in chunks) == text


def check_growing(one: Subject, text: str, rng: random.Random) -> None:
    appender, prepender = one.encoding.appender(), one.encoding.prepender()
    counting = one.encoding._allowing("all")  # as `pack` and chat count
    with_special = counting.appender(), counting.prepender()
    at, grown, before = 0, "", ""
    while at < len(text):
        end = at + rng.randint(1, 9)
        for later, sooner in ((appender, prepender), with_special):
            later.append(text[at:end])
            sooner.prepend(text[at:end])
        grown, before, at = grown + text[at:end], text[at:end] + before, end
        assert [appender.count, prepender.count] == one.lengths([grown, before])
        assert [other.count for other in with_special] == [
            len(one.ids(grown)),
            len(one.ids(before)),
        ]


def check_truncated(one: Subject, text: str, rng: random.Random) -> None:
    budget = rng.randint(3, 20)
    keep = rng.choice(("start", "end", "both"))
    try:
        found = one.encoding.truncate(text, budget, keep, rng.choice(("", "...")))
    except cutline.BudgetError:
        return
    assert one.lengths([found])[0] <= budget
    if one.lengths([text])[0] <= budget:
        assert found == text


def check_saved(one: Subject, text: str, rng: random.Random) -> None:
    again = one.saved
    assert again.encode(text, allowed_special="all") == one.ids(text)
    assert again.count(text) == one.encoding.count(text)
    ids = one.ids(text)
    assert again.decode(ids) == one.encoding.decode(ids)


def check_exported(one: Subject, text: str, rng: random.Random) -> None:
    if one.exported is not None:
        ids = one.exported.encode(text, add_special_tokens=False).ids
        assert ids == one.ids(text)


def check_parts(one: Subject, text: str, rng: random.Random) -> None:
    """Cut the text as if it were one of megabytes for several threads."""
    with mock.patch.multiple(parts, _PART=(size := rng.randint(1, 12)), _SEARCHED=size):
        assert one.encoding.encode(text, allowed_special="all", num_threads=2) == one.ids(text)
        assert one.encoding.count(text, num_threads=2) == one.lengths([text])[0]


CHECKS = (
    check_parts,
    check_exported,
    check_ids, check_counts, check_offsets, check_decoding, check_slices, check_chunks,
    check_growing, check_truncated, check_saved,
)  # fmt: skip


def failure(check: Callable[..., None], one: Subject, text: str, seed: str) -> str:
    """Return what a check says about a text, "" if all is well."""
    try:
        check(one, text, random.Random(seed + text))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in where if frame.filename == __file__]
        return f"{check.__name__}, {type(error).__name__} {str(error)[:150]} at {ours[-1].line}"
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of the oracle, at white space stripped twice
            raise
    return ""


def smallest(check: Callable[..., None], one: Subject, text: str, seed: str) -> str:
    """Leave out parts of a text while the check fails."""
    size = len(text)
    while size:
        for at in range(len(text) - size + 1):
            shorter = text[:at] + text[at + size :]
            if failure(check, one, shorter, seed):
                text = shorter
                break
        else:
            size = min(size, len(text)) // 2
    return text


def findings(
    seed: str, tally: Counter[str], draw_one: Callable[[random.Random, Part], str] = draw_text
) -> Iterator[str]:
    """Run a round; yield what differs."""
    rng = random.Random(seed)
    document = draw(rng)
    try:
        one = Subject(document)
    except CutlineError as error:
        tally["refused"] += 1
        tally[f"refused: {str(error).split(' ', 1)[1][:60]}"] += 1
        return
    except Exception as error:
        tally[f"not made: {type(error).__name__} {str(error)[:60]}"] += 1
        return
    tally["tokenizers"] += 1
    failed = set()
    for number in range(N_TEXTS):
        text = draw_one(rng, document)
        tally["texts"] += 1
        tally["characters"] += len(text)
        for check in CHECKS:
            if check not in failed and (said := failure(check, one, text, f"{seed} {number}")):
                failed.add(check)
                yield f"{said}: {smallest(check, one, text, f'{seed} {number}')!a}"


def described(seed: str) -> str:
    document = draw(random.Random(seed))
    model = document["model"]
    settings = {
        name: value
        for name, value in model.items()
        if name not in ("vocab", "merges") and value not in (None, False)
    }
    others = {name: document[name] for name in ("normalizer", "pre_tokenizer", "decoder")}
    added = [
        (one["id"], one["content"], *(name for name, value in one.items() if value is True))
        for one in document["added_tokens"]
    ]
    short = json.dumps([settings, others, document["post_processor"]])
    return f"{short.replace(small_charsmap(), '...')} {added}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round", type=int, help="run this one alone")
    parser.add_argument("--folder", type=Path, help="take texts from its files")
    asked = parser.parse_args()
    draw_one = draw_text if asked.folder is None else FileTexts(asked.folder)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["CUTLINE_CACHE_DIR"] = ""  # thousands of patterns would fill the cache folder
    warnings.simplefilter("ignore", cutline.PatternFallbackWarning)
    begun, tally, n_failed = time.monotonic(), Counter[str](), 0
    rounds = itertools.count() if asked.round is None else [asked.round]
    for number in rounds:
        if time.monotonic() - begun > asked.seconds:
            break
        seed = f"{asked.seed} {number}"
        found = [*findings(seed, tally, draw_one)]
        n_failed += bool(found)
        for said in found:
            print(f"--seed {asked.seed} --round {number}: {said}", flush=True)
        if found:
            print(f"    {described(seed)}", flush=True)
    for what, n in tally.most_common(16):
        print(f"{n:,} {what}")
    print(f"{n_failed:,} tokenizers differ; {time.monotonic() - begun:.0f} s")
    sys.exit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
