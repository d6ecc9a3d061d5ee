"""Faults of other programs that follow PostgreSQL's log (docs/cdc-faults.md): a job shows what is right instead."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, _dropped, followed, logical
from e2e.cdc.test_schema_changes import FOLLOWS
from e2e.cdc.workload import Workload
from e2e.support import wait_alive, wait_for

__all__ = ["followed", "logical"]
BLOCKED_SECONDS = float(os.environ.get("SEATUNNEL_BLOCKED_SECONDS", "12"))
"""With 170 the connection lives as long as the sink is blocked, but then another one is opened: this is open."""


def copied(followed: Followed) -> None:
    followed.run()
    followed.wait_equal()


def walsenders(followed: Followed) -> list[tuple[object, ...]]:
    with followed.pair.connect(followed.pair.source) as db:
        query = "SELECT pid, backend_start FROM pg_stat_replication WHERE pid IN (SELECT active_pid FROM pg_replication_slots WHERE database = current_database())"
        return db.execute(query).fetchall()


def test_a_sink_that_is_blocked_costs_no_connection(followed: Followed) -> None:
    """F-C14: the sink waits for more than twice wal_sender_timeout, while more comes than the connection's buffers
    take. The same walsender is there afterwards."""
    with followed.pair.connect(followed.pair.source) as db:
        db.execute(f"ALTER DATABASE {followed.pair.source} SET wal_sender_timeout = '5s'".encode())
    followed.write()
    copied(followed)
    before = wait_for("the walsender", lambda: walsenders(followed))
    assert len(before) == 1

    with followed.pair.connect(followed.pair.target) as held, held.transaction():
        held.execute("LOCK TABLE orders, customers, lines IN ACCESS EXCLUSIVE MODE")
        with followed.pair.connect(followed.pair.source) as db:
            for _ in range(20):
                db.execute("UPDATE orders SET note = repeat('x', 1000), seq = seq + 1")
        with Workload(followed.source_dsn, TABLES, 21):
            time.sleep(BLOCKED_SECONDS)
        assert walsenders(followed) == before

    followed.wait_equal()
    assert walsenders(followed) == before


def test_twenty_writers_during_the_copy(followed: Followed) -> None:
    """F-C38, F-C39, F-C40, F-C49: no change between copy and log is lost, one slot is enough, and the definitions of
    the source's tables stay."""
    identities = "SELECT relname, relreplident FROM pg_class WHERE relname = ANY(%s) ORDER BY 1"
    with followed.pair.connect(followed.pair.source) as db:
        before = db.execute(identities, [list(TABLES)]).fetchall()
    followed.write()
    with ExitStack() as writers:
        for number in range(20):
            # A slot waits for every transaction that has begun: large ones of twenty writers keep it for a minute.
            writers.enter_context(Workload(followed.source_dsn, TABLES, 100 + number, sizes=(1, 2, 3, 10)))
        process = followed.run()
        wait_alive(process, "the copy", lambda: all(map(followed.pair.count, TABLES)), 2 * SECONDS)  # they slow it
        time.sleep(1.0)
    followed.wait_equal()
    assert len(followed.slots()) == 1
    with followed.pair.connect(followed.pair.source) as db:
        assert db.execute(identities, [list(TABLES)]).fetchall() == before


def test_rows_before_an_added_column_have_the_default_of_that_time(followed: Followed) -> None:
    """F-C53: the default has another value when the change is read."""
    followed.write(source=FOLLOWS)
    copied(followed)
    followed.end()
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("ALTER TABLE orders ADD COLUMN state text DEFAULT 'then'")
        db.execute("ALTER TABLE orders ALTER COLUMN state SET DEFAULT 'later'")
        db.execute("INSERT INTO orders (id) VALUES (5000)")
    followed.run("--restore", "latest")
    followed.wait_equal()
    states = {row[0]: row[4] for row in followed.pair.rows(followed.pair.target, "orders")}
    assert (states[1], states[5000]) == ("then", "later")


def test_a_source_without_its_slot_stops_alone(followed: Followed) -> None:
    """F-C17: of two sources of one job one has lost its slot. The other one is followed: its copy was made under a
    snapshot of its own, which is not older than its slot."""
    followed.write()
    job = followed.home / "job.conf"
    env, rest = job.read_text().split("source {")
    source, sink = rest.split("sink {")
    names = [f'"{followed.pair.source}.public.{table}"' for table in TABLES]
    whole, step = ", ".join(names), source.rstrip().removesuffix("}")
    assert whole in step
    one, others = (
        step.replace(f"[{whole}]", f"[{given}], plugin_output = {name}\n")
        for name, given in (("one", names[0]), ("others", ", ".join(names[1:])))
    )
    sink = sink.replace("Jdbc {", "Jdbc { plugin_input = [one, others], ", 1)
    job.write_text(f"{env} source {{ {one}\n{others} }}\nsink {{ {sink}")
    copied(followed)
    followed.end()
    with followed.pair.connect(followed.pair.source) as db:
        query = "SELECT slot_name FROM pg_replication_slots s, pg_publication_tables p WHERE database = current_database() AND p.pubname = slot_name AND tablename = 'orders'"
        [(slot,)] = db.execute(query).fetchall()
        wait_for("its release", lambda: _dropped(db, slot))
    process = followed.run("--restore", "latest")
    with followed.pair.connect(followed.pair.source) as db:
        db.execute("UPDATE lines SET seq = -1 WHERE id = 1")
    wait_alive(process, "lines to be equal", lambda: followed.equal("lines"), 40.0)
    # Its enumerator finds that, or the reader that an earlier driver had begun: each says it in its own words.
    cause = re.compile(f"replication slot '{slot}' (of this job )?is gone")
    wait_alive(process, "the cause", lambda: cause.search((followed.home / "errors").read_text()), 10.0)
