"""A job without end: started, left until its data is out, then asked to stop. Those in ``ON_SPARK`` start as people start
them; to the others it makes no difference where their units run, and a Spark application each would take a minute."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from e2e.support import IN_PROCESS, SEATUNNEL, finish, start
from seatunnel_py.cli.commands.suite import Case, CaseOutcome, CaseVerdict
from seatunnel_py.errors import ExitCode

DATA_SECONDS = 90.0
LOOK_SECONDS = 0.5
ON_SPARK = (
    "batch_cancel_task_1.conf",
    "unify_flink_table_env_param_fakesource_to_console.conf",
    "postgrescdc_to_postgres.conf",
    "mysqlcdc_to_mysql.conf",
)  # the second and the last have a query, the third a resident worker


def run(case: Case, home: Path, is_out: Callable[[str], bool]) -> CaseOutcome:
    """``is_out`` gets what was printed until now. It passes when it stops as asked, and not before."""
    began = time.monotonic()
    home.mkdir(parents=True, exist_ok=True)
    printed = home / "printed"
    variables = [word for name, value in case.variables.items() for word in ("-i", f"{name}={value}")]
    program = SEATUNNEL if case.path.name in ON_SPARK else IN_PROCESS
    process = start(home, "run", str(case.path), *variables, output=printed, program=program)
    while process.poll() is None and time.monotonic() < began + DATA_SECONDS and not is_out(printed.read_text()):
        time.sleep(LOOK_SECONDS)
    early = process.poll() is not None
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    passed = not early and ended.code == ExitCode.INTERRUPTED
    cause = (
        ""
        if passed
        else f"exit code {ended.code}, {'before it was asked to stop' if early else 'as asked'}: {ended.err}"
    )
    return CaseOutcome(
        case, CaseVerdict.PASSED if passed else CaseVerdict.FAILED, time.monotonic() - began, cause, printed.read_text()
    )
