"""Install what is missing: `python -m tests.servers.install [postgres] [mariadb] [kafka] [redis] [spin] [chromium]` (default: all).

Quick when everything is there. Packages come from the distribution, the system's own service is not started.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.model import spin
from tests.servers import chromium, mariadb, postgres, redis
from tests.servers.kafka import artifacts as kafka
from tests.servers.process import ServerMissing

NEEDED: dict[str, tuple[Callable[[str], Path], tuple[str, ...]]] = {
    "postgres": (postgres.find, ("initdb", "postgres", "psql")),
    "mariadb": (mariadb.find, ("mariadb-install-db", "mariadbd")),
    "kafka": (kafka.find, ("mvn", "java")),
    "redis": (redis.find, ("redis-server",)),
    "spin": (spin.find, ("spin", "gcc")),
    "chromium": (chromium.find, (chromium.PROGRAM,)),
}


def missing(names: Sequence[str]) -> list[ServerMissing]:
    """One entry per server of which a program is absent."""
    found = []
    for name in names:
        find, programs = NEEDED[name]
        try:
            for program in programs:
                find(program)
        except ServerMissing as absent:
            found.append(absent)
    return found


def install(packages: Sequence[str]) -> None:
    # RUNLEVEL=1 makes the packages' scripts leave their service stopped.
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
    ):
        subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.install", description=__doc__)
    parser.add_argument("servers", nargs="*", metavar="SERVER", help=" ".join(NEEDED))
    names = parser.parse_args(arguments).servers or list(NEEDED)
    unknown = [name for name in names if name not in NEEDED]
    if unknown:
        parser.error(f"unknown server {', '.join(unknown)}; known: {', '.join(NEEDED)}")
    if (failed := install_missing(names)) or "kafka" not in names:
        return failed
    kafka.jars()
    return 0


def install_missing(names: Sequence[str]) -> int:
    absent = missing(names)
    if not absent:
        return 0
    packages = sorted({each.package for each in absent})
    if os.geteuid() != 0:
        print(f"missing programs. Type: sudo apt-get install {' '.join(packages)}", file=sys.stderr)
        return 1
    print(f"installing {', '.join(packages)}", file=sys.stderr)
    install(packages)
    still = missing(names)
    for each in still:
        print(each, file=sys.stderr)
    return 1 if still else 0


if __name__ == "__main__":
    sys.exit(main())
