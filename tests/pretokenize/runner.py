"""The scanning rule in plain Python: the oracle of the tables and of the kernel."""

from cutline.pretokenize import Automaton


class Runner:
    """Runs an automaton over texts, one character at a time."""

    def __init__(self, automaton: Automaton) -> None:
        self.stride = automaton.stride
        self.end_symbol = automaton.n_classes
        self.transitions = automaton.transitions.tolist()
        self.block_index = automaton.block_index.tolist()
        self.block_class = automaton.block_class.tolist()

    def class_of(self, code_point: int) -> int:
        block: int = self.block_index[code_point >> 6]
        return int(self.block_class[block * 64 + (code_point & 63)])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open code-point spans of all matches, as a kernel finds them."""
        classes = [self.class_of(ord(character)) for character in text] + [self.end_symbol]
        found, start = [], 0
        while start < len(text):
            end = self.match_end(classes, start)
            if end > start:
                found.append((start, end))
            start = max(end, start + 1)
        return found

    def match_end(self, classes: list[int], start: int) -> int:
        """Return where the match that starts at `start` ends; `start` if there is none."""
        row, end = self.stride, start
        for position in range(start, len(classes)):
            entry = self.transitions[row + classes[position]]
            if entry == 0:
                break
            if entry & 3 == 1:
                end = min(position + 1, len(classes) - 1)
            elif entry & 3 == 2:
                end = position
            row = entry >> 2
        return end
