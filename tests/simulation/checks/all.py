"""All checkers, in the order in which they look: what explains a failure best comes first."""

from __future__ import annotations

from tests.simulation.checks import (
    checkpoint,
    commit,
    data,
    endings,
    fencing,
    followed,
    isolation,
    restart,
    schemas,
    start,
    visible,
)

CHECKERS = (
    *data.CHECKERS,
    *visible.CHECKERS,
    *checkpoint.CHECKERS,
    *endings.CHECKERS,
    *restart.CHECKERS,
    *fencing.CHECKERS,
    *start.CHECKERS,
    *isolation.CHECKERS,
    *commit.CHECKERS,
    *schemas.CHECKERS,
    *followed.CHECKERS,
)
