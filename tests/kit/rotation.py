"""``-p tests.kit.rotation --rotation 2/3``: one of three parts of the end-to-end tests, for CI.

These tests take most of CI's time. A run of CI has the part that its commit chooses, and a core that each run has;
`make test` has them all. Neighbours are in different parts, so each part has some cases of each long file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from tests.kit.spread import piece

ROTATED = "e2e/"
CORE = (
    "e2e/test_conformance.py",
    "e2e/test_failover.py",
    "e2e/test_first_minutes.py",
    "e2e/test_killed_driver.py",
    "e2e/cdc/test_mariadb_cdc.py",
    "e2e/cdc/test_postgres_cdc.py",
    "e2e/page/test_page.py",
    "e2e/server/test_kills.py",
)
"""First steps of a user, kills, both logs, the page, the server: each run of CI has these."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """Part ``number`` of ``parts``, counted from 1."""

    number: int
    parts: int

    @staticmethod
    def parse(text: str) -> Rotation:
        """The inverse of ``2/3``. ValueError: there is no such part."""
        number, _, parts = text.partition("/")
        found = Rotation(int(number), int(parts))
        if not 1 <= found.number <= found.parts:
            raise ValueError(f"part {number} of {parts}: there is no such part")
        return found

    def chosen(self, nodeids: Iterable[str]) -> Sequence[str]:
        """The tests of this part, in their order."""
        nodeids = list(nodeids)
        places: dict[str, int] = {}
        for nodeid in nodeids:
            if is_rotated(nodeid):
                places.setdefault(piece(nodeid), len(places))
        mine = {one for one, place in places.items() if place % self.parts == self.number - 1}
        return [nodeid for nodeid in nodeids if not is_rotated(nodeid) or piece(nodeid) in mine]


def is_rotated(nodeid: str) -> bool:
    """Whether a test is in one part only."""
    return nodeid.startswith(ROTATED) and not nodeid.startswith(CORE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rotation", type=Rotation.parse, help="run one part of the end-to-end tests: 2/3")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rotation: Rotation | None = config.getoption("--rotation")
    if rotation is None:
        return
    chosen = set(rotation.chosen(item.nodeid for item in items))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]
