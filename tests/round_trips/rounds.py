"""One round: values of every type of a database into a place and back, by the public command line, and what came of each.

A value that comes back different is a finding, unless `plan` has named a conversion of its column that was not said to
be tested. A value that does not come back has to be refused: its row set aside, or its table isolated with a cause.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from e2e.support import IN_PROCESS, SEATUNNEL, start
from seatunnel_connectors.jdbc.sqlite.types import AS_BYTES, AS_REAL, AS_TEXT
from tests.round_trips.databases import Database, Texts
from tests.round_trips.kinds import Kind
from tests.round_trips.messages import Messages
from tests.round_trips.places import Place

JOB_SECONDS_MAX = 600.0
NO_NEGATIVE_ZERO = "-0.0 is stored as 0"
FEW = 50
"""A kind that a pair refuses gets one of so many values: a row that is set aside costs as much as a thousand."""
REFUSED_SHARE_MAX = 0.05
"""Of a kind's values, to count as refused: a search for hundreds of bad rows among thousands takes minutes."""


@dataclass(frozen=True, slots=True)
class Route:
    """How rows go from source to sink: ``transform`` is a block of the job file, ``program`` the command line."""

    transform: str = ""
    program: Sequence[str] = tuple(IN_PROCESS)


PLAIN = Route()
ROUTES = {
    "plain": PLAIN,
    "query": Route('Sql { table_match_regex = ".*", query = "select * from dual" }', tuple(SEATUNNEL)),
}
"""A query runs in Spark, whose own types its rows take."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A value that changed without a word: ``kind`` and both texts, as the source's database shows them."""

    pair: str
    kind: str
    before: str | None
    after: str | None
    note: str = ""


@dataclass
class Outcome:
    """Counts of values by what became of them, with the findings and the causes of refusals."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    refused: set[int] = field(default_factory=set)
    """Numbers of the kinds of which too large a share was refused."""

    def add(self, other: Outcome) -> None:
        self.counts += other.counts
        self.findings += other.findings
        self.causes += other.causes
        self.refused |= other.refused


@dataclass
class Leg:
    """A job that ran: why tables failed, how many rows were set aside, and the conversions that `plan` named."""

    causes: dict[str, str] = field(default_factory=dict)
    set_aside: Counter[str] = field(default_factory=Counter)
    conversions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def run_round(
    database: Database,
    place: Place,
    home: Path,
    random: Random,
    count: int,
    kinds: Sequence[Kind],
    few: Set[int] = frozenset(),
    route: Route = PLAIN,
) -> Outcome:
    """Every kind with ``count`` values there and back. Kinds that the pair refused before get few."""
    database.reset()
    place.reset()
    filled: dict[str, tuple[Kind, Texts]] = {}
    for at, kind in enumerate(kinds):
        table = f"t{at}"
        rows = max(2, count // FEW) if at in few else count
        filled[table] = (kind, database.fill(table, kind, [*kind.values(random, rows - 1), None]))
    return there_and_back(database, place, home, filled, route)


def there_and_back(
    database: Database, place: Place, home: Path, filled: Mapping[str, tuple[Kind, Texts]], route: Route
) -> Outcome:
    """The two jobs of a round, or the one where the place is the database itself."""
    pair = f"{type(database).__name__.lower()} {place.name}"
    if place.is_home:
        for table, (kind, _) in filled.items():
            if place.with_targets:
                database.like(table, kind)
    source, sink = database.source(list(filled)), place.sink()
    if isinstance(place, Messages):
        types = {
            table: dtype
            for table, dtype in planned(home, source, sink, route).types.items()
            if Messages.has_field_for(dtype)
        }
        source, sink = place.by_type(database, types), place.sinks(types)
    there = run_job(home, "there", source, sink, route)
    if isinstance(place, Messages):  # the product refuses the whole job by name, so these tables are left out of it
        there.causes |= {table: "Protobuf has no type for it" for table in filled if table not in types}
    back = Leg()
    if not place.is_home:
        arrived = {table: there.types[table] for table in filled if table not in there.causes and table in there.types}
        for table in arrived:
            database.like(table, filled[table][0])
        if arrived:
            back = run_job(home, "back", place.source(arrived), database.sink(), route)
    outcome = Outcome()
    for table, (kind, before) in filled.items():
        after = database.texts(table)
        named = [*there.conversions.get(table, ()), *back.conversions.get(table, ())]
        cause = there.causes.get(table) or back.causes.get(table, "")
        rejected = there.set_aside[table] + back.set_aside[table]
        refused = outcome.counts["refused"]
        judge(outcome, pair, kind, before, after, named, cause, rejected)
        if outcome.counts["refused"] - refused > len(before) * REFUSED_SHARE_MAX:
            outcome.refused.add(int(table[1:]))
    return outcome


def judge(
    outcome: Outcome,
    pair: str,
    kind: Kind,
    before: Texts,
    after: Texts,
    named: list[dict[str, Any]],
    cause: str,
    rejected: int,
) -> None:
    for row, value in before.items():
        said = [one for one in named if _loses(one, kind, value)]
        if row in after and after[row] == value:
            outcome.counts["equal"] += 1
        elif row in after and said:
            outcome.counts["converted"] += 1
            outcome.causes[
                f"{kind.words}: " + "; ".join(f"{one['source']} -> {one['target']} {one['note']}" for one in said)
            ] += 1
        elif row in after:
            outcome.counts["CHANGED"] += 1
            outcome.findings.append(Finding(pair, kind.words, value, after[row]))
        elif cause or rejected > 0:
            rejected -= 1
            outcome.counts["refused"] += 1
            outcome.causes[f"{kind.words}: {cause[:160] or 'set aside'}"] += 1
        else:
            outcome.counts["LOST"] += 1
            outcome.findings.append(Finding(pair, kind.words, value, None, "the row is gone"))
    for row in after.keys() - before.keys():
        outcome.counts["INVENTED"] += 1
        outcome.findings.append(Finding(pair, kind.words, None, after[row], "nothing of the source"))


def _loses(conversion: Mapping[str, Any], kind: Kind, value: str | None) -> bool:
    """Whether a conversion that `plan` names excuses another text of this value: one that only says in which form a
    value travels has to bring it back. SQLite's sources say in the type's name what becomes of other storage classes."""
    if conversion["source"].endswith(AS_BYTES):
        return str(value).startswith("text")
    if conversion["source"].endswith(AS_REAL):
        return str(value).startswith("integer")
    if conversion["source"].endswith(AS_TEXT):
        return not str(value).startswith("text")
    if conversion["note"] == NO_NEGATIVE_ZERO:
        return str(value).removeprefix("real ") in ("-0", "-0.0")
    if conversion["note"] and not conversion["checked"]:
        return True
    return kind.words == "money"


def run_job(home: Path, name: str, source: str, sink: str, route: Route = PLAIN, more: Sequence[str] = ()) -> Leg:
    """`plan` and `run` of one job. Rows that do not fit are set aside, tables that cannot be read are isolated.
    ``more``: words of `run`."""
    leg = planned(home, source, sink, route, name)
    path = home / f"{name}.conf"
    receipt = command(home, "run", str(path), "--json", *more, program=route.program)
    if "tables" not in receipt:
        raise AssertionError(f"the job was refused: {json.dumps(receipt)[:3000]}")
    for table in receipt["tables"]:
        if table["state"] != "DONE":
            leg.causes[_short(table["table"])] = (table["cause"] or {}).get("message", table["state"])
        elif table["rows_rejected"]:
            leg.set_aside[_short(table["table"])] = table["rows_rejected"]
    return leg


def planned(home: Path, source: str, sink: str, route: Route, name: str = "look") -> Leg:
    """What `plan` says of a job: the type of each table's value and its conversions."""
    path = home / f"{name}.conf"
    env = 'job.mode = "BATCH", parallelism = 1, error.max-rows = 100000000, error.max-ratio = 1.0'
    transform = f"transform {{ {route.transform} }}\n" if route.transform else ""
    path.write_text(f"env {{ {env} }}\nsource {{ {source} }}\n{transform}sink {{ {sink} }}\n")
    leg = Leg()
    plan = command(home, "plan", str(path), "--json", program=route.program)
    for line in plan.get("pipelines", ()):
        for one in line["sinks"]:
            table = _short(one["table"])
            found = [conversion for conversion in one.get("conversions", ()) if conversion["column"] != "id"]
            leg.conversions.setdefault(table, []).extend(found)  # a table may be copied by one pipeline, and followed
            leg.types[table] = one["columns"]["v"] if "columns" in one else ""
        for vertex in line["vertices"]:
            for node in vertex["nodes"]:
                if "v" in node.get("columns", ()):
                    leg.types[_short(node["table"])] = node["columns"]["v"]
                break
    return leg


def _short(table: str) -> str:
    return table.rpartition(".")[2].rpartition("/")[2]


def command(home: Path, *arguments: str, program: Sequence[str] = PLAIN.program) -> dict[str, Any]:
    """What a command line prints with ``--json``."""
    process = start(home, *arguments, program=program)
    try:
        out, err = process.communicate(timeout=JOB_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{arguments} did not end") from None
    try:
        return json.loads(out)  # type: ignore[no-any-return]
    except json.JSONDecodeError:
        raise AssertionError(f"{arguments}: exit code {process.returncode}\n{out[-3000:]}\n{err[-6000:]}") from None
