"""Plain values as JSON, and back by their types: what `.cutline` files hold of a spec.

bytes are base64; tuples are lists; a mapping is an object if its keys are texts, otherwise a list
of pairs; of a class, an object with its name under "" and its fields.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> Any:
    """Turn a value into what `json.dumps` takes.

    >>> from cutline.normalizing import Form
    >>> to_json((Form("NFC"), b"a", {1: None}))
    [{'': 'Form', 'name': 'NFC'}, 'YQ==', [[1, None]]]
    """
    match value:
        case bytes():
            return b64encode(value).decode()
        case Mapping():
            if all(isinstance(key, str) for key in value):
                return {key: to_json(one) for key, one in value.items()}
            return [[to_json(key), to_json(one)] for key, one in value.items()]
        case _ if (names := _field_names(value)) is not None:
            named = {name: to_json(getattr(value, name)) for name in names}
            return {"": type(value).__name__, **named}
        case tuple():
            return [to_json(one) for one in value]
    return value


def from_json(data: Any, hint: Any) -> Any:
    """Turn JSON into a value of a type.

    Args:
        data: what `json.loads` returned.
        hint: the type: None, bool, int, str, bytes, `Literal`, a dataclass or a NamedTuple, and
            tuples, mappings and unions of them.

    Raises:
        TypeError, ValueError: the data is of another type.

    >>> from_json([[1, "YQ=="]], Mapping[int, bytes])
    {1: b'a'}
    """
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return from_json(data, _member(data, members))
    if origin is Literal:
        if data not in members:
            raise ValueError(f"{data!r} is none of {members}")
        return data
    if origin is tuple:
        if members[1:] == (...,):
            return tuple(from_json(one, members[0]) for one in _list(data))
        return tuple(map(from_json, _list(data, len(members)), members))
    if origin is Mapping:
        rows = data.items() if members[0] is str and isinstance(data, dict) else _list(data)
        found = (_list(list(row), 2) for row in rows)
        return {from_json(key, members[0]): from_json(one, members[1]) for key, one in found}
    if hint is bytes:
        return b64decode(from_json(data, str), validate=True)
    if hint in (bool, int, str, NoneType):
        if type(data) is not hint:
            raise TypeError(f"{data!r} is no {hint.__name__}")
        return data
    return _instance(data, hint)


def _member(data: Any, members: tuple[Any, ...]) -> Any:
    """Choose the type of a union."""
    if data is None and NoneType in members:
        return NoneType
    others = [one for one in members if one is not NoneType]
    name = data.get("") if isinstance(data, dict) else None
    found = [one for one in others if one.__name__ == name]
    return found[0] if found else others[0]


def _instance(data: Any, kind: Any) -> Any:
    if not isinstance(data, dict) or data.get("") != kind.__name__:
        raise TypeError(f"{data!r} is no {kind.__name__}")
    hints = get_type_hints(kind)
    if not data.keys() - {""} <= hints.keys():
        raise TypeError(f"{kind.__name__} has the fields {', '.join(hints)}")
    # One that is missing is newer than the file, and has a default.
    return kind(**{name: from_json(data[name], one) for name, one in hints.items() if name in data})


def _field_names(value: Any) -> tuple[str, ...] | None:
    if is_dataclass(value):
        return tuple(one.name for one in fields(value))
    return getattr(value, "_fields", None)


def _list(data: Any, length: int | None = None) -> list[Any]:
    if not isinstance(data, list) or (length is not None and len(data) != length):
        raise TypeError(f"{data!r} is no list of {length or 'any'} values")
    return data
