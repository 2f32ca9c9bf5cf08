"""What a text must be before it is cut, and its UTF-8 as the kernels take it."""

from cutline.errors import SurrogateError, UnsupportedPatternError

__all__ = ["need_automaton", "plain_text", "utf8_of"]


def plain_text(text: str) -> str:
    """Return a str as it is and a subclass as a str, whose methods can be relied on.

    Raises:
        TypeError: it is neither.
    """
    if type(text) is str:
        return text
    if isinstance(text, str):
        return str.__str__(text)
    raise TypeError(f"text must be a str, got {type(text).__name__}")


def utf8_of(text: str, offset: int = 0) -> str | bytes:
    """Return the text's UTF-8, as the kernels take it: the text itself where it is ASCII.

    Args:
        text: any string.
        offset: where the text lies in what the user gave, for the error.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate code point.
    """
    if text.isascii():
        return text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SurrogateError(
            f"the text has a surrogate code point, {text[error.start]!r}, at offset "
            f"{offset + error.start}; offsets into such text mean nothing to a tokenizer: "
            "repair it with text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        ) from None


def need_automaton(name: str, has_automaton: bool) -> None:
    """Refuse an encoding whose split pattern runs on the `regex` module.

    Raises:
        UnsupportedPatternError: it does.
    """
    if not has_automaton:
        raise UnsupportedPatternError(
            f"the split pattern of {name!r} runs on the `regex` module, which does not "
            "tell how far it looked: exact cuts need a pattern that compiles to an automaton; "
            "encode and count work with any"
        )
