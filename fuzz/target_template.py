"""What a template makes of each chunk is within the budget; any pattern is refused or renders.

Input: format, template or the length of a pattern of its own, budget (a byte each), then that
pattern, then the document as for `documents`.
"""

import pickle

from cutline import Template
from cutline.errors import BudgetError
from fuzz.grammar import spelled
from fuzz.target_documents import ENCODING, FORMATS, MAX_CHARACTERS, chunker_of
from tests.chunking.contract import check
from tests.oracles import counter

TEMPLATES = (
    "passage: {headings}\n\n{text}", "{headings} | {text}", "<d>{text}</d>", "{index}. {text}\n",
    "{table_header}{text}", "{headings}\n{table_header}{text}", "{{{text}}} ",
    "{title}: {text}\u0301",
)  # fmt: skip
PATTERN_PARTS = (
    "{text}", "{headings}", "{table_header}", "{index}", "{title}", "{", "}", "{{", "}}", "{}",
    "{a b}", " > ", "\n", ": ", "a", "é", "<|endoftext|>", "{text!r}", "{text:9}", "\u0301", "中",
    "   ",
)  # fmt: skip


def run(data: bytes) -> None:
    if len(data) < 4:
        return
    kind, size, rest = FORMATS[data[0] % len(FORMATS)], 4 + data[2] % 90, data[3:]
    if data[1] < len(TEMPLATES):
        pattern = TEMPLATES[data[1]]
    else:
        n = data[1] % 16
        rest, spelling = rest[n:], rest[:n]
        pattern = "".join(PATTERN_PARTS[byte % len(PATTERN_PARTS)] for byte in spelling)
    try:
        template = Template(pattern, special_tokens=data[1] % 3)
    except ValueError:
        assert pattern not in TEMPLATES
        return
    template = template.fill(**dict.fromkeys(template.missing, "Über"))
    assert pickle.loads(pickle.dumps(template)) == template
    check_sent(template, kind, spelled(kind, rest)[:MAX_CHARACTERS], size)


def check_sent(template: Template, kind: str, text: str, size: int) -> None:
    """Count what is sent with tiktoken."""
    count = counter(ENCODING)
    try:
        chunks = chunker_of(kind, size, template=template).chunk(text)
    except BudgetError:  # the frame leaves no room for a character
        # A field of a chunk is at most as long as its share of the budget.
        before, after = template.frame((), 0, "")
        widest = max((count(before + letter + after) for letter in text), default=0)
        assert widest + (template.special_tokens or 0) + size // 2 + 8 > size
        return
    check(text, chunks, count, chunk_size=size)
    for chunk in chunks:
        sent = count(template.render(chunk)) + (template.special_tokens or 0)
        assert chunk.metadata["sent_tokens"] == sent <= size
