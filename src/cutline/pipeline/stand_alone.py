"""Whether an added token is found wherever its text is. Source: docs/words.md, "Added tokens"."""

from cutline.normalizing import normalize
from cutline.spec import TokenizerSpec
from cutline.words.splitting import Metaspace

__all__ = ["overlap", "tokens_stand_alone"]


def tokens_stand_alone(spec: TokenizerSpec) -> bool:
    """Return whether added tokens are found whatever is beside them, and a text follows each.

    But for those for single words: what is beside them decides.
    """
    tokens = spec.added_tokens
    if any(token.lstrip or token.rstrip for token in tokens):
        return False
    if any(isinstance(one, Metaspace) and one.prepend == "first" for one in spec.splitters):
        return False  # what follows a token has no prefix
    texts = {token.content for token in tokens}
    texts |= {normalize(token.content, spec.normalizer) for token in tokens if token.normalized}
    return not overlap(texts - {""})


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
