"""Which characters of a text those of another come from, against spans that are listed."""

import random

import numpy as np
import pytest

import cutline
from cutline.kernels.base.alignment import aligned
from cutline.kernels.encode.run_counts import RunRules
from cutline.normalizing import Traced, trace

characters = pytest.importorskip("tests.pipeline.characters")
tokenizers = pytest.importorskip("tokenizers", reason="makes the tokenizers of these tests")


def random_alignment(rng: random.Random) -> tuple[list[tuple[int, int, int, int]], list[list[int]]]:
    """Return blocks, and the span of each character that is written."""
    blocks, spans, at = [], list[list[int]](), 0
    for _ in range(rng.randint(0, 12)):
        for _ in range(rng.choice((0, 0, 1, 5))):
            spans.append([at, at + 1])
            at += 1
        end, n = at + rng.randint(1, 3), rng.randint(0, 3)
        blocks.append((len(spans), len(spans) + n, at, end))
        spans += [[at, end]] * n
        at = end
    return blocks, [*spans, *([place, place + 1] for place in range(at, at + 9))]


def test_spans_are_those_of_their_first_and_last_characters() -> None:
    rng = random.Random(5)
    for _ in range(300):
        blocks, spans = random_alignment(rng)
        found = aligned("", blocks)
        edges = sorted(rng.choices(range(len(spans)), k=rng.randint(1, 20)))
        parts = [
            (start, end + 1) for start, end in zip(edges, [*edges[1:], len(spans) - 1], strict=True)
        ]
        expected = [[spans[start][0], spans[end - 1][1]] for start, end in parts]
        assert found.spans_of(np.array(parts, dtype=np.int64)).tolist() == expected
        n = spans[-1][1]
        assert found.length_of(n) == len(spans)
    assert aligned("", []).spans_of(np.empty((0, 2), dtype=np.int64)).shape == (0, 2)


@pytest.mark.parametrize("name", ["llama 2", "gemma", "mistral", "words apart, no prefix"])
def test_spelled_text_comes_from_what_its_steps_trace(name: str) -> None:
    tokenizer = tokenizers.Tokenizer.from_str(characters.make_document(name))
    pipeline = cutline.Encoding.from_tokenizers(tokenizer)._pipeline
    assert pipeline is not None
    rules = pipeline.run_rules
    assert type(rules) is RunRules
    rng = random.Random(name)
    for _ in range(200):
        parts = ("ab", " ", "  ", "\u2581", "é", "中", "\U0001f600", "\0", "\n", "ж")
        text = "".join(rng.choices(parts, k=rng.randint(0, 12)))
        found = rules.aligned(text)
        assert found is not None
        expected = trace(Traced.of(text), pipeline.steps_for(inside=False))
        assert found.text == rules.changed(text) == expected.text
        assert found.length_of(len(text)) == len(found.text)
        places = np.arange(len(found.text))
        spans = found.spans_of(np.stack([places, places + 1], axis=1))
        assert spans.tolist() == expected.spans.tolist()
    assert rules.aligned("a\ud800") is None
