"""Files of tokenizers: reading them gives a `TokenizerSpec`, writing takes one.

    reading.py         detects a file's format and reads it
    writing.py         chooses the format for a path and writes it
    cutline_file.py    `.cutline`: a complete spec, compact
    tiktoken_file.py   `.tiktoken`: tokens and ranks
    tokenizer_json.py  parsing a `tokenizer.json`
    stages.py          its normalizers and pre-tokenizers, as steps and a split pattern
    merges.py          its merges, as an order of tokens
    characters.py      its model over characters, as byte-level BPE
    closed_pattern.py  where the texts of such a model can be split
    metaspace.py       how it prepares its texts
    sentencepiece_model.py  sentencepiece's own files
    huggingface.py     `tokenizer.json` and `vocab.json` with `merges.txt`, written and read
    tekken.py          `tekken.json`

docs/formats.md and docs/tokenizers.md say what each format can store.
"""
