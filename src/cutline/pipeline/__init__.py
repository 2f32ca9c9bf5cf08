"""What a tokenizer does besides splitting and merging: added tokens and normalizers.

    added.py         finding added tokens in a text, and the text between them
    pipeline.py      the whole pipeline of an encoding; unchanged texts bypass it
    safe_points.py   safe split points: where a text can be split and counted in parts
    slices.py        slices, cuts and chunks of changed texts
    slice_counter.py counts of slices, from one safe split point to the next
    new_parts.py     counts of what is between two of them, of many at once
    few_counter.py   the same for who cuts all of a text: by runs, among added tokens, by parts
    spelled.py       the same where each character is changed on its own
    among_added.py   cuts among added tokens, without safe split points
    sure_pieces.py   which tokens a text has whatever comes after it
    upper_bound.py   an upper bound for the end of a slice without safe split points
    longest_fit.py   the longest fitting slice there, if steps change characters together
    marks.py         a bound among many marks on one letter
    marked_cover.py  the fewest tokens of these, where words are marked
    stand_alone.py   whether an added token is found wherever its text is
    tokens_of_slices.py  whether slices may have added tokens that the text has not
    offsets.py       the characters that each token comes from

For models that encode words apart:

    words.py         the whole pipeline of an encoding
    model_tables.py  the tables of a model for the kernel, and what it must have for them
    added_among_words.py  added tokens in a text as it is, and in what becomes of a section
    idle_strips.py   added tokens that strip white space which is in no word
    standing.py      which of several that may overlap a text has
    entangled_texts.py    texts whose characters change one another, part by part
    text_pieces.py   pieces of other texts for one call of the kernel each
    word_safe_points.py   safe split points
    word_slices.py   slices, cuts and chunks; entangled.py: of parts with such characters

docs/tokenizers.md says what is exact, and why.
"""
