"""Cuts at breaks of texts whose starts are safe split points; subclasses count what is between."""

from cutline.kernels.breaks.few_breaks cimport FewCut


cdef class PointCut(FewCut):
    cdef Py_ssize_t work, most_work     # characters, up to one end of slices
