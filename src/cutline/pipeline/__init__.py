"""What a tokenizer does to a text besides splitting it and merging: encodings that do it too.

    normalizing.py   steps that change the text, and where each character came from
    added.py         tokens that are looked for in the text first
    facts.py         all that an encoding of this kind knows beyond an `Encoding`
    encoding.py      such encodings, which leave alone the texts that nothing changes
    stages.py        the parts of a tokenizer.json, as steps and a split pattern
    borders.py       where a text can be cut, and counted in parts, whatever stands around
    slices.py        counts of slices, from such a place to the next
    reach.py         how far a budget can go where there is none
    retreating.py    the greatest end of a slice there, where letters change on their own
    growing.py       texts that grow, likewise
    offsets.py       the characters that each token comes from

docs/tokenizers.md says what is exact, and why.
"""

from cutline.pipeline.encoding import ChangingEncoding, TokenizerEncoding
from cutline.pipeline.facts import Facts

__all__ = ["ChangingEncoding", "Facts", "TokenizerEncoding"]
