"""Whether an added token is found wherever its text is. Source: docs/words.md, "Added tokens"."""

from cutline.normalizing import normalize
from cutline.spec import TokenizerSpec
from cutline.words.splitting import Metaspace

__all__ = ["overlap", "texts_follow", "texts_overlap"]


def texts_follow(spec: TokenizerSpec) -> bool:
    """Return whether what follows an added token is encoded like a text."""
    if any(token.lstrip or token.rstrip for token in spec.added_tokens):
        return False
    return not any(isinstance(one, Metaspace) and one.prepend == "first" for one in spec.splitters)


def texts_overlap(spec: TokenizerSpec) -> bool:
    """Return whether a text may have one added token at a place that is in another one.

    Else each is found wherever its text is, but for those for single words: what is beside them
    decides.
    """
    tokens = spec.added_tokens
    texts = {token.content for token in tokens}
    texts |= {normalize(token.content, spec.normalizer) for token in tokens if token.normalized}
    return overlap(texts - {""})


def overlap(texts: set[str]) -> bool:
    """Return whether the end of a text begins another one, or itself, or one is inside another.

    Cost: quadratic in the length of each.
    """
    begun = {text[:length] for text in texts for length in range(1, len(text))}
    lengths = {len(text) for text in texts}
    for text in texts:
        for start in range(len(text)):
            if start and text[start:] in begun:
                return True
            inside = (n for n in lengths if n < len(text) and start + n <= len(text))
            if any(text[start : start + n] in texts for n in inside):
                return True
    return False
