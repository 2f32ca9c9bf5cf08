"""Words of a text by the images of its characters: what the kernel does, in plain Python."""

import re
from collections.abc import Iterator
from functools import cache

from cutline.normalizing import SPACE
from cutline.words.char_rules import CharRules, Image
from cutline.words.neighbours import JOINS, LEFT, OPENS, PAIR, RIGHT

MARKERS = b"\xfe\xff"
RUN = b"\xfe\xe2\x96\x81"


@cache
def images_of(rules: CharRules, block: int) -> list[Image]:
    return rules.images(block)


def image(rules: CharRules, character: str) -> Image:
    return images_of(rules, ord(character) // 256)[ord(character) % 256]


def interact(first: Image, second: Image) -> bool:
    a, b = first.flags, second.flags
    return bool(a & RIGHT or b & LEFT or a & b & PAIR or (a & OPENS and b & JOINS))


def stretches(rules: CharRules, text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text where words surely end, and tell which parts have characters that interact."""
    found = [image(rules, character) for character in text]
    touched = [bool(one.flags & RIGHT) for one in found]
    for k in range(1, len(text)):
        if interact(found[k - 1], found[k]):
            touched[k - 1] = touched[k] = True
    start = 0
    for k in range(1, len(text) + 1):
        if k < len(text):
            if touched[k - 1] or touched[k]:
                continue
            written = found[k - 1].text
            if rules.collapses and (not written or written.endswith(RUN)):
                continue  # blanks of a run belong together
            before, after = found[k - 1].text[-1:], found[k].text[:1]
            if not (before and before in MARKERS) and not (after and after in MARKERS):
                continue
            if rules.maker.joins:
                continue  # the marker of a run ends no word
        yield text[start:k], any(touched[start:k])
        start = k


def images_in(rules: CharRules, text: str) -> Iterator[Image]:
    parts = [*stretches(rules, text)]
    for place, (part, is_entangled) in enumerate(parts):
        if is_entangled:
            for step in rules.char_steps:
                part = step.apply(part)
            strip = rules.last_strip
            part = part.lstrip(strip.white) if strip.left and place == 0 else part
            part = part.rstrip(strip.white) if strip.right and place == len(parts) - 1 else part
            yield from (image(rules.plain, character) for character in part)
        else:
            yield from (image(rules, character) for character in part)


def words(rules: CharRules, text: str) -> list[str]:
    """Split a text into words as the images say."""
    left, right = rules.strips_raw
    text = text.lstrip(SPACE) if left else text
    text = text.rstrip(SPACE) if right else text
    written, group = b"", 0
    for one in images_in(rules, text):
        if one.text:
            if group and one.first_group and group != one.first_group:
                written += b"\xff"
            written += one.text
            group = one.last_group
    if rules.collapses:
        written = re.sub(rb"(?:\xfe\xe2\x96\x81)+(?=\xfe\xe2\x96\x81)", b"", written)
    if rules.strips_end:
        written = re.sub(rb"(?:\xfe\xe2\x96\x81)+\xff*\Z", b"", written)
    begins_blank = written.startswith(RUN)
    if rules.maker.joins:
        written = written.replace(b"\xfe", b"")
    found = [word.decode() for word in re.split(rb"[\xfe\xff]", written) if word]
    if not rules.prefix:
        return found
    space = rules._metaspace
    assert space is not None
    meta = space.replacement
    if space.leads_all:
        return found if begins_blank else [f"{meta}{word}" for word in found]
    return [word if word.startswith(meta) else f"{meta}{word}" for word in found]
