"""Translates the arguments of SeaTunnel's scripts into commands of `seatunnel`. Pure.

Rules. (1) One action is performed; without one the job is run. (2) Options that choose an engine, a cluster or a place
to run have no effect, and are noted. (3) An option that is not known is refused, and so are two actions: a scheduler
must not believe that they were obeyed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from seatunnel_py.errors import SeaTunnelError

LONG: Mapping[str, str] = MappingProxyType(
    {
        "-c": "--config", "-i": "--variable", "-n": "--name", "-m": "--master", "-e": "--deploy-mode",
        "--deploy": "--deploy-mode", "-cn": "--cluster", "-ck": "--check", "-r": "--restore", "-s": "--savepoint",
        "-can": "--cancel-job", "-f": "--force", "-l": "--list", "-j": "--job-id", "-d": "--dry-run", "-h": "--help",
    }
)  # fmt: skip
"""The short forms."""
VALUES = frozenset(
    {
        "--config", "--variable", "--name", "--master", "--deploy-mode", "--cluster", "--set-job-id", "--restore",
        "--savepoint", "--job-id", "--metrics", "--dry-run", "--sample-limit",
    }
)  # fmt: skip
"""Options with one value."""
FLAGS = frozenset(
    {"--check", "--list", "--async", "--force", "--encrypt", "--decrypt", "--get_running_job_metrics", "--help"}
)
MANY = "--cancel-job"
"""An option with all values up to the next option."""
NO_EFFECT: Mapping[str, str] = MappingProxyType(
    {
        "--master": "`env` of the job file, or the settings of Spark, choose where a job runs",
        "--deploy-mode": "`env` of the job file, or the settings of Spark, choose where a job runs",
        "--cluster": "there is no cluster of an engine: each job has a process of its own",
        "--name": "`job.name` in `env` of the job file names a job",
        "--force": "`seatunnel jobs cancel` ends a job in any state",
    }
)
ACTIONS = (
    "--cancel-job", "--list", "--job-id", "--savepoint", "--metrics", "--get_running_job_metrics", "--encrypt",
    "--decrypt", "--check", "--dry-run",
)  # fmt: skip
DRY_RUNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"static": ("check",), "connect": ("test-connection",), "sample": ("preview",)}
)


class ScriptArgumentError(SeaTunnelError):
    """The arguments do not make a call."""


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """``commands``: arguments of `seatunnel`, one after the other; ``notes``: for the user; ``runs``: a job is run;
    ``detached``: in a process that goes on by itself; ``helps``: show the options only."""

    commands: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    runs: bool = False
    detached: bool = False
    helps: bool = False


@dataclass(slots=True)
class _ScriptOptions:
    single: dict[str, str] = field(default_factory=dict)
    variables: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


def script_call(arguments: Sequence[str]) -> ScriptCall:
    """Translate the arguments. Raises ScriptArgumentError."""
    given = _given(list(arguments))
    if "--help" in given.flags:
        return ScriptCall(helps=True)
    notes = tuple(
        f"{name} has no effect: {why}" for name, why in NO_EFFECT.items() if name in given.single or name in given.flags
    )
    return replace(_call(given), notes=notes)


def _given(arguments: list[str]) -> _ScriptOptions:
    given = _ScriptOptions()
    while arguments:
        word = arguments.pop(0)
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = LONG.get(name, name)
        if name in FLAGS and not has_value:
            given.flags.add(name)
        elif name == MANY and not has_value:
            while arguments and not arguments[0].startswith("-"):
                given.jobs += [one for one in arguments.pop(0).split(",") if one]
            given.flags.add(MANY)
        elif name in VALUES:
            if not has_value and (not arguments or arguments[0] in _KNOWN):
                raise ScriptArgumentError(f"{word} has no value", f"write {word} VALUE")
            found = value if has_value else arguments.pop(0)
            if name == "--variable":
                given.variables.append(found)
            else:
                given.single[name] = found
        else:
            raise _unknown(word)
    return given


def _unknown(word: str) -> ScriptArgumentError:
    from seatunnel_py.config.resolve import nearest  # with pydantic

    near = nearest(word.partition("=")[0], sorted(_KNOWN))
    hint = f"did you mean {near}?" if near else "--help lists the options"
    return ScriptArgumentError(f"the option {word} is not known", hint)


_KNOWN = frozenset({*LONG, *VALUES, *FLAGS, MANY})


def _call(given: _ScriptOptions) -> ScriptCall:
    single, flags = given.single, given.flags
    actions = [name for name in ACTIONS if name in single or name in flags]
    if len(actions) > 1:
        raise ScriptArgumentError(f"{' and '.join(actions)} are different actions", "give one of them")
    if MANY in flags:
        if not given.jobs:
            raise ScriptArgumentError("--cancel-job names no job", "write --cancel-job ID")
        return ScriptCall(tuple(("jobs", "cancel", one) for one in given.jobs))
    if "--list" in flags:
        return ScriptCall((("jobs", "list"),))
    if (job := single.get("--job-id")) is not None:
        return ScriptCall((("jobs", "show", job),))
    if (job := single.get("--savepoint")) is not None:
        return ScriptCall((("jobs", "savepoint", job, "--stop"),))
    if (job := single.get("--metrics")) is not None:
        return ScriptCall((("jobs", "metrics", job),))
    if "--get_running_job_metrics" in flags:
        return ScriptCall((("jobs", "metrics"),))
    return _of_file(given)


def _of_file(given: _ScriptOptions) -> ScriptCall:
    """A call that needs the job file."""
    single, flags = given.single, given.flags
    file = single.get("--config")
    if file is None:
        raise ScriptArgumentError("there is no job file", "write --config FILE")
    if "--encrypt" in flags or "--decrypt" in flags:
        back = ("--decrypt",) if "--decrypt" in flags else ()
        return ScriptCall((("encrypt", file, *back),))
    variables = tuple(part for one in given.variables for part in ("-i", one))
    if "--check" in flags:
        return ScriptCall((("check", file, *variables),))
    if (mode := single.get("--dry-run")) is not None:
        if mode not in DRY_RUNS:
            raise ScriptArgumentError(f"--dry-run {mode} is not known", f"choose one of {', '.join(DRY_RUNS)}")
        rows = ("--rows", single["--sample-limit"]) if mode == "sample" and "--sample-limit" in single else ()
        return ScriptCall(((*DRY_RUNS[mode], file, *variables, *rows),))
    restored = single.get("--restore")
    job = restored or single.get("--set-job-id")
    named = ("--job-id", job) if job else ()
    again = ("--restore", "latest") if restored else ()
    return ScriptCall((("run", file, *variables, *named, *again),), runs=True, detached="--async" in flags)
