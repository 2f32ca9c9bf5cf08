"""The options that several commands share, and the encoding they choose."""

from collections.abc import Callable, Iterable
from functools import wraps
from os.path import exists
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cutline.cli.failure import message_of
from cutline.cli.output import STDOUT
from cutline.cli.parallel import processor_count
from cutline.errors import UnknownEncodingError, UnknownModelError
from cutline.pretrained import FILE_ENDINGS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from cutline import Encoding

DEFAULT_ENCODING = "o200k_base"
_SAVE_HINT = "load it in Python, and save it as .cutline"
_OTHERS = (
    "--encoding and --also-fits take a name that `cutline encodings` lists, a tokenizer's file or "
    "folder, or a model of the Hugging Face Hub by its name with a slash"
)
UNITS = ("bytes", "characters")

Command = TypeVar("Command", bound=Callable[..., Any])


def _completing(
    names: Callable[[], Iterable[str]], *, or_files: bool = False
) -> "Callable[..., list[CompletionItem]]":
    """Complete a value in the shell by those of the names that begin with it."""

    def complete(
        _context: click.Context, _option: click.Parameter, begun: str
    ) -> "list[CompletionItem]":
        # Imported here: only the shell asks for it.
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name) for name in names() if name.startswith(begun)]
        return found or [CompletionItem(begun, type="file")] * or_files

    return complete


def _encoding_names() -> Iterable[str]:
    from cutline.vocabulary import list_encoding_names

    return list_encoding_names()


def _model_names() -> Iterable[str]:
    from cutline.vocabulary.models import MODEL_TO_ENCODING

    return sorted(MODEL_TO_ENCODING)


def _languages() -> Iterable[str]:
    from cutline.chunking import code_languages

    try:
        return code_languages()
    except ImportError:
        return []


complete_languages = _completing(_languages)


class _Path(click.Path):
    """A file's name; the empty one would be that of the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name as it is."""
        if value == "":
            self.fail("a name is empty: has a variable of the shell no value?", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(readable=False)
"""Not refused by click, which would end the run: a file that cannot be read is one that fails."""
_files = click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH)
output_option = click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=PATH,
    default=STDOUT,
    show_default=False,
    help="Write to FILE, which appears whole or not at all.  [default: standard output]",
)
_encoding = click.option(
    "--encoding",
    "-e",
    "encoding_name",
    metavar="NAME",
    shell_complete=_completing(_encoding_names, or_files=True),
    help="Encoding; `cutline encodings` lists them. Or a path: a .cutline file that `cutline "
    "train` wrote, a tokenizer.json, tekken.json, tokenizer.model, vocab.txt or .gguf file, or a "
    "model's folder. Or the name of a model on the Hugging Face Hub, such as "
    "Qwen/Qwen3-Embedding-0.6B.  "
    f"[default: {DEFAULT_ENCODING}]",
)
_model = click.option(
    "--model",
    "-m",
    metavar="NAME",
    shell_complete=_completing(_model_names),
    help="Use the encoding of this model, such as gpt-4o. Not with --encoding.",
)
jobs = click.option(
    "--jobs",
    "-j",
    "n_jobs",
    metavar="N",
    type=click.IntRange(min=1),
    default=processor_count,
    show_default="one for each processor",
    help="How many files to process at a time; with more than 1, a large file is written "
    "while it is cut, or counted in so many parts at a time.",
)


def output_format(
    default: str, *others: str, text: str = "JSON Lines, or plain text."
) -> Callable[[Command], Command]:
    """Add --format: "jsonl", "text" and `others`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["jsonl", "text", *others]),
        default=default,
        help=text,
    )


def input_output(command: Command) -> Command:
    """Add FILE... and --output."""
    return _files(output_option(command))


def encoding_choice(command: Command) -> Command:
    """Add --encoding and --model; the command gets the chosen encoding as `encoding`."""

    @wraps(command)
    def with_encoding(*, encoding_name: str | None, model: str | None, **values: Any) -> Any:
        return command(encoding=choose_encoding(encoding_name, model), **values)

    wrapped: Any = _encoding(_model(with_encoding))
    return wrapped  # type: ignore[no-any-return]


def _limits(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> "dict[str | Encoding, int]":
    """Read the values of --also-fits, and load their encodings."""
    limits: dict[str | Encoding, int] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        if not name or (number != "model" and (not number.isdecimal() or int(number) < 1)):
            raise click.BadParameter(
                f"{value!r} must be NAME=N with an N of 1 or more, such as cl100k_base=500, or "
                "NAME=model"
            )
        key = name if name in UNITS else choose_encoding(name, None, hint="--also-fits")
        most = _model_size(key) if number == "model" else int(number)
        limits[key] = min(most, limits.get(key, most))
    return limits


def _model_size(key: "str | Encoding") -> int:
    from cutline.chunks import model_size

    try:
        return model_size(key, "NAME=model")
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


also_fits = click.option(
    "--also-fits",
    metavar="NAME=N",
    multiple=True,
    callback=_limits,
    help="Further limit that a text fits at once: N tokens of another encoding, named as for "
    "--encoding, or N bytes or characters; `model` for N is what its model reads, less its special "
    "tokens. May be repeated.",
)


def choose_encoding(
    encoding_name: str | None, model: str | None, *, hint: str = "--encoding"
) -> "Encoding":
    """Load the encoding that --encoding or --model names.

    Args:
        encoding_name: a name or a path.
        model: the name of a model.
        hint: the option that named the encoding, for errors.

    Raises:
        click.UsageError: both are given, or the name is unknown; suggests similar names.
    """
    # Imported here: `cutline --help` should not wait for the encoder.
    import cutline
    from cutline.vocabulary import PACKAGED_ENCODINGS
    from cutline.vocabulary.models import MODEL_TO_ENCODING
    from cutline.vocabulary.names import is_like_path, near_names

    if model is None:
        name = DEFAULT_ENCODING if encoding_name is None else encoding_name
        try:
            return cutline.get_encoding(name)
        except UnknownEncodingError as error:
            # Not Path.exists, which raises for a name that is too long.
            if name.endswith(FILE_ENDINGS) or exists(name):  # noqa: PTH110
                return _load(name, hint)
            if "/" in name:
                return _from_hub(name, hint)
            raise click.BadParameter(_unknown(name, hint, error), param_hint=hint) from error
    if encoding_name is not None:
        raise click.UsageError("--encoding and --model exclude each other: give one of them")
    try:
        return cutline.encoding_for_model(model)
    except UnknownModelError as error:
        problem = str(error)
        if model in PACKAGED_ENCODINGS or is_like_path(model) or "/" in model:
            problem = f"{model!r} is not a model of OpenAI's: pass --encoding {model}"
        elif near_names(model, MODEL_TO_ENCODING) is None:
            problem = f"{model!r} is not a model of OpenAI's: {_OTHERS}"
        raise click.BadParameter(problem, param_hint="--model") from error


def _unknown(name: str, hint: str, error: Exception) -> str:
    """Return what to do about a name of no encoding, by options; `error` speaks of Python."""
    from cutline.vocabulary.models import encoding_of_model
    from cutline.vocabulary.names import near_model, near_names

    if (found := encoding_of_model(name)) is not None:
        otherwise = f"--model {name}" if hint == "--encoding" else f"{hint} {found}"
        return f"{name!r} is a model, whose encoding is found by {otherwise}"
    if near_model(name) or near_names(name, _encoding_names()):
        return str(error)
    return f"no encoding is named {name!r}: {_OTHERS}"


def _from_hub(name: str, hint: str) -> "Encoding":
    import cutline

    try:
        return cutline.from_pretrained(name)
    except (ImportError, OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint=hint) from error
    except TypeError as error:
        problem = f"{name!r} does not contain the split pattern: {_SAVE_HINT}"
        raise click.BadParameter(problem, param_hint=hint) from error


def _load(path: str, hint: str) -> "Encoding":
    import cutline

    try:
        return cutline.load(path)
    except (OSError, TypeError, ValueError) as error:
        problem = str(error)
        if isinstance(error, OSError):
            problem = f"{error.filename or path}: {message_of(error)}"
        elif isinstance(error, TypeError):
            problem = f"{path} does not contain the split pattern: {_SAVE_HINT}"
        raise click.BadParameter(problem, param_hint=hint) from error
