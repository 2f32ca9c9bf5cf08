"""A text and tables of Unicode -> where lines, sentences, words and graphemes end."""
