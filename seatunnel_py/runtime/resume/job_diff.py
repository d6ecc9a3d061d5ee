"""Compares a job file with that of the checkpoint to resume from, and decides the effect of each change. Pure.

Rules. (1) All changes are reported before any effect, table by table and step by step. (2) A change that does not
affect existing rows (another parallelism, more tables) is accepted. (3) A change that makes rows of one run
inconsistent, or drops the position of a table, needs the flag ``--accept-changes``. (4) A change that makes resuming
impossible (for example another target for the remaining rows) needs a new start. (5) Other columns of a table whose log
is followed are accepted: the log is read under the schema of its position, and meets the change itself. More tables of
a log are accepted as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.capabilities import Guarantee
from seatunnel_py.config import shade
from seatunnel_py.errors import BEGIN_ANEW, ChangesRefusedError
from seatunnel_py.plan.log_graph import LOG_SUFFIX
from seatunnel_py.redaction import is_sensitive, redacted_text

if TYPE_CHECKING:
    from seatunnel_py.plan.pipelines import Pipeline
    from seatunnel_py.plan.steps import Job

WIRING = {"plugin_input", "plugin_output", "source_table_name", "result_table_name", "id", "parallelism"}
Described = Mapping[str, Any]


class ChangeKind(StrEnum):
    """Kind of change of a table or a step."""

    KEPT = "kept"
    ADDED = "added"
    DROPPED = "dropped"
    CHANGED = "changed"
    ISOLATED = "isolated"


class RequiredFlag(StrEnum):
    """Flag that the user must give to resume."""

    NOTHING = ""
    ACCEPTANCE = "--accept-changes"
    FRESH = "--fresh"


class ChangedPart(StrEnum):
    """Part of the job that has changed."""

    JOB_FILE = "the job file"
    TABLE = "a source table"
    NAME = "the name of a step"


@dataclass(frozen=True, slots=True)
class Change:
    """``what``: a table or a step; ``follows``: the effect of the change."""

    what: str
    fate: ChangeKind
    follows: str
    needs: RequiredFlag = RequiredFlag.NOTHING
    of: ChangedPart = ChangedPart.JOB_FILE

    def __str__(self) -> str:
        needs = f" (wants {self.needs.value})" if self.needs else ""
        return f"{self.fate.value} {self.what}: {self.follows}{needs}"


def described(
    job: Job, pipelines: Mapping[str, Pipeline], isolated: Mapping[str, str] = MappingProxyType({})
) -> Described:
    """Describe the job for comparison by the next run, as plain data without secrets. ``isolated``: tables that cannot
    be planned, with the cause."""
    from seatunnel_py.runtime.values.topology_builder import graph_of, promised  # not needed to read job files

    steps = {
        step.id: {
            "kind": step.kind.value,
            "plugin": step.plugin,
            "options": _flat(shade.redacted(step.node.options, job.file.env.shade_options).plain()),
        }
        for step in job.steps
    }
    tables = {
        key: {
            "vertices": {vertex.id: vertex.parallelism for vertex in pipeline.vertices},
            "sinks": {node.id: node.shown for node in pipeline.sinks},
            "masked": {
                node.id: _digest(node.id, node.sink.target) for node in pipeline.sinks if node.shown != node.sink.target
            },
            "graph": promised(graph_of(pipeline, job.file.env.channel_retain).topology),
            "has_log": any(one.source is not None and one.source.part.has_log for one in pipeline.vertices),
            "follows_copies": pipeline.follows_copies,
            "promises": {node.id: node.capabilities.guarantee.name for node in pipeline.sinks},
            "columns": {
                str(table.schema.path): [f"{column.name} {column.dtype}" for column in table.schema.columns]
                for vertex in pipeline.vertices
                if vertex.source is not None
                for table in vertex.source.tables
            },
        }
        for key, pipeline in pipelines.items()
    }
    return {"steps": steps, "pipelines": tables, "isolated": dict(isolated)}


def isolated_of(old: Mapping[str, Any], now: Described) -> Mapping[str, Any]:
    """Pipelines of an earlier run whose tables cannot be planned now; a later run can resume them."""
    out = now.get("isolated", {})
    missing = {key: pipeline for key, pipeline in old.items() if key not in now["pipelines"]}
    return {key: pipeline for key, pipeline in missing.items() if any(table in out for table in pipeline["columns"])}


def changes(before: Described, now: Described) -> tuple[Change, ...]:
    """Return the changes, table by table, then step by step."""
    old, new = before["pipelines"], now["pipelines"]
    if renamed := tuple(_renamed(before["steps"], now["steps"])):
        return renamed  # a step is identified by its name: all other differences follow from that
    apart = isolated_of(old, now)
    old = {key: pipeline for key, pipeline in old.items() if key not in apart}
    found = list(_tables(old, new))
    follows = "it cannot be planned now and is isolated; its checkpoint is kept"
    found += [Change(f"table {key}", ChangeKind.ISOLATED, follows) for key in apart]
    for key in (key for key in new if key in old):
        found += _pipeline(key, old[key], new[key])
    had, has = _tables_of(old), _tables_of(new)
    found += _steps(before["steps"], now["steps"], len(has - had), len(had - has))
    return tuple(found)


def _tables_of(pipelines: Mapping[str, Any]) -> set[str]:
    return {table for pipeline in pipelines.values() for table in pipeline["columns"]}


def refuse(found: Iterable[Change], *, accepted: bool) -> None:
    """Raise ChangesRefusedError if a change prevents resuming."""
    changes = tuple(found)
    fresh = any(change.needs is RequiredFlag.FRESH for change in changes)
    asked = any(change.needs is RequiredFlag.ACCEPTANCE and not accepted for change in changes)
    if fresh or asked:
        wanted = {
            change.of for change in changes if change.needs and (change.needs is RequiredFlag.FRESH or not accepted)
        }
        what = ChangedPart.JOB_FILE if len(wanted) > 1 else wanted.pop()
        raise ChangesRefusedError(
            f"{what.value} has changed since the checkpoint to resume from; nothing was started",
            _remedy(what, fresh=fresh),
            tuple(map(str, changes)),
        )


def _remedy(what: ChangedPart, *, fresh: bool) -> str:
    if what is ChangedPart.NAME:
        return f"give the step its old name back, or the option `id` with that name; or {BEGIN_ANEW}"
    if fresh:
        return f"give it its old text back; or {BEGIN_ANEW}"
    return f"--accept-changes goes on like that; or {BEGIN_ANEW}"


def _renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Steps with another name and no other change."""
    gone = {_but_its_name(step): name for name, step in old.items() if name not in new}
    for name, step in new.items():
        if name not in old and (before := gone.get(_but_its_name(step))):
            follows = f"is called {name} now, and nothing else of it has changed: `id = {before}` keeps the name it had"
            yield Change(f"{step['kind']} {before}", ChangeKind.CHANGED, follows, RequiredFlag.FRESH, ChangedPart.NAME)


def _but_its_name(step: Mapping[str, Any]) -> str:
    options = {key: value for key, value in step["options"].items() if key not in WIRING}
    return repr((step["kind"], step["plugin"], sorted(options.items(), key=lambda one: one[0])))


def _tables(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    kept = [key for key in new if key in old]
    if kept:
        few = kept[0] if len(kept) == 1 else f"{len(kept)} tables"
        yield Change(few, ChangeKind.KEPT, "goes on where it stood" if len(kept) == 1 else "go on where they stood")
    for key in new:
        if key not in old:
            yield Change(f"table {key}", ChangeKind.ADDED, "begins at its beginning")
    for key in old:
        if key not in new:
            follows = "what it has written stays; where it stood is of no use any more"
            yield Change(f"table {key}", ChangeKind.DROPPED, follows, RequiredFlag.ACCEPTANCE)


def _pipeline(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name, width in new["vertices"].items():
        before = old["vertices"].get(name, width)
        if before != width:
            follows = f"parallelism {before} -> {width}, what it had read is dealt out again"
            yield Change(f"{name} of {key}", ChangeKind.CHANGED, follows)
    more, less = _joining(old, new)
    if more:
        when = " once they are copied" if new.get("follows_copies", True) else ""
        yield Change(key, ChangeKind.CHANGED, f"these tables join it{when}: {', '.join(more)}")
    if less:
        follows = f"these tables leave it, and their targets keep their rows: {', '.join(less)}"
        yield Change(key, ChangeKind.CHANGED, follows, RequiredFlag.ACCEPTANCE)
    others = bool(more or less)  # then the vertices are others too; the checkpoint shows whether the rest fits
    if not others and (old["vertices"].keys() != new["vertices"].keys() or old["sinks"].keys() != new["sinks"].keys()):
        yield Change(f"the steps of {key}", ChangeKind.CHANGED, "they are connected in another way", RequiredFlag.FRESH)
    for node, target in new["sinks"].items():
        before = redacted_text(old["sinks"].get(node, target))  # older versions stored it without masking
        if before != target or not _same_masked(node, old, new):
            same = " (what is masked in it is another value)" if before == target else ""
            follows = f"rows up to here are in {before}, the others would be in {target}{same}"
            yield Change(f"sink {node}", ChangeKind.CHANGED, follows, RequiredFlag.FRESH)
    yield from _promises(key, old, new, others=others)
    for table, columns in new["columns"].items():
        before = old["columns"].get(table, columns)
        more = [column for column in columns if column not in before]
        less = [column for column in before if column not in columns]
        if columns != before:
            words = ", ".join([*(f"+ {one}" for one in more), *(f"- {one}" for one in less)])
            words = words or f"in another order, {', '.join(columns)}"
            if new.get("has_log"):
                follows = f"its columns: {words}; its log is read under the schema of its position"
                yield Change(f"table {table}", ChangeKind.CHANGED, follows, of=ChangedPart.TABLE)
                continue
            follows = f"its columns: {words}; the target is not changed by that"
            yield Change(f"table {table}", ChangeKind.CHANGED, follows, RequiredFlag.ACCEPTANCE, ChangedPart.TABLE)


def _digest(node: str, target: str) -> str:
    """Identify a target whose stored text is masked. A slow hash, so that the secret cannot be guessed."""
    return hashlib.scrypt(target.encode(), salt=node.encode(), n=2**14, r=8, p=1).hex()


def _same_masked(node: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    before, after = old.get("masked", {}).get(node), new.get("masked", {}).get(node)
    return before is None or after is None or bool(before == after)


def _joining(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The tables that join a log, and those that leave it."""
    if not any(LOG_SUFFIX in vertex for vertex in new["vertices"]):
        return [], []
    before, now = old["columns"], new["columns"]
    return [table for table in now if table not in before], [table for table in before if table not in now]


def _promises(key: str, old: Mapping[str, Any], new: Mapping[str, Any], *, others: bool) -> Iterator[Change]:
    """Compare guarantees: a record is useless under another one, because rows were staged or replayed differently."""
    found = False
    for node, promise in new["promises"].items():
        before = old["promises"].get(node, promise)
        if before != promise:
            found = True
            follows = f"it was {Guarantee[before].text} and is {Guarantee[promise].text}: its checkpoints are of no use"
            yield Change(f"sink {node}", ChangeKind.CHANGED, follows, RequiredFlag.FRESH)
    if (
        not found
        and not others
        and old["vertices"].keys() == new["vertices"].keys()
        and not _same_graph(old.get("graph", new["graph"]), new["graph"], in_order=not new.get("has_log"))
    ):
        follows = "rows can be made again, or are kept for it, in another way: its checkpoints are of no use"
        yield Change(f"the steps of {key}", ChangeKind.CHANGED, follows, RequiredFlag.FRESH)


def _same_graph(old: list[Any], new: list[Any], *, in_order: bool) -> bool:
    """Compare graphs. A log is planned in the order of its checkpoint (``begun_logs.py``)."""
    return old == new if in_order else sorted(map(repr, old)) == sorted(map(repr, new))


def _steps(old: Mapping[str, Any], new: Mapping[str, Any], added: int, dropped: int) -> Iterator[Change]:
    for name, step in new.items():
        if name not in old:
            yield Change(
                f"{step['kind']} {name}", ChangeKind.ADDED, "rows pass it from here on", RequiredFlag.ACCEPTANCE
            )
        elif old[name]["plugin"] != step["plugin"]:
            follows = f"it was {old[name]['plugin']}, and is {step['plugin']} now"
            yield Change(f"{step['kind']} {name}", ChangeKind.CHANGED, follows, RequiredFlag.FRESH)
        elif keys := _different(old[name]["options"], step, added, dropped):
            yield Change(f"{step['kind']} {name}", ChangeKind.CHANGED, f"{', '.join(keys)}; {_FOLLOWS[step['kind']]}",
                         RequiredFlag.ACCEPTANCE)  # fmt: skip
    for name, step in old.items():
        if name not in new:
            yield Change(
                f"{step['kind']} {name}", ChangeKind.DROPPED, "rows pass it no longer", RequiredFlag.ACCEPTANCE
            )


_FOLLOWS = {
    "source": "what is read from here on is read like that; its splits stay as they were found",
    "transform": "rows from here on pass it as it is now, those before it stay as they are",
    "sink": "rows from here on are written like that; its set-up is not run again",
}


def _different(old: Mapping[str, Any], step: Mapping[str, Any], added: int, dropped: int) -> list[str]:
    """Names of changed options. A list of tables may grow and shrink by the number of added and dropped tables: any
    list of a source, elsewhere a list of tables with options. Other lists are of columns. Credentials do not count."""
    new, found = step["options"], []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if before == after or key in WIRING or is_sensitive(key):
            continue
        if isinstance(before, list) and isinstance(after, list) and _names_tables(step, before, after):
            more = sum(one not in before for one in after)
            less = sum(one not in after for one in before)
            if (more, less) == (added, dropped):
                continue
        found.append(key)
    return found


def _names_tables(step: Mapping[str, Any], *lists: list[Any]) -> bool:
    return step["kind"] == "source" or all(isinstance(one, Mapping) for entries in lists for one in entries)


def _flat(options: Any, prefix: str = "") -> dict[str, Any]:
    """Nested options under dotted keys."""
    found: dict[str, Any] = {}
    for key, value in options.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found
