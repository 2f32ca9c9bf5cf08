"""Models as they are published: their files, on the Hugging Face Hub too, limits and prompts.

    hub.py           fetches the files of a model that are needed, none of the weights
    side_files.py    reads a model's limit and prompts from the files beside its tokenizer
    added_tokens.py  reads the tokens that they add to it

docs/models.md says which files are read, and what follows from them.
"""

from typing import Final

__all__ = ["FILE_ENDINGS"]

FILE_ENDINGS: Final = (".cutline", ".gguf", ".json", ".model", ".tiktoken", ".txt")
"""A name that ends so is that of a file, and never of a model on the Hub."""
