"""Full stops that end no sentence: after abbreviations, initials, ordinal numbers and signs of lists."""

from cutline.kernels.base.characters cimport Characters

cdef bint is_after_abbreviation(
    const Characters* text, Py_ssize_t start, Py_ssize_t place
) noexcept nogil
