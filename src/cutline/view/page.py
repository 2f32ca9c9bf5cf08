"""`html_page`: a text and its chunks as one self-contained HTML file.

The page contains the text once and, for each chunk, its offsets and token ids; its script makes
the elements, and those of tokens only near the viewport. So a page for 1 MB of text has some
3 MB, and opens and scrolls like a short one. A content security policy keeps the page from the
network, whatever the text contains.
"""

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from cutline.chunks import Chunk
from cutline.template import SENT_TOKENS, Template
from cutline.view.foreign_chunks import chunks_of, has_levels, parents_of
from cutline.view.tokens import Tokenizer, tokenizer_of, tokens_of
from cutline.view.totals import Totals, totals_of

__all__ = ["html_page", "page_data"]

_PLACE = re.compile(r"\{\{(\w+)\}\}")


def html_page(
    text: str,
    chunks: Iterable[Any],
    encoding: Tokenizer | str,
    title: str = "Chunks",
    chunk_size: int | None = None,
    *,
    template: Template | None = None,
) -> str:
    """Show a text and its chunks with tokens, overlap, fill and boundaries.

    Args:
        text: the text of which the chunks are slices.
        chunks: in the order of the text, from cutline or another library; they may overlap and
            omit text. Each is its text, or has it (`text`, `page_content`, `content`), and may
            have its start (`start_index`, `start_char_idx`, `split_idx_start`, `start`, also in
            its metadata) and end, in code points; or it is a pair of offset and str, or of
            offsets. Or the levels of a `HierarchicalChunker`: the last is shown, and before the
            first chunk of each parent, the parent. Unless all have their start, they are
            searched for from left to right.
        encoding: an `Encoding`, the name of one, or a wrapped tokenizer; each chunk is encoded
            on its own. If a wrapped one gives no offsets, tokens are not shown.
        title: the title of the page, such as the file's name.
        chunk_size: the budget in tokens, to show how full chunks are.
        template: what is sent for a chunk: it is shown around the chunk's text, and its tokens are
            counted, special tokens included.

    Returns:
        An HTML document. It loads nothing from the network.

    Raises:
        SurrogateError: (a ValueError) the text has a surrogate.
        TypeError: a chunk has no text; or the encoding is a tokenizer that is not wrapped.
        ValueError: a chunk is not a slice of the text, or not the one at its offsets, or begins
            before the previous one; names the chunk.

    Cost: that of encoding the chunks, and about three bytes for each byte of the text.

    >>> import cutline
    >>> text = "one two three"
    >>> chunks = cutline.get_encoding("o200k_base").split(text, 2)
    >>> html_page(text, chunks, "o200k_base", chunk_size=2)[:15]
    '<!doctype html>'
    >>> html_page(text, ["one two", "three"], "o200k_base").startswith("<!doctype html>")
    True
    """
    encoding = tokenizer_of(encoding)
    given = chunks if isinstance(chunks, str | Mapping) else list(chunks)
    read = chunks_of(text, given, encoding)
    parents = parents_of(given) if isinstance(given, list) and has_levels(given) else []
    around = _frames(read, encoding, template)
    totals = totals_of(text, read, chunk_size, around["sent"])
    style = _asset("page.css")
    script = _asset("tokens.js") + _asset("page.js")
    content = {
        "title": html.escape(_visible(title)),
        "totals": _totals_html(totals, encoding.name, chunk_size),
        "style": style,
        "style_hash": _csp_hash(style),
        "script": script,
        "script_hash": _csp_hash(script),
        "data": _json_for_html(
            {
                **page_data(text, read, encoding, chunk_size, is_sent=template is not None),
                **around,
                "parents": [[_parent(parent) for parent in begun] for begun in parents],
            }
        ),
    }
    # One pass: inserted content is not searched for placeholders.
    return _PLACE.sub(lambda match: content[match[1]], _asset("page.html"))


def page_data(
    text: str,
    chunks: Sequence[Chunk],
    encoding: Tokenizer,
    chunk_size: int | None,
    *,
    is_sent: bool = False,
) -> dict[str, Any]:
    """Collect the data for the script; lists have an entry for each chunk."""
    shown = tokens_of(encoding, chunks)
    return {
        "text": text,
        "chunkSize": chunk_size,
        "indexes": [chunk.index for chunk in chunks],
        "starts": [chunk.start_index for chunk in chunks],
        "ends": [chunk.end_index for chunk in chunks],
        "counts": [chunk.token_count for chunk in chunks],
        "headings": [list(chunk.headings) for chunk in chunks],
        "metadata": [
            {
                str(key): _shown_value(value)
                for key, value in chunk.metadata.items()
                if not (is_sent and key == SENT_TOKENS)  # counted anew, and shown as such
            }
            for chunk in chunks
        ],
        "hashes": [chunk.content_hash for chunk in chunks],
        "tokens": shown.of_texts,
        "sizes": shown.sizes_bytes,
        "widths": shown.widths,
    }


def _frames(
    chunks: Sequence[Chunk], encoding: Tokenizer, template: Template | None
) -> dict[str, Any]:
    """Return what is sent around each chunk, and how many tokens with it."""
    if template is None:
        return {"frames": [], "sent": []}
    return {
        "frames": [template.frame_of(chunk) for chunk in chunks],
        "sent": [template.count(chunk, encoding) for chunk in chunks],
    }


def _parent(parent: Chunk) -> str:
    """Say what a parent is, in the words of its chunks."""
    path = f" · {' › '.join(parent.headings)}" if parent.headings else ""
    return (
        f"#{parent.index} · {parent.token_count:,} tokens · characters "
        f"{parent.start_index:,}–{parent.end_index:,}{path}"
    )


def _shown_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # keys of other types, or a cycle
        return repr(value)


def _totals_html(totals: Totals, encoding_name: str, chunk_size: int | None) -> str:
    rows = [
        ("chunks", f"{totals.chunk_count:,}"),
        ("tokens", f"{totals.token_count:,}"),
        ("at most", "-" if chunk_size is None else f"{chunk_size:,}"),
        ("mean fill", "-" if totals.mean_fill is None else f"{totals.mean_fill:.1%}"),
        ("smallest", f"{totals.smallest:,}"),
        ("largest", f"{totals.largest:,}"),
        ("characters", f"{totals.character_count:,}"),
        ("repeated", f"{totals.overlap_characters:,}"),
        ("lost", f"{totals.lost_characters:,}"),
        ("encoding", html.escape(encoding_name)),
    ]
    return "".join(
        f'<div><dt>{name}</dt><dd data-total="{name}">{value}</dd></div>' for name, value in rows
    )


def _visible(title: str) -> str:
    """Escape unprintable characters, such as a line end in a file's name."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in title)


def _json_for_html(data: dict[str, Any]) -> str:
    """Write JSON that cannot end the script element or begin a comment in HTML."""
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    # Lone surrogates in metadata become JSON escapes.
    return written.encode(errors="backslashreplace").decode()


def _csp_hash(content: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return files("cutline.view").joinpath("assets", name).read_text(encoding="utf-8")
