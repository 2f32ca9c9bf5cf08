"""Each public call as the first of its process: nothing may rely on what another one has loaded."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.characters import make_document
from tests.words.tokenizers_of import MODELS, tokenizer_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each call is made in a fork")

CALLS = {
    "encode": "e.encode(T)",
    "encode_ordinary": "e.encode_ordinary(T)",
    "special tokens": "e.encode(T + '<|endoftext|>', allowed_special='all')",
    "encode_to_numpy": "e.encode_to_numpy(T)",
    "encode_with_offsets": "e.encode_with_offsets(T)",
    "encode_batch": "e.encode_batch([T, 'a'])",
    "count": "e.count(T)",
    "count_till_limit": "e.count_till_limit(T, 50)",
    "count_batch": "e.count_batch([T, 'a'])",
    "decode": "e.decode(e.encode(T))",
    "decode_with_offsets": "e.decode_with_offsets(e.encode(T))",
    "decode_batch": "e.decode_batch([[5, 6], [7]])",
    "decode_stream": "[*map(e.decode_stream().feed, e.encode(T))]",
    "split": "[*e.split(T, 50)], [*e.split(T, 200)]",
    "split with overlap": "[*e.split(T, 50, 10)]",
    "split within another limit": "[*e.split(T, 50, also_fits={'bytes': 99, 'cl100k_base': 40})]",
    "split_at": "e.split_at(T, 50)",
    "truncate": "e.truncate(T, 50), e.truncate(T, 50, keep='both')",
    "intervals": "e.intervals(T).count(3, 500), e.intervals(T).split_at(4, 30)",
    "count_many": "e.intervals(T).count_many([(1, 50), (3, 9)])",
    "appender": "e.appender('x').append(T), e.appender(T).truncate(20)",
    "prepender": "e.prepender('x').prepend(T), e.prepender(T).truncate(20)",
    "TokenChunker": "cutline.TokenChunker(e, 50, 5).chunk(T)",
    "TextChunker": "cutline.TextChunker(e, 70).chunk(T), cutline.TextChunker(e, 70, 9).chunk(T)",
    "iter_chunks": "[*cutline.TextChunker(e, 70).iter_chunks([T, T])]",
    "chunk_batch": "cutline.TextChunker(e, 70).chunk_batch([T, 'a'])",
    "MarkdownChunker": "cutline.MarkdownChunker(e, 50).chunk(T)",
    "verify": "cutline.verify(T, [T], encoding=e, chunk_size=9_999)",
    "shorten": "cutline.shorten(T, 50, encoding=e)",
    "pack": "cutline.pack([T, 'abc'], 60, encoding=e)",
    "save": "e.save(sys.argv[2])",
}
# One process imports the package, and makes each call in a fork of its own.
PROGRAM = """
import json, os, sys, cutline
T = "The theme of them all. \\u65e5\\u672c\\u8a9e e\\u0301 \\U0001f600 the\\n\\n" * 60
for title, call in json.load(sys.stdin).items():
    child = os.fork()
    if child == 0:
        try:
            name = sys.argv[1]
            e = cutline.load(name) if os.sep in name else cutline.get_encoding(name)
            eval(call)
        except BaseException as error:
            print(f"{title}: {type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status not in (0, 256):
        print(f"{title}: status {status}", flush=True)
"""


@pytest.mark.parametrize("kind", ["o200k_base", "gemma", "llama 2", *MODELS])
def test_each_call_can_be_the_first(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    if kind in MODELS:
        made = tokenizer_of(kind, "bert uncased", random.Random(kind)).to_str()
        path.write_text(made, encoding="utf-8")
    elif kind != "o200k_base":
        path.write_text(make_document(kind), encoding="utf-8")
    name, saved = path if path.exists() else kind, tmp_path / "saved.cutline"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, saved],
        input=json.dumps(CALLS), capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")
