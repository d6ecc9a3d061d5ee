"""A connection breaks exactly at a commit, and nobody hears whether it was done (F4, F33, F46): the target is asked.

Rows carry (source, split, seq). Whatever the outcome was that nobody heard, each arrives once where that is promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.crash_sweep import judge
from e2e.crash_sweep.place import Lane, Place
from e2e.crash_sweep.recipes import RECIPES
from e2e.support import IN_PROCESS, finish, start, write_job
from tests.servers.cutting_proxy import Chooser, CuttingProxy, Fate

WORDS = (b"COMMIT", b"PREPARE TRANSACTION")
CUTS_MAX = 12


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    found = Lane()
    yield found
    found.close()


@pytest.mark.parametrize("seed", [1])  # others by hand: each is another order of cuts
@pytest.mark.parametrize(
    "name",
    [
        "postgres fresh", "postgres upsert", "postgres append", "postgres direct", "postgres staged",
        "postgres prepared", "mariadb", "mariadb staged",
    ],
)  # fmt: skip
def test_what_nobody_heard_is_found_out(name: str, seed: int, lane: Lane, tmp_path: Path) -> None:
    recipe = RECIPES[name]
    (target,) = recipe.targets
    place = Place(f"{name.replace(' ', '_')}_{seed}", tmp_path, lane)
    recipe.source.prepare(place, list(recipe.wanted()))
    target.prepare(place)
    server = place.mariadb if target.server == "mariadb" else place.postgres
    choose = Chooser(WORDS, seed, CUTS_MAX)

    with CuttingProxy(server.port, choose) as proxy:
        write_job(tmp_path, recipe.job(place, paced=False).replace(f":{server.port}/", f":{proxy.port}/"))
        ended = finish(start(tmp_path, "run", "job.conf", "--json", program=IN_PROCESS))

    assert ended.code == 0, ended.out + ended.err
    assert choose.cuts[Fate.CUT_AFTER] > 1, choose.cuts
    found = target.rows(place)
    assert judge.rows(recipe.wanted(), found, ordered=target.ordered) == [], choose.cuts
    assert list(target.left_behind(place)) == []
