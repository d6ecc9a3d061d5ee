"""Bar 5: tried as a new user would, with the words of `docs/guide.md` alone. A database of 40 tables is copied to three
targets, twice in a row; what arrives is compared value by value, and every sentence of every receipt with what is so."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from psycopg import sql

from e2e.forty_tables import contents, facts
from e2e.forty_tables.facts import Table
from e2e.forty_tables.receipt import Line, Receipt, parsed
from e2e.support import IN_PROCESS, Finished, finish, start
from tests.servers.mariadb import MariadbServer
from tests.servers.ports import LOOPBACK
from tests.servers.postgres import PostgresServer

HERE = Path(__file__).parent
GUIDE = (HERE.parent / "docs/guide.md").read_text()
KEYLESS = ("Sales Dept.leads", "archive.scratch", "public.audit_log", "public.empty_keyless", "public.measurements")
NO_NAN = "Jdbc-sink-1: writing table public_measurements: column 'value': MySQL and MariaDB have no NaN and no infinity"


def user(home: Path, *arguments: str) -> Finished:
    """A command line, all of whose words a user finds in the guide."""
    assert f"`seatunnel {arguments[0]}" in GUIDE, arguments
    for word in arguments[1:]:
        known = word.split("=")[0] if word.startswith("--") else word.split("://")[0] + "://" if "://" in word else ""
        assert known in GUIDE, f"the guide does not say {known}"
    return finish(start(home, *arguments, program=IN_PROCESS))


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """One copy to one target: what was there before, what the plan said, what was said and what is there now."""

    code: int
    receipt: Receipt
    json: dict[str, Any]
    plan: dict[str, Any]
    wall: float
    source: dict[str, Table]
    before: dict[str, contents.Rows | None]
    after: dict[str, contents.Rows | None]
    files: dict[str, list[Path]] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, repr=False)
class Place:
    """A target as the user addresses it, and how it is looked into from outside."""

    kind: str
    address: str
    into: tuple[str, ...]
    trial: Trial

    def shown(self, table: Table) -> str:
        schema, name = table.name
        if self.kind == "postgres":
            return facts.shown(table.name).replace("shop.", "copy.", 1)
        if self.kind == "files":
            return f"out/{schema}/{name}"
        whole = f"{schema}_{name}"
        escaped = whole.replace('"', '""')
        return f"{LOOPBACK}:{self.trial.maria.port}/copy: " + (f'"{escaped}"' if set(whole) & set('."') else whole)

    def rows(self, table: Table) -> contents.Rows | None:
        """What stands there; None: nothing does."""
        schema, name = table.name
        if self.kind == "files":
            directory = self.trial.home / "out" / schema / name
            return contents.in_parquet(directory, table.types) if directory.exists() else None
        if self.kind == "postgres":
            with psycopg.connect(self.trial.postgres.dsn_of("copy")) as db:
                quoted = sql.Identifier(schema, name).as_string(db)
                if db.execute("SELECT to_regclass(%s)", [quoted]).fetchone() == (None,):
                    return None
                return contents.in_postgres(db, table.name, table.types)
        with pymysql.connect(**self.trial.maria.connection("copy"), charset="utf8mb4") as other:
            with other.cursor() as cursor:
                cursor.execute("SELECT 1 FROM information_schema.tables WHERE table_name = %s", (f"{schema}_{name}",))
                if not cursor.fetchone():
                    return None
            return contents.in_mariadb(other, f"{schema}_{name}", table.types)

    def files(self, table: Table) -> list[Path]:
        return sorted((self.trial.home / "out" / Path(*table.name)).glob("[!.]*"))

    def copy(self, source: dict[str, Table], *more: str) -> Run:
        """Plan, run, and look, by the guide's commands."""
        trial = self.trial
        job = f"{self.kind}{len(list(trial.home.glob('*.conf')))}.conf"
        words = ("copy", trial.address, self.address, *self.into, *more)
        assert user(trial.home, *words, "--to", job).code == 0
        before = {name: self.rows(table) for name, table in source.items() if not table.isolated}
        files = {name: self.files(table) for name, table in source.items()} if self.kind == "files" else {}
        plan = json.loads(user(trial.home, "plan", job, "--json").out)
        began = time.monotonic()
        ended = user(trial.home, *words)
        wall = time.monotonic() - began
        receipt = parsed(ended.out, set(source))
        told = json.loads((Path(receipt.directory) / "receipt.json").read_text())
        after = {name: self.rows(table) for name, table in source.items() if not table.isolated}
        sizes = {name: sum(path.stat().st_size for path in self.files(table)) for name, table in source.items()}
        return Run(ended.code, receipt, told, plan, wall, source, before, after, files, sizes)


@dataclass(slots=True, repr=False)
class Trial:
    """The user's afternoon: first copies, a right that is granted, changes in the shop, second copies."""

    home: Path
    postgres: PostgresServer
    maria: MariadbServer
    address: str
    first: dict[str, Run] = field(default_factory=dict)
    second: dict[str, Run] = field(default_factory=dict)
    finished: dict[str, Finished] = field(default_factory=dict)
    replaced: dict[str, Run] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)

    def places(self) -> list[Place]:
        server, maria = (
            f"postgresql://postgres@{LOOPBACK}:{self.postgres.port}",
            f"mysql://root@{LOOPBACK}:{self.maria.port}",
        )
        return [
            Place("postgres", f"{server}/copy", (), self),
            Place("mariadb", f"{maria}/copy", ("--into", "${schema_name}_${table_name}"), self),
            Place("files", "out", ("--into", "${schema_name}/${table_name}"), self),
        ]

    def live(self) -> None:
        with psycopg.connect(self.postgres.dsn_of("shop"), autocommit=True) as shop:
            self.others = facts.not_tables(shop)
            source = facts.measured(shop)
            for place in self.places():
                self.first[place.kind] = place.copy(source)
            shop.execute('GRANT SELECT ON "hr"."secret_reviews" TO "reader"')  # as the receipt says
            going_on = shlex.split(self.first["postgres"].receipt.goes_on)
            self.finished["going on"] = user(self.home, *going_on[1:])
            self.finished["list"] = user(self.home, "jobs", "list")
            shop.execute("REVOKE SELECT ON hr.secret_reviews FROM reader")
            shop.execute((HERE / "forty_tables/changes.sql").read_bytes())
            source = facts.measured(shop)
            for place in self.places():
                self.second[place.kind] = place.copy(source)
            for place in self.places():
                tables = [word for name in KEYLESS for word in ("--table", name)] if place.kind != "files" else []
                chosen = {n: t for n, t in source.items() if not tables or n.removeprefix("shop.") in KEYLESS}
                self.replaced[place.kind] = place.copy(chosen, "--replace", *tables)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    home = tmp_path_factory.mktemp("user")
    with PostgresServer.running() as postgres, MariadbServer.running() as maria:
        with psycopg.connect(postgres.dsn, autocommit=True) as db:
            for statement in ("CREATE ROLE reader LOGIN", "CREATE DATABASE shop", "CREATE DATABASE copy"):
                db.execute(statement)
        with psycopg.connect(postgres.dsn_of("shop"), autocommit=True) as db:
            db.execute((HERE / "forty_tables/shop.sql").read_bytes())
            db.execute("ANALYZE")
        with pymysql.connect(**maria.connection()) as other, other.cursor() as cursor:
            cursor.execute("CREATE DATABASE copy CHARACTER SET utf8mb4")
        address = f"postgresql://reader@{LOOPBACK}:{postgres.port}/shop"
        found = Trial(home, postgres, maria, address)
        found.live()
        yield found


TARGETS = ["postgres", "mariadb", "files"]


def same(found: contents.Rows | None, expected: contents.Rows | None) -> None:
    """Row by row; a message shows a few of those that differ."""
    if found == expected:
        return
    assert found is not None and expected is not None, "one of them is not there"
    more, less = [*(found - expected)][:2], [*(expected - found)][:2]
    pytest.fail(f"too many: {str(more)[:500]}\nmissing: {str(less)[:500]}")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def bare(text: str) -> str:
    return "".join(text.split())


def counted(rows: int, what: str = "row") -> str:
    return f"{rows:,} {what}{'' if rows == 1 else 's'}"


def cause(place: Place, run: Run, table: Table, *, replaces: bool) -> str:
    """Why this table cannot arrive; empty: it has to."""
    if table.isolated:
        return f"Jdbc-source-1: {table.isolated}"
    there, twice = run.before[table.shown], f"the rows of table {table.shown} would be there twice"
    if place.kind == "files":
        files = len(run.files[table.shown])
        path, why = place.trial.home / place.shown(table), "files of one run never replace those of another"
        return f"{path} holds {counted(files, 'file')}, and {why}: {twice}" if files and not replaces else ""
    if there and not table.key and not replaces:
        held = counted(there.total())
        return f"{place.shown(table)} holds {held}, and there is no key to update them by: {twice}"
    return NO_NAN if place.kind == "mariadb" and table.shown == "shop.public.measurements" else ""


def check_before(place: Place, run: Run, table: Table, said: str, *, replaces: bool) -> None:
    there = run.before[table.shown]
    if there is None:
        assert said == "new"
    elif place.kind == "files":
        assert said == bare(f"replaced ({counted(len(run.files[table.shown]), 'file')} there)")
    elif there.total() > 100_000:
        about = re.fullmatch(r"updatedbykey\((?:about([\d,]+)|morethan100,000)rowsthere\)", said)
        assert about and (not about[1] or abs(number(about[1]) - there.total()) < 0.2 * there.total()), said
    elif replaces:
        assert said == bare(f"replaced ({counted(there.total())} there)")
    elif table.key:
        assert said == bare(f"updated by key ({counted(there.total())} there)")
    else:
        assert said == "appendedto0rows" and not there


def check_table(place: Place, run: Run, table: Table, *, replaces: bool) -> None:
    """What the receipt says of one table, and what is in its target."""
    line, plain = run.receipt.lines[table.shown], next(one for one in run.json["tables"] if one["table"] == table.shown)
    why = cause(place, run, table, replaces=replaces)
    assert line.state == ("isolated" if why else "done") == plain["state"].lower(), (table.shown, line)
    assert run.receipt.causes.get(table.shown, ("",))[0] == why
    assert (plain["cause"] or {"remedy": ""})["remedy"] == run.receipt.causes.get(table.shown, ("", ""))[1]
    rows = 0 if why else table.count
    assert (number(line.read), line.filtered, line.rejected) == (rows, "0", "0")
    assert plain["rows_read"] == rows and plain["rows_filtered"] == plain["rows_rejected"] == 0
    assert 0 <= plain["seconds"] <= run.json["seconds"]["total"]
    if table.isolated:
        assert (line.into, line.written, line.before, plain["targets"]) == ("", "", "", [])
        return
    (into,) = plain["targets"]
    home = f"{place.trial.home}/"
    assert bare(line.into) == bare(place.shown(table)) == bare(into["target"].removeprefix(home))
    assert number(line.written) == into["rows_written"] == plain["rows_written"] == rows
    assert bool(into["bytes_written"]) >= bool(rows)
    if not why or why == NO_NAN:
        assert bare(into["present"]["text"]) == bare(line.before)
        check_before(place, run, table, bare(line.before), replaces=replaces)
    before, after = run.before[table.shown], run.after[table.shown]
    if why:
        same(after, Counter() if why == NO_NAN else before)
    elif before is None or replaces or not table.key:
        same(after, table.rows)
    else:
        same(after, contents.merged(before, table.rows, table.key))
    if place.kind == "files" and not why:
        # The file of an empty table has its columns only, which are no rows' bytes.
        assert into["bytes_written"] == (run.bytes[table.shown] if rows else 0)


def check_receipt(place: Place, run: Run, *, replaces: bool = False) -> None:
    """Every line and sentence."""
    receipt, told, source = run.receipt, run.json, run.source
    assert receipt.lines.keys() == source.keys() == {one["table"] for one in told["tables"]}
    for table in source.values():
        check_table(place, run, table, replaces=replaces)
    done = {name for name, line in receipt.lines.items() if line.state == "done"}
    code = 0 if len(done) == len(source) else 3 if done else 1
    state = {0: "success", 3: "some tables failed", 1: "failed"}[code]
    assert (run.code, receipt.state, told["exit_code"]) == (code, state, code)
    assert told["state"] == state.upper().replace(" ", "_") and told["job_id"] == receipt.job_id
    address = place.address.replace("//postgres@", "//").replace("//root@", "//")
    assert receipt.job_name == f"copy {place.trial.address.replace('//reader@', '//')} to {address}"
    check_totals(run, sum(source[name].count for name in done))
    check_sentences(place, run, done)


def check_totals(run: Run, rows: int) -> None:
    total, told = run.receipt.total, run.json
    assert total == Line(
        counted(len(run.source), "table"), "", f"{rows:,}", f"{rows:,}", "0", "0", total.bytes, total.time
    )
    assert told["totals"]["rows_read"] == told["totals"]["rows_written"] == told["this_run"]["rows_read"] == rows
    assert told["totals"]["bytes_written"] == sum(one["bytes_written"] for one in told["tables"])
    seconds = told["seconds"]
    assert total.time == f"{seconds['total']:.{1 if seconds['total'] < 10 else 0}f} s"
    assert 0 < seconds["start"] + seconds["data"] <= seconds["total"] + 0.01 and seconds["total"] <= run.wall
    assert run.receipt.rate == (f"{rows / seconds['data']:,.0f} rows/s" if rows else "")


def check_sentences(place: Place, run: Run, done: set[str]) -> None:
    receipt, told, source = run.receipt, run.json, run.source
    if len(source) == 40:
        others = place.trial.others
        said = {why.rpartition(",")[2]: (total, sorted(names)) for why, (total, names) in receipt.left_out.items()}
        assert said == {kind: (len(names), sorted(names)) for kind, names in others.items()}
    arrived = [one for one in told["tables"] if one["table"] in done]
    converted = {one["table"]: one["targets"][0]["conversions"] for one in arrived}
    columns, tables = sum(map(len, converted.values())), sum(map(bool, converted.values()))
    checked = sum(one["checked"] for found in converted.values() for one in found)
    assert receipt.converted == (columns, tables, checked)
    lacking = {one["table"]: Counter(x["kind"] for x in one["targets"][0]["not_carried_over"]) for one in arrived}
    known = {name for name in done if place.kind != "files" and run.before[name] is None}
    for name, found in lacking.items():
        del found["unique key"]  # MariaDB has none over texts without a length
        assert found == (source[name].defined if name in known else Counter()), name
    of_all = sum((Counter(x["kind"] for x in one["targets"][0]["not_carried_over"]) for one in arrived), Counter())
    texts = {"index": "indexes", "identity": "identities", "partitioning": "partitionings"}
    kinds = {kind if n == 1 else texts.get(kind, f"{kind}s"): n for kind, n in of_all.items()}
    lack = sum(bool(one["targets"][0]["not_carried_over"]) for one in arrived)
    assert receipt.lacking == (lack, kinds)
    assert (receipt.earlier, receipt.kept) == ((), 0)
    directory = Path(receipt.directory)
    assert directory == place.trial.home / ".seatunnel/jobs" / receipt.job_id
    assert (directory / "events.jsonl").exists()
    going_on = rf"seatunnel run (\S+) --job-id {receipt.job_id} --restore latest"
    if len(done) < len(source):
        found = re.fullmatch(going_on, receipt.goes_on)
        assert found and Path(found[1]).exists()
    else:
        assert not receipt.goes_on


def check_plan(run: Run) -> None:
    """What the plan has said is what has happened."""
    sinks = {sink["table"]: sink for line in run.plan["pipelines"] for sink in line["sinks"]}
    isolated = {one["table"]: one["problem"] for one in run.plan["isolated"]}
    assert isolated == {name: table.isolated for name, table in run.source.items() if table.isolated}
    assert sinks.keys() == run.source.keys() - isolated.keys()
    for one in run.json["tables"]:
        if (table := one["table"]) in isolated:
            continue
        sink, (into,) = sinks[table], one["targets"]
        if "problem" in sink:
            assert one["state"] == "ISOLATED" and one["cause"]["message"] == sink["problem"]
            assert one["cause"]["remedy"] == sink["remedy"]
            continue
        assert sink["present"]["text"] == into["present"]["text"]
        assert sink["conversions"] == into["conversions"]
        left = [{key: x[key] for key in ("kind", "name", "columns", "definition")} for x in into["not_carried_over"]]
        assert sink.get("not_carried_over", []) == left


@pytest.mark.parametrize("target", TARGETS)
def test_the_first_copy(trial: Trial, target: str) -> None:
    place = next(one for one in trial.places() if one.kind == target)
    check_receipt(place, trial.first[target])
    check_plan(trial.first[target])


@pytest.mark.parametrize("target", TARGETS)
def test_the_second_copy_behind_changes(trial: Trial, target: str) -> None:
    """Keys are updated; what a second run would double is refused with the ways on."""
    place = next(one for one in trial.places() if one.kind == target)
    check_receipt(place, trial.second[target])
    check_plan(trial.second[target])


@pytest.mark.parametrize("target", TARGETS)
def test_the_remedy_of_the_second_copy_leads_on(trial: Trial, target: str) -> None:
    """Afterwards the tables without a key, and all files, hold what the shop holds."""
    place = next(one for one in trial.places() if one.kind == target)
    check_receipt(place, trial.replaced[target], replaces=True)
    check_plan(trial.replaced[target])


def test_the_right_that_is_granted_lets_the_printed_command_finish_the_table(trial: Trial) -> None:
    ended, first = trial.finished["going on"], trial.first["postgres"]
    receipt = parsed(ended.out, set(first.source))
    secret = "shop.hr.secret_reviews"
    assert ended.code == 3 and receipt.lines["shop.public.no_columns"].state == "isolated"
    assert (receipt.lines[secret].state, receipt.lines[secret].written) == ("done", "1")
    others = first.source.keys() - {secret, "shop.public.no_columns"}
    assert {receipt.lines[name].state for name in others} == {"kept"} and receipt.kept == len(others)
    rows = sum(table.count for table in first.source.values())
    assert tuple(map(number, receipt.earlier)) == (1, rows + 1, rows)
    assert any(receipt.job_id in line and f"{rows + 1:,}" in line for line in trial.finished["list"].out.splitlines())
