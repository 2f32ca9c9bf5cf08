"""Parts of a job, for several threads: see team.h.

Guarded by tests/kernels/test_trainer.py.
"""

from cython cimport auto_pickle

cdef extern from "team.h":
    void offer "cutline_offer"(Team* team, int n_parts) noexcept nogil
    int take "cutline_take"(Team* team) noexcept nogil
    void done_with "cutline_done"(Team* team) noexcept nogil
    bint await_all "cutline_await"(Team* team, int n_parts) noexcept nogil
    int next_part "cutline_next"(Team* team) noexcept nogil
    void dismiss_all "cutline_dismiss"(Team* team) noexcept nogil


@auto_pickle(False)
cdef class Led:
    """What one thread leads, and others take part in."""

    cdef void work(self, int part) noexcept nogil:
        """Do a part of the job, in any thread: for who inherits this."""

    cdef bint share(self, int n_parts) noexcept nogil:
        """Do all parts of a job, one or more, with the threads that are there.

        Returns whether it waited long for a part that another thread had begun.
        """
        cdef int part
        if n_parts > 1:
            offer(&self.team, n_parts)
        self.work(0)
        if n_parts < 2:
            return False
        part = take(&self.team)
        while part >= 0:
            self.work(part)
            done_with(&self.team)
            part = take(&self.team)
        return await_all(&self.team, n_parts)

    def assist(self):
        """Take part in what another thread leads, until `dismiss` is called."""
        cdef int part
        with nogil:
            part = next_part(&self.team)
            while part >= 0:
                self.work(part)
                done_with(&self.team)
                part = next_part(&self.team)

    def dismiss(self):
        """Let the threads that assist go, now and whenever they come."""
        dismiss_all(&self.team)
