"""`python -m e2e.upgrade.make COMMIT`: the jobs of `jobs.py`, begun by an older commit's command line and left."""

from __future__ import annotations

import signal
import sys
import tarfile
from pathlib import Path

from e2e.support import IN_PROCESS, failing, finish, start, wait_alive
from e2e.upgrade.jobs import JOBS, Left, arguments, place, write_inputs
from tests.servers.commits import installed

HERE = Path(__file__).parent


def main(commit: str) -> None:
    program = [str(installed(commit) / "python"), *IN_PROCESS[1:]]
    with place() as home:
        write_inputs(home)
        for job in JOBS.values():
            leave(home, job, program)
        with tarfile.open(HERE / f"{commit}.tar.xz", "w:xz") as archive:
            for path in sorted(home.iterdir()):
                if not path.name.startswith("points"):
                    archive.add(path, path.name, filter=_without_owner)


def leave(home: Path, job: Left, program: list[str]) -> None:
    point, _, hit = job.killed.partition("@")
    env = failing(f"{point}:kill@{hit or 1}", home / f"points-{job.name}") if job.killed else {}
    process = start(home, *arguments(job), env=env, program=program)
    if not job.killed:
        wait_alive(process, "rows", lambda: job.rows(home, job.targets[0]))
        process.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert ended.code == (-signal.SIGKILL if job.killed else 143), f"{job.name}: {ended.code}\n{ended.out}\n{ended.err}"
    left = {target: len(job.rows(home, target)) for target in job.targets}
    assert all(count < len(job.wanted) for count in left.values()), f"{job.name} has ended: {left}"
    print(job.name, left)


def _without_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


if __name__ == "__main__":
    main(sys.argv[1])
