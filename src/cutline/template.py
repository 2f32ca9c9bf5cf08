"""`Template`: what is sent for a chunk, with its headings, a prompt and the like around it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Self

from cutline.checks import checked_budget, is_missing, plain_text, utf8_of
from cutline.chunks import Chunk
from cutline.errors import shown

if TYPE_CHECKING:
    from cutline.protocols import TokenCounter

__all__ = [
    "LEFT_OUT",
    "OF_CHUNKS",
    "SENT_TOKENS",
    "TABLE_HEADER",
    "Frame",
    "Template",
    "meant",
    "need_template",
]

LEFT_OUT: Final = "headings_left_out"
"""In a chunk's metadata: how many headings, the outermost, are not sent with it."""

SENT_TOKENS: Final = "sent_tokens"
"""In a chunk's metadata: the tokens that are sent for it."""

TABLE_HEADER: Final = "table_header"
"""In a chunk's metadata: the header of the table that it goes on with, if that is sent."""

OF_CHUNKS: Final = ("text", "headings", TABLE_HEADER, "index")
"""The fields of a template that a chunk has itself."""

# Compiled when first used: most chunkers have no template.
_SEPARATOR: Final = r"[\s>|/\\:;,.\-\u2013\u2014\xb7\u2022#*=~_\u2192\xbb]*"
_PART: Final = r"(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<lone>[{}])"


class Frame(NamedTuple):
    """What is sent around a chunk's text."""

    before: str
    after: str


class Template:
    r"""What is sent for a chunk: its text with headings, a prompt and the like around it.

    Give it to a chunker as `template`. Then what `render` makes of each chunk has at most
    `chunk_size` tokens, special tokens included, and `chunk.metadata["sent_tokens"]` says how many.
    Immutable; equal templates compare and hash equal, and can be pickled.

    Args:
        pattern: the text that is sent, with fields in braces; `{{` and `}}` are braces. A chunk has
            `{text}`, which occurs once, `{headings}`, `{table_header}` and `{index}`. Any other
            field is one of the document, such as `{title}`: `fill` gives its value, and the
            adapters take it from the document's metadata.
        joined_by: what stands between the headings.
        special_tokens: how many tokens the model adds to what is sent; by default, as many as the
            chunker's encoding says (`Encoding.num_special_tokens_to_add`).
        values: the values of the document's fields, as `fill` takes them.

    An empty field takes a separator with it: what stands between it and the field before, unless
    nothing separates it from the next one; or, if none is before, between it and the next one. If
    that has more than white space and marks such as
    `>`, `:` and `|`, only the white space beside the field goes. `"passage: {headings}\n\n{text}"`
    is "passage: " and the text where there are no headings.

    The headings take at most a quarter of `chunk_size`: of a longer path the outermost are left
    out, and `chunk.metadata["headings_left_out"]` says how many. `{table_header}` is the header of
    the table, in Markdown, HTML or CSV, that a chunk goes on with; it takes at most a quarter, too,
    or is left out, and is then not in `chunk.metadata["table_header"]`.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: there is no `{text}` or more than one, a brace is alone, or a field has no name.
        SurrogateError: (a ValueError) a text has a surrogate code point.

    Source: docs/what-is-sent.md.

    >>> template = Template("passage: {headings}\n\n{text}", joined_by=" / ")
    >>> template.render(Chunk("Oil the blade.", 0, 14, 4, 0, ("Saws", "Care")))
    'passage: Saws / Care\n\nOil the blade.'
    >>> template.render(Chunk("Oil the blade.", 0, 14, 4, 0))
    'passage: Oil the blade.'
    """

    __slots__ = ("_literals", "fields", "joined_by", "pattern", "special_tokens", "values")

    pattern: str
    joined_by: str
    special_tokens: int | None
    values: Mapping[str, str]
    fields: tuple[str, ...]
    _literals: tuple[str, ...]

    def __init__(
        self,
        pattern: str,
        *,
        joined_by: str = " > ",
        special_tokens: int | None = None,
        values: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        pattern, joined_by = _checked("pattern", pattern), _checked("joined_by", joined_by)
        literals, fields = _parsed(pattern)
        if special_tokens is not None:
            special_tokens = checked_budget(special_tokens, "special_tokens")
        given = {name: _value(name, value) for name, value in values.items()}
        for name in given:
            if name in OF_CHUNKS or name not in fields:
                own = [one for one in fields if one not in OF_CHUNKS]
                raise ValueError(
                    f"values cannot have {name!r}: the document's fields in the template are {own}"
                )
        made: dict[str, Any] = {
            "pattern": pattern, "joined_by": joined_by, "special_tokens": special_tokens,
            "values": MappingProxyType(given), "fields": fields, "_literals": literals,
        }  # fmt: skip
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"cannot set {name!r}: a template is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name!r}: a template is immutable")

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields of the document that have no value yet."""
        return tuple(
            name for name in self.fields if name not in OF_CHUNKS and name not in self.values
        )

    def fill(self, /, **values: object) -> Self:
        """Return a copy with values for fields of the document.

        None is empty, and so is what pandas has for a missing value: nan, NaT and NA.

        Raises:
            TypeError: a value is bytes.
            ValueError: the template has no such field.

        >>> template = Template("{title}: {text}").fill(title="Saws")
        >>> template.render(Chunk("Oil the blade.", 0, 14, 4, 0))
        'Saws: Oil the blade.'
        """
        return type(self)(
            self.pattern, joined_by=self.joined_by, special_tokens=self.special_tokens,
            values={**self.values, **values},
        )  # fmt: skip

    def fill_from(self, metadata: Mapping[Any, Any]) -> Self:
        """Return a copy with the fields that have no value yet taken from a document's metadata.

        Raises:
            ValueError: the metadata lacks one.

        >>> Template("{title}: {text}").fill_from({"title": "Saws", "page": 3}).values["title"]
        'Saws'
        """
        missing = self.missing
        if not missing:
            return self
        for name in missing:
            if name not in metadata:
                raise ValueError(
                    f"the template needs {{{name}}}, which the document's metadata lacks; it has "
                    f"{sorted(map(str, metadata))}{meant(name, metadata)}"
                )
        return self.fill(**{name: metadata[name] for name in missing})

    def render(self, chunk: Chunk) -> str:
        """Return what is sent for a chunk, without the model's special tokens.

        Raises:
            TypeError: it is no chunk.
            ValueError: a field of the document has no value.
        """
        before, after = self.frame_of(chunk)
        return before + chunk.text + after

    def frame_of(self, chunk: Chunk) -> Frame:
        """Return what is sent before and after a chunk's text.

        Raises:
            TypeError: it is no chunk.
            ValueError: a field of the document has no value.
        """
        if not isinstance(chunk, Chunk):
            hint = ": pass its chunk" if hasattr(chunk, "chunk") else ""
            raise TypeError(f"a template takes a cutline.Chunk, got {type(chunk).__name__}{hint}")
        headings = chunk.headings[chunk.metadata.get(LEFT_OUT, 0) :]
        return self.frame(headings, chunk.index, chunk.metadata.get(TABLE_HEADER, ""))

    def count(self, chunk: Chunk, encoding: TokenCounter | str) -> int:
        """Count the tokens that are sent for a chunk, special tokens included.

        Args:
            chunk: the chunk.
            encoding: an `Encoding`, its name, or a wrapped tokenizer.

        Raises:
            TypeError: it is no chunk, or no encoding.
            ValueError: a field of the document has no value.

        Cost: encodes what is sent. Chunks of a chunker that has this template have the number in
        their metadata.

        >>> template = Template("passage: {text}", special_tokens=2)
        >>> template.count(Chunk("Oil the blade.", 0, 14, 4, 0), "o200k_base")
        9
        """
        from cutline.text_encoder import TextEncoder

        counter = TextEncoder._find_counter(encoding)
        count: int = counter.count(self.render(chunk)) + self.special_tokens_of(counter)
        return count

    def special_tokens_of(self, encoding: object) -> int:
        """Return how many special tokens are sent, with `special_tokens` or by an encoding."""
        if self.special_tokens is not None:
            return self.special_tokens
        says = getattr(encoding, "num_special_tokens_to_add", None)
        return 0 if says is None else int(says())

    def frame(self, headings: Sequence[str], index: int = 0, table_header: str = "") -> Frame:
        """Return what is sent before and after a text below some headings."""
        self.need_values()
        path = self.joined_by.join(headings)
        of_chunk = {"headings": path, TABLE_HEADER: table_header, "index": str(index)}
        known = {**self.values, **of_chunk}
        literals, is_first, place = [*self._literals], True, self.fields.index("text")
        for number, name in enumerate(self.fields):
            if name == "text" or known[name]:
                is_first = False
            elif is_first:
                after = literals[number + 1]
                literals[number + 1] = "" if _separates(after) else after.lstrip()
            elif literals[number + 1] or number + 1 == len(self.fields):
                before = literals[number]
                literals[number] = "" if _separates(before) else before.rstrip()
        known["text"] = ""
        parts = [
            part for pair in zip(literals, (*self.fields, "text"), strict=True)
            for part in (pair[0], known[pair[1]])
        ]  # fmt: skip
        cut = 2 * place + 1
        return Frame("".join(parts[:cut]), "".join(parts[cut:]))

    def need_values(self) -> None:
        """Refuse to go on while a field of the document has no value.

        Raises:
            ValueError: one has none.
        """
        if self.missing:
            name = self.missing[0]
            raise ValueError(
                f"the template's {{{name}}} has no value, and no chunk has such a field: give it "
                f"by template.fill({name}=...){meant(name, OF_CHUNKS)}"
            )

    def _state(self) -> tuple[Any, ...]:
        return self.pattern, self.joined_by, self.special_tokens, tuple(sorted(self.values.items()))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._state() == other._state()

    def __hash__(self) -> int:
        return hash(self._state())

    def __repr__(self) -> str:
        options = {"joined_by": self.joined_by, "special_tokens": self.special_tokens}
        if self.values:
            options["values"] = dict(self.values)  # type: ignore[assignment]
        shown = "".join(f", {name}={value!r}" for name, value in options.items())
        return f"Template({self.pattern!r}{shown})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.pattern, self.joined_by, self.special_tokens, dict(self.values))
        return _rebuild, (type(self), *state)


def _rebuild(
    cls: type[Template], pattern: str, joined_by: str, special: int | None, values: dict[str, str]
) -> Template:
    return cls(pattern, joined_by=joined_by, special_tokens=special, values=values)


@lru_cache(maxsize=64)  # a copy is made for each document
def _parsed(pattern: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the literal texts of a pattern, and the names of the fields between them."""
    literals, fields, last = [""], [], 0
    for part in re.finditer(_PART, pattern):
        literals[-1] += pattern[last : part.start()]
        last = part.end()
        if part["lone"]:
            raise ValueError(
                f"a {part['lone']!r} stands alone at offset {part.start()} of the template "
                f"{pattern!r}: write {2 * part['lone']!r} for a brace"
            )
        if part["brace"]:
            literals[-1] += part["brace"][0]
            continue
        if not part["field"].isidentifier():
            raise ValueError(
                f"the template has the field {part[0]!r}: a field is a name in braces, such as "
                "{text}, and braces are written {{ and }}"
            )
        fields.append(part["field"])
        literals.append("")
    literals[-1] += pattern[last:]
    if fields.count("text") != 1:
        got = ", ".join(f"{{{name}}}" for name in fields) or "no fields"
        raise ValueError(
            f"a template must have {{text}} once, for the chunk's text; {shown(pattern)} has {got}"
        )
    return tuple(literals), tuple(fields)


def _checked(name: str, text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{name} of a template must be a str, got {type(text).__name__}")
    text = plain_text(text)
    utf8_of(text)
    return text


def _value(name: str, value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"{{{name}}} of a template is {type(value).__name__}: decode it")
    return "" if is_missing(value) else _checked(name, str(value))


def need_template(template: object) -> None:
    """Refuse what is no template.

    Raises:
        TypeError: it is none; a text has to be made one.
    """
    if not isinstance(template, Template):
        raise TypeError(
            f"template must be a cutline.Template, got {type(template).__name__}: such as "
            "cutline.Template('passage: {text}')"
        )


def _separates(literal: str) -> bool:
    """Return whether a text between two fields is nothing but a separator."""
    return re.fullmatch(_SEPARATOR, literal) is not None


def meant(name: str, known: Sequence[str] | Mapping[Any, Any]) -> str:
    """Return the end of an error for an unknown field: the known one that is most like it."""
    from difflib import get_close_matches

    near = get_close_matches(name, [str(one) for one in known], 1)
    return f"; did you mean {{{near[0]}}}?" if near else ""
