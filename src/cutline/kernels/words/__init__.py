"""Text and the model of a tokenizer that encodes words -> tokens, counts."""
