"""The tokens that files beside a vocabulary add to it, as transformers writes them."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from cutline.pretrained.side_files import CONFIG_NAME, ROLES, SideFile

__all__ = [
    "ADDED_NAME",
    "ASSIGNED",
    "FLAGS",
    "added_beside",
    "described_tokens",
    "more_special",
    "with_tokens_beside",
]

Part = Mapping[str, Any]

ADDED_NAME: Final = "added_tokens.json"

ASSIGNED: Final = ...
"""What stands for the id of an added token that no file has: the one that it gets."""

FLAGS: Final = ("special", "normalized", "lstrip", "rstrip", "single_word")


def added_beside(path: Path) -> list[str]:
    """List the texts of the tokens that files beside a vocabulary add to it.

    Raises:
        VocabularyError: such a file is damaged.
    """
    config = SideFile(path.with_name(CONFIG_NAME))
    texts = [token["content"] for token in described_tokens(config)]
    return [*texts, *more_special(config), *SideFile(path.with_name(ADDED_NAME)).values]


def with_tokens_beside(document: Part, path: Path) -> Part:
    """Return a tokenizer.json with the tokens that the configuration beside it adds.

    Tokens that are described there are as described, also if the file has them. Others have the
    next ids, whatever the description says, and are special if they have a role. So it is
    in `AutoTokenizer.from_pretrained` of transformers 5.24.

    Args:
        document: what the file contains.
        path: its path.

    Raises:
        VocabularyError: the configuration is damaged.
    """
    own = document.get("added_tokens") or []
    if not isinstance(own, list) or not all(isinstance(token, dict) for token in own):
        return document  # it is refused where all of it is read
    config = SideFile(path.with_name(CONFIG_NAME))
    special = {token["content"]: token for token in _special_tokens(config) if token["content"]}
    described = {
        token["content"]: _with_flags(token, has_role=token["content"] in special)
        for token in sorted(described_tokens(config), key=lambda token: int(token["id"]))
        if token["content"]
    }
    kept = [{**token, **described.pop(str(token.get("content")), {})} for token in own]
    known = {token.get("content") for token in kept} | described.keys()
    new = [*described.values(), *(one for text, one in special.items() if text not in known)]
    return {**document, "added_tokens": [*kept, *({**one, "id": ASSIGNED} for one in new)]}


def _special_tokens(config: SideFile) -> Iterator[Part]:
    """Yield the special tokens of a configuration, those that have roles first."""
    values = config.values
    texts = (key for key, value in values.items() if isinstance(value, str) and key not in ROLES)
    for key in chain(ROLES, (key for key in texts if key.endswith("_token"))):
        value: Any = values.get(key)
        if isinstance(value, str):
            yield _special(value)
        elif _is_token(value):
            yield _with_flags(value, has_role=True)
    yield from map(_special, more_special(config))


def _special(text: str) -> Part:
    return _with_flags({"content": text, "special": True}, has_role=True)


def _with_flags(token: Part, *, has_role: bool) -> Part:
    """Return a token with all flags, as `tokenizers.AddedToken` fills them in, and no id."""
    special = token.get("special", False)
    given = {"normalized": not special, **token}
    flags = {flag: given.get(flag, False) for flag in FLAGS}
    return {"content": token["content"], **flags, "special": special or has_role}


def _is_token(value: Any) -> bool:
    """Return whether a value describes an added token."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("content"), str)
        and all(isinstance(value.get(flag, False), bool) for flag in FLAGS)
    )


def more_special(config: SideFile) -> list[str]:
    """Return the special tokens of a configuration that have no role, by their texts alone.

    Raises:
        VocabularyError: it has something else there.
    """
    texts: list[str] = []
    for key in ("additional_special_tokens", "extra_special_tokens"):
        value = config.values.get(key) or []
        for one in value.values() if isinstance(value, dict) else value:
            match one:
                case (str() as text) | {"content": str() as text}:
                    texts.append(text)
                case _:
                    raise config.damaged(key, value, "tokens")
    return texts


def described_tokens(config: SideFile) -> list[dict[str, Any]]:
    """Read the added tokens of which a configuration has all flags.

    Raises:
        VocabularyError: it has something else there.
    """
    key = "added_tokens_decoder"
    described = config.values.get(key) or {}
    if isinstance(described, dict) and all(
        number.isdecimal() and _is_token(token) for number, token in described.items()
    ):
        return [{**token, "id": int(number)} for number, token in described.items()]
    raise config.damaged(key, described, "tokens by id")
