"""Rebuild the prepared tables of the packaged encodings.

    python tools/build_prepared_tables.py

They come from the packaged vocabularies and automata, so it runs after the other two tools.
"""

from pathlib import Path

import numpy as np

from cutline.pretokenize import compile_pattern
from cutline.tables.bpe_tables import build_bpe_tables
from cutline.tables.prepared import DATA_DIRECTORY, pack
from cutline.vocabulary import PACKAGED_ENCODINGS, RANK_FILE_SHA256, unpack

VOCABULARIES = Path(__file__).parent / "vocabularies"


def build() -> dict[str, bytes]:
    """Return the content of every file by its name."""
    encodings = {spec.rank_file: spec for spec in PACKAGED_ENCODINGS.values()}
    assert set(encodings) == set(RANK_FILE_SHA256)
    files: dict[str, bytes] = {}
    for rank_file, spec in encodings.items():
        # A file has the automaton, too.
        sharing = [one for one in PACKAGED_ENCODINGS.values() if one.rank_file == rank_file]
        assert {one.pat_str for one in sharing} == {spec.pat_str}
        vocabulary = unpack((VOCABULARIES / f"{rank_file}.bin").read_bytes())
        tables = build_bpe_tables(vocabulary).arrays
        assert tables["non_monotone"] is None
        automaton = compile_pattern(spec.pat_str)
        assert not automaton.has_gaps
        wrong = np.flatnonzero(vocabulary.ids != np.arange(len(vocabulary)))
        n_dense = int(wrong[0]) if wrong.size else len(vocabulary)
        fields = {
            "n_tokens": len(vocabulary),
            "arena_bytes": len(vocabulary.arena),
            "n_sparse": len(vocabulary) - n_dense,
            "filter_words": len(tables["beginnings"]),
            "max_token_bytes": tables["max_token_bytes"],
            "max_unreachable_bytes": tables["max_unreachable_bytes"],
            "block_classes": len(automaton.block_class),
            "n_transitions": len(automaton.transitions),
            "stride": automaton.stride,
            "has_gaps": 0,
        }
        arrays = {
            **{name: tables[name] for name in ("left", "right", "beginnings", "endings")},
            **{name: tables[name] for name in ("neighbours", "open_boundaries", "arena")},
            **{name: getattr(automaton, name) for name in ("ascii_class", "block_index")},
            **{name: getattr(automaton, name) for name in ("block_class", "transitions")},
            "sparse_ids": vocabulary.ids[n_dense:],
            "lengths": vocabulary.lengths.astype(np.uint8),
        }
        stored = {
            name: array.astype(array.dtype.newbyteorder("<")).tobytes()
            for name, array in arrays.items()
        }
        files[f"{rank_file}.tables"] = pack(fields, stored)
    return files


def main() -> None:
    Path(DATA_DIRECTORY).mkdir(exist_ok=True)
    for name, data in build().items():
        path = Path(DATA_DIRECTORY, name)
        path.write_bytes(data)
        print(f"{path}: {len(data)} bytes")


if __name__ == "__main__":
    main()
