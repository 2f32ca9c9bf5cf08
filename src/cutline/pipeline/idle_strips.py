"""Added tokens that strip white space between words. Source: docs/words.md, "Added tokens"."""

from cutline.normalizing import SPACE, normalize
from cutline.spec import TokenizerSpec
from cutline.words.char_rules import CharRules

__all__ = ["without_idle_strips"]

_END = b"\xff"  # of a word, in images


def without_idle_strips(spec: TokenizerSpec, rules: CharRules) -> TokenizerSpec:
    """Return a tokenizer with the same ids for each text, whose tokens strip nothing if they may.

    Only the places of tokens differ: what a token strips is a part of it.

    Args:
        spec: the tokenizer.
        rules: of its steps.
    """
    tokens = spec.added_tokens
    stripping = [token for token in tokens if token.lstrip or token.rstrip]
    if not stripping or not rules.splits_white or rules.only_first:
        return spec
    texts = [text for t in tokens for text in (t.content, normalize(t.content, spec.normalizer))]
    if any(text != text.strip(SPACE) for text in texts):
        return spec  # what one strips may be a part of another
    changes = any(not token.normalized for token in stripping)
    if not all(map(_is_between_words, (rules.plain, rules) if changes else (rules.plain,))):
        return spec
    plain = tuple(token._replace(lstrip=False, rstrip=False) for token in tokens)
    return spec._replace(added_tokens=plain)


def _is_between_words(rules: CharRules) -> bool:
    """Return whether white space is in no word, and changes with nothing beside it."""
    blocks = {ord(one) >> 8 for one in SPACE}
    images = {block: rules.images(block) for block in blocks}
    found = [images[ord(one) >> 8][ord(one) & 0xFF] for one in SPACE]
    return all(not one.flags and not one.text.strip(_END) for one in found)
