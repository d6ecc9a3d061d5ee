"""Rows that a step rejects come back to it: a service that fails for some rows now and answers later, asked about each
row as often as the job file says. Also when a driver or its workers are killed while rows go round."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import (
    IN_PROCESS,
    SEATUNNEL,
    Process,
    finish,
    kill9,
    kill_driver,
    python_workers,
    seatunnel,
    start,
    wait_alive,
    write_job,
)

ROWS = 300
TIMES = 6
SECONDS_MAX = 150.0  # the machine may be busy with other tests
LATE = {row for row in range(1, ROWS + 1) if row % 10 == 3}
"""Rows that the service answers at the second attempt."""
NEVER = {row for row in range(1, ROWS + 1) if row % 50 == 5}
GOOD = sorted(set(range(1, ROWS + 1)) - NEVER)


class Service:
    """Answers about one row at a time, as language models do. ``asked`` counts by row. Who asks again about a row that never
    gets an answer waits ``pause`` seconds: on any machine such a row is in the loop for TIMES - 1 pauses at least."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.pause = 0.0
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                ((row,),) = (found.values() for found in json.loads(body["messages"][1]["content"]))
                self._say(service.answers(row), {"choices": [{"message": {"content": f"answer {row}"}}]})

            def _say(self, status: int, answer: object) -> None:
                data = json.dumps(answer).encode()
                with suppress(BrokenPipeError, ConnectionResetError):  # who has asked was killed
                    self.send_response(status)
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/chat"

    def answers(self, row: int) -> int:
        """The status of the answer about this row, now."""
        with self._lock:
            self.asked[row] += 1
            status = 503 if row in NEVER or (row in LATE and self.asked[row] == 1) else 200
            comes_back = row in NEVER and 1 < self.asked[row] <= TIMES
        if comes_back:
            time.sleep(self.pause)
        return status

    def __enter__(self) -> Service:
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Job:
    """From a table through the service into files and a table without a key: neither would hide a row that came twice."""

    def __init__(self, home: Path, databases: Databases, service: Service) -> None:
        self.home, self.databases, self.service = home, databases, service
        self.files = home / "out"
        self.drivers: list[Process] = []
        with databases.connect(databases.source) as connection:
            connection.execute("CREATE TABLE items (id bigint PRIMARY KEY)")
            connection.execute(f"INSERT INTO items SELECT generate_series(1, {ROWS})")
            connection.execute("ANALYZE")
        self._write(
            "source.consistency = per-split",
            f"""Jdbc {{ {databases.jdbc(databases.source)}, plugin_output = read, fetch_size = 20,
                        table_path = "{databases.source}.public.items" }}""",
        )

    def start(self, *more: str, program: list[str] = SEATUNNEL) -> Process:
        self.drivers.append(start(self.home, "run", "job.conf", "--job-id", "job", "--json", *more, program=program))
        return self.drivers[-1]

    def end(self) -> None:
        """A test that has failed leaves no driver behind."""
        for driver in self.drivers:
            if driver.poll() is None:
                kill_driver(driver)

    def write_stream(self) -> None:
        """The same rows, out of a source that has no end."""
        self._write(
            "job.mode = STREAMING",
            f"""FakeSource {{ plugin_output = read, row.num = {ROWS}, split.num = 30, split.read-interval = 100,
                              schema {{ table = "shop.items", fields {{ id = bigint }},
                                        primaryKey {{ name = pk, columnNames = [id] }} }},
                              bigint.fake.mode = range, auto.increment.enabled = true }}""",
        )

    def _write(self, env: str, source: str) -> None:
        databases, service = self.databases, self.service
        write_job(
            self.home,
            f"""
            env {{ checkpoint.interval = 100, unit.rows = 20, error.max-rows = {len(NEVER)}, {env} }}
            source {{ {source} }}
            transform {{ LLM {{ plugin_input = read, plugin_output = asked, model_provider = OPENAI, model = m,
                api_key = k, prompt = p, api_path = "{service.url}", model_retry_max_attempts = 1,
                retry_rejected = {TIMES} }} }}
            sink {{
              LocalFile {{ plugin_input = asked, path = "{self.files}", file_format_type = csv }}
              Jdbc {{ {databases.jdbc(databases.target)}, plugin_input = asked, generate_sink_sql = true,
                      database = {databases.target}, table = "public.items", primary_keys = [], is_exactly_once = true }}
            }}""",
        )

    def check(self) -> None:
        """Each row arrived once or is in the quarantine once; the service was asked as often as it was said."""
        lines = [line for file in self.files.rglob("*.csv") for line in file.read_text().splitlines()]
        assert sorted(lines) == sorted(f"{row},answer {row}" for row in GOOD)
        assert self.databases.rows(self.databases.target, "items") == [(row, f"answer {row}") for row in GOOD]
        shown = seatunnel(self.home, "quarantine", "show", "job", "--json")
        assert shown.code == 0, shown.err
        bad = json.loads(shown.out)
        assert sorted(one["values"]["id"] for one in bad) == sorted(NEVER), shown.out
        assert all(f"rejected {TIMES + 1} times" in one["error"] for one in bad)


@pytest.fixture
def job(tmp_path: Path, databases: Databases) -> Iterator[Job]:
    with Service() as service:
        found = Job(tmp_path, databases, service)
        yield found
        found.end()


def test_rows_that_come_back(job: Job) -> None:
    """Undisturbed: an answer at the second attempt arrives, and who never gets one has had all of its attempts."""
    planned = seatunnel(job.home, "plan", "job.conf")
    assert f"rows that it rejects come back to it, at most {TIMES} times" in planned.out

    run = finish(job.start(program=IN_PROCESS))

    assert run.code == 0, run.err + run.out
    job.check()
    wanted = {row: TIMES + 1 if row in NEVER else 2 if row in LATE else 1 for row in range(1, ROWS + 1)}
    assert job.service.asked == wanted


def test_a_row_that_comes_back_does_not_replace_a_newer_one(tmp_path: Path, databases: Databases) -> None:
    """Each key has two rows, and the service fails for some of the older ones at first: they come behind the newer ones."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE changes (seq bigint, id bigint, changed bigint)")
        connection.execute(f"INSERT INTO changes SELECT s, (s - 1) / 2, s FROM generate_series(1, {ROWS}) s")
    with Service() as service:
        write_job(
            tmp_path,
            f"""
            env {{ unit.rows = 20, error.max-rows = {len(NEVER)} }}
            source {{ Jdbc {{ {databases.jdbc(databases.source)}, plugin_output = read, fetch_size = 20,
                              query = "SELECT seq, id, changed FROM changes ORDER BY seq" }} }}
            transform {{ LLM {{ plugin_input = read, plugin_output = asked, model_provider = OPENAI, model = m,
                api_key = k, prompt = p, api_path = "{service.url}", model_retry_max_attempts = 1,
                inference_columns = [seq], retry_rejected = {TIMES} }} }}
            sink {{ Jdbc {{ {databases.jdbc(databases.target)}, plugin_input = asked, generate_sink_sql = true,
                            database = {databases.target}, table = "public.states", primary_keys = [id],
                            version_column = changed }} }}""",
        )

        run = finish(start(tmp_path, "run", "job.conf", "--json", program=IN_PROCESS))

    assert run.code == 0, run.err + run.out
    assert all(service.asked[row] == 2 for row in LATE), "nobody was late"
    with databases.connect(databases.target) as connection:
        found = connection.execute("SELECT id, changed FROM states ORDER BY id").fetchall()
    assert found == [(number, 2 * number + 2) for number in range(ROWS // 2)]


def test_a_killed_driver(job: Job) -> None:
    """O3.2, I47: what was on its way back to the step belongs to the checkpoint that the next driver goes on from."""
    job.service.pause = 1.0
    process = job.start(program=IN_PROCESS)
    records = job.home / ".seatunnel/jobs/job/checkpoints/records"
    wait_alive(
        process,
        "rows that go round, and checkpoints",
        lambda: _going_round(job) and len(list(records.glob("00000001-*"))) > 1,
    )
    kill_driver(process)
    job.service.pause = 0.0
    before = dict(job.service.asked)

    run = finish(job.start("--restore", "latest", program=IN_PROCESS))

    assert run.code == 0, run.err + run.out
    job.check()
    assert any(job.service.asked[row] > before.get(row, 0) > 0 for row in NEVER), "nothing was in the loop"


def test_a_stream_that_is_stopped_and_killed(job: Job) -> None:
    """Rows on their way back are in the savepoint that a stream ends behind, and in the checkpoint of one that is killed;
    whoever goes on asks about them as often as is left to them."""
    job.write_stream()
    job.service.pause = 1.0
    first = job.start(program=IN_PROCESS)
    wait_alive(first, "rows that go round", lambda: _going_round(job))
    first.send_signal(signal.SIGTERM)
    stopped = finish(first)
    assert stopped.code == 143, stopped.err + stopped.out
    job.service.pause = 0.0
    under_way = [row for row in NEVER if 0 < job.service.asked[row] <= TIMES]
    assert under_way, "nothing was in the loop"

    second = job.start("--restore", "latest", program=IN_PROCESS)
    before = dict(job.service.asked)
    wait_alive(second, "more answers", lambda: job.service.asked.total() > sum(before.values()) + 20)
    kill_driver(second)
    third = job.start("--restore", "latest", program=IN_PROCESS)
    wait_alive(third, "all rows", lambda: job.databases.count("items") == len(GOOD), SECONDS_MAX)
    wait_alive(third, "the last attempts", lambda: all(job.service.asked[row] > TIMES for row in NEVER), SECONDS_MAX)
    third.send_signal(signal.SIGTERM)
    ended = finish(third)

    assert ended.code == 143, ended.err + ended.out
    job.check()


def test_killed_workers(job: Job) -> None:
    """Their unit is tried again, whatever it had rejected; its rows count once."""
    job.service.pause = 1.0
    process = job.start()
    wait_alive(process, "rows that go round", lambda: _going_round(job))
    for worker in python_workers(process.pid):
        with suppress(ProcessLookupError):
            kill9(worker)
    job.service.pause = 0.0

    run = finish(process)

    assert run.code == 0, run.err + run.out
    job.check()


def _going_round(job: Job) -> bool:
    """Whether a row has come back that will do so again."""
    asked = dict(job.service.asked)
    return any(1 < asked.get(row, 0) <= TIMES for row in NEVER)
