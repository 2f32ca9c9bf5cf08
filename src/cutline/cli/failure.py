"""Failures of a run: one line on stderr, no traceback, and the exit code."""

import errno
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from cutline.errors import CutlineError

# 128 + the signal's number, as a shell reports a command that the signal ended.
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
_BY_SIGNAL = 128
# A closed terminal sends SIGHUP; Windows has none.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_WRITING = {errno.EBADF, errno.EFBIG, errno.EIO, errno.ENOSPC}
NO_MEMORY = "it takes more memory than there is"


class Failure(click.ClickException):
    """A run-time failure; shown as `cutline: message`, exit code 1."""

    def show(self, file: Any = None) -> None:
        """Write the one line to `file`, or to stderr."""
        click.echo(f"cutline: {self.message}", file=file, err=True)


class Notes:
    """Notes on standard error, each of which is written once."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def add(self, what: str) -> None:
        """Write a note, unless it is there."""
        if what not in self._written:
            self._written.add(what)
            click.echo(f"cutline: {what}", err=True)


class Program(click.Group):
    """A command group that ends like a Unix tool, whatever stops it.

    Args:
        modules: the modules that add further commands, by command; imported when needed.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **values: Any) -> None:
        super().__init__(*args, **values)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List all commands, by name."""
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if there is none of this name."""
        if cmd_name in self._modules:
            import_module(self._modules[cmd_name])
        return super().get_command(ctx, cmd_name)

    def make_context(self, *args: Any, **values: Any) -> click.Context:
        """Read the arguments, where `--help` and `--version` are already written."""
        with _ended_like_a_tool():
            return super().make_context(*args, **values)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; turn its exceptions into exit codes.

        Raises:
            Failure: an error of cutline that is not about a single file.
            click.exceptions.Exit: Ctrl-C (130), or a closed pipe (141).
            SystemExit: SIGTERM (143), or SIGHUP (129).
        """
        try:
            with _ended_by_signals(), _ended_like_a_tool():
                return super().invoke(ctx)
        except CutlineError as error:
            raise Failure(str(error)) from error
        except MemoryError as error:
            raise Failure(NO_MEMORY) from error


@contextmanager
def _ended_like_a_tool() -> Iterator[None]:
    """Let Ctrl-C end the run silently, and a failed write, also click's of help, in one line."""
    try:
        yield
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        raise click.exceptions.Exit(EXIT_BROKEN_PIPE) from None
    except OSError as error:
        if error.filename is not None or error.errno not in _WRITING:
            raise
        raise Failure(f"standard output: {message_of(error)}") from error


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let `timeout`, a closed terminal and the like end a run as Ctrl-C does.

    So no temporary file is left. What `nohup` ignores stays ignored.
    """
    is_main = threading.current_thread() is threading.main_thread()
    caught = [one for one in _ENDING if is_main and signal.getsignal(one) is signal.SIG_DFL]
    for one in caught:
        signal.signal(one, lambda number, _: sys.exit(_BY_SIGNAL + number))
    try:
        yield
    finally:
        for one in caught:
            signal.signal(one, signal.SIG_DFL)


def message_of(error: Exception) -> str:
    """Return the error's message, without the file name that an `OSError` repeats.

    >>> message_of(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'no such file or directory'
    """
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error)
