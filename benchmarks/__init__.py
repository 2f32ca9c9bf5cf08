"""How fast is cutline beside the other tokenizers? `python -m benchmarks` measures it.

Every contender gets the same texts in the same run, and nothing is timed before
its result was found equal to tiktoken's.
"""
