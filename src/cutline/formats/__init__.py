"""Files of tokenizers: reading them gives a `TokenizerSpec`, writing takes one.

    reading.py         which format a file has, and what the caller must add
    writing.py         which format a path asks for, and what it can hold
    cutline_file.py    `.cutline`: all of it, compact
    tiktoken_file.py   `.tiktoken`: tokens and ranks
    tokenizer_json.py  what a `tokenizer.json` says, part by part
    stages.py          its parts that change and split text, as steps and a split pattern
    merges.py          its merges, as an order of tokens
    huggingface.py     `tokenizer.json` and `vocab.json` with `merges.txt`, written and read
    tekken.py          `tekken.json`

docs/formats.md and docs/tokenizers.md say what each can hold.
"""
