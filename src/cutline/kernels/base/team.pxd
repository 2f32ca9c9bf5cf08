"""Parts of a job, for several threads: see team.h.

Guarded by tests/kernels/test_trainer.py.
"""

cdef extern from "team.h":
    ctypedef struct Team "cutline_team":
        pass
    void offer "cutline_offer"(Team* team, int n_parts) noexcept nogil
    int take "cutline_take"(Team* team) noexcept nogil
    void done_with "cutline_done"(Team* team) noexcept nogil
    bint await_all "cutline_await"(Team* team, int n_parts) noexcept nogil
    int next_part "cutline_next"(Team* team) noexcept nogil
    void dismiss_all "cutline_dismiss"(Team* team) noexcept nogil
