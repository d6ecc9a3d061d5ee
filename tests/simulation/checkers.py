"""All checkers, in the order in which they look: what explains a failure best comes first."""

from __future__ import annotations

from tests.simulation import (
    checks_checkpoint,
    checks_commit,
    checks_data,
    checks_isolation,
    checks_restart,
    checks_start,
)

CHECKERS = (
    *checks_data.CHECKERS,
    *checks_checkpoint.CHECKERS,
    *checks_restart.CHECKERS,
    *checks_start.CHECKERS,
    *checks_isolation.CHECKERS,
    *checks_commit.CHECKERS,
)
