"""Every sink that promises two phases can be killed around the second one, and every failpoint is passed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import seatunnel_connectors
from seatunnel_py.api import Committer, NothingToCommit
from seatunnel_py.api.process.failpoints import Failpoint, declared

ROOT = Path(__file__).parents[2]
PRODUCT = ("seatunnel_py", "connectors", "plugins")
_DECLARED = re.compile(r"^(\w+) = failpoint\(\s*\"([\w.]+)\"", re.MULTILINE)
_HIT = re.compile(r"(\w+)\.hit\(\)")


def imported() -> None:
    """Every module of ours that may declare one."""
    for module in pkgutil.walk_packages(seatunnel_connectors.__path__, "seatunnel_connectors."):
        importlib.import_module(module.name)
    for name in ("seatunnel_py.runtime.values.failpoints", "seatunnel_py.work.failpoints"):
        importlib.import_module(name)


def committers() -> list[type[Committer]]:
    """Classes of ours that say how to commit, in connectors that promise two phases."""
    imported()
    found, waiting = [], [Committer]
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        found += [one for one in below if "commit" in vars(one) and one.__module__.startswith("seatunnel_")]
    return [one for one in found if one is not NothingToCommit and _promises_two_phases(one)]


def _promises_two_phases(one: type[Committer]) -> bool:
    folder = ROOT / "connectors" / Path(*one.__module__.split(".")[:2])
    return any("TWO_PHASE_COMMIT" in path.read_text() for path in folder.rglob("*.py"))


def points_hit(one: type[Committer]) -> set[str]:
    """The moments that its ``commit`` passes, without the recipe's name."""
    module = sys.modules[one.__module__]
    known = {**vars(module), **vars(getattr(module, "failpoints", module))}
    named = (known.get(name) for name in _HIT.findall(inspect.getsource(one.commit)))
    return {point.name.partition(".")[2] for point in named if isinstance(point, Failpoint)}


@pytest.mark.parametrize("one", committers(), ids=lambda one: one.__name__)
def test_a_commit_can_be_killed_before_and_after(one: type[Committer]) -> None:
    """Whoever commits without naming these moments is a recipe that no crash sweep has ever looked at."""
    assert {"commit.before", "commit.after"} <= points_hit(one)


def test_every_failpoint_is_passed_somewhere() -> None:
    """One that nobody hits would be swept in vain."""
    sources = [path.read_text() for part in PRODUCT for path in (ROOT / part).rglob("*.py")]
    names = [name for source in sources for name in _DECLARED.findall(source)]
    text = "\n".join(sources)

    never = [point for constant, point in names if not re.search(rf"\b{constant}(\.hit\(\)|,)", text)]

    assert names and not never


def test_every_failpoint_says_in_a_sentence_what_it_means() -> None:
    """And is named as its recipe's."""
    imported()
    ours = [point for point in declared().values() if not point.name.startswith("example.")]

    assert [point.name for point in ours if not point.meaning.endswith(".") or point.name.count(".") != 2] == []
