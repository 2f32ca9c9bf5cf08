"""The readable algorithms: equal to the definition, to tiktoken and to the kernels."""
