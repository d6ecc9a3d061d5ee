"""What all tests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from seatunnel_py import redaction

# CI decides whether a change lands: it must say the same twice. Elsewhere examples stay random, to find more.
settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=40)
settings.register_profile("hunt", derandomize=True, database=None, deadline=None)
settings.register_profile("here", deadline=None)
settings.load_profile({None: "here", "hunt": "hunt"}.get(os.environ.get("CI"), "ci"))


@pytest.fixture(autouse=True)
def _nothing_is_secret_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's secret may be another's word."""
    monkeypatch.setattr(redaction, "_kept", redaction._KeptSecrets())
