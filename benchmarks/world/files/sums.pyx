# cython: language_level=3
"""Sums, fast."""
cimport cython
from libc.math cimport sqrt

cdef extern from "sums.h":
    double sum_of(double *first, int count) nogil

cdef struct Point:
    double x
    double y

ctypedef fused number:
    int
    double

@cython.boundscheck(False)
cpdef double length(double[:] row):
    """Return a row's length."""
    cdef Py_ssize_t i
    cdef double total = 0
    with nogil:
        for i in range(row.shape[0]):
            total += row[i] * row[i]
    return sqrt(total)

cdef class Sums:
    cdef readonly int count
    cdef double* values

    def __cinit__(self, int count):
        self.count = count

    cdef inline double first(self) except -1:
        return self.values[0]
