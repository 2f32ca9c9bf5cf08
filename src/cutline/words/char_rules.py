"""What normalizing and splitting make of each character. Source: docs/words.md, "Images"."""

import re
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from operator import or_
from typing import Final, NamedTuple

import numpy as np

from cutline.errors import PatternError, VocabularyError
from cutline.kernels.words.images import ImageMaker
from cutline.normalizing import (
    SPACE,
    Form,
    Lower,
    Prepend,
    Replace,
    Step,
    Strip,
    StripBlanks,
    StripPieces,
)
from cutline.pretokenize.charset import CODE_POINTS
from cutline.words.beginnings import BeginsAnew, looks
from cutline.words.characters import members_of
from cutline.words.charsmap import CharsMap
from cutline.words.first_word import keeps_start
from cutline.words.neighbours import LEFT, NO_CHARACTER, RIGHT, flagger, vanishes_next
from cutline.words.precompiled import Precompiled
from cutline.words.splitting import Metaspace, SplitClass, Splitter, WhitespaceSplit
from cutline.words.steps import Collapse, CollapseWhite, part_of_file, removes_accents

__all__ = ["META", "CharRules", "Image"]

META: Final = b"\xfd"  # what stands for the replacement of a blank
_END: Final = b"\xff"
_RUN: Final = b"\xfe"
_BLOCK: Final = 256
_WHITE: Final = frozenset(SPACE) - {" "}
_NO_STRIP: Final = Strip(False, False)
_SURROGATES: Final = range(0xD800, 0xE000)
_HINT: Final = "cutline.wrap(tokenizer) counts and cuts with any tokenizer"


class Image(NamedTuple):
    """What a character becomes where nothing interacts with it.

    Attributes:
        text: UTF-8 of normalized text, with 0xFF where a word ends or begins, and 0xFE where one
            does before a blank of a run that collapses.
        first_group: a word ends between two characters with different groups (the last of one,
            the first of the next), unless one is 0. Characters with empty images are no
            neighbours: such a character leaves the group of the one before it.
        last_group: see `first_group`.
        flags: LEFT, RIGHT, PAIR, OPENS and JOINS of `neighbours`, added.
    """

    text: bytes
    first_group: int
    last_group: int
    flags: int


class _Way(NamedTuple):
    """How splitters treat the characters that are in the same classes."""

    ends_before: bool
    ends_after: bool
    group: int
    is_removed: bool


class CharRules:
    """What normalizing and splitting make of each character.

    Args:
        steps: the normalizer.
        splitters: the pre-tokenizer.
        model: the model.

    Attributes:
        char_steps: the steps that change characters, without those that act on blanks at the
            ends of a text and in runs.
        prefix: a word that does not begin with the replacement of Metaspace gets one (at the
            start of a text only, if Metaspace says "first": `only_first`).
        meta: that replacement, in UTF-8; or nothing.
        collapses: a run of blanks counts as one.
        strips_end: blanks at the end of the normalized text are no word.
        last_strip: what is cut off the ends of normalized text. Where that is more than blanks,
            characters interact.
        splits_white: white space ends words, and is in none.
        maker: makes images of normalized text.
        strips_raw: whether white space at the start, and at the end, of a text is cut off
            before anything else; and
        first_strip: what must do so: nothing where white space ends words.

    Raises:
        VocabularyError: steps or splitters act over more than neighbouring characters, so that
            no exact encoding can be built; names them.
    """

    def __init__(
        self, steps: tuple[Step, ...], splitters: tuple[Splitter, ...], model: object
    ) -> None:
        self._model = model
        self._metaspace = _metaspace_of(splitters)
        if self._metaspace is not None and self._metaspace.prepend == "first":
            _check_first(self._metaspace, steps)
        self._n_splitters = len(splitters)
        self.splits_white = any(isinstance(one, WhitespaceSplit) for one in splitters)
        self._classes, self._ways = _ways_of(splitters)
        prepend = "never" if self._metaspace is None else self._metaspace.prepend
        self.prefix, self.only_first = prepend != "never", prepend == "first"
        self.meta = b"" if self._metaspace is None else self._metaspace.replacement.encode()
        first, self.char_steps, last = _in_three(steps)
        self.collapses = self._collapses(last)
        self._collapses_first = self._is_collapsed_first()
        self.collapses |= self._collapses_first
        self.strips_raw = first.left, first.right
        self.first_strip = _NO_STRIP if self.splits_white else first
        self.last_strip = self._last_strip(last)
        self.strips_end = self.last_strip.right
        self._check_raw_strip(first)
        self.maker = self._image_maker(collapses=self.collapses)
        self._flaggers = [
            flagger(step, self.char_steps[place + 1 :])
            for place, step in enumerate(self.char_steps)
        ]
        self._cr_flags = self._flags_of_cr()

    # What a set of steps means for blanks

    def _collapses(self, last: tuple[Step, ...]) -> bool:
        runs = [step for step in last if isinstance(step, Collapse)]
        if not runs:
            return False
        space, meta = self._metaspace, runs[-1].new
        if self.splits_white:
            if all(run.new == " " for run in runs):
                return False  # white space of any length ends a word
            raise _refused(runs[0], "white space that is no blank any more splits no words")
        if space is None:
            raise _refused(runs[0], "without Metaspace, runs are parts of words")
        if not space.splits and self._n_splitters > 1:
            raise _refused(runs[0], "other pre-tokenizers split words, in which blanks are")
        if len(runs) > 1 or meta not in (" ", space.replacement):
            raise _refused(
                runs[0], "only a blank, or what Metaspace makes of it, may replace a run"
            )
        if self._classes[ord(" ")] != self._classes[ord(space.replacement)]:
            raise _refused(runs[0], "a pre-tokenizer treats the replacement unlike a blank")
        return True

    def _is_collapsed_first(self) -> bool:
        """Return whether runs of blanks count as one, but not those that steps make of others.

        Raises:
            VocabularyError: what steps make of blanks is not known to be that.
        """
        runs = [step for step in self.char_steps if isinstance(step, Collapse)]
        if not runs:
            return False
        if self.splits_white:
            raise _refused(runs[0], "white space ends words, and steps after it change characters")
        self._collapses((runs[0],))
        if self._metaspace is not None and not self._metaspace.splits:
            raise _refused(
                runs[0], "steps after it change characters, and blanks are parts of words"
            )
        if self._normalized(" ") != " ":
            raise _refused(runs[0], "steps after it change blanks")
        return True

    def _last_strip(self, last: tuple[Step, ...]) -> Strip:
        strips = [step for step in last if isinstance(step, Strip)]
        if not strips or self.splits_white:
            return _NO_STRIP  # white space at the ends splits no words
        if self._metaspace is None:
            raise _refused(strips[0], "without Metaspace, blanks are parts of words")
        left, right = any(one.left for one in strips), any(one.right for one in strips)
        if not self.collapses:
            raise _refused(strips[0], "a run of blanks must count as one")
        if left and not (right and self.prefix and self._n_splitters == 1):
            raise _refused(strips[0], "the word after it would begin otherwise")
        place = next((k for k, step in enumerate(last) if isinstance(step, Collapse)), len(last))
        if any(isinstance(step, Strip) for step in last[place:]) and last[place] != Collapse(" "):
            raise _refused(strips[0], "the replacement of runs is no white space")
        if len({type(one) for one in strips}) > 1:
            raise _refused(strips[0], "another step cuts off other white space")
        return type(strips[0])(left, right)

    def _check_raw_strip(self, strip: Strip) -> None:
        """Refuse to cut off white space first where words begin otherwise then."""
        if not (strip.left or strip.right):
            return
        splits = self._metaspace is None or self._metaspace.splits
        is_known = self.collapses and splits and (not strip.left or (strip.right and self.prefix))
        if not self.splits_white and not is_known:
            why = "blanks at the ends of a text, or in runs, are parts of words"
            raise _refused(strip, why)
        # Where white space ends words it is not cut off, for that changes no word, but for these.
        if (
            self.splits_white
            and strip.left
            and any(isinstance(s, Precompiled) for s in self.char_steps)
        ):
            raise _refused(strip, "white space and a mark after it would be changed as one")
        if any(self._normalized(one).strip(SPACE) for one in SPACE):
            raise _refused(strip, "some white space becomes something else")

    # Images

    def images(self, block: int) -> list[Image]:
        """Return the images of 256 code points; a surrogate has that of U+FFFD."""
        texts, flags = self.characters(block)
        return [self._image_of(text, flag) for text, flag in zip(texts, flags, strict=True)]

    def _image_maker(self, *, collapses: bool) -> ImageMaker:
        space = self._metaspace
        if space is None:
            return ImageMaker(self._classes, self._ways, "", False, collapses)
        return ImageMaker(
            self._classes, self._ways, space.replacement, space.splits, collapses, space.leads_all
        )

    def _image_of(self, text: str, flags: int = 0) -> Image:
        written, first, last = self.maker.image_of(text)
        if self.meta:
            written = written.replace(META, self.meta)
        return Image(written, first, last, flags)

    @property
    def keeps_blanks(self) -> bool:
        """Whether no blank is cut off before a word, nor changes with what is beside it.

        At most one step looks at neighbours: so characters of which a blank is no neighbour for it
        never change with one.
        """
        looking = [flags_of for flags_of in self._flaggers if flags_of is not None]
        if len(looking) > 1 or self._collapses_first:
            return False
        return not (any(self.strips_raw) or self.last_strip.left)

    @property
    def white(self) -> str:
        """What may be cut off at the end of a text, at one step or another."""
        return SPACE + self.last_strip.white_at_end

    @cached_property
    def plain(self) -> "CharRules":
        """The rules for text that is normalized already."""
        rules = copy(self)
        if self._collapses_first:
            rules.maker, rules._collapses_first = self._image_maker(collapses=False), False
        rules.char_steps, rules._flaggers, rules._cr_flags = (), [], 0
        rules.strips_raw, rules.last_strip = (False, False), _NO_STRIP
        return rules

    def characters(self, block: int) -> tuple[list[str], bytearray]:
        """Return what each of 256 code points becomes, and its flags.

        Cost: some 0.1 ms.
        """
        first = block * _BLOCK
        texts = [*map(chr, range(first, first + _BLOCK))]
        if first in _SURROGATES:
            texts = ["\ufffd"] * _BLOCK
        flags, together = bytearray(_BLOCK), NO_CHARACTER.join(texts)
        for step, flags_of in zip(self.char_steps, self._flaggers, strict=True):
            made = _each(step, texts, together)
            if flags_of is not None and (found := flags_of(texts, made)):
                flags = bytearray(map(or_, flags, found))
            if made is not texts:
                texts, together = made, NO_CHARACTER.join(made)
        if not self.splits_white and (self.last_strip != _NO_STRIP or any(self.strips_raw)):
            flags = bytearray(map(or_, flags, map(self._flags_of_stripping, texts)))
        if block == 0:
            flags[ord("\r")] |= self._cr_flags
        if self._collapses_first:
            texts, flags = self._unlike_blanks(first, texts, flags)
        return texts, flags

    def _unlike_blanks(
        self, first: int, texts: list[str], flags: bytearray
    ) -> tuple[list[str], bytearray]:
        """Write the replacement for blanks that others became: they are in no run that collapses.

        What vanishes was between two runs, not inside of one.
        """
        assert self._metaspace is not None
        blank = ord(" ") - first
        texts = [
            text if place == blank else text.replace(" ", self._metaspace.replacement)
            for place, text in enumerate(texts)
        ]
        gone = bytes(0 if text else LEFT | RIGHT for text in texts)
        return texts, bytearray(map(or_, flags, gone))

    def begin_anew(self, text: str) -> list[int]:
        """Return the places, 0 apart, of characters before which a text can be cut to normalize it.

        The normal form is that of what is before such a character, and that of the rest: what is
        before it has no effect on what it and those after it become. Not all places are found.
        """
        return self._begins_anew.places(text)

    def without_vanished(self, text: str) -> str:
        """Return a text without some of what vanishes: nothing else becomes another thing then."""
        return "".join(filter(self._stays, text))

    @cached_property
    def _stays(self) -> Callable[[str], bool]:
        return lru_cache(_BLOCK)(partial(_stays, self.char_steps))

    def begins_anew(self, text: str, place: int) -> bool:
        """Return whether a place, which is not 0, is one of them; two characters decide."""
        return self._begins_anew.at(text, place)

    @cached_property
    def _begins_anew(self) -> BeginsAnew:
        looking = [flags_of is not None for flags_of in self._flaggers]
        return BeginsAnew(self.char_steps, looking)

    def _normalized(self, text: str) -> str:
        for step in self.char_steps:
            text = step.apply(text)
        return text

    def _flags_of_cr(self) -> int:
        r"""Say whether `\r\n` is anything else than `\r` and `\n`."""
        if not any(isinstance(step, Precompiled) for step in self.char_steps):
            return 0
        texts = self._normalized("\r\n"), self._normalized("\r") + self._normalized("\n")
        if self._collapses_first:
            return 0 if texts[0] == texts[1] else RIGHT
        whole, apart = (self._image_of(text).text for text in texts)
        return 0 if self._as_one_run(whole) == self._as_one_run(apart) else RIGHT

    def _flags_of_stripping(self, text: str) -> int:
        """Say whether other white space than blanks is at an edge, so that it may be cut off.

        Before a replacement that is there already, a blank at the start does not act as prefix.
        """
        if not text:
            return 0
        only_blanks = isinstance(self.last_strip, StripBlanks) and not any(self.strips_raw)
        if not only_blanks and (text[0] in _WHITE or text[-1] in _WHITE):
            return LEFT | RIGHT
        if isinstance(self.last_strip, StripPieces) and "\u2581" in (text[0], text[-1]):
            return LEFT | RIGHT
        space = self._metaspace
        if space is None or space.leads_all or not self.last_strip.left:
            return 0
        return LEFT if text[0] == space.replacement else 0

    def _as_one_run(self, text: bytes) -> bytes:
        """Write only once what is white space of any length."""
        blank = _RUN + self.meta
        return re.sub(
            rb"(?:%b)+|\xff+" % blank,
            lambda found: blank if found[0].startswith(_RUN) else _END,
            text,
        )


def _stays(steps: tuple[Step, ...], character: str) -> bool:
    """Return whether a character is there when steps look at neighbours, and stays then."""
    for step, following in pairwise((*steps, None)):
        assert step is not None
        if isinstance(step, Form) and following is not None and removes_accents(following):
            return not vanishes_next(step, following, character)
        if looks(step):
            return True
        character = step.apply(character)
        if not character:
            return False
    return True


# Splitting


def _metaspace_of(splitters: tuple[Splitter, ...]) -> Metaspace | None:
    found = [one for one in splitters if isinstance(one, Metaspace)]
    if not found:
        return None
    space = found[0]
    if splitters[-1] is not space or len(found) > 1:
        raise _refused(space, "it must be the last pre-tokenizer", kind=PatternError)
    if space.prepend == "first" and len(splitters) > 1:
        why = "whether a word is at the start of the text does not depend on the word alone"
        raise _refused(space, why, kind=PatternError)
    return space


def _check_first(space: Metaspace, steps: tuple[Step, ...]) -> None:
    """Refuse steps after which the first word may not be at the start of the text any more."""
    for step in steps:
        if not keeps_start(step):
            why = f"{part_of_file(step)} can remove the first character of a text"
            why += ", and then there is no prefix"
            raise _refused(space, why, kind=PatternError)


def _ways_of(splitters: tuple[Splitter, ...]) -> tuple[bytes, list[_Way]]:
    """Return each code point's set of classes as bits, and how each such set is treated."""
    classes = [one for one in splitters if not isinstance(one, Metaspace)]
    if len(classes) > 8:
        raise _refused(classes[-1], "there are more than eight", kind=PatternError)
    runs = [one for one in classes if isinstance(one, SplitClass) and one.behavior == "contiguous"]
    if len(runs) > 7:  # a group is a byte
        raise _refused(runs[-1], "there are more than seven that are contiguous", PatternError)
    names = tuple(
        "white space" if isinstance(one, WhitespaceSplit) else one.members for one in classes
    )
    return _class_bits(names), [_way(classes, bits) for bits in range(1 << len(classes))]


@lru_cache(maxsize=8)
def _class_bits(names: tuple[str, ...]) -> bytes:
    bits = np.zeros(CODE_POINTS, dtype=np.uint8)
    for place, name in enumerate(names):
        for start, end in members_of(name).ranges():
            bits[start:end] |= 1 << place
    return bits.tobytes()


def _way(classes: Sequence[WhitespaceSplit | SplitClass], bits: int) -> _Way:
    before = after = is_removed = has_runs = False
    group = 0
    for place, one in enumerate(classes):
        inside = bits >> place & 1
        how = "removed" if isinstance(one, WhitespaceSplit) else one.behavior
        if how == "contiguous":
            has_runs = True
            group = 2 * group + inside
        elif inside:
            is_removed |= how == "removed"
            before |= how in ("isolated", "merged with next")
            after |= how in ("isolated", "merged with previous")
    return _Way(before, after, group + has_runs, is_removed)


# Steps


def _in_three(steps: tuple[Step, ...]) -> tuple[Strip, tuple[Step, ...], tuple[Step, ...]]:
    """Divide steps: a Strip that comes first, what changes characters, and then blanks."""
    first = _NO_STRIP
    blanks = (Strip, Collapse)
    start, end = 0, len(steps)
    while end and isinstance(steps[end - 1], blanks):
        end -= 1
    if end:
        while isinstance(step := steps[start], Strip) and not isinstance(step, StripBlanks):
            first = Strip(first.left or step.left, first.right or step.right)
            start += 1
    last = steps[end:]
    for place, step in enumerate(steps[start:end], start=start):
        if isinstance(step, CollapseWhite):
            if not all(map(_keeps_blanks, steps[place + 1 : end])):
                raise _refused(step, "steps after it may make blanks")
            last = Collapse(" "), *last  # of runs that later steps find, which are as they were
        if step == Collapse(" ") and not (last or first != _NO_STRIP):
            if not all(map(_leaves_blanks, steps[:place])):
                raise _refused(step, "steps before it may make blanks, or remove what is between")
        elif isinstance(step, blanks):
            raise _refused(step, "it acts on blanks, and steps after it change characters")
        if isinstance(step, Prepend):
            raise _refused(step, "it acts on the start of a text only")
    return first, steps[start:end], last


def _leaves_blanks(step: Step) -> bool:
    """Return whether a step makes no blanks, and removes nothing that is between them."""
    return isinstance(step, Replace) and bool(step.new) and " " not in step.old + step.new


def _keeps_blanks(step: Step) -> bool:
    """Return whether a step neither makes nor changes blanks, nor anything because of one."""
    return isinstance(step, Lower) or (isinstance(step, Form) and step.name in ("NFC", "NFD"))


def _each(step: Step, texts: list[str], together: str) -> list[str]:
    """Apply a step to each of some texts on its own; they are given joined by NO_CHARACTER, too.

    Texts that stay unchanged are returned as the same list.
    """
    if isinstance(step, CharsMap | Precompiled):
        return step.each(texts)
    if not step.keeps(NO_CHARACTER) or together.count(NO_CHARACTER) >= len(texts):
        return [step.apply(text) for text in texts]
    made = step.apply(together)
    if made.count(NO_CHARACTER) >= len(texts):
        return [step.apply(text) for text in texts]
    return texts if made == together else made.split(NO_CHARACTER)


def _refused(
    part: object, why: str, kind: type[VocabularyError | PatternError] = VocabularyError
) -> VocabularyError | PatternError:
    return kind(f"{part_of_file(part)} cannot be done exactly here: {why}; {_HINT}")
