"""The page's HTML, without a browser."""

import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest

import cutline
from cutline.view import html_page
from tests.pipeline.families import FAMILIES, build
from tests.view.samples import TEXTS, encoding, overlapping
from tests.wrapping.made import KINDS, made, wrapped

STYLE = files("cutline.view").joinpath("assets", "page.css").read_text(encoding="utf-8")


class Scripts(HTMLParser):
    """Collects the content of scripts and styles, as a browser's parser delimits it."""

    def __init__(self) -> None:
        super().__init__()
        self.contents: list[str] = []
        self.links: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        self._is_inside = tag in ("script", "style")
        if self._is_inside:
            self.contents.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.contents[-1] += data


def parsed(page: str) -> Scripts:
    parser = Scripts()
    parser.feed(page)
    parser.close()
    return parser


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_data_survive_the_html_around_them(text: str) -> None:
    chunks = overlapping(text)
    page = html_page(text, chunks, encoding(), title="</title><script>", chunk_size=16)
    style, data, script = parsed(page).contents
    read = json.loads(data)
    assert (style, read["text"], read["chunkSize"]) == (STYLE, text, 16)
    assert script.startswith('"use strict"')
    assert read["counts"] == [chunk.token_count for chunk in chunks]
    assert read["hashes"] == [chunk.content_hash for chunk in chunks]
    assert "<" not in data


def test_page_links_to_nothing() -> None:
    page = html_page("one two", overlapping("one two"), "o200k_base")
    assert set(parsed(page).links) == {"#chunks", "data:,"}
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page


def test_encoding_can_be_a_name() -> None:
    chunks = overlapping("one two")
    assert html_page("one two", chunks, "o200k_base") == html_page("one two", chunks, encoding())


def test_title_shows_what_cannot_be_printed() -> None:
    page = html_page("", [], "o200k_base", title="a\n\x1b<b>")
    assert "<title>a\\n\\x1b&lt;b&gt;</title>" in page


def test_chunks_of_another_text_are_refused() -> None:
    with pytest.raises(ValueError, match=r"chunk 0 is not the slice \[0:3\]"):
        html_page("two", overlapping("one"), encoding())


def page_data_of(page: str) -> Any:
    return json.loads(parsed(page).contents[1])


@pytest.mark.parametrize("kind", KINDS)
def test_page_counts_and_shows_tokens_of_wrapped_tokenizers(kind: str) -> None:
    for text in TEXTS.values():
        parts = [text[start : start + 50] for start in range(0, len(text), 40)]
        pairs = [(40 * number, part) for number, part in enumerate(parts)]
        data = page_data_of(html_page(text, pairs, wrapped(kind)))
        assert data["counts"] == [wrapped(kind).count(part) for part in parts]
        for part, tokens, widths in zip(parts, data["tokens"], data["widths"], strict=True):
            assert [one for one in tokens if one >= 0] == wrapped(kind).encode(part)
            assert sum(widths) == len(part)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_page_shows_tokens_of_loaded_encodings(name: str) -> None:
    enc = cutline.Encoding.from_tokenizers(build(name))
    for text in TEXTS.values():
        parts = [text[start : start + 50] for start in range(0, len(text), 40)]
        pairs = [(40 * number, part) for number, part in enumerate(parts)]
        data = page_data_of(html_page(text, pairs, enc))
        assert data["counts"] == [enc.count(part) for part in parts]
        assert [sum(one >= 0 for one in tokens) for tokens in data["tokens"]] == data["counts"]


def test_a_tokenizer_that_is_not_wrapped_is_refused_with_a_way_out() -> None:
    with pytest.raises(TypeError, match=r"use cutline\.wrap"):
        html_page("one", ["one"], made("bert"))


def luminance(color: str) -> float:
    def linear(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(color[k : k + 2], 16)) for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def blend(color: str, ground: str) -> str:
    """Lay a colour with an alpha channel over one without."""
    alpha = int(color[7:9], 16) / 255
    pairs = ((int(color[k : k + 2], 16), int(ground[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(top * alpha + under * (1 - alpha)):02x}" for top, under in pairs)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast_is_that_of_wcag_aa(theme: int) -> None:
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", STYLE)
    colors = {name: values[theme] for name, *values in pairs}
    grounds = [colors["page"], colors["even"], colors["odd"]]
    grounds += [blend(colors["shared"], colors[tint]) for tint in ("even", "odd")]
    letters = [(name, ground, 4.5) for name in ("ink", "quiet") for ground in grounds]
    letters += [(name, colors["page"], 4.5) for name in ("lost", "accent")]
    letters += [("page", colors["ink"], 4.5)]
    signs = [("control", ground, 3.0) for ground in grounds[:3]]
    signs += [("bar", colors["page"], 3.0), ("accent", colors["even"], 3.0)]
    signs += [("accent", colors["odd"], 3.0), ("shared-line", colors["even"], 3.0)]
    for name, ground, least in letters + signs:
        light, dark = sorted((luminance(colors[name]), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= least, (name, ground)
