PARAGRAPH: int
LINE: int
SENTENCE: int
CHARACTER: int

def find_last_break(text: str, kind: int, start: int, after: int, until: int) -> int: ...
def find_breaks(text: str, kind: int, start: int, after: int, until: int) -> list[int]: ...
