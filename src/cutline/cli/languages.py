"""`cutline languages`: what a file's name stands for."""

from textwrap import wrap

from cutline.cli.commands import command
from cutline.cli.failure import Failure
from cutline.cli.output import STDOUT, open_output

_WIDTH = 76


@command("cutline languages", "cutline chunk --by code --language sql dump.txt")
def languages() -> None:
    """List the languages of --by code, and the files of each.

    Files of these names are cut so with --by auto; all others as text. Names of
    text, Markdown and data come first; a language without names needs --language.
    """
    from cutline.chunking import code_languages
    from cutline.chunking.by_name import endings, kinds_of_data

    try:
        known = [name for name in code_languages() if name != "markdown"]
    except ImportError as error:
        raise Failure(str(error)) from error
    kinds = ["text", "markdown", *kinds_of_data(), *known]
    width = max(map(len, kinds)) + 2
    with open_output(STDOUT) as sink:
        for kind in kinds:
            lines = wrap(" ".join(endings(kind)), _WIDTH - width) or [""]
            for name, line in zip([kind, *[""] * (len(lines) - 1)], lines, strict=True):
                sink.write(f"{name:<{width}}{line}".rstrip().encode() + b"\n")
