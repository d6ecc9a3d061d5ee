"""`seatunnel server backup` and `restore` beside a real server, and under kill -9."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx

from e2e.server.running import client, server
from e2e.support import Process, kill9, seatunnel, start
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.places.sqlite_file import database_file

TEXT = "source { FakeSource { row.num = 1, schema { fields { id = bigint } } } }\nsink { Console {} }"
ROWS = 400_000
KILLS = 6


class Writer:
    """Stores one definition after the other. ``known``: how many were acknowledged."""

    def __init__(self, http: httpx.Client) -> None:
        self.http, self.known, self.asked = http, 0, 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ends.is_set():
            self.asked += 1
            answer = self.http.post("/api/v1/definitions", json={"id": f"d{self.asked:05}", "text": TEXT})
            if answer.status_code == 429:  # it writes faster than a token may
                self.asked -= 1
                time.sleep(0.2)
                continue
            assert answer.status_code == 201, answer.text
            self.known = self.asked


def definitions(home: Path) -> list[str]:
    with closing(sqlite3.connect(database_file(home / ".seatunnel"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [row[0] for row in connection.execute("SELECT id FROM definition ORDER BY id")]


def test_backups_of_a_server_that_is_written_to_have_one_moment_each(tmp_path: Path) -> None:
    """All that was acknowledged before the copy began, and nothing that was asked after its end. No restore while the
    server runs."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    with server(here) as (process, url), client(url, here) as http, Writer(http) as writer:
        for number in range(4):
            while writer.known < 3 * (number + 1):
                time.sleep(0.01)
            least, file = writer.known, str(tmp_path / f"{number}.backup")
            done = seatunnel(here, "server", "backup", file)
            most = writer.asked
            assert done.code == 0 and "keep it as private" in done.out, done.err
            restored = seatunnel(there, "server", "restore", file, "--replace")
            assert restored.code == 0, restored.err
            found = definitions(there)
            assert found == [f"d{one + 1:05}" for one in range(len(found))] and least <= len(found) <= most
        refused = seatunnel(here, "server", "restore", str(tmp_path / "0.backup"), "--replace")
        assert refused.code == 1 and f"a server has this home already: {url} (process {process.pid}" in refused.err
    assert len(definitions(here)) >= writer.known
    with server(there) as (_, url):
        assert httpx.get(f"{url}/readyz", trust_env=False).status_code == 200, (
            "a server begins with a restored database"
        )


def large(home: Path, name: str) -> Path:
    """A home whose database has some ten MB, and one definition of this name."""
    path = database_file(home / ".seatunnel")
    Database.open(path, time.time).close()
    with closing(sqlite3.connect(path)) as connection:
        rows = ((f"run-{number % 100}", float(number), number, number) for number in range(ROWS))
        connection.executemany("INSERT INTO series_1m VALUES (?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO definition VALUES (?, 1, '', 0, 'me', NULL)", (name,))
        connection.commit()
    return home


def killed(process: Process, seen: Callable[[], bool], delay: float) -> bool:
    """Kill it ``delay`` seconds after something is there. False: it had ended."""
    while not seen():
        if process.poll() is not None:
            break
        time.sleep(0.0005)
    time.sleep(delay)
    alive = process.poll() is None
    if alive:
        kill9(process.pid)
    process.communicate()
    return alive


def test_a_backup_that_is_killed_leaves_the_one_before(tmp_path: Path) -> None:
    """Or none: the name is given to a whole file only."""
    home, file = large(tmp_path / "home", "new"), tmp_path / "b"
    older = large(tmp_path / "older", "old")
    assert seatunnel(older, "server", "backup", str(file)).code == 0
    before, hits = file.read_bytes(), 0
    for number in range(KILLS):
        process = start(home, "server", "backup", str(file), "--replace")
        hits += killed(process, lambda: any(one.stat().st_size for one in drafts(tmp_path)), number * 0.03)
        if file.read_bytes() != before:
            break
        for one in drafts(tmp_path):
            one.unlink()
    assert hits, "no kill came in time"
    check = tmp_path / "check"
    check.mkdir()
    assert seatunnel(check, "server", "restore", str(file)).code == 0
    assert definitions(check) in (["old"], ["new"])


def drafts(folder: Path) -> list[Path]:
    return list(folder.glob(".b.*.part"))


def test_a_restore_that_is_killed_leaves_the_old_database_or_the_new_one(tmp_path: Path) -> None:
    """O10: Killed while the copy is unpacked, and while the database is written. The next restore goes through."""
    home, other = large(tmp_path / "home", "old"), large(tmp_path / "other", "new")
    file, folder = tmp_path / "b", home / ".seatunnel" / "server"
    assert seatunnel(other, "server", "backup", str(file)).code == 0
    ends: list[list[str]] = []
    for number in range(KILLS):
        seen = folder / ("server.db-wal" if number % 2 else "server.db.restoring")
        process = start(home, "server", "restore", str(file), "--replace")
        hit = killed(process, lambda seen=seen: seen.exists() and seen.stat().st_size > 0, (number // 2) * 0.04)
        found = definitions(home)
        assert found in (["old"], ["new"]), found
        if hit:
            ends.append(found)
        if found == ["new"]:
            break
    assert ["old"] in ends, "no kill came in time"
    assert seatunnel(home, "server", "restore", str(file), "--replace").code == 0
    assert definitions(home) == ["new"]
    assert not list(folder.glob("*.restoring*"))
