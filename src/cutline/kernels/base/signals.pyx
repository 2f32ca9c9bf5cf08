"""Looking for Ctrl-C inside long work that has released the GIL.

Only the main thread gets signals. When one ends a call that has started threads, what these do is
of no use any more: they look for it here.

Guarded by tests/test_interrupts.py.
"""

from cpython.exc cimport PyErr_SetNone
from cpython.pythread cimport PyThread_get_thread_ident

__all__ = ["release", "stop"]

cdef set stopped = set()    # identifiers of threads


def stop(threads):
    """Let threads end the work that they do in kernels, with a KeyboardInterrupt.

    Args:
        threads: a set of their identifiers; `release` must follow, for others may get them.
    """
    stopped.update(threads)


def release(threads):
    """Let threads work again."""
    stopped.difference_update(threads)


cdef int look() noexcept:
    """Call handlers of signals. -1: one raised something, or this thread is to end its work.

    Then an exception is set. The caller has the GIL.
    """
    if PyErr_CheckSignals() < 0:
        return -1
    if len(stopped) and PyThread_get_thread_ident() in stopped:
        PyErr_SetNone(KeyboardInterrupt)
        return -1
    return 0
