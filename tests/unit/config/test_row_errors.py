"""SeaTunnel's row error handlers: what they allow here."""

from __future__ import annotations

import pytest

from seatunnel_py.config.job_file import loads

STEPS = "source { FakeSource {} }\nsink { Console {} }"


@pytest.mark.parametrize(
    ("env", "allowed"),
    [
        ("", (0, 0.0)),
        ("error_handler { mode = DISABLE, max_error_records = 5 }", (0, 0.0)),
        ("error_handler { mode = LOG }", (0, 1.0)),
        ("error_handler { mode = ROUTE, max_error_records = 5, sink { plugin_name = Jdbc, error_table = e } }", (5, 0.0)),
        ("sink_error_handler { mode = LOG, max_error_ratio = 0.2, queue_overflow_policy = DROP }", (0, 0.2)),
        ("env.error_handler { mode = LOG, max_error_records = 7 }", (7, 0.0)),
        ("error_handler { mode = LOG, max_error_records = 7 }\ntransform_error_handler { mode = LOG }", (0, 1.0)),
        ("error.max-rows = 3\nerror_handler { mode = LOG }", (3, 0.0)),
        ('dirty.collector { type = "log", threshold = -1, fail_on_threshold = false }', (0, 1.0)),
        ('dirty.collector { type = "log", threshold = 10, fail_on_threshold = true }', (10, 0.0)),
        ("dirty.collector { threshold = 10 }", (0, 0.0)),
    ],
)  # fmt: skip
def test_what_a_handler_allows(env: str, allowed: tuple[int, float]) -> None:
    """Limits of the most patient one; our own options come first; what is off allows nothing."""
    job = loads(f"env {{ {env} }}\n{STEPS}")

    assert job.env.bad_rows_allowed == allowed
    said = [note for note in job.notes if "quarantined" in str(note)]
    assert bool(said) == any(word in env for word in ("mode = LOG", "mode = ROUTE", 'type = "log"'))
