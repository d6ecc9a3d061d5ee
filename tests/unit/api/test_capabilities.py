"""Capabilities are declared, not inherited by silence."""

from __future__ import annotations

import pytest

from seatunnel_py.api import SourceCapabilities


def test_a_source_says_itself_how_its_rows_come_again() -> None:
    with pytest.raises(TypeError, match="determinism"):
        SourceCapabilities()  # type: ignore[call-arg]
