"""A text's UTF-8, for the kernels that take texts."""

cpdef bytes encode_utf8(str text)
