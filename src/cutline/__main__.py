"""`python -m cutline` is the `cutline` command."""

from cutline.cli import main

if __name__ == "__main__":
    main(prog_name="cutline")
