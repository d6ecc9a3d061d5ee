"""A virtual environment with Airflow and our provider, and a home of Airflow with a SQLite database."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

AIRFLOW = "apache-airflow==3.3.2"
PROVIDER = Path(__file__).parents[2] / "schedulers" / "airflow"
INSTALL_SECONDS, RUN_SECONDS = 900, 400


@dataclass(frozen=True)
class DagEnd:
    """What a run of a DAG has printed. ``states``: of its tasks; ``values``: the XCom of each, if it has one."""

    states: dict[str, str]
    values: dict[str, dict[str, object]]
    text: str


@dataclass
class AirflowHome:
    """``python``: of the environment; ``path``: AIRFLOW_HOME."""

    python: Path
    path: Path
    variables: dict[str, str]

    @classmethod
    def build(cls, folder: Path) -> AirflowHome:
        """Install Airflow and the provider, and make the database."""
        python = folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", AIRFLOW, str(PROVIDER)]
        subprocess.run(install, check=True, timeout=INSTALL_SECONDS)
        (folder / "dags").mkdir()
        variables = {
            "AIRFLOW_HOME": str(folder / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
            "NO_PROXY": "*",
            "DAG_FOLDER": str(folder),
        }
        made = cls(python, folder, variables)
        subprocess.run(
            [str(python.with_name("airflow")), "db", "migrate"], env=made.environment, check=True, capture_output=True
        )
        return made

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.variables}

    def connect(self, url: str, token: str) -> None:
        """Make the connection to a server."""
        host, _, port = url.removeprefix("http://").partition(":")
        about = {"conn_type": "seatunnel_py", "host": host, "port": int(port), "schema": "http", "password": token}
        self.variables |= {"AIRFLOW_CONN_SEATUNNEL_PY_DEFAULT": json.dumps(about), "SERVER": url}

    @contextmanager
    def running(self, dag: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a DAG of this folder in one process, as `airflow dags test` does; its output is ``DAG.log``."""
        target = self.path / "dags" / f"{dag}.py"
        target.write_text((Path(__file__).with_name("dags") / target.name).read_text())
        with self.log_of(dag).open("wb") as log:
            words, environment = [str(self.python), str(target)], {**self.environment, **more}
            process = subprocess.Popen(words, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def log_of(self, dag: str) -> Path:
        return self.path / f"{dag}.log"

    def run(self, dag: str, **more: str) -> DagEnd:
        """Run a DAG to its end."""
        with self.running(dag, **more) as process, suppress(subprocess.TimeoutExpired):
            process.wait(RUN_SECONDS)
        return end_of(self.log_of(dag).read_text())


def end_of(text: str) -> DagEnd:
    """Read the lines that the DAGs print."""
    states = dict(re.findall(r"^TASK (\S+) (\S+)$", text, flags=re.MULTILINE))
    values = {task: json.loads(value) for task, value in re.findall(r"^VALUE (\S+) (.*)$", text, flags=re.MULTILINE)}
    return DagEnd(states, values, text)
