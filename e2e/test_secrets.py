"""A canary secret in each place where a secret can stand, followed through everything that anybody can read (S1)."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, SEATUNNEL, Finished, finish, seatunnel, start, write_job
from tests.servers.ports import free_port

CANARY = "k4n4ry-s3cr3t-Zwölf"
QUOTED = "k4n4ry-s3cr3t-elf"  # as a session's name, which is in ASCII
PLACES = {
    "option": f'password = "{CANARY}"',
    "environment": 'password = "${env:CANARY}"',
    "file": 'password = "${file:secret.txt}"',
    "variable": 'password = "${canary_variable}"',
    "url": "",  # put into the address below
    "properties": f'properties {{ password = "{CANARY}" }}',
}


def job(databases: Databases, place: str, *, port: int | None = None, ui: int | None = None) -> str:
    address = databases.server.jdbc_url(databases.source)
    if port is not None:
        address = address.replace(f":{databases.server.port}", f":{port}")
    if place == "url":
        address += f"?password={CANARY}"
    spark = f"spark.ui.enabled = true, spark.ui.port = {ui}" if ui else ""
    # Slow enough for Spark's UI to be looked at while rows are read.
    slowly = 'query = "SELECT id, text, pg_sleep(0.5)::text AS slept FROM orders"'
    read = slowly if ui else f'table_path = "{databases.source}.public.orders"'
    return f"""
    env {{ job.retry.times = 0, {spark} }}
    source {{ Jdbc {{ url = "{address}", driver = "org.postgresql.Driver", user = "postgres", {PLACES[place]}
                      {read} }} }}
    sink {{ LocalFile {{ path = "out", file_format_type = json }} }}
    """


def home_of(tmp_path: Path, databases: Databases) -> Path:
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, text text)")
        connection.execute("INSERT INTO orders SELECT i, 'x' FROM generate_series(1, 10) i ON CONFLICT DO NOTHING")
    (tmp_path / "secret.txt").write_text(CANARY)
    return tmp_path


def leaks(home: Path, *texts: str, canary: str = CANARY) -> list[str]:
    """Every place below the home, and every text, that holds the canary; the job and secret files are the user's."""
    found = [f"output: {text[:500]}" for text in texts if canary in text]
    for path in home.rglob("*"):
        if path.is_file() and path.name not in ("job.conf", "secret.txt") and canary.encode() in path.read_bytes():
            found.append(str(path))
    return found


def process_list() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_appears_nowhere_when_the_server_cannot_be_reached(
    place: str, tmp_path: Path, databases: Databases
) -> None:
    """Error texts of clients like to quote the address that they were given."""
    home = home_of(tmp_path, databases)
    write_job(home, job(databases, place, port=free_port()))
    env, given = {"CANARY": CANARY}, ("-i", f"canary_variable={CANARY}")

    checked = seatunnel(home, "check", "job.conf", *given, env=env)
    planned = seatunnel(home, "plan", "job.conf", *given, env=env)

    assert planned.code != 0
    assert leaks(home, checked.out, checked.err, planned.out, planned.err) == []


def test_a_secret_appears_nowhere_in_a_run(tmp_path: Path, databases: Databases) -> None:
    """Not in output, log, receipt, plan, Spark's UI and its API, or the process list while it runs."""
    home = home_of(tmp_path, databases)
    port = free_port()
    write_job(home, job(databases, "environment", ui=port))
    process = start(home, "run", "job.conf", "--json", env={"CANARY": CANARY})
    seen: list[str] = []
    while process.poll() is None:
        seen += [process_list(), *_spark_pages(port)]
        time.sleep(0.3)
    run = finish(process)
    shown = seatunnel(home, "jobs", "show", run.receipt["job_id"], "--json")

    assert run.code == 0, run.err
    assert any("<title>" in text and "Environment" in text for text in seen), "Spark's UI was never seen"
    assert leaks(home, run.out, run.err, shown.out, *seen) == []


def _spark_pages(port: int) -> list[str]:
    base = f"http://127.0.0.1:{port}"
    try:
        applications = _get(f"{base}/api/v1/applications")
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return []
    (application,) = re.findall(r'"id" : "([^"]+)"', applications)[:1] or [""]
    pages = [f"{base}/environment/", f"{base}/jobs/", f"{base}/stages/"]
    pages += [f"{base}/api/v1/applications/{application}/{name}" for name in ("environment", "jobs", "stages")]
    found = []
    for page in pages:
        try:
            found.append(_get(page))
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            continue
    return found


def _get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=5) as answer:
        body: bytes = answer.read()
        return body.decode()


@pytest.mark.parametrize("place", ["option", "url", "reference", "named"])
def test_a_secret_that_a_server_quotes_is_masked(place: str, tmp_path: Path, databases: Databases) -> None:
    """A target whose trigger fails with the words of the session: what a plugin's client says is not ours to choose."""
    home = home_of(tmp_path, databases)
    with databases.connect(databases.target) as connection:
        connection.execute("CREATE TABLE quoting (id bigint PRIMARY KEY, text text)")
        connection.execute(
            "CREATE FUNCTION quote() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE 'no place for % here', current_setting('application_name'); END $$"
        )
        connection.execute("CREATE TRIGGER quote AFTER INSERT ON quoting EXECUTE FUNCTION quote()")
    given, named = QUOTED, ""
    if place == "reference":
        given = "${env:CANARY}"
    if place == "named":
        named = "shade.options = [application_name]"
    passes = {"option": f'password = "{QUOTED}"'}.get(place, "")
    address = databases.server.jdbc_url(databases.target) + (f"?password={QUOTED}" if place == "url" else "")
    write_job(
        home,
        f"""
        env {{ job.retry.times = 0, {named} }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.orders" }} }}
        sink {{ Jdbc {{ url = "{address}", driver = "org.postgresql.Driver", user = "postgres", {passes}
                        properties {{ application_name = "{given}" }}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.quoting" }} }}""",
    )

    program = (
        SEATUNNEL if place == "option" else IN_PROCESS
    )  # in which process a client speaks makes no difference to it
    run = finish(start(home, "run", "job.conf", "--job-id", "job", env={"CANARY": QUOTED}, program=program))
    as_json = seatunnel(home, "jobs", "show", "job", "--json")
    shown = seatunnel(home, "jobs", "show", "job")

    assert run.code != 0
    for text in (run.out + run.err, shown.out, as_json.out):
        assert "no place for ****** here" in text
    assert leaks(home, run.out, run.err, shown.out, as_json.out, canary=QUOTED) == []


def test_a_secret_in_a_wrong_job_file_is_not_quoted(tmp_path: Path) -> None:
    """Messages name options and places, never the value of a secret one."""
    write_job(
        tmp_path,
        f"""
        source {{ Jdbc {{ url = "jdbc:postgresql://h/d?password={CANARY}", passwrd = "{CANARY}", password = ["{CANARY}"] }} }}
        sink {{ Console {{ token = "{CANARY}" }} }}
        """,
    )

    checked = seatunnel(tmp_path, "check", "job.conf")
    as_json = seatunnel(tmp_path, "check", "job.conf", "--json")

    assert checked.code == 2
    assert leaks(tmp_path, checked.out, checked.err, as_json.out, as_json.err) == []


def by_reference(databases: Databases) -> str:
    """References in options that are no secrets by their names: a query, a path, statements of people."""
    return f"""
    env {{ job.retry.times = 0, job.name = "by reference" }}
    source {{ Jdbc {{ {databases.jdbc(databases.source)}, plugin_output = read,
                      query = "SELECT id, text FROM orders WHERE text <> '${{env:CANARY}}'" }} }}
    sink {{
      Jdbc {{ {databases.jdbc(databases.target)}, plugin_input = read, generate_sink_sql = true,
              database = {databases.target}, table = "public.${{table_name}}_${{env:PLACE}}",
              data_save_mode = CUSTOM_PROCESSING,
              custom_sql = "INSERT INTO noted VALUES ('${{env:CANARY}}')" }}
      LocalFile {{ plugin_input = read, path = "out/${{env:PLACE}}", file_format_type = json }}
    }}
    """


def test_a_secret_by_reference_is_masked_in_every_option_and_stored_nowhere(
    tmp_path: Path, databases: Databases
) -> None:
    """P4-F2: `plan` printed the statement, and the checkpoint record of a run that failed held it. What is set up after a
    restore is set up with the secret of now; a target whose masked part is another one is another target."""
    home = home_of(tmp_path, databases)
    canary, place = "REFCANARY42", "placecanary"
    env = {"CANARY": canary, "PLACE": place}

    def ask(*words: str, **more: str) -> Finished:
        return finish(start(home, *words, env={**env, **more}, program=IN_PROCESS))

    write_job(home, by_reference(databases))
    with databases.connect(databases.target) as connection:
        connection.execute("CREATE TABLE noted (s text CHECK (s <> 'REFCANARY42'))")
    said = [ask("plan", "job.conf"), ask("plan", "job.conf", "--json", "--svg", "plan.svg")]
    assert said[0].code == 0 and "'******'" in said[0].out
    failed = ask("run", "job.conf", "--job-id", "job")
    assert failed.code != 0
    said += [
        failed,
        ask("jobs", "show", "job"),
        ask("jobs", "show", "job", "--json"),
        ask("state", "show", "job", "--json"),
    ]
    texts = [text for one in said for text in (one.out, one.err)]
    assert leaks(home, *texts, canary=canary) == []
    shutil.rmtree(home / "out", ignore_errors=True)  # a path is where its rows are
    assert leaks(home, *texts, canary=place) == []

    other = ask("run", "job.conf", "--job-id", "job", "--restore", "latest", PLACE="elsewhere")
    assert other.code == 1 and "what is masked in it is another value" in other.err

    mended = ask("run", "job.conf", "--job-id", "job", "--restore", "latest", CANARY="ROTATED4242")
    assert mended.code == 0, mended.out + mended.err
    with databases.connect(databases.target) as connection:
        assert connection.execute("SELECT s FROM noted").fetchall() == [("ROTATED4242",)]
        assert connection.execute(f"SELECT count(*) FROM orders_{place}").fetchone() == (10,)
