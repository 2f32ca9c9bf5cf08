"""`python -m cutline` is the `cutline` command."""

import gc
import sys

__all__ = ["program"]


def program() -> None:
    """Run the command, and end the process."""
    try:
        # Imported here: Ctrl-C can come before the command begins.
        from cutline.cli import main
        from cutline.cli.streams import make_whole

        make_whole()
        main(prog_name="cutline")
    except KeyboardInterrupt:
        sys.exit(130)  # as `cutline.cli.failure` ends a command
    finally:
        gc.freeze()  # nothing is left to do that could need memory: no search for garbage


if __name__ == "__main__":
    program()
