"""Measure the other forms of input and output, beside the plain ones: offsets, and Arrow columns.

Each is held against the plain call before it is timed.
"""

from collections.abc import Callable, Mapping

import numpy as np

import cutline
from benchmarks.harness import Measurement, Run, best_seconds
from benchmarks.peers import SUBJECT
from cutline.normalizing import Form, Lower

_CHARACTERS = 1_000_000
_ROW_CHARACTERS = 1_000

Calls = Mapping[str, Callable[[None], object]]


def run_output(run: Run) -> list[Measurement]:
    """Time a million characters of each corpus: MB/s (10**6 bytes of UTF-8)."""
    results: list[Measurement] = []
    for name, text in run.corpora.texts.items():
        part = text[:_CHARACTERS]
        n_bytes = len(part.encode())
        for calls in (_offsets(run, part), _columns(run, part)):
            seconds = best_seconds(calls, lambda _: None, run.rounds, run.seconds_per_cell)
            results += [
                Measurement(
                    operation,
                    name,
                    f"{n_bytes / 1e6:.3g} MB",
                    SUBJECT,
                    n_bytes / seconds[operation] / 1e6,
                    "MB/s",
                )
                for operation in calls
            ]
    return results


def _offsets(run: Run, text: str) -> Calls:
    """Offsets, with the encoding as it is and with one that changes texts."""
    spec = run.cutline._spec
    changing = cutline.Encoding.from_spec(spec._replace(normalizer=(Form("NFKC"), Lower())))
    calls: dict[str, Callable[[None], object]] = {}
    for kind, encoding in (("", run.cutline), (", NFKC and lower case", changing)):
        encode, offsets = _encoders(encoding, text)
        tokens, spans = offsets(None)
        assert tokens == encode(None)
        # Composed, two tokens may come from the same characters, but none from earlier ones.
        assert (np.diff(spans, axis=0) >= 0).all()
        calls |= {f"encode to list{kind}": encode, f"encode with offsets{kind}": offsets}
    return calls


def _encoders(
    encoding: cutline.Encoding, text: str
) -> tuple[Callable[[None], list[int]], Callable[[None], tuple[list[int], "np.ndarray"]]]:
    return (
        lambda _: encoding.encode(text, disallowed_special=()),
        lambda _: encoding.encode_with_offsets(text, disallowed_special=()),
    )


def _columns(run: Run, text: str) -> Calls:
    """Rows of a thousand characters as a list of str, and as an Arrow column; one thread."""
    try:
        import pyarrow
    except ImportError:
        return {}
    from cutline.integrations.arrow import count_batch, encode_batch

    encoding = run.cutline
    rows = [text[at : at + _ROW_CHARACTERS] for at in range(0, len(text), _ROW_CHARACTERS)]
    table = pyarrow.table({"text": rows})
    tokens = encoding.encode_ordinary_batch(rows, num_threads=1)
    counts = [len(row) for row in tokens]
    assert encoding.count_batch(rows, num_threads=1).tolist() == counts
    assert count_batch(table, encoding)["token_count"].to_pylist() == counts
    assert encode_batch(table, encoding)["tokens"].to_pylist() == tokens
    return {
        "count a list of str": lambda _: encoding.count_batch(rows, num_threads=1),
        "count an Arrow column": lambda _: count_batch(table, encoding, num_threads=1),
        "encode a list of str": lambda _: encoding.encode_ordinary_batch(rows, num_threads=1),
        "encode an Arrow column": lambda _: encode_batch(table, encoding, num_threads=1),
    }
