"""Models as they are published: their files, on the Hugging Face Hub too, limits and prompts.

    hub.py         fetches the files of a model that are needed, none of the weights
    side_files.py  reads a model's limit and prompts from the files beside its tokenizer

docs/models.md says which files are read, and what follows from them.
"""
