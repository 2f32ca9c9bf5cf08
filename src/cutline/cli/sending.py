"""The options of what is sent for a chunk: its text with a prompt, headings and the like."""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from cutline.cli.decoding import InputError
from cutline.cli.inputs import shown_name

if TYPE_CHECKING:
    from cutline.template import Template

__all__ = [
    "Command",
    "make_template",
    "need_fields",
    "sent_options",
    "template_options",
    "with_file",
    "with_options",
    "with_record",
]

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE: Final = "file"  # the field of a template that is the file's name

sent_options: Final = [
    click.option(
        "--template",
        "pattern",
        metavar="TEXT",
        help="What is sent for a chunk, such as 'passage: {headings}\\n\\n{text}', with {index} "
        "and {file}, and of rows their other columns: it has at most --chunk-size "
        "tokens, special tokens included.",
    ),
    click.option("--prefix", metavar="TEXT", help="The same: TEXT before each chunk."),
    click.option(
        "--with-headings", is_flag=True, help="The same: the headings, a blank line, and the text."
    ),
]


def template_options(command: Command) -> Command:
    """Add the options of what is sent for a chunk; the command gets them as `template`."""

    @wraps(command)
    def with_template(
        pattern: str | None, prefix: str | None, with_headings: bool, **values: Any
    ) -> Any:
        template = make_template(pattern, prefix, with_headings)
        if values.get("column") is None:
            need_fields(template)
        return command(template=template, **values)

    wrapped: Any = with_template
    return with_options(wrapped, sent_options)  # type: ignore[no-any-return]


def with_options(command: Command, options: list[Any]) -> Command:
    """Add options, the first one on top."""
    for option in reversed(options):
        command = option(command)
    return command


def make_template(
    pattern: str | None, prefix: str | None, with_headings: bool
) -> "Template | None":
    """Make the template that the options describe; None: the text alone is sent.

    Raises:
        click.UsageError: options contradict each other, or the pattern is wrong.
    """
    if pattern is not None and (prefix is not None or with_headings):
        raise click.UsageError("--template says all that is sent: leave out the other options")
    if pattern is None and prefix is None and not with_headings:
        return None
    from cutline.template import Template

    if pattern is not None:
        pattern = _unescaped(pattern)
    else:
        prefix = _unescaped(prefix or "").replace("{", "{{").replace("}", "}}")
        pattern = prefix + ("{headings}\n\n{text}" if with_headings else "{text}")
    try:
        return Template(pattern)
    except ValueError as error:
        raise click.UsageError(f"--template: {error}") from error


def need_fields(template: "Template | None") -> None:
    """Refuse a template with a field that neither a chunk nor a file has.

    Raises:
        click.UsageError: it has one.
    """
    from cutline.template import OF_CHUNKS, meant

    known = (*OF_CHUNKS, _FILE)
    for name in template.missing if template is not None else ():
        if name not in known:
            raise click.UsageError(
                f"--template: there is no {{{name}}}: the fields are "
                f"{', '.join(f'{{{one}}}' for one in known)}, and with --column the other "
                f"columns of a row{meant(name, known)}"
            )


def with_file(template: "Template | None", name: str) -> "Template | None":
    """Fill in a file's name, where a template has it."""
    if template is None or _FILE not in template.missing:
        return template
    return template.fill(file=shown_name(name))


def with_record(template: "Template", record: "Mapping[str, Any]") -> "Template":
    """Fill the fields that have no value yet from the columns of a row.

    Raises:
        InputError: the row lacks one.
    """
    from cutline.template import meant

    for name in template.missing:
        if name not in record:
            raise InputError(
                f"--template has {{{name}}}, and the row no such column: besides the text it has "
                f"{', '.join(record) or 'none'}{meant(name, record)}"
            )
    return template.fill_from(record)


def _unescaped(text: str) -> str:
    r"""Replace \n and \t, which are hard to type in a shell; two backslashes are one."""
    found = {"n": "\n", "t": "\t", "\\": "\\"}
    return re.sub(r"\\(.)", lambda match: found.get(match[1], match[0]), text)
