"""Which chunker a document asks for, by the name of its file or of its language."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from cutline.chunking.chunker import Chunker
from cutline.chunking.chunkers import TextChunker
from cutline.chunking.document_chunkers import CodeChunker, DataChunker, MarkdownChunker
from cutline.chunking.parsing import DATA
from cutline.errors import shown_type

if TYPE_CHECKING:
    from cutline.chunks import ChunkSize
    from cutline.protocols import TokenCounter

__all__ = [
    "MARKDOWN",
    "NOTEBOOK",
    "TEXT",
    "chunker_for",
    "endings",
    "kind_of",
    "kinds_of_data",
    "names_language",
]

TEXT: Final = "text"
MARKDOWN: Final = "markdown"
NOTEBOOK: Final = "notebook"

# By kind: endings of names, and whole names, of which the case counts. Where languages share an
# ending, it is the most common one's.
_ENDINGS: Final = {
    MARKDOWN: "md markdown mdown mdx mkd qmd rmd",
    TEXT: "log txt",
    "data/csv": "csv",
    "data/tsv": "tab tsv",
    "data/psv": "psv",
    "data/json": "geojson har json jsonld topojson webmanifest css.map cjs.map js.map mjs.map",
    "data/jsonl": "jsonl jsonlines ndjson",
    "data/transcript": "srt vtt",
    "data/email": "eml mbox",
    "data/icalendar": "ics ifb vcs",
    "data/vcard": "vcard vcf",
    "data/diff": "diff patch",
    "data/html": "htm html xhtml",
    "data/latex": "latex ltx tex",
    "data/asciidoc": "adoc asciidoc",
    "data/org": "org",
    "data/rst": "rest rst",
    NOTEBOOK: "ipynb",
    "actionscript": "as",
    "ada": "ada adb ads",
    "agda": "agda",
    "apex": "apex trigger",
    "arduino": "ino",
    "asm": "asm nasm s",
    "astro": "astro",
    "bash": "bash bats ebuild ksh sh zsh",
    "beancount": "bean beancount",
    "bibtex": "bib",
    "bicep": "bicep bicepparam",
    "bitbake": "bb bbappend bbclass",
    "bsl": "bsl",
    "c": "c h",
    "cairo": "cairo",
    "capnp": "capnp",
    "chatito": "chatito",
    "clarity": "clar",
    "clojure": "clj cljc cljs edn",
    "cmake": "cmake",
    "cobol": "cbl cob cobol cpy",
    "commonlisp": "asd cl lisp lsp",
    "cpp": "c++ cc cpp cppm cxx h++ hh hpp hxx inl ipp ixx tpp",
    "csharp": "cs csx",
    "css": "css",
    "cuda": "cu cuh",
    "d": "d di",
    "dart": "dart",
    "dockerfile": "containerfile dockerfile",
    "dtd": "dtd ent",
    "elisp": "el",
    "elixir": "ex exs",
    "elm": "elm",
    "embeddedtemplate": "ejs erb",
    "erlang": "erl escript hrl",
    "fennel": "fnl",
    "firrtl": "fir",
    "fish": "fish",
    "fortran": "f f03 f08 f77 f90 f95 for ftn",
    "fsharp": "fs fsx",
    "fsharp_signature": "fsi",
    "func": "fc",
    "gdscript": "gd",
    "gleam": "gleam",
    "glsl": "comp frag geom glsl tesc tese vert",
    "gn": "gn gni",
    "go": "go",
    "graphql": "gql graphql graphqls",
    "groovy": "gradle groovy gvy nf",
    "hack": "hack hhi",
    "hare": "ha",
    "haskell": "hs hs-boot",
    "haxe": "hx",
    "hcl": "hcl nomad",
    "heex": "heex leex",
    "hlsl": "fx fxh hlsl hlsli",
    "ini": "cfg desktop editorconfig ini service",
    "ispc": "ispc",
    "janet": "janet",
    "java": "java",
    "javascript": "cjs es6 js jsx mjs",
    "json": "json5 jsonc",
    "jsonnet": "jsonnet libsonnet",
    "julia": "jl",
    "kdl": "kdl",
    "kotlin": "kt kts",
    "latex": "sty",
    "linkerscript": "ld lds",
    "llvm": "ll",
    "lua": "lua rockspec",
    "luau": "luau",
    "magik": "magik",
    "make": "mak mk",
    "matlab": "matlab",
    "mermaid": "mermaid mmd",
    "nim": "nim nimble nims",
    "ninja": "ninja",
    "nix": "nix",
    "nqc": "nqc",
    "objc": "m mm",
    "ocaml": "ml",
    "ocaml_interface": "mli",
    "odin": "odin",
    "pascal": "dpr lpr pas",
    "perl": "pl pm t",
    "pgn": "pgn",
    "php": "php php3 php4 php5 phtml",
    "po": "po pot",
    "pony": "pony",
    "powershell": "ps1 psd1 psm1",
    "prisma": "prisma",
    "properties": "properties",
    "proto": "proto",
    "puppet": "pp",
    "purescript": "purs",
    "python": "py pyi pyw pyx pxd",
    "qmljs": "qml",
    "r": "r",
    "racket": "rkt",
    "rego": "rego",
    "ron": "ron",
    "ruby": "gemspec rake rb rbi ru",
    "rust": "rs",
    "scala": "sbt sc scala",
    "scheme": "scm sld ss",
    "scss": "scss",
    "smali": "smali",
    "smithy": "smithy",
    "solidity": "sol",
    "sparql": "rq sparql",
    "sql": "ddl dml mysql pgsql sql",
    "squirrel": "nut",
    "starlark": "bazel bzl star",
    "svelte": "svelte",
    "swift": "swift swiftinterface",
    "tablegen": "td",
    "tcl": "tcl tk",
    "terraform": "tf tfvars",
    "thrift": "thrift",
    "toml": "toml",
    "tsx": "tsx",
    "twig": "twig",
    "typescript": "cts mts ts",
    "typst": "typ",
    "uxntal": "tal",
    "verilog": "sv svh v vh",
    "vhdl": "vhd vhdl",
    "vim": "vim vimrc",
    "vue": "vue",
    "wast": "wast",
    "wat": "wat",
    "wgsl": "wgsl",
    "xml": "atom csproj fsproj plist rss svg wsdl xml xsd xsl xslt",
    "yaml": "yaml yml",
    "yuck": "yuck",
    "zig": "zig zon",
}
_NAMES: Final = {
    TEXT: "requirements.txt",
    "bash": ".bash_aliases .bash_profile .bashrc .profile .zprofile .zshenv .zshrc PKGBUILD",
    "cmake": "CMakeLists.txt",
    "dockerfile": "Containerfile Dockerfile",
    "gomod": "go.mod",
    "groovy": "Jenkinsfile",
    "json": ".babelrc .eslintrc .prettierrc",
    "kconfig": "Kconfig",
    "make": "GNUmakefile Makefile makefile",
    "meson": "meson.build meson_options.txt",
    "python": "SConscript SConstruct Snakefile",
    "ruby": "Brewfile Fastfile Gemfile Guardfile Podfile Rakefile Vagrantfile",
    "starlark": "BUILD Tiltfile WORKSPACE",
    "toml": "Cargo.lock Pipfile poetry.lock uv.lock",
    "vim": ".vimrc vimrc",
}


def _kinds(table: dict[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in table.items() for name in names.split()}


_ALSO_DATA: Final = ("html", "latex", "org", "rst")
"""Languages whose files `DataChunker` cuts."""
_VARIED: Final = ("dockerfile", "make")
"""Languages of which a name may go on, as in Dockerfile.dev."""
_KIND_OF_ENDING: Final = _kinds(_ENDINGS)
_KIND_OF_NAME: Final = _kinds(_NAMES)


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return what a file holds, by its name alone.

    Returns:
        "text", also for names that say nothing; "markdown"; "notebook"; a programming language;
        or for `DataChunker` a format after "data/".

    >>> kind_of("a/b.PY"), kind_of("README.md"), kind_of("Makefile"), kind_of("notes")
    ('python', 'markdown', 'make', 'text')
    """
    name = os.path.basename(os.fsdecode(path))  # noqa: PTH119 (loads pathlib)
    before, dot, ending = name.lower().rpartition(".")
    if name in _KIND_OF_NAME or not dot:
        return _KIND_OF_NAME.get(name, TEXT)
    two = f"{before.rpartition('.')[2]}.{ending}"  # of a source map: x.js.map
    found = _KIND_OF_ENDING.get(two) or _KIND_OF_ENDING.get(ending)
    if found is not None:
        return found
    found = _KIND_OF_NAME.get(name.partition(".")[0])
    return found if found in _VARIED else TEXT


def kinds_of_data() -> list[str]:
    """Return the kinds that `DataChunker` cuts, such as "data/csv"."""
    return [kind for kind in _ENDINGS if kind.startswith(DATA)]


def endings(kind: str) -> list[str]:
    """Return the endings and names by which a kind of document is known, sorted.

    >>> endings("cmake")
    ['*.cmake', 'CMakeLists.txt']
    """
    return sorted(
        [f"*.{ending}" for ending in _ENDINGS.get(kind, "").split()] + _NAMES.get(kind, "").split()
    )


def names_language(name: str) -> bool:
    """Return whether a name is that of a language of which files are known.

    Unlike `cutline.code_languages`, it needs no package to tell.

    >>> [names_language(name) for name in ("python", "html", "data/csv", "notebook", "pyton")]
    [True, True, False, False, False]
    """
    is_other = name.startswith(DATA) or name in (TEXT, NOTEBOOK)
    return name in _ALSO_DATA or (not is_other and bool(endings(name)))


def chunker_for(
    document: str | os.PathLike[str],
    encoding: TokenCounter | str,
    chunk_size: ChunkSize = 512,
    chunk_overlap: int = 0,
    **options: Any,
) -> Chunker:
    """Return the chunker that suits a document, as `cutline chunk` chooses it.

    A notebook (.ipynb) is cut as Markdown, after `cutline.notebook_text` has made it of the file.

    Args:
        document: the path of a file, of which only the name is read; or, in any case, "text",
            "markdown", a format of `DataChunker`, such as "csv", or the name of a language, such as
            "python" or "c++", which come before a file of that name.
        encoding: as for `TextChunker`.
        chunk_size: as for `TextChunker`.
        chunk_overlap: as for `TextChunker`.
        **options: further options of the chunkers, by name, such as `strip=True`.

    Raises:
        ImportError: the package that parses such documents is not installed; says which extra
            has it.
        ValueError, TypeError: as the chunkers raise.

    Source: docs/chunking.md.

    >>> chunker_for("docs/guide.md", "o200k_base", 256)
    MarkdownChunker('o200k_base', chunk_size=256)
    >>> chunker_for("server.log", "o200k_base", 256)
    TextChunker('o200k_base', chunk_size=256)
    >>> chunker_for("python", "o200k_base", 256).language
    'python'
    """
    if not isinstance(document, str | os.PathLike):
        raise TypeError(
            f"document comes first, a path or a name such as 'markdown', then the encoding: got "
            f"{shown_type(document)}"
        )
    named = _kind_named(document) if isinstance(document, str) else None
    kind = kind_of(document) if named is None else named
    if kind in (MARKDOWN, NOTEBOOK):
        return MarkdownChunker(encoding, chunk_size, chunk_overlap, **options)
    if kind == TEXT:
        return TextChunker(encoding, chunk_size, chunk_overlap, **options)
    if kind.startswith(DATA):
        return DataChunker(kind.removeprefix(DATA), encoding, chunk_size, chunk_overlap, **options)
    return CodeChunker(kind, encoding, chunk_size, chunk_overlap, **options)


def _kind_named(name: str) -> str | None:
    """Return the kind that a name is one of; None: it is a file's."""
    from cutline.chunking.code_structure import ALIASES

    name = name.lower()
    kinds = (f"{DATA}{name}", name)
    found = next((kind for kind in kinds if kind in _ENDINGS or kind in _NAMES), None)
    return name if found is None and name in ALIASES else found
