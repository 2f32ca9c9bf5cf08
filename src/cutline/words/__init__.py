"""Tokenizers that encode words apart: WordPiece and Unigram. Source: docs/words.md.

splitting.py    what splits normalized text into words
char_rules.py   what normalizing and splitting make of each character
"""
