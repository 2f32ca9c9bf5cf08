"""The most memory that this process had."""

import resource
import sys

__all__ = ["peak_bytes"]


def peak_bytes() -> int:
    """Return the peak of the resident memory of this program alone.

    Linux hands ru_maxrss of the process that forked on to the program it starts, so that it may
    show the benchmark's own memory; VmHWM does not.
    """
    try:
        with open("/proc/self/status") as status:  # noqa: PTH123 (pathlib is memory, too)
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
    except FileNotFoundError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
