"""Mutants for the phases of a pipeline's machine: each row of their table is missing, or leads elsewhere."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, runtime

FILE = "state/phases.py"
OF_THE_END = "tests/unit/runtime/test_machine_end.py"


def _missing(name: str, row: str, rules: str = "phases 2", killer: str = "") -> Mutant:
    """Without this entry."""
    return runtime(f"no phase change: {name}", FILE, row, "", rules, killer)


def _wrong(name: str, row: str, to: str, rules: str = "phases 2", killer: str = "") -> Mutant:
    """The entry leads to another phase."""
    event = row.split(":")[0]
    end = "," if row.endswith(",") else ""
    return runtime(f"wrong phase change: {name}", FILE, row, f"{event}: _P.{to}{end}", rules, killer)


MUTANTS: tuple[Mutant, ...] = (
    _missing("admitted", "_E.ADMIT: _P.PREPARING, "),
    runtime(
        "no phase change: ended while it waits",
        FILE,
        "_P.WAITING: {_E.ADMIT: _P.PREPARING, _E.END: _P.CLOSING}",
        "_P.WAITING: {_E.ADMIT: _P.PREPARING}",
        "phases 2",
    ),
    runtime(
        "wrong phase change: admitted pipelines are prepared",
        FILE,
        "_P.WAITING: {_E.ADMIT: _P.PREPARING,",
        "_P.WAITING: {_E.ADMIT: _P.PREPARED,",
        "phases 1",
    ),
    _missing("prepared", "_E.PREPARED: _P.PREPARED, ", "phases 1"),
    runtime(
        "no phase change: ended while it prepares",
        FILE,
        "{_E.PREPARED: _P.PREPARED, _E.END: _P.CLOSING}",
        "{_E.PREPARED: _P.PREPARED}",
        "phases 2",
    ),
    _wrong("prepared pipelines start", "_E.PREPARED: _P.PREPARED", "STARTING", "phases 1"),
    _missing("the engine is ready", "_E.ENGINE_READY: _P.STARTING, ", "phases 1"),
    runtime(
        "no phase change: ended while it waits for the engine",
        FILE,
        "{_E.ENGINE_READY: _P.STARTING, _E.END: _P.CLOSING}",
        "{_E.ENGINE_READY: _P.STARTING}",
        "phases 2",
    ),
    _wrong("it runs once there is an engine", "_E.ENGINE_READY: _P.STARTING", "RUNNING", "phases 1"),
    _missing("begun", "_E.BEGUN: _P.RUNNING, ", "phases 1"),
    runtime(
        "no phase change: ended while it starts",
        FILE,
        "{_E.BEGUN: _P.RUNNING, _E.END: _P.CLOSING}",
        "{_E.BEGUN: _P.RUNNING}",
        "phases 2",
    ),
    _wrong("begun pipelines wait for the engine", "_E.BEGUN: _P.RUNNING", "PREPARED", "phases 1"),
    runtime(
        "no phase change: a running pipeline ends",
        FILE,
        "_P.RUNNING: {_E.END: _P.CLOSING}",
        "_P.RUNNING: {}",
        "phases 2",
    ),
    runtime(
        "wrong phase change: an end sweeps at once",
        FILE,
        "_P.RUNNING: {_E.END: _P.CLOSING}",
        "_P.RUNNING: {_E.END: _P.SWEEPING}",
        "phases 2",
    ),
    runtime(
        "no phase change: rows are given up",
        FILE,
        "_P.CLOSING: {_E.GIVE_UP: _P.DROPPING, ",
        "_P.CLOSING: {",
        "phases 3",
    ),
    runtime(
        "wrong phase change: rows are given up while it sweeps",
        FILE,
        "_P.CLOSING: {_E.GIVE_UP: _P.DROPPING, ",
        "_P.CLOSING: {_E.GIVE_UP: _P.SWEEPING, ",
        "phases 3",
    ),
    runtime(
        "no phase change: an idle pipeline is swept",
        FILE,
        "_E.GIVE_UP: _P.DROPPING, _E.SWEEP: _P.SWEEPING}",
        "_E.GIVE_UP: _P.DROPPING}",
        "phases 2",
    ),
    runtime(
        "no phase change: dropped rows are swept",
        FILE,
        "_P.DROPPING: {_E.SWEEP: _P.SWEEPING}",
        "_P.DROPPING: {}",
        "phases 3",
    ),
    runtime(
        "wrong phase change: dropped means closed",
        FILE,
        "_P.DROPPING: {_E.SWEEP: _P.SWEEPING}",
        "_P.DROPPING: {_E.SWEEP: _P.CLOSED}",
        "phases 3",
    ),
    _missing("swept", "_E.SWEPT: _P.CLOSED, "),
    _wrong("a swept pipeline is replaced", "_E.SWEPT: _P.CLOSED", "REPLACED", "phases 4"),
    runtime(
        "no phase change: the claim is checked",
        FILE,
        "_E.SWEPT: _P.CLOSED, _E.CHECK: _P.CHECKING}",
        "_E.SWEPT: _P.CLOSED}",
        "phases 4",
    ),
    runtime(
        "wrong phase change: it begins again unchecked",
        FILE,
        "_E.CHECK: _P.CHECKING}",
        "_E.CHECK: _P.REPLACED}",
        "phases 4",
    ),
    _missing("the job is ours", "        _E.OURS: _P.REPLACED,\n", "phases 4"),
    _wrong("one that begins again is closed", "_E.OURS: _P.REPLACED,", "CLOSED", "phases 4"),
    _missing("rows of one that does not begin again are given up", "        _E.GIVE_UP: _P.DROPPING,\n", "phases 3"),
    _missing("one that does not begin again is swept", "        _E.SWEEP: _P.SWEEPING,\n", "phases 2", OF_THE_END),
    _wrong("one that is overtaken is closed", "_E.SWEEP: _P.SWEEPING,", "CLOSED", "phases 2", OF_THE_END),
    runtime(
        "a pipeline that closes is not over",
        FILE,
        "return self in (_P.CLOSING, _P.DROPPING,",
        "return self in (_P.DROPPING,",
        "phases 2",
    ),
)
