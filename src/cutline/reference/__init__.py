"""Byte pair encoding of one piece in plain Python: one algorithm in each small file.

>>> from cutline.reference import IntervalCounter, Tokens, encode_backtracking
>>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
>>> tokens = Tokens(ranks)
>>> encode_backtracking(tokens, b"abcb"), IntervalCounter(tokens, b"abcb").count(1, 4)
([258, 98], 2)

An encoder takes a vocabulary and the bytes of a piece, and returns token ids. The vocabulary is
`Tokens`; for `encode_textbook` and `encode_heap` any mapping from a token's bytes to its id, which
is its rank, all single bytes among them.

To read, to experiment with, and as an oracle for tests; for speed use `cutline.Encoding`.
docs/algorithm.md has the definitions and the proofs. Everything, `trainer` aside, works on the
bytes of one piece and returns token ids: there are no split patterns here, and so no
safe split points and live scans (docs/counting.md). Also left out are a table of suffixes,
which mirrors that of prefixes, parts of a piece counted from its own tokens (Theorem 10),
and merging that begins with whole characters (Theorem 11).

| file | question | cost for n bytes |
|---|---|---|
| `textbook` | what is the encoding? | n^2 |
| `heap` | how to merge without a full search for every merge? | n log n |
| `compatibility` | can these two tokens be neighbours in an encoding? | length of the two |
| `prefixes` | what is the last token of every prefix? | n |
| `backtracking` | how to encode from left to right? | n |
| `appending` | how many tokens does a growing text have? | n for all appends |
| `intervals` | how many tokens has this part? | n, then mostly a few steps a part |
| `greedy`, `minimal` | what is *not* byte pair encoding? | n |
| `trainer` | where do the merges come from? | n for each merge |

They use `tokens` (the vocabulary and what follows from it), `search` (finding tokens in
a text), `tree` (which node is an ancestor of which) and `pieces` (the whole-piece rule).

With a packaged vocabulary, whose `Tokens` would take some seconds to build:

>>> from cutline import get_encoding
>>> encode_textbook(get_encoding("r50k_base")._mergeable_ranks, b"hello world")
[31373, 995]
"""

from cutline.reference.appending import Appender
from cutline.reference.backtracking import encode_backtracking
from cutline.reference.compatibility import compatible
from cutline.reference.greedy import encode_greedy
from cutline.reference.heap import encode_heap
from cutline.reference.intervals import IntervalCounter
from cutline.reference.minimal import encode_minimal
from cutline.reference.prefixes import PrefixTable, encode_prefixes
from cutline.reference.textbook import encode_textbook
from cutline.reference.tokens import Tokens
from cutline.reference.trainer import Merge, train

__all__ = [
    "Appender",
    "IntervalCounter",
    "Merge",
    "PrefixTable",
    "Tokens",
    "compatible",
    "encode_backtracking",
    "encode_greedy",
    "encode_heap",
    "encode_minimal",
    "encode_prefixes",
    "encode_textbook",
    "train",
]
