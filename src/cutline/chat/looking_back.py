"""Loops that look through all messages for the last one of a kind stop where they have found it.

Two shapes occur in published templates, before the loop that writes the messages. One goes
backwards, and does nothing more once a flag is off (Qwen 3); it may end there. The other goes
forwards, and each match overwrites the one before (GLM 4.5); only the last match counts, which is
the first one backwards. Both are changed only where what is left out could neither fail nor have
an effect, so that a template renders the same.
"""

from typing import Final

from jinja2 import nodes

__all__ = ["stop_early"]

_MESSAGES: Final = "messages"
_SAFE_TESTS: Final = frozenset({"string", "mapping", "defined", "undefined", "none", "boolean"})


def stop_early(tree: nodes.Template) -> None:
    """Let the loops of a parsed template stop early that can; changes the tree."""
    if not _are_messages(tree):
        return
    for node in tree.body:
        if not isinstance(node, nodes.For) or node.test or node.else_ or node.recursive:
            continue
        if not isinstance(node.target, nodes.Name) or node.target.name in (_MESSAGES, "loop"):
            continue
        if next(node.find_all(nodes.Output), None) is not None or not _has_messages(node.iter):
            continue
        if (flag := _flag_of(node)) is not None:
            node.body.insert(0, nodes.If(flag, [nodes.Break()], [], []))
        elif _overwrites(node):
            _turn_round(node)


def _has_messages(node: nodes.Node) -> bool:
    """Return whether it is the messages, or those of a slice, in any order."""
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        bounds = [part for part in (node.arg.start, node.arg.stop, node.arg.step) if part]
        is_plain = all(next(part.find_all(nodes.Name), None) is None for part in bounds)
        return is_plain and _is_name(node.node, _MESSAGES)
    return _is_name(node, _MESSAGES)


def _flag_of(loop: nodes.For) -> nodes.Expr | None:
    """Return the test after which a loop does nothing more, or None."""
    *before, last = loop.body
    if not isinstance(last, nodes.If) or last.elif_ or last.else_:
        return None
    if not all(_sets_a_number(node) for node in before):
        return None
    first = last.test
    while isinstance(first, nodes.And):
        first = first.left
    inner = first.node if isinstance(first, nodes.Not) else first
    if not isinstance(inner, nodes.Getattr) or not isinstance(inner.node, nodes.Name):
        return None
    # An attribute of a namespace that the loop sets; of a message, it is another one each time.
    spaces = {ref.name for ref in last.find_all(nodes.NSRef)}
    own = {_target(loop), *(node.target.name for node in before)}  # type: ignore[attr-defined]
    if inner.node.name not in spaces or inner.node.name in own:
        return None
    read = nodes.Getattr(nodes.Name(inner.node.name, "load"), inner.attr, "load")
    return read if isinstance(first, nodes.Not) else nodes.Not(read)


def _sets_a_number(node: nodes.Node) -> bool:
    """Return whether it sets a variable, of the loop alone, to a number, which cannot fail."""
    return (
        isinstance(node, nodes.Assign)
        and isinstance(node.target, nodes.Name)
        and node.target.name not in (_MESSAGES, "loop")
        and _is_number(node.node)
    )


def _is_number(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Add | nodes.Sub):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, nodes.Filter):
        is_plain = not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
        return node.name == "length" and is_plain and _is_name(node.node, _MESSAGES)
    return _is_index(node) or (isinstance(node, nodes.Const) and type(node.value) is int)


def _is_index(node: nodes.Node | None) -> bool:
    is_index = isinstance(node, nodes.Getattr) and node.attr in ("index0", "index")
    return is_index and _is_name(node.node, "loop")  # type: ignore[union-attr]


def _is_name(node: nodes.Node | None, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.name == name


def _target(loop: nodes.For) -> str:
    assert isinstance(loop.target, nodes.Name)
    return loop.target.name


def _overwrites(loop: nodes.For) -> bool:
    """Return whether a loop over the messages does what its last match does, and no more."""
    [*others, last] = loop.body
    if others or not isinstance(last, nodes.If) or last.elif_ or last.else_:
        return False
    name = _target(loop)
    return (
        _is_name(loop.iter, _MESSAGES)
        and _cannot_fail(last.test, name)
        and bool(last.body)
        and all(
            isinstance(node, nodes.Assign)
            and isinstance(node.target, nodes.NSRef)
            and node.target.name not in (name, "loop")
            and (_is_number(node.node) or isinstance(node.node, nodes.Const))
            for node in last.body
        )
    )


def _cannot_fail(node: nodes.Node, name: str) -> bool:
    """Return whether a condition looks at a message alone, in ways that never raise."""
    if isinstance(node, nodes.And | nodes.Or):
        return _cannot_fail(node.left, name) and _cannot_fail(node.right, name)
    if isinstance(node, nodes.Not):
        return _cannot_fail(node.node, name)
    if isinstance(node, nodes.Compare):
        [one] = node.ops if len(node.ops) == 1 else [None]
        return (
            one is not None
            and one.op in ("eq", "ne")
            and isinstance(one.expr, nodes.Const)
            and _is_field(node.expr, name)
        )
    if isinstance(node, nodes.Test):
        is_plain = not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
        return node.name in _SAFE_TESTS and is_plain and _is_field(node.node, name)
    return _is_field(node, name)


def _is_field(node: nodes.Node | None, name: str) -> bool:
    if isinstance(node, nodes.Getitem):
        is_text = isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str)
        return is_text and _is_name(node.node, name)
    return isinstance(node, nodes.Getattr) and _is_name(node.node, name)


def _are_messages(tree: nodes.Template) -> bool:
    """Return whether `messages` is always a list of messages: those given, or a part of them."""
    stored = [n for n in tree.find_all(nodes.Name) if n.ctx == "store" and n.name == _MESSAGES]
    parts = [
        node
        for node in tree.find_all(nodes.Assign)
        if _is_name(node.target, _MESSAGES)
        and isinstance(node.node, nodes.Getitem)
        and isinstance(node.node.arg, nodes.Slice)
        and _is_name(node.node.node, _MESSAGES)
    ]
    return len(stored) == len(parts)


def _turn_round(loop: nodes.For) -> None:
    """Make a loop run backwards, and stop at its first match."""
    [match] = loop.body
    assert isinstance(match, nodes.If)
    for node in match.body:
        assert isinstance(node, nodes.Assign)
        node.node = _from_the_end(node.node)
    match.body.append(nodes.Break())
    step = nodes.Slice(None, None, nodes.Neg(nodes.Const(1)))
    loop.iter = nodes.Getitem(nodes.Name(_MESSAGES, "load"), step, "load")


def _from_the_end(node: nodes.Node) -> nodes.Expr:
    """Write a number for a loop that runs backwards."""
    if isinstance(node, nodes.Add | nodes.Sub):
        return type(node)(_from_the_end(node.left), _from_the_end(node.right))
    assert isinstance(node, nodes.Expr)
    if not isinstance(node, nodes.Getattr):
        return node
    n_messages = nodes.Filter(nodes.Name(_MESSAGES, "load"), "length", [], [], None, None)
    passed = nodes.Getattr(nodes.Name("loop", "load"), "index", "load")
    last = nodes.Sub(n_messages, passed)
    return last if node.attr == "index0" else nodes.Add(last, nodes.Const(1))
