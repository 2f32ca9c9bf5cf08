"""Tokenizers that encode words apart: WordPiece and Unigram. Source: docs/words.md.

models.py       the models, but for their tokens
splitting.py    what splits normalized text into words
char_rules.py   what normalizing and splitting make of each character
steps.py, characters.py, precompiled.py, charsmap.py, map_trie.py
                steps of normalizers that only they have
joining.py      how decoded words are put together
"""
