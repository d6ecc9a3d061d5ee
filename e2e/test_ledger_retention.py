"""A target forgets a job whose tables have all arrived after ``ledger.retention``, and one that may go on never."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, start, write_job

AGED = "UPDATE seatunnel_ledger SET ended_at = ended_at - interval '{days} days'"


def run(home: Path, databases: Databases, job: str, *tables: str, more: str = "", restore: bool = False) -> Finished:
    names = ", ".join(f'{{ table_path = "public.{table}" }}' for table in tables)
    write_job(
        home,
        f"""
        env {{ {more} }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_list = [{names}] }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, database = {databases.target},
                        table = "public.${{table_name}}", schema_save_mode = ERROR_WHEN_SCHEMA_NOT_EXIST,
                        data_save_mode = APPEND_DATA }} }}
        """,
    )
    arguments = ("run", "job.conf", "--job-id", job, "--json", *(("--restore", "latest") if restore else ()))
    return finish(start(home, *arguments, program=IN_PROCESS))


def test_the_ledger_is_swept_after_its_retention(tmp_path: Path, databases: Databases) -> None:
    """Of a job that one table has failed it keeps all, and the job goes on from it, however late."""
    with databases.connect(databases.source) as source, databases.connect(databases.target) as target:
        for database in (source, target):
            for table in ("one", "two"):
                database.execute(f"CREATE TABLE {table} (id bigint)".encode())
        source.execute("INSERT INTO one SELECT generate_series(1, 9)")
        source.execute("INSERT INTO two SELECT generate_series(1, 9)")
        target.execute("ALTER TABLE two ADD CONSTRAINT small CHECK (id < 5)")

        def known() -> set[str]:
            return {str(job) for (job,) in target.execute("SELECT DISTINCT job_id FROM seatunnel_ledger")}

        assert run(tmp_path, databases, "whole", "one").code == 0
        assert run(tmp_path, databases, "half", "one", "two").code == 3
        target.execute(AGED.format(days=20).encode())
        assert run(tmp_path, databases, "later", "one").code == 0
        assert known() == {"whole", "half", "later"}, "30 days unless the job says something else"
        target.execute("UPDATE seatunnel_ledger SET committed_at = committed_at - interval '99 days'")
        assert run(tmp_path, databases, "last", "one", more="ledger.retention = 19 days").code == 0
        assert known() == {"half", "later", "last"}

        target.execute("ALTER TABLE two DROP CONSTRAINT small")
        again = run(tmp_path, databases, "half", "one", "two", restore=True)
        assert again.code == 0 and len(again.tables("DONE")) == 2
    assert [row[0] for row in databases.rows(databases.target, "two")] == list(range(1, 10))
    assert len(databases.rows(databases.target, "one")) == 4 * 9
