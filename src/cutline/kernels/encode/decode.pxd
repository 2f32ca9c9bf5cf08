"""Lists of int from arrays of ids."""

from cutline.kernels.base.common cimport uint32_t

cdef list list_of_ids(const uint32_t* ids, Py_ssize_t n)
