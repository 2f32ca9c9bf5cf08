"""Viewing chunks: a page for the browser, and colours for the terminal."""

from cutline.view.page import html_page
from cutline.view.terminal import terminal_view

__all__ = ["html_page", "terminal_view"]
