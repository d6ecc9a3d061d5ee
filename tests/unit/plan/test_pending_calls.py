"""Calls of plugins that have not returned: each job has its own."""

from __future__ import annotations

import threading

from seatunnel_py.plan.plugins.pending_calls import asking, watched


def test_the_oldest_call_of_a_job_is_told() -> None:
    with watched() as calls:
        assert calls.oldest() is None
        with asking("source[0]", "tables"):
            waiting = calls.oldest()
            assert waiting is not None and (waiting.path, waiting.method) == ("source[0]", "tables")
        assert calls.oldest() is None


def test_two_jobs_in_one_process_do_not_see_each_other() -> None:
    begun, ended = threading.Event(), threading.Event()

    def other_job() -> None:
        with watched(), asking("other", "tables"):
            begun.set()
            ended.wait(30)

    thread = threading.Thread(target=other_job)
    thread.start()
    try:
        with watched() as calls:
            assert begun.wait(30)
            assert calls.oldest() is None
    finally:
        ended.set()
        thread.join()


def test_a_call_that_is_not_watched_is_none() -> None:
    """As where a program plans a job itself."""
    with asking("source[0]", "tables"), watched() as calls:
        assert calls.oldest() is None
