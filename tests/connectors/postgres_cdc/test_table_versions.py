"""A catalog that is later than the log: each change of a schema is found as it was made, or the table stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block
from seatunnel_connectors.postgres_cdc.pgoutput.relations import TableVersion
from seatunnel_connectors.postgres_cdc.table_checks import checked
from seatunnel_connectors.postgres_cdc.table_versions import TableVersions
from seatunnel_py.api import FatalError, SchemaChange, SourceTable
from tests.connectors.jdbc.copying import make_source
from tests.connectors.postgres_cdc.conftest import Log

MakeLog = Callable[..., Log]
COLUMNS = ("id", "n", "a", "b")
TABLES = 150
STEPS = 6


@dataclass
class History:
    """Changes of one table. ``names``: of its columns now, by attribute number; ``written``: those at each row that was
    written; ``defaults``: the values of earlier rows in added columns."""

    table: str
    names: dict[int, str] = field(default_factory=lambda: dict(enumerate(COLUMNS, 1)))
    written: list[dict[int, str]] = field(default_factory=list)
    defaults: dict[int, str] = field(default_factory=dict)
    had: dict[int, set[str]] = field(default_factory=dict)
    retired: set[str] = field(default_factory=set)
    last: int = len(COLUMNS)

    def statements(self, random: Random) -> Iterator[str]:
        for _ in range(STEPS):
            yield self._change(random)
            if random.random() < 0.7:
                yield self._row()
        yield self._row()

    def _row(self) -> str:
        self.written.append(dict(self.names))
        return f"UPDATE {self.table} SET n = n + 1"

    def _change(self, random: Random) -> str:
        open_names = [one for one in ("a", "b", "c", "d", "e", "f") if one not in self.retired]
        free = [one for one in open_names if one not in self.names.values()]
        others = [number for number in self.names if number > 2]
        given = {*self.names.values()}
        # No log shows that a column is dropped and another one, of the same type, has its name from then on.
        clear = [one for one in others if not (self.had.get(one, set()) - {self.names[one]}) & given]
        kind = random.choice(("add", "drop", "rename"))
        if kind == "drop" and clear:
            number = random.choice(clear)
            name = self.names.pop(number)
            self.retired |= {name, *self.had.get(number, ())}
            return f"ALTER TABLE {self.table} DROP COLUMN {name}"
        if kind == "rename" and others and free:
            number, name = random.choice(others), random.choice(free)
            old, self.names[number] = self.names[number], name
            self.had.setdefault(number, set()).add(old)
            return f"ALTER TABLE {self.table} RENAME COLUMN {old} TO {name}"
        self.last += 1
        name = random.choice(free) if free else f"x{self.last}"
        self.names[self.last], self.defaults[self.last] = name, str(100 + self.last)
        return f"ALTER TABLE {self.table} ADD COLUMN {name} int DEFAULT {self.defaults[self.last]}"


def plan_of(log: Log, table: str) -> SourceTable:
    source = make_source(log.place.source(table_path=f"public.{table}"))
    (found,) = checked(source.address, source.tables)  # type: ignore[attr-defined]
    assert isinstance(found, SourceTable)
    return found


def versions(log: Log) -> dict[str, list[TableVersion]]:
    """The tables as the log describes them at its rows, each time that they differ."""
    found: dict[str, list[TableVersion]] = {}
    for block in log.elements():
        for part in block.rows if isinstance(block, Block) else ():
            mine = found.setdefault(part.table.path.table, [])
            if not mine or mine[-1].relation.names != part.table.relation.names:
                mine.append(part.table)
    return found


def read(log: Log, plan: SourceTable, logged: Sequence[TableVersion], history: History) -> tuple[int, int]:
    """How many changes were followed, each of them as it was made, and how many were refused."""
    followed, now = 0, dict(enumerate(COLUMNS, 1))
    different = [one for at, one in enumerate(history.written) if at == 0 or one != history.written[at - 1]]
    for version, written in zip(logged, different, strict=True):
        assert version.relation.names == tuple(written.values())
        plan = replace(plan, schema=replace(plan.schema, path=version.path))
        seen = TableVersions({version.path: plan}, {version.path})
        if seen.fits(version):
            continue
        try:
            change = seen.change(log.db, version)
        except FatalError as refused:
            assert history.table in refused.message and refused.remedy
            return followed, 1
        require_as_made(change, now, written, history)
        now, plan, followed = written, replace(plan, schema=change.after, log_hints=change.log_hints), followed + 1
    return followed, 0


def require_as_made(change: SchemaChange, before: dict[int, str], after: dict[int, str], history: History) -> None:
    """Columns that the table has no more count as they will be: gone."""
    shown = f"{before} -> {after}, {history.names}: {change.statement}"
    for number, name in after.items():
        if number not in history.names:
            continue
        if number not in before:
            column = change.after.column(name)
            assert name not in change.renamed.values(), shown
            assert column is not None and column.default == history.defaults[number], shown
        elif before[number] != name:
            assert change.renamed.get(before[number]) == name, shown
        else:
            assert name not in change.renamed and name not in change.renamed.values(), shown


@pytest.mark.parametrize("seed", range(4))
def test_a_late_look_shows_a_change_as_it_was_made_or_refuses_it(make_log: MakeLog, seed: int) -> None:
    """F-C52, F-C53: columns that are renamed, added and dropped while no driver looks."""
    random = Random(seed)
    histories = [History(f"t{number}") for number in range(TABLES)]
    log = make_log(*(
        statement for one in histories
        for statement in (f"CREATE TABLE {one.table} (id int PRIMARY KEY, n int, a int, b int)", f"INSERT INTO {one.table} VALUES (1)")
    ))  # fmt: skip
    plans = {one.table: plan_of(log, one.table) for one in histories}
    for one in histories:
        log.run(*one.statements(random))
    logged = versions(log)
    results = [read(log, plans[one.table], logged[one.table], one) for one in histories]
    followed, refused = (sum(found) for found in zip(*results, strict=True))
    assert followed > TABLES and refused < TABLES, (followed, refused)
