"""Templates compiled and planned, each once, and rendered whole."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cutline.errors import ChatError

if TYPE_CHECKING:
    from jinja2.environment import Template

    from cutline.chat.plan import Plan

__all__ = ["compiled", "planned", "render_whole"]


@lru_cache(maxsize=64)
def compiled(source: str) -> Template:
    """Compile a template.

    Raises:
        ChatError: it is no valid one.
    """
    from cutline.chat.sandbox import environment

    try:
        tree = environment().parse_metered(source)
        return environment().compiled(tree)
    except Exception as error:  # of jinja2, and of Python's own compiler
        line = getattr(error, "lineno", None)
        raise ChatError(
            f"the chat template is no valid one{f', in line {line}' if line else ''}: "
            f"{str(error) or type(error).__name__}"
        ) from None


@lru_cache(maxsize=64)
def planned(source: str) -> Plan | None:
    """Plan how a template renders one more message; None: only whole."""
    from cutline.chat.plan import make_plan
    from cutline.chat.sandbox import environment

    return make_plan(environment(), environment().parse_metered(source))


def render_whole(template: Template, chat: list[dict[str, Any]], given: dict[str, Any]) -> str:
    """Render a request.

    Raises:
        ChatError: the template refuses the messages, or fails.
    """
    from cutline.chat.metering import METER, Meter
    from cutline.chat.sandbox import stopped

    meter = Meter((chat, given))
    context = template.new_context({**given, "messages": chat, METER: meter})
    try:
        return meter.joined(template.root_render_func(context))
    except Exception as error:
        raise stopped(error, meter.place_in(chat)) from None
