"""The best that plain Python does: an index from pairs to pieces, and a heap with lazy deletion."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise

Pair = tuple[int, int]


def train_by_index(counts: Mapping[bytes, int], vocab_size: int) -> list[bytes]:
    """Train as everyone teaches it; ties go to the lower ids. Returns the tokens in order."""
    pieces = [list(piece) for piece in counts]
    weights = list(counts.values())
    pairs: Counter[Pair] = Counter()
    index: defaultdict[Pair, set[int]] = defaultdict(set)
    for number, piece in enumerate(pieces):
        for pair in pairwise(piece):
            pairs[pair] += weights[number]
            index[pair].add(number)
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    tokens = [bytes([byte]) for byte in range(256)]
    while heap and len(tokens) < vocab_size:
        count, pair = heapq.heappop(heap)
        if -count != pairs[pair]:
            if pairs[pair] > 1:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        if -count < 2:
            break
        made = len(tokens)
        tokens.append(tokens[pair[0]] + tokens[pair[1]])
        changed: set[Pair] = set()
        for number in index.pop(pair):
            before = pieces[number]
            after = _joined(before, pair, made)
            for old in pairwise(before):
                pairs[old] -= weights[number]
            for new in pairwise(after):
                pairs[new] += weights[number]
                if made in new:
                    index[new].add(number)
                    changed.add(new)
            pieces[number] = after
        for new in changed:
            heapq.heappush(heap, (-pairs[new], new))
    return tokens


def _joined(piece: list[int], pair: Pair, made: int) -> list[int]:
    joined, place = [], 0
    while place < len(piece):
        if place + 1 < len(piece) and (piece[place], piece[place + 1]) == pair:
            joined.append(made)
            place += 2
        else:
            joined.append(piece[place])
            place += 1
    return joined
