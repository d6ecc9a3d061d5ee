"""Holds the decisions of a pipeline for its records: set-ups of sinks, splits of sources, tables of a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from seatunnel_py.api.log_source import BegunLog
from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Setup
from seatunnel_py.api.source import Enumerator, SourceTable, Split
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.targets.held_change import HeldChange
from seatunnel_py.runtime.targets.plain_setup import setup_of, setup_plain
from seatunnel_py.runtime.values.split_progress import SplitRound, path_plain, reading_of, rounds_of, rounds_plain
from seatunnel_py.runtime.values.subtask_state import state_of
from seatunnel_py.work.plain_schema import table_of, table_plain
from seatunnel_py.work.unit import FailureKind, UnitFailure


@dataclass(frozen=True, slots=True)
class PreparedPipeline:
    """The plan of a pipeline, for checkpoint 0: set-ups of sinks by node id, and splits by vertex id, in rounds as they
    were found. ``enumerators`` stay open while their splits are read (one may keep a snapshot that readers share).
    ``left_out``: isolated vertices, with the cause. ``tables``: the tables of a log, under the schemas of its position;
    ``refused``: those that stop, because their targets refuse a change of the schema; ``held``: such changes, about
    which persons decide. ``swept``: sentences about deleted leftovers of earlier lineages; not stored."""

    setups: Mapping[str, Setup]
    rounds: Mapping[str, tuple[SplitRound, ...]]
    enumerators: Mapping[str, Enumerator] = field(default_factory=dict)
    left_out: Mapping[str, UnitFailure] = field(default_factory=dict)
    tables: Mapping[TablePath, SourceTable] = field(default_factory=dict)
    refused: Mapping[TablePath, UnitFailure] = field(default_factory=dict)
    held: Mapping[TablePath, HeldChange] = field(default_factory=dict)
    swept: tuple[str, ...] = ()

    @property
    def splits(self) -> dict[str, tuple[Split, ...]]:
        """All splits of each vertex."""
        return {vertex: tuple(chain.from_iterable(one.splits for one in own)) for vertex, own in self.rounds.items()}

    def with_round(self, vertex: str, found: SplitRound) -> PreparedPipeline:
        """Add a round of splits."""
        return replace(self, rounds={**self.rounds, vertex: (*self.rounds[vertex], found)})

    def begun_log(self, vertex: str, record: CheckpointRecord) -> BegunLog:
        """The log of a vertex, at the place of a checkpoint."""
        split = self.splits[vertex][-1]
        states = (state_of(one.state) for subtask, one in record.snapshots.items() if subtask.vertex == vertex)
        places = (reading_of(state.reading).at.get(split.id) for state in states)
        return BegunLog(split, next(filter(None, places), None), self.rounds[vertex][-1].state)

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "setups": {node: setup_plain(setup) for node, setup in self.setups.items()},
            "rounds": {vertex: rounds_plain(rounds) for vertex, rounds in self.rounds.items()},
        }
        if self.left_out:
            plain["left_out"] = {vertex: _failure_plain(failure) for vertex, failure in self.left_out.items()}
        if self.tables:
            plain["tables"] = [table_plain(table) for table in self.tables.values()]
        if self.held:
            plain["held"] = [one.to_plain() for one in self.held.values()]
        if self.refused:
            plain["refused"] = [[path_plain(path), _failure_plain(why)] for path, why in self.refused.items()]
        return plain


def _failure_plain(failure: UnitFailure) -> dict[str, Any]:
    """Convert a failure to plain data, without its traceback."""
    return {**plain_data(failure), "kind": failure.kind.value, "trace": ""}


def _failure_of(plain: Mapping[str, Any]) -> UnitFailure:
    return UnitFailure(**{**plain, "kind": FailureKind(plain["kind"])})


def prepared_of(plain: Any) -> PreparedPipeline:
    """The inverse of ``PreparedPipeline.to_plain``, without enumerators."""
    setups = {node: setup_of(setup) for node, setup in plain["setups"].items()}
    rounds = {vertex: rounds_of(found) for vertex, found in plain["rounds"].items()}
    left_out = {vertex: _failure_of(one) for vertex, one in plain.get("left_out", {}).items()}
    tables = {one.schema.path: one for one in tables_in(plain)}
    refused = {TablePath(**path): _failure_of(why) for path, why in plain.get("refused", ())}
    held = {one.path: one for one in map(HeldChange.from_plain, plain.get("held", ()))}
    return PreparedPipeline(setups, rounds, left_out=left_out, tables=tables, refused=refused, held=held)


def held_in(plain: Any) -> tuple[HeldChange, ...]:
    """The changes in such plain data that wait for a decision."""
    return tuple(map(HeldChange.from_plain, (plain or {}).get("held", ())))


def refused_in(plain: Any) -> tuple[TablePath, ...]:
    """The tables in such plain data whose targets have refused a change."""
    return tuple(TablePath(**path) for path, _ in (plain or {}).get("refused", ()))


def tables_in(plain: Any) -> tuple[SourceTable, ...]:
    """The tables of a log in such plain data; empty for records of older versions."""
    return tuple(table_of(one) for one in (plain or {}).get("tables", ()))
