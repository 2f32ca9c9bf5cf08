"""The parser process: see `parse_pool`.

It ends when its input is closed.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Final

from cutline.chunking.parse_messages import read_message, structure_to, write_messages
from cutline.chunking.parsing import parse

__all__ = ["main"]

_MOST_MEMORY: Final = 2 << 30  # on top of what the interpreter has mapped


def main() -> None:
    """Answer messages one by one."""
    _limit()
    # Parsers may print: keep that out of the messages.
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    while True:
        try:
            language, seconds = json.loads(read_message(source))
            text = read_message(source).decode("utf-8", "surrogatepass")
        except EOFError:
            return
        _end_after(seconds)
        reply = _reply(text, language)
        _end_after(0)
        write_messages(sink, reply)


def _reply(text: str, language: str) -> bytes:
    try:
        return b"s" + structure_to(parse(text, language))
    except ImportError as error:
        return b"m" + str(error).encode(errors="replace")
    except MemoryError:
        return b"f" + b"its parser ran out of memory"
    except BaseException as error:  # a Rust panic is a BaseException
        return b"f" + f"its parser failed: {type(error).__name__}: {error}".encode(errors="replace")


def _limit() -> None:
    """Limit memory, and disable core dumps."""
    if sys.platform != "win32":
        import resource

        memory = _mapped_bytes() + _MOST_MEMORY
        for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
            _, hard = resource.getrlimit(limit)
            if hard == resource.RLIM_INFINITY or most < hard:
                resource.setrlimit(limit, (most, hard))


def _mapped_bytes() -> int:
    """Bytes of address space in use; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _end_after(seconds: float) -> None:
    """Set a timer that ends this process after this much processor time; 0 clears it."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)
