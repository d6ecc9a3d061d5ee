"""Runs the command line: as its own process, which gets a signal if the step of Dagster is cancelled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster import AssetExecutionContext, ConfigurableResource, Failure, MaterializeResult
from pydantic import Field

from dagster_seatunnel_py.planned_tables import TargetTable, end_of

JOB, VARIABLES, TARGET, TABLES = (f"seatunnel/{name}" for name in ("job", "variables", "target", "source_tables"))
FILE_WRONG = 2
RESULT = "SEATUNNEL_RESULT_FILE"


class SeaTunnelCommand(ConfigurableResource):
    """``program``: the words of the command; ``home``: SEATUNNEL_HOME of the jobs, empty: that of the environment;
    ``stop_seconds``: for the end of a cancelled job, before it is killed."""

    program: list[str] = Field(["seatunnel"])
    home: str = ""
    stop_seconds: float = 60.0

    def run(self, context: AssetExecutionContext, *, job_id: str = "") -> Iterator[MaterializeResult]:
        """Run the job of the assets of this step. A materialisation for each target that is done; then Failure, if
        another one is not. ``job_id``: by default one for each run of Dagster, which its re-executions go on with."""
        about = next(iter(context.assets_def.metadata_by_key.values()))
        name = job_id or f"dagster-{context.run.root_run_id or context.run_id}"
        given = [f"--variable={key}={value}" for key, value in about[VARIABLES].items()]
        words = [*self.program, "run", about[JOB], *given, "--job-id", name, "--restore", "latest", "--wait"]
        with tempfile.TemporaryDirectory(prefix="seatunnel-") as folder:
            result = Path(folder) / "result.json"
            code = self._await(words, {**self.environment, RESULT: str(result)})
            told: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
        yield from _ends(context, told, code)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the command."""
        return {**os.environ, **({"SEATUNNEL_HOME": self.home} if self.home else {})}

    def _await(self, words: Sequence[str], environment: Mapping[str, str]) -> int:
        """Run a command to its end; its output is that of the step. A cancelled step ends it, and waits for that."""
        process = subprocess.Popen(words, env=dict(environment), stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait()
        except BaseException:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(self.stop_seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            raise


def _ends(context: AssetExecutionContext, told: Mapping[str, Any], code: int) -> Iterator[MaterializeResult]:
    by_key = context.assets_def.metadata_by_key
    causes: list[str] = []
    for key in context.selected_asset_keys:
        about = by_key[key]
        end = end_of(TargetTable(tuple(key.path), about[TARGET], tuple(about[TABLES])), told)
        causes += end.causes
        if end.done:
            yield MaterializeResult(asset_key=key, metadata=dict(end.facts))
    if code == 0 and "tables" not in told:
        context.log.info(told.get("message", "nothing is left to do"))
    if code != 0:
        why = "; ".join(causes) or told.get("message") or _problems(told) or "it was killed: there is no receipt"
        raise Failure(f"seatunnel has ended with exit code {code}: {why}", allow_retries=code != FILE_WRONG)


def _problems(told: Mapping[str, Any]) -> str:
    return "; ".join(str(one.get("message", "")) for one in told.get("problems", ()))
