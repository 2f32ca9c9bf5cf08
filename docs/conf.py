"""How Sphinx makes a site of these pages and of the docstrings: `sphinx-build docs build/site`."""

import ast
import re
import sys
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import regex
from docutils import nodes
from numpy.typing import ArrayLike, NDArray
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.inspect import signature, stringify_signature
from sphinx.util.typing import stringify_annotation

import cutline
from cutline.chat import ChatFormat
from cutline.chunking.chunkers import TextOptions
from cutline.chunking.level_choice import LevelLike
from cutline.chunking.levels import Level
from cutline.chunking.never_across import NeverAcross
from cutline.chunks import ChunkSize
from cutline.counting.limits import AlsoFits, Measure
from cutline.counting.truncating import Boundary, Keep
from cutline.encoding import TiktokenEncoding
from cutline.formats.writing import FileFormat
from cutline.integrations.arrow import Tabular
from cutline.integrations.haystack import Splitter
from cutline.protocols import TokenCounter
from cutline.spec import TokenizerSpec
from cutline.special import AllowedSpecial
from cutline.text_encoder import TextEncoder
from cutline.training.sources import DocumentSource
from cutline.vocabulary import O200K_PAT_STR, Vocabulary

# What only type checkers import, and annotations name: autodoc evaluates these.
NAMED = {
    "AllowedSpecial": AllowedSpecial,
    "ArrayLike": ArrayLike,
    "NDArray": NDArray,
    "AlsoFits": AlsoFits,
    "Appender": cutline.Appender,
    "Boundary": Boundary,
    "Callable": Callable,
    "ChatFormat": ChatFormat,
    "Chunk": cutline.Chunk,
    "ChunkSize": ChunkSize,
    "DecodeStream": cutline.DecodeStream,
    "Encoding": cutline.Encoding,
    "FileFormat": FileFormat,
    "Iterable": Iterable,
    "IntervalCounter": cutline.IntervalCounter,
    "Keep": Keep,
    "Level": Level,
    "LevelLike": LevelLike,
    "Measure": Measure,
    "NeverAcross": NeverAcross,
    "PathLike": PathLike,
    "Prepender": cutline.Prepender,
    "Template": cutline.Template,
    "TextOptions": TextOptions,
    "TokenCounter": TokenCounter,
    "TokenizerSpec": TokenizerSpec,
    "Unpack": Unpack,
    "Vocabulary": Vocabulary,
    "np": np,
    "re": re,
    "regex": regex,
}
for path, module in list(sys.modules.items()):
    if path.startswith("cutline.") and ".kernels." not in path:
        for name, kind in NAMED.items():
            vars(module).setdefault(name, kind)

project = "Cutline"
author = project_copyright = "The Cutline developers"
version = release = cutline.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"Cutline {release}"
html_static_path: list[str] = []
html_copy_source = False

nitpicky = True
# What single backquotes in docstrings mean: a link where there is such a name, else code.
default_role = "py:obj"
smartquotes_action = "D"  # dashes only, for values are quoted, too
myst_heading_anchors = 6

autodoc_member_order = "bysource"
maximum_signature_line_length = 88

PYTHON = "https://docs.python.org/3/library/"
NUMPY = "https://numpy.org/doc/stable/reference/"
SPARK = "https://spark.apache.org/docs/latest/api/python/reference/pyspark.sql/api/"
ELSEWHERE = {
    "collections.abc": PYTHON + "collections.abc.html#{name}",
    "os": PYTHON + "os.html#{name}",
    "re": PYTHON + "re.html#{name}",
    "typing": PYTHON + "typing.html#{name}",
    "numpy": NUMPY + "arrays.scalars.html#{name}",
    "numpy.typing": NUMPY + "typing.html#{name}",
    "pyarrow": "https://arrow.apache.org/docs/python/generated/{name}.html",
    "pyspark.sql": SPARK + "{name}.html",
    "ray.data": "https://docs.ray.io/en/latest/data/api/doc/{name}.html",
    "types": PYTHON + "types.html#{name}",
}
"""Where the types of other packages are explained. No inventories: a build needs no network."""


def as_text(annotation: Any) -> str:
    """Write a type as autodoc writes it in a signature."""
    return stringify_annotation(annotation, "smart")


SHOWN = {
    **{
        written: f"~numpy.typing.NDArray[~numpy.{kind.__name__}]"
        for kind in (np.uint8, np.int64, np.uint32, np.uint64)
        for written in (as_text(NDArray[kind]), f"NDArray[np.{kind.__name__}]")
    },
    as_text(ArrayLike): "~numpy.typing.ArrayLike",
    as_text(TokenCounter): "~cutline.Encoding | ~cutline.WrappedTokenizer",
    as_text(TextEncoder): "~cutline.Encoding",
    as_text(TiktokenEncoding): "tiktoken.Encoding",
    as_text(DocumentSource): "~cutline.integrations.arrow.ArrowTexts",
    as_text(Tabular): "~pyarrow.RecordBatch | ~pyarrow.Table",
    as_text(Splitter): "~haystack.DocumentSplitter | ~haystack.RecursiveDocumentSplitter",
    "<factory>": "{}",
    repr(O200K_PAT_STR): "O200K_PAT_STR",
    "FileFormat": as_text(FileFormat),
    "pa.Table": "~pyarrow.Table",
    "DataFrame": "~pyspark.sql.DataFrame",
    "Dataset": "~ray.data.Dataset",
}
"""How types and values that would tell a reader nothing are written instead."""

nitpick_ignore = [
    ("py:class", name)
    for name in (
        "haystack.DocumentSplitter",
        "haystack.RecursiveDocumentSplitter",
        "haystack.dataclasses.chat_message.ChatMessage",
        "haystack.dataclasses.document.Document",
        "haystack.tools.tool.Tool",
        "haystack.tools.toolset.Toolset",
        "langchain_core.documents.base.Document",
        "langchain_core.messages.base.BaseMessage",
        "llama_index.core.callbacks.base.CallbackManager",
        "llama_index.core.schema.BaseNode",
        "tiktoken.Encoding",
        "Characters",
        "LevelLike",
        "Splitting",
        "cutline.chunking.chunkers.TextOptions",
        "cutline.template.Frame",
        "Joiner",
        "Splitter",
        "Step",
        "Unigram",
        "WordPiece",
        "_regex.Pattern",
        as_text(Level)[1:],
        as_text(Measure)[1:],
        as_text(TextEncoder)[1:],
        as_text(TokenCounter)[1:],
    )
]
nitpick_ignore_regex = [
    ("py:class", r"cutline\.[\w.]*\._\w+"),  # private: of no page
    ("py:class", r"docling_core\.[\w.]+"),
    ("py:class", r"(cutline\.retrieval\.\w+\.)?(Old|New|T)"),  # type variables
]
"""Types of packages that keep no page for a type at a lasting address; and, as the type of a
property, what stands for an encoding or a wrapped tokenizer.
"""


def rewrite_signature(
    _app: Sphinx, what: str, _name: str, obj: Any, _options: Any, parameters: Any, returned: Any
) -> tuple[str | None, str | None]:
    """Take the signatures of kernels from their stubs, and write types as readers know them."""
    if type(obj).__name__ == "cython_function_or_method":
        parameters, returned = stub_signature(obj)
    elif what == "class" and parameters == "(*args: ~typing.Any, **kwargs: ~typing.Any)":
        # Haystack's metaclass takes any arguments.
        own = signature(obj.__init__, bound_method=True)
        parameters = stringify_signature(
            own, show_return_annotation=False, short_literals=False, unqualified_typehints=True
        )
    return parameters and with_shown(parameters), returned and with_shown(returned)


def with_shown(written: str) -> str:
    """Replace what `SHOWN` names."""
    for made, shown in SHOWN.items():
        written = re.sub(rf"(?<![\w.]){re.escape(made)}(?!\w)", shown, written)
    return written


def stub_signature(method: Any) -> tuple[str, str]:
    """Read parameters and result of a compiled method in the .pyi beside its module."""
    path = Path(cutline.__file__).parents[1] / (method.__module__.replace(".", "/") + ".pyi")
    cls, name = method.__qualname__.split(".")
    (found,) = (
        member
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == cls
        for member in node.body
        if isinstance(member, ast.FunctionDef) and member.name == name
    )
    del found.args.args[0]  # self
    assert found.returns is not None
    return f"({ast.unparse(found.args)})", ast.unparse(found.returns)


def link_pages(
    _app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Make links of the pages that docstrings name as their source."""
    lines[:] = [re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`\g<0> </\1>`", line) for line in lines]


def resolve_elsewhere(
    _app: Sphinx, _env: Any, node: pending_xref, shown: nodes.TextElement
) -> nodes.Element | None:
    """Link types of other packages; leave what is mere code in a docstring as it is."""
    name = node["reftarget"]
    if page := ELSEWHERE.get(name.rpartition(".")[0]):
        return nodes.reference("", "", shown, internal=False, refuri=page.format(name=name))
    return shown if node["reftype"] == "obj" else None


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("autodoc-process-docstring", link_pages)
    app.connect("autodoc-process-signature", rewrite_signature)
    app.connect("missing-reference", resolve_elsewhere)
