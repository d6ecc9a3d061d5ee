"""The user's afternoon: what is copied where, and what was said and found there. All by the guide's commands."""

from __future__ import annotations

import json
import shlex
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from psycopg import sql

from e2e.forty_tables import contents, facts, onward
from e2e.forty_tables.facts import Table
from e2e.forty_tables.jobs_text import ShownJob, shown
from e2e.forty_tables.plan_text import PlanText
from e2e.forty_tables.plan_text import parsed as parsed_plan
from e2e.forty_tables.receipt import Receipt, parsed
from e2e.support import IN_PROCESS, Finished, finish, start
from tests.servers.mariadb import MariadbServer
from tests.servers.ports import LOOPBACK
from tests.servers.postgres import PostgresServer

HERE = Path(__file__).parent
GUIDE = (HERE.parents[1] / "docs/guide.md").read_text()
LARGE = "public_orders"
KEYLESS = ("Sales Dept.leads", "archive.scratch", "public.audit_log", "public.empty_keyless", "public.measurements")


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
    said: PlanText
    shown: ShownJob
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
    source: str

    def name(self, table: Table) -> str:
        """Where there are no schemas."""
        return "_".join(filter(None, table.name))

    def schema(self, table: Table) -> str:
        return table.name[0] or "public"

    def shown(self, table: Table) -> str:
        if self.kind == "files":
            return str(Path(self.address, *table.name))
        if self.kind == "sqlite":
            return f"{self.address.removeprefix('sqlite:')}: {facts.quoted(self.name(table))}"
        place = f"{LOOPBACK}:{self.trial.maria.port}"
        database = self.address.rpartition("/")[2]
        if self.kind == "mariadb":
            return f"{place}/{database}: {facts.quoted(self.name(table))}"
        return facts.shown((self.schema(table), table.name[1])).replace("shop.", f"{database}.", 1)

    def rows(self, table: Table) -> contents.Rows | None:
        """What stands there; None: nothing does."""
        name, database = self.name(table), self.address.rpartition("/")[2]
        if self.kind == "files":
            directory = self.trial.home / self.shown(table)
            return contents.in_parquet(directory, table.types) if directory.exists() else None
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.trial.home / self.address.removeprefix("sqlite:"))) as file:
                there = file.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [name]).fetchone()
                return contents.in_sqlite(file, name, table.types) if there else None
        if self.kind == "postgres":
            place = self.schema(table), table.name[1]
            with psycopg.connect(self.trial.postgres.dsn_of(database)) as db:
                named = sql.Identifier(*place).as_string(db)
                if db.execute("SELECT to_regclass(%s)", [named]).fetchone() == (None,):
                    return None
                return contents.in_postgres(db, place, table.types)
        with pymysql.connect(**self.trial.maria.connection(database), charset="utf8mb4") as other:
            with other.cursor() as cursor:
                cursor.execute("SELECT 1 FROM information_schema.tables WHERE table_name = %s", (name,))
                if not cursor.fetchone():
                    return None
            return contents.in_mariadb(other, name, table.types)

    def files(self, table: Table) -> list[Path]:
        return sorted((self.trial.home / self.shown(table)).glob("[!.]*"))

    def copy(self, source: dict[str, Table], *more: str) -> Run:
        """Plan, run, and look, by the guide's commands."""
        trial = self.trial
        job = f"{self.kind}{len(list(trial.home.glob('*.conf')))}.conf"
        words = ("copy", self.source, self.address, *self.into, *more)
        assert user(trial.home, *words, "--to", job).code == 0
        before = {name: self.rows(table) for name, table in source.items() if not table.isolated}
        files = {name: self.files(table) for name, table in source.items()} if self.kind == "files" else {}
        plan = json.loads(user(trial.home, "plan", job, "--json").out) if trial.address == self.source else {}
        said = parsed_plan(user(trial.home, "plan", job).out)
        began = time.monotonic()
        ended = user(trial.home, *words)
        wall = time.monotonic() - began
        receipt = parsed(ended.out, set(source))
        told = json.loads((Path(receipt.directory) / "receipt.json").read_text())
        after = {name: self.rows(table) for name, table in source.items() if not table.isolated}
        sizes = {name: sum(path.stat().st_size for path in self.files(table)) for name, table in source.items()}
        job_text = shown(user(trial.home, "jobs", "show", receipt.job_id).out)
        return Run(ended.code, receipt, told, plan, said, job_text, wall, source, before, after, files, sizes)


@dataclass(slots=True, repr=False)
class Trial:
    """The user's afternoon: first copies, a right that is granted, changes in the shop, second copies. ``kinds``: of the
    targets, of which PostgreSQL is always one."""

    home: Path
    postgres: PostgresServer
    maria: MariadbServer
    address: str
    kinds: frozenset[str]
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
        every = [
            Place("postgres", f"{server}/copy", (), self, self.address),
            Place("mariadb", f"{maria}/copy", ("--into", "${schema_name}_${table_name}"), self, self.address),
            Place("files", "out", ("--into", "${schema_name}/${table_name}"), self, self.address),
        ]
        return [one for one in every if one.kind in self.kinds]

    def onward_places(self) -> dict[str, Place]:
        """From the copies in MariaDB, but for the largest, and in SQLite to a database and to files."""
        maria, some = f"mysql://root@{LOOPBACK}:{self.maria.port}/copy", ("--exclude", LARGE)
        server = f"postgresql://postgres@{LOOPBACK}:{self.postgres.port}"
        return {
            "mariadb to sqlite": Place("sqlite", "sqlite:onward.db", some, self, maria),
            "mariadb to files": Place("files", "from_mariadb", some, self, maria),
            "sqlite to postgres": Place("postgres", f"{server}/onward", (), self, "sqlite:onward.db"),
            "sqlite to files": Place("files", "from_sqlite", (), self, "sqlite:onward.db"),
        }

    def measured(self, source: str) -> dict[str, Table]:
        if source.startswith("sqlite:"):
            return onward.of_sqlite(self.home / source.removeprefix("sqlite:"))
        with pymysql.connect(**self.maria.connection("copy"), charset="utf8mb4") as db:
            return onward.of_mariadb(db, "copy", LARGE)

    def go_onward(self) -> dict[str, tuple[Run, Run]]:
        """Twice each."""
        found = {}
        for way, place in self.onward_places().items():
            there = self.measured(place.source)
            found[way] = place.copy(there), place.copy(there)
        return found

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
            shop.execute((HERE / "changes.sql").read_bytes())
            shop.execute("ANALYZE")  # the plan tells of rows what statistics tell
            source = facts.measured(shop)
            for place in self.places():
                self.second[place.kind] = place.copy(source)
            for place in self.places():
                tables = [word for name in KEYLESS for word in ("--table", name)] if place.kind != "files" else []
                chosen = {n: t for n, t in source.items() if not tables or n.removeprefix("shop.") in KEYLESS}
                self.replaced[place.kind] = place.copy(chosen, "--replace", *tables)
