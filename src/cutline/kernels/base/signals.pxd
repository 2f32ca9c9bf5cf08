cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept
    int PyOS_InterruptOccurred() noexcept
    void PyErr_SetInterrupt() noexcept

cdef enum:
    LOOK_AFTER = 1 << 20        # bytes of work from one look to the next: at most 0.1 s

# Of one call.
cdef struct Watch:
    bint is_on                  # the caller asks `raise_pending` when it gets INTERRUPTED
    Py_ssize_t work             # bytes since the last look
    bint defers                 # handlers run later, for they may use what is being changed


cdef int look() noexcept


cdef inline bint is_interrupted(Watch* watch, Py_ssize_t work) noexcept nogil:
    """Add some work, and look for signals if there was enough.

    True: a handler raised or, where they are deferred, Ctrl-C has one to call; or nobody waits for
    the work of this thread any more.
    """
    watch.work += work
    if watch.work < LOOK_AFTER or not watch.is_on:
        return False
    watch.work = 0
    with gil:
        if watch.defers:
            if not PyOS_InterruptOccurred():
                return False
            PyErr_SetInterrupt()    # looking has taken it away
            return True
        return look() < 0


cdef inline int raise_pending() except -1:
    """Raise what a handler raised."""
    return -1


cdef inline int raise_if_interrupted() except -1:
    """Look for signals now, and raise what ends the work."""
    return look()


cdef inline int give_way() except -1:
    """Look for signals as raise_if_interrupted, and let another thread that waits go on."""
    if look() < 0:
        return -1
    with nogil:
        pass
    return 0


cdef inline int run_handlers() except -1:
    """Call the handlers of signals that were deferred, and raise what they raise."""
    return PyErr_CheckSignals()
