"""A handler of the timer's signal for as long as a test needs it."""

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class StopError(BaseException):
    """What handlers raise."""


def stop(number: int, frame: FrameType | None) -> None:
    raise StopError


@contextmanager
def alarm(handler: Callable[[int, FrameType | None], None] = stop) -> Iterator[None]:
    """SIGALRM goes to `handler`; the timer is stopped at the end."""
    before = signal.signal(signal.SIGALRM, handler)
    gc.disable()  # what is raised in a collection's callback is lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)
