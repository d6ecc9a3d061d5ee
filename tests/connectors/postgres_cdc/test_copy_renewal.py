"""A copy whose snapshot is lost in the middle: the rest has every row, whatever has happened to the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.postgres_cdc.copy import CopySource
from seatunnel_py.api import Batch, GenerationLostError, SourceTable, Split
from seatunnel_py.api.process.resources import close_all
from tests.connectors.postgres_cdc.conftest import Log

ROWS = 3_000
SPLITS = 8

REWRITE = ("VACUUM FULL t", "ALTER TABLE t ALTER COLUMN v TYPE bigint", "CLUSTER t USING by_v")
"""The second one gives every row a new transaction; the others keep it, and move the rows."""


class Copy:
    """A table that is copied, split by split."""

    def __init__(self, log: Log) -> None:
        self.log = log
        log.run(
            "CREATE TABLE t (id int PRIMARY KEY, v int, pad text) WITH (autovacuum_enabled = off)",
            f"INSERT INTO t SELECT n, 0, repeat('x', 200) FROM generate_series(1, 2 * {ROWS}) n",
            f"DELETE FROM t WHERE id <= {ROWS}",  # blocks without rows, which a rewritten table lacks
            "CREATE INDEX by_v ON t (v)",
            "ANALYZE t",
        )
        self.source = self._source()
        [self.table] = [one for one in self.source.tables() if isinstance(one, SourceTable)]
        self.enumerator = self.source.enumerator([self.table], None)
        self.left: list[Split] = list(self.enumerator.discover())
        self.target: dict[int, int] = {}
        self.read_rows = 0

    def _source(self) -> CopySource:
        address = parse_url(f"{self.log.url}?user=postgres")
        options = {"url": "jdbc:postgresql://x/y", "table_path": "public.t", "split.size": ROWS // SPLITS}
        return CopySource(address, JdbcSourceOptions.model_validate(options), SPLITS)

    def read(self, count: int) -> None:
        """Copy so many splits."""
        for split in self.left[:count]:
            for found in self.source.reader(self.table).read(split, None):
                assert isinstance(found, Batch)
                rows = zip(found.data.column("id").to_pylist(), found.data.column("v").to_pylist(), strict=True)
                self.target |= dict(rows)
                self.read_rows += found.rows
        self.left = self.left[count:]

    def lose(self, *, is_known: bool = False) -> None:
        """Lose the snapshot; ``is_known``: the readers have found out."""
        if is_known:
            with pytest.raises(GenerationLostError):
                self.read(1)
        self.enumerator.close()
        self.source = self._source()
        self.enumerator = self.source.enumerator([self.table], None)
        self.left = list(self.enumerator.renew(self.left))

    @property
    def rows(self) -> dict[int, int]:
        return dict(self.log.db.execute("SELECT id, v FROM t").fetchall())


@pytest.fixture
def copy(make_log: Callable[..., Log]) -> Iterator[Copy]:
    made = Copy(make_log())
    yield made
    made.enumerator.close()
    close_all()


def update(log: Log, random: Random, value: int) -> None:
    """Move rows to other blocks."""
    low = random.randrange(ROWS, 2 * ROWS)
    log.run(f"UPDATE t SET v = {value} WHERE id BETWEEN {low} AND {low + random.randrange(1, 500)}")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rewrite", ["", *REWRITE])
def test_the_rest_has_every_row(copy: Copy, rewrite: str, seed: int) -> None:
    random = Random(f"{rewrite} {seed}")
    copy.read(random.randrange(SPLITS))
    for value in range(1, random.choice((2, 3, 4))):
        update(copy.log, random, value)
        if rewrite and random.random() < 0.7:
            copy.log.run(rewrite)
        copy.lose()
        update(copy.log, random, -value)  # this snapshot does not show it: the log has it
        copy.read(random.randrange(len(copy.left) + 1))
    copy.lose()
    copy.read(len(copy.left))
    assert copy.target.keys() == copy.rows.keys()


@pytest.mark.parametrize("rewrite", REWRITE)
def test_a_rewritten_table_is_read_once_more(copy: Copy, rewrite: str) -> None:
    copy.read(2)
    before = copy.read_rows
    copy.log.run(rewrite)
    copy.lose(is_known=True)
    copy.read(len(copy.left))
    assert copy.target == copy.rows
    assert copy.read_rows - before == ROWS


def test_rows_that_were_written_since_are_read_by_one_split(copy: Copy) -> None:
    """The table grows by far more than it had: each of the other splits would read all of that again."""
    copy.read(2)
    before = copy.read_rows
    copy.log.run(
        f"INSERT INTO t SELECT n, 1, repeat('x', 200) FROM generate_series({2 * ROWS + 1}, {5 * ROWS}) n",
        "UPDATE t SET v = 2 WHERE id % 3 = 0",
    )
    copy.lose()
    copy.read(len(copy.left))
    assert copy.target.keys() == copy.rows.keys()
    assert copy.read_rows - before <= 4 * ROWS


def test_a_split_of_an_older_version_goes_on(copy: Copy) -> None:
    """Without the number of the file; each of them took the moved rows, too."""
    copy.read(2)
    update(copy.log, Random(1), 1)
    copy.lose()
    copy.left = [_older(one) for one in copy.left]
    copy.lose()
    copy.read(len(copy.left))
    assert copy.target.keys() == copy.rows.keys()


def _older(split: Split) -> Split:
    payload = {key: value for key, value in split.payload.items() if key != "file"}
    return replace(split, payload={**payload, "moved_since": payload["hidden"]})
