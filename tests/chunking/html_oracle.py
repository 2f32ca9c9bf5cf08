"""The blocks of an HTML page by the stdlib's parser and by the definitions, without any speed.

A tree is built from the parser's events, then walked; each rule is written as `html_structure`
states it. Pages of whole tags only: on broken ones html.parser is no browser.
"""

from html.parser import HTMLParser

CONTAINERS = {"ul": "list", "ol": "list", "dl": "list", "table": "table", "blockquote": "quote"} | {
    "pre": "code"
}
ITEMS = {"li", "dt", "dd", "tr", "td", "th"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
TRANSPARENT = {"div", "section", "body"}
CLOSES = {"li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "tr": {"tr"}} | {
    cell: {"td", "th"} for cell in ("td", "th")
}
CELLS = {"td", "th"}
PARTS = {"td", "th", "tr", "table"}
BLOCKS = set(CONTAINERS) | ITEMS | HEADINGS | TRANSPARENT | {"p"}


class Node:
    def __init__(self, name: str, start: int) -> None:
        self.name, self.start, self.end = name, start, -1
        self.children: list[Node] = []


class Tree(HTMLParser):
    """Elements, texts ("#text") and scripts as nodes with offsets."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.page = page
        self.root = Node("#root", 0)
        self.open = [self.root]
        self.feed(page)
        self.close()
        while self.open:
            self.pop(len(page))

    def at(self) -> int:
        row, column = self.getpos()
        return sum(len(line) + 1 for line in self.page.split("\n")[: row - 1]) + column

    def pop(self, end: int) -> None:
        self.open.pop().end = end

    def add(self, name: str) -> Node:
        node = Node(name, self.at())
        self.open[-1].children.append(node)
        return node

    def close_name(self, names: set[str], barriers: set[str], end: int) -> None:
        """Close the innermost element of these names, unless one of the barriers is nearer."""
        for place in range(len(self.open) - 1, 0, -1):
            if self.open[place].name in names:
                while len(self.open) > place + 1:
                    self.pop(self.at())
                self.pop(end)
                return
            if self.open[place].name in barriers:
                return

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "script":
            self.open.append(self.add(tag))
        if tag not in BLOCKS:
            return
        inner = {node.name for node in self.open}
        if not (tag in TRANSPARENT and inner & HEADINGS):
            self.close_name(HEADINGS | {"p"}, set(), self.at())
        barriers = {"table"} if tag in PARTS else set(CONTAINERS) | CELLS
        self.close_name(CLOSES.get(tag, set()), barriers, self.at())
        self.open.append(self.add(tag))

    def handle_endtag(self, tag: str) -> None:
        end = self.page.index(">", self.at()) + 1
        if tag in HEADINGS:
            self.close_name(HEADINGS, set(), end)
        elif tag in BLOCKS or tag == "script":
            barriers = {"table"} if tag in PARTS - {"table"} else CELLS if tag in BLOCKS else set()
            if tag in ("li", "dt", "dd"):
                barriers = set(CONTAINERS) | CELLS
            elif tag == "table":
                barriers = set()
            self.close_name({tag}, barriers, end)

    def handle_data(self, data: str) -> None:
        node = self.add("#text")
        node.end = node.start + len(data)


class Outline:
    """What `html_structure` should find."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.cuts: dict[str, set[int]] = {"block": set(), "item": set(), "nested item": set()}
        self.groups: list[list[tuple[int, int, str]]] = []
        self.regions: set[tuple[int, int, str]] = set()
        self.first = False  # nothing stands between here and what this must not be cut from
        self.headed = False
        self.parents: dict[Node, Node] = {}
        self.walk(Tree(page).root, 0)

    def cut(self, node: Node, depth: int) -> None:
        if not self.first:
            self.cuts[["block", "item", "nested item"][min(depth, 2)]].add(self.start_of(node))
        self.first = self.headed = False

    def start_of(self, node: Node) -> int:
        """Where a block begins: with the elements like `div` that hold nothing before it."""
        while (parent := self.parents[node]).name in TRANSPARENT:
            if not all(map(self.is_blank, parent.children[: parent.children.index(node)])):
                break
            node = parent
        return node.start

    def walk(self, node: Node, depth: int) -> None:
        for child in node.children:
            self.parents[child] = node
            self.visit(child, node, depth)

    def visit(self, node: Node, parent: Node, depth: int) -> None:
        name, text = node.name, self.page[node.start : node.end]
        if name == "#text":
            if text.strip():
                self.first = self.headed = False
        elif name == "script":
            self.regions.add((node.start, node.end, "markup"))
            if parent.name != "p" and not self.first:
                self.cut(node, depth)
        elif name in TRANSPARENT:
            inked = next((child for child in node.children if not self.is_blank(child)), None)
            if inked is not None and inked.name == "#text":
                self.cut(node, depth)
            self.walk(node, depth)
        elif name in HEADINGS:
            self.visit_heading(node, depth)
        else:
            self.cut(node, depth)
            if name == "p":
                self.walk(node, depth)
                return
            self.first = True
            self.walk(node, depth + 1)
            self.first = self.headed = False
            if name in CONTAINERS:
                self.regions.add((node.start, node.end, CONTAINERS[name]))

    def is_blank(self, node: Node) -> bool:
        return node.name == "#text" and not self.page[node.start : node.end].strip()

    def visit_heading(self, node: Node, depth: int) -> None:
        if depth:
            self.cut(node, depth)
        else:
            if not self.headed:
                self.groups.append([])
            title = " ".join(self.title(node))
            self.groups[-1].append((self.start_of(node), int(node.name[1]), title))
            self.headed = True
        for script in self.scripts(node):
            self.regions.add((script.start, script.end, "markup"))
        self.first = True

    def scripts(self, node: Node) -> list[Node]:
        found = [node] if node.name == "script" else []
        return found + [script for child in node.children for script in self.scripts(child)]

    def title(self, node: Node) -> list[str]:
        """The words of a heading."""

        def text(node: Node) -> str:
            if node.name == "#text":
                return self.page[node.start : node.end]
            inner = "" if node.name == "script" else "".join(map(text, node.children))
            return f" {inner}" if node.name in TRANSPARENT else inner

        return text(node).split()

    def levels(self) -> dict[str, set[int]]:
        """The cuts of each level, without those of the better ones."""
        found = {f"heading {level}": set[int]() for level in range(1, 7)} | self.cuts
        for group in self.groups:
            found[f"heading {min(level for _, level, _ in group)}"].add(group[0][0])
        return {name: offsets - {0, len(self.page)} for name, offsets in found.items()}

    def headings_at(self, offset: int) -> tuple[str, ...]:
        """The titles that apply at an offset: those above it, and those directly below."""
        passed: list[tuple[int, int, str]] = []
        for group in self.groups:
            for place, heading in enumerate(group):
                above = group[:place]
                # Nested directly: begins, for chunks, where the first one of the run does.
                run = [*above, heading]
                start = heading[0]
                for before, after in zip(run[-2::-1], run[:0:-1], strict=True):
                    if after[1] <= before[1]:
                        break
                    start = before[0]
                if start <= offset:
                    passed.append(heading)
        titles: list[str] = []
        for place, (_, level, title) in enumerate(passed):
            if title and all(later > level for _, later, _ in passed[place + 1 :]):
                titles.append(title)
        return tuple(titles)
