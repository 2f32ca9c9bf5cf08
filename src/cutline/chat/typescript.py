"""Schemas of tools as TypeScript, as gpt-oss reads them; equal to openai-harmony 0.0.8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from typing import Any

__all__ = ["tools_section", "type_of"]


def tools_section(namespaces: Iterable[Mapping[str, Any]]) -> str:
    """Write the section "# Tools".

    Args:
        namespaces: each with its "name", "description" and "tools"; a tool has a "name", a
            "description" and perhaps "parameters", a JSON schema.
    """
    sections = ["# Tools"]
    for space in sorted(namespaces, key=lambda space: str(space["name"])):
        tools = space.get("tools") or []
        lines = [f"## {space['name']}\n"]
        lines += [f"// {x}" if tools else x for x in _lines(space.get("description") or "")]
        if tools:
            lines.append(f"namespace {space['name']} {{\n")
            for tool in tools:
                lines += [f"// {line}" for line in _lines(tool.get("description") or "")]
                schema = tool.get("parameters")
                taken = "" if schema is None else f"_: {type_of(schema)}"
                lines.append(f"type {tool['name']} = ({taken}) => any;\n")
            lines.append(f"}} // namespace {space['name']}")
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def type_of(schema: Any, indent: str = "") -> str:
    """Write a JSON schema as a type."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(variants := schema.get("oneOf"), list):
        return "".join(
            f"\n{indent} | {_nullable(variant, indent + '   ')}{_said_of_variant(variant)}"
            for variant in variants
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        names = ["number" if name == "integer" else name for name in kind if _is_text(name)]
        if names:
            return " | ".join(names)
        return "any"
    match kind:
        case "object":
            return _object(schema, indent)
        case "string":
            values = schema.get("enum")
            texts = [f'"{v}"' for v in values if _is_text(v)] if isinstance(values, list) else []
            return " | ".join(texts) or "string"
        case "number" | "integer":
            return "number"
        case "boolean":
            return "boolean"
        case "array":
            return f"{type_of(schema['items'], indent)}[]" if "items" in schema else "Array<any>"
    return "any"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _nullable(schema: Any, indent: str) -> str:
    written = type_of(schema, indent)
    is_nullable = isinstance(schema, Mapping) and schema.get("nullable") is True
    return f"{written} | null" if is_nullable and "null" not in written else written


def _text(schema: Any, key: str) -> str | None:
    value = schema.get(key) if isinstance(schema, Mapping) else None
    return value if isinstance(value, str) else None


def _default(schema: Any, *, quotes_choices: bool = False) -> list[str]:
    """Say what a schema's default is; nothing if it has none."""
    if not isinstance(schema, Mapping) or "default" not in schema:
        return []
    default, choices = schema["default"], schema.get("enum")
    if isinstance(default, str):
        is_choice = isinstance(choices, list) and bool(choices)
        if not is_choice:
            return [f'default: "{default}"']
        if not quotes_choices:
            return [f"default: {default}"]
    return [f"default: {dumps(default, ensure_ascii=False, separators=(',', ':'))}"]


def _comment(parts: Sequence[str]) -> str:
    return f" // {' '.join(parts)}" if parts else ""


def _said_of_variant(variant: Any) -> str:
    description = _text(variant, "description")
    said = [] if description is None else [description]
    return _comment([*said, *_default(variant, quotes_choices=True)])


def _object(schema: Mapping[str, Any], indent: str) -> str:
    description = _text(schema, "description")
    out = [] if description is None else [f"{indent}// {description}\n"]
    out.append("{\n")
    properties, needed = schema.get("properties"), schema.get("required")
    required = {n for n in needed if _is_text(n)} if isinstance(needed, list) else set()
    if isinstance(properties, Mapping):
        for name, value in properties.items():
            mark = "" if name in required else "?"
            out += _property(f"{name}{mark}", value, indent)
    return "".join([*out, f"{indent}}}"])


def _property(name: str, schema: Any, indent: str) -> list[str]:
    values: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    title, description = _text(values, "title"), _text(values, "description")
    out = [] if title is None else [f"{indent}// {title}\n{indent}//\n"]
    if "oneOf" not in values and description is not None:
        out.append(f"{indent}// {description}\n")
    if isinstance(examples := values.get("examples"), list) and examples:
        out.append(f"{indent}// Examples:\n")
        out += [f'{indent}// - "{example}"\n' for example in examples if _is_text(example)]
    if isinstance(variants := values.get("oneOf"), list):
        return [*out, *_choice(name, values, variants, indent)]
    written = _nullable(schema, f"{indent}    ")
    said = _default(values) if "oneOf" not in values else []
    return [*out, f"{indent}{name}: {written},{_comment(said)}\n"]


def _choice(
    name: str, values: Mapping[str, Any], variants: list[Any], indent: str
) -> Iterable[str]:
    """Write a property that is one of several types."""
    description = _text(values, "description")
    first = _text(variants[0], "description") if variants else None
    is_said = description is not None and description != first
    if is_said:
        yield f"{indent}// {description}\n"
    yield from (f"{indent}// {default}\n" for default in _default(values))
    yield f"{indent}{name}:\n"
    for place, variant in enumerate(variants):
        said = _text(variant, "description")
        is_new = said is not None and said != description and not (place == 0 and is_said)
        comments = [*([said] if is_new and said is not None else []), *_default(variant)]
        yield f"{indent} | {_nullable(variant, indent + '   ')}{_comment(comments)}\n"
    yield f"{indent},\n"
