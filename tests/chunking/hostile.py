"""Documents that parsers may not stand: nesting, junk, what is opened and never closed."""

import random
from collections.abc import Callable

SIGNS = "()[]{}<>\"'`#$%&*+-/=!?.,;:\\|@^~_ \t\n"


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def _ladder(size: int) -> str:
    """Each line deeper than the one before."""
    lines, total = [], 0
    while total < size:
        lines.append(" " * len(lines) + "a:\n")
        total += len(lines[-1])
    return "".join(lines)


def _junk(size: int) -> str:
    return "".join(random.Random(size).choices(SIGNS, k=size))


def _words(size: int) -> str:
    words = ["if", "end", "do", "fn", "class", "begin", "%w(", "<<EOF", "x", "1", "=", "=>", "\n"]
    return " ".join(random.Random(size).choices(words, k=size // 4))


SHAPES: dict[str, Callable[[int], str]] = {
    "ladder": _ladder,
    "junk": _junk,
    "words": _words,
    **{
        unit: _repeated(unit)
        for unit in (
            *("[", "(", "{", "a(", "a[", "{a:", "(\n", "<a>", "<a><b", "<!--", "<?", "<%"),
            *("- ", "> ", "* ", "? ", "- - ", "|a", "a\n\t", "begin\n", "if a then\n", "do\n"),
            *("if(a){", "fn a(){", "class a{\n", "a=>", "a?b:", "a.b", "a+", "-", "!", "~", "not "),
            *("'", '"', "`", "'a\n", '"a\n', "`a\n", '"""', "'''", 'r#"', "/*", "(*", "{-", "#|"),
            *("<<EOF\n", "<<~A <<~B\n", "<<<A\n", "$(", "${", "#{", "%w(\n", "q{", "[[", "--[[\n"),
            *("\\", "\\\n", "/", "//", "#", "@", "$", "%", "&", "^", "=", ":", ";", ",", "\x01"),
            *("a", "1", " ", "\t", "\n", "\r", "a ", "a\n", "é", "中"),
            *("👩\u200d", "\u0301", "\ufeff"),
        )
    },
}
