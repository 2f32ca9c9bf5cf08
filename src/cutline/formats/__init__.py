"""Files of tokenizers: reading them gives a `TokenizerSpec`, writing takes one.

    reading.py         detects a file's format and reads it
    writing.py         chooses the format for a path and writes it
    cutline_file.py    `.cutline`: a complete spec, compact
    tiktoken_file.py   `.tiktoken`: tokens and ranks
    typed_json.py      the values in it
    tokenizer_json.py  parsing a `tokenizer.json`
    stages.py          its normalizers and pre-tokenizers, as steps and a split pattern
    merges.py          its merges, as an order of tokens
    characters.py      its model over characters, as byte-level BPE
    closed_pattern.py  where the texts of such a model can be split
    metaspace.py       how it prepares its texts
    sentencepiece_model.py  sentencepiece's own files
    huggingface.py     `tokenizer.json` and `vocab.json` with `merges.txt`, written and read
    documents.py       what a `tokenizer.json` describes
    whole_json.py      writing one of tokenizers that do more than split and merge
    json_parts.py      its parts around the model
    tekken.py          `tekken.json`
    gguf.py            the tokenizer in a `.gguf` file

docs/formats.md and docs/tokenizers.md say what each format can store.
"""
