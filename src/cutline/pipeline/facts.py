"""What is known of a tokenizer beyond its pattern, its tokens and how they merge."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cutline.pipeline.normalizing import Prepend, Step, Traced
from cutline.vocabulary.tokenizer_json import AddedToken

__all__ = ["Facts"]


@dataclass(frozen=True, slots=True)
class Facts:
    """All that `TokenizerEncoding` adds to an `Encoding`.

    Attributes:
        added_tokens: what is looked for in a text before it is split.
        steps: what changes the text between added tokens, the first one first.
        prefix_space: a blank is put before such text, unless it begins with one.
        silent_tokens: tokens with ids that no text has; they can be decoded.
        n_template_tokens: special tokens that a model expects around one text, and around two.
        trims: for each time that blanks are left out of offsets, whether one before the text is
            taken for one that was put there.
    """

    added_tokens: tuple[AddedToken, ...] = ()
    steps: tuple[Step, ...] = ()
    prefix_space: bool = False
    silent_tokens: Mapping[bytes, int] = field(default_factory=dict)
    n_template_tokens: tuple[int, int] = (0, 0)
    trims: tuple[bool, ...] = ()

    @property
    def changes_texts(self) -> bool:
        """Whether ordinary text can be other than its own pieces."""
        return bool(self.steps) or self.prefix_space or any(map(_is_ordinary, self.added_tokens))

    @property
    def is_plain(self) -> bool:
        """Whether an `Encoding` is all that there is."""
        return not self.changes_texts and self == Facts(
            tuple(AddedToken(token.content, token.id) for token in self.added_tokens)
        )

    @property
    def changes_starts(self) -> bool:
        """Whether text begins otherwise than it goes on."""
        return self.prefix_space or any(isinstance(step, Prepend) for step in self.steps)

    def normalize(self, text: str, *, at_start: bool = True) -> str:
        """Change a text that has no added tokens.

        Args:
            text: the text.
            at_start: it stands at the start of the text or behind an added token.
        """
        for step in self.steps:
            if at_start or not isinstance(step, Prepend):
                text = step.apply(text)
        return text

    def trace(self, traced: Traced) -> Traced:
        """Change a text that stands at the start, and keep track of what came from where."""
        for step in self.steps:
            traced = step.trace(traced)
        return traced


def _is_ordinary(token: AddedToken) -> bool:
    return not token.special
