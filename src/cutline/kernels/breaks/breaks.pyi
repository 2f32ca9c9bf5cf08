from collections.abc import Iterable

PARAGRAPH: int
ENTRY: int
LINE: int
SENTENCE: int
PHRASE: int
WORD: int
GRAPHEME: int
CHARACTER: int

def find_last_break(text: str, kind: int, start: int, after: int, until: int) -> int: ...
def find_breaks(text: str, kind: int, start: int, after: int, until: int) -> list[int]: ...
def keep_graphemes(
    text: str, start: int, places: Iterable[int], ends_words: bool = False
) -> list[int]: ...
def says_something(text: str, start: int, end: int) -> bool: ...
