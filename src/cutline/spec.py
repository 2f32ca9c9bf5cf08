"""`TokenizerSpec`: the complete description of a tokenizer, as one plain value.

Files are read into it and written from it, an `Encoding` is made from it, and pickles hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from cutline.errors import VocabularyError
from cutline.vocabulary import Vocabulary
from cutline.words.models import Unigram, WordPiece

if TYPE_CHECKING:
    import numpy as np

    from cutline.normalizing import Step
    from cutline.pretokenize.splitting import Splitting
    from cutline.words.joining import Joiner
    from cutline.words.splitting import Splitter
else:
    from cutline.kernels.base.late import numpy as np

__all__ = ["LED_PIECE", "AddedToken", "Characters", "TokenizerSpec", "checked_special_tokens"]

LED_PIECE: Final = " ?[^ ]+"
"""The split pattern of pieces with a blank before each and no other ones."""


class AddedToken(NamedTuple):
    """A token that is searched for in the text before anything else happens.

    Attributes:
        content: its text.
        id: its id.
        special: it is a control token that users should not write; `skip_special_tokens`
            leaves it out.
        normalized: it is searched for in normalized text.
        lstrip: its match includes the white space before it.
        rstrip: its match includes the white space after it.
        single_word: it matches only where no word character is next to it.
    """

    content: str
    id: int
    special: bool = True
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


class Characters(NamedTuple):
    """What the ids of a model over characters mean, which is written as byte-level BPE.

    Attributes:
        meanings: what tokens decode to, by id, where that is not their bytes in the vocabulary:
            those of stand-ins, and those that no text encodes to.
        first_inner: the tokens from this id on are inner ones: they make characters of bytes,
            and no text encodes to them.
        drops_blank: decoding drops a blank at the start.
        bare_symbols: added tokens get no prefix before they are searched for in normalized text.
    """

    meanings: Mapping[int, bytes]
    first_inner: int
    drops_blank: bool
    bare_symbols: bool = False


class TokenizerSpec(NamedTuple):
    """The description of a tokenizer. Immutable; input of `Encoding.from_spec`.

    Attributes:
        name: its name.
        vocabulary: the mergeable tokens; loads faster with left lengths.
        pat_str: the split pattern; None: texts are not split.
        added_tokens: tokens that are searched for before a text is split, mostly special tokens.
        normalizer: the steps that change the text between added tokens, in order.
        prefix_space: such text gets a leading blank, unless it begins with one.
        unreachable_tokens: ids of tokens that no text encodes to; they can be decoded.
        n_template_tokens: special tokens that a model expects around one text, and around two.
        trims: for each post-processor that trims blanks from offsets, whether it takes a blank
            before the text for an inserted one.
        model: how a word becomes tokens; None: by byte-level BPE.
        splitters: what splits normalized text into words, for a model other than BPE.
        joiner: how decoded words are put together; None: as they are, with a blank between two.
        max_tokens: the most tokens that the model reads, those of its template included; None:
            not known.
        prompts: the texts that the model expects before a text, by what it is.
        prefix_first: text after an added token gets no leading blank.
        characters: what the ids mean if this is a model over characters, else None.
        template: the post-processors of its tokenizer.json, as JSON, if that is of version 1.
        marks_word_ends: each piece gets a blank at its end, which its last token has as well;
            no piece has one otherwise.
        splittings: what splits texts, one after another, if that is not known to be one pattern;
            there is no `pat_str` then.
        marks_word_starts: each piece gets a blank at its start, which its first token has as well.
        led_pat_str: splits the pieces with their blanks once more, where these are no marks of the
            model: ByteLevel puts them before each piece. "": it does not.
    """

    name: str
    vocabulary: Vocabulary
    pat_str: str | None
    added_tokens: tuple[AddedToken, ...] = ()
    normalizer: tuple[Step, ...] = ()
    prefix_space: bool = False
    unreachable_tokens: Mapping[bytes, int] = {}  # nobody changes a mapping
    n_template_tokens: tuple[int, int] = (0, 0)
    trims: tuple[bool, ...] = ()
    model: WordPiece | Unigram | None = None
    splitters: tuple[Splitter, ...] = ()
    joiner: Joiner | None = None
    max_tokens: int | None = None
    prompts: Mapping[str, str] = {}
    prefix_first: bool = False
    characters: Characters | None = None
    template: str = ""
    marks_word_ends: bool = False
    splittings: tuple[Splitting, ...] = ()
    marks_word_starts: bool = False
    led_pat_str: str = ""

    @classmethod
    def plain(
        cls,
        name: str,
        vocabulary: Vocabulary,
        pat_str: str | None,
        special_tokens: Mapping[str, int],
    ) -> Self:
        """Describe a tokenizer that only splits and merges.

        Raises:
            VocabularyError: names the special token that is empty or no text, or whose id is
                no integer, out of range or that of an ordinary token.
        """
        checked = checked_special_tokens(vocabulary, special_tokens)
        return cls(name, vocabulary, pat_str, tuple(map(AddedToken, checked, checked.values())))

    @property
    def special_tokens(self) -> dict[str, int]:
        """Ids of the special tokens by text."""
        return {token.content: token.id for token in self.added_tokens if token.special}

    @property
    def own_tokens(self) -> dict[str, int]:
        """Ids by text of the added tokens that are not in the vocabulary."""
        ids = np.array([token.id for token in self.added_tokens], dtype=np.int64)
        taken = np.isin(ids, self.vocabulary.ids).tolist()
        return {
            token.content: token.id
            for token, is_taken in zip(self.added_tokens, taken, strict=True)
            if not is_taken
        }

    @property
    def is_plain(self) -> bool:
        """Whether it consists of pattern, vocabulary and special tokens only."""
        return self._is_only_split and len(self.own_tokens) == len(self.added_tokens)

    @property
    def _is_only_split(self) -> bool:
        usual = (True, False, False, False, False)
        return self._around_splitting == ((), False, (), (0, 0), ()) and all(
            token[2:] == usual for token in self.added_tokens
        )

    @property
    def marks_words(self) -> bool:
        """Whether each piece gets a blank."""
        return self.marks_word_ends or self.marks_word_starts

    @property
    def changes_texts(self) -> bool:
        """Whether the tokens of ordinary text can differ from those of its own pieces."""
        return (
            bool(self.normalizer)
            or self.prefix_space
            or self.marks_words
            or bool(self.splittings)
            or not all(token.special for token in self.added_tokens)
        )

    def bytes_by_id(self) -> dict[int, bytes]:
        """Return the bytes of all tokens of the model by id, those of the vocabulary first."""
        vocabulary, meant = self.vocabulary, self.characters
        ids = vocabulary.ids.tolist()
        if meant is None:
            return dict(zip(ids, vocabulary.tokens(), strict=True))
        by_id = {
            token_id: meant.meanings.get(token_id, token)
            for token_id, token in zip(ids, vocabulary.tokens(), strict=True)
            if token_id < meant.first_inner
        }
        return by_id | {key: token for key, token in meant.meanings.items() if key not in by_id}

    @property
    def content_hash(self) -> str:
        """SHA-256 in hex over everything that determines tokens and ids, not the name."""
        import json
        from hashlib import sha256  # loads a library

        # The order matters: an id shared by two special tokens decodes to the first one.
        special = sorted(self.special_tokens.items(), key=itemgetter(1))
        content: list[Any] = [self.vocabulary.fingerprint, self.pat_str, special]
        if not self.is_plain:
            content.append(ascii((tuple(map(tuple, self.added_tokens)), *self._around_splitting)))
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def _around_splitting(self) -> tuple[Any, ...]:
        unreachable = tuple(sorted(self.unreachable_tokens.items()))
        others: tuple[Any, ...] = ()
        if self.characters is not None:
            meanings, *rest = self.characters
            others = (self.prefix_first, sorted(meanings.items()), *rest)
        if self.model is not None:
            others = (self.model, self.splitters, self.joiner)
        if self.marks_words:
            others = (*others, f"marks word {'ends' if self.marks_word_ends else 'starts'}")
        if self.splittings:
            others = (*others, self.splittings)
        if self.led_pat_str:
            others = (*others, self.led_pat_str)
        return (
            *(self.normalizer, self.prefix_space, unreachable, self.n_template_tokens, self.trims),
            *others,
        )


def checked_special_tokens(
    vocabulary: Vocabulary, special_tokens: Mapping[str, int]
) -> dict[str, int]:
    """Refuse special tokens that clash with ordinary tokens, or are no valid text.

    Two special tokens may share an id, as two of o200k_harmony do.

    Returns:
        A dictionary of plain ints.

    Raises:
        VocabularyError: names the special token that is empty or no text, or whose id is
            no integer, out of range or taken.
    """
    if not isinstance(special_tokens, Mapping):
        kind = type(special_tokens).__name__
        raise TypeError(f"special_tokens must be a mapping from texts to ids, got {kind}")
    checked: dict[str, int] = {}
    for text, token_id in special_tokens.items():
        if not isinstance(text, str) or not text or not _is_unicode(text):
            raise VocabularyError(
                f"special token {text!r} is no text: it must be a str of at least one character, "
                "without surrogates"
            )
        try:
            number = index(token_id)
        except TypeError:
            raise VocabularyError(
                f"special token {text!r} has id {token_id!r}; ids must be integers"
            ) from None
        if not 0 <= number < 2**32 - 1:
            raise VocabularyError(
                f"special token {text!r} has id {number}; ids must be from 0 to 2**32 - 2"
            )
        checked[text] = number
    taken = np.isin(np.array(list(checked.values()), dtype=np.uint32), vocabulary.ids)
    if taken.any():
        text = list(checked)[int(taken.argmax())]
        place = int(np.flatnonzero(vocabulary.ids == checked[text])[0])
        raise VocabularyError(
            f"special token {text!r} has id {checked[text]}, which is that of the ordinary "
            f"token {vocabulary.token_bytes(place)!r}; give it an id of its own"
        )
    return checked


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
