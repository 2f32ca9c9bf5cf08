"""`python -m cutline` is the `cutline` command."""

import gc

from cutline.cli import main

__all__ = ["program"]


def program() -> None:
    """Run the command, and end the process."""
    try:
        main(prog_name="cutline")
    finally:
        gc.freeze()  # nothing is left to do that could need memory: no search for garbage


if __name__ == "__main__":
    program()
