"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# CI decides whether a change lands: it must say the same twice. Elsewhere examples stay random, to find more.
settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")
