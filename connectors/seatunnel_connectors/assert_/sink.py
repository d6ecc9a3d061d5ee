"""Checks rows with Assert: values in the workers, counts on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seatunnel_connectors.assert_.catalog import broken_rules
from seatunnel_connectors.assert_.counts import RowCounts
from seatunnel_connectors.assert_.options import RowRule, RowRuleType, RuleSet
from seatunnel_connectors.assert_.values import FieldCheck
from seatunnel_py.api import (
    Batch,
    CommitContext,
    Committer,
    FatalError,
    Piece,
    RowKind,
    Setup,
    Sink,
    TableSchema,
    WriteContext,
    Writer,
    counted,
    failpoint,
    shown_rows,
)
from seatunnel_py.formats.row_text import row_text, text_of

BEFORE = failpoint("assert.commit.before", "Rows of a commit are not counted.")
AFTER = failpoint("assert.commit.after", "Rows of a commit are counted; the coordinator has not heard.")
ROW_CHARACTERS_MAX = 1000  # of a row in an error message


@dataclass(frozen=True, slots=True)
class AssertSink(Sink):
    rule_set: RuleSet
    table: TableSchema
    checks: tuple[FieldCheck, ...]

    @property
    def target(self) -> str:
        return "the assertion"

    def plan_setup(self) -> Setup:
        rules = self.rule_set.of(self.table.path.full_name)
        named = getattr(rules, "table_path", self.table.path.full_name)
        if rules.catalog_table_rule is not None and named == self.table.path.full_name:
            broken = broken_rules(rules.catalog_table_rule, self.table)
            if broken:
                raise FatalError(f"Assert: table {self.table.path} breaks catalog_table_rule: {'; '.join(broken)}")
        return Setup()

    def open(self, context: WriteContext) -> Writer:
        return AssertWriter(self)

    def committer(self) -> Committer:
        return AssertCommitter(self.rule_set)


class AssertWriter(Writer):
    def __init__(self, sink: AssertSink) -> None:
        self.sink = sink
        self.tables: Counter[str] = Counter()
        self.bytes = 0

    def write(self, batch: Batch) -> None:
        self.tables[batch.table.full_name] += batch.rows
        self.bytes += batch.data.nbytes
        first: tuple[int, FieldCheck] | None = None
        for check in self.sink.checks:
            mask = check.broken(batch.data.column(check.column.name))
            at = -1 if mask is None else mask.index(True).as_py()
            if at >= 0 and (first is None or at < first[0]):
                first = at, check
        if first is not None:
            raise _failure(self.sink.table, batch, *first)

    def stage(self) -> Piece:
        return Piece(self.tables.total(), self.bytes, data={"tables": dict(self.tables)})

    def abort(self) -> None:
        self.tables.clear()


def _failure(table: TableSchema, batch: Batch, at: int, check: FieldCheck) -> FatalError:
    (row,) = shown_rows(batch.data.slice(at, 1))
    kind = RowKind(batch.kinds[at].as_py() if batch.kinds is not None else 0)
    shown = row_text([row[name] for name in table.names], [column.dtype for column in table.columns])
    if len(shown) > ROW_CHARACTERS_MAX:
        shown = shown[:ROW_CHARACTERS_MAX] + "…"
    value = text_of(row[check.column.name], check.column.dtype)[:ROW_CHARACTERS_MAX]
    return FatalError(
        f"Assert: table {batch.table}: row [{shown}] ({kind.name}) fails rule {check.text} "
        f"of field {check.column.name!r}: its value is {value}, of type {check.column.dtype}"
    )


class AssertCommitter(Committer):
    """Checks rules over all tables and all commits: row counts, and which tables had rows."""

    def __init__(self, rule_set: RuleSet) -> None:
        self.rule_set = rule_set

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        BEFORE.hit()
        counts = RowCounts(context)
        rows = counts.before(context.checkpoint) + _rows(pieces)
        counts.keep(context.checkpoint, rows)
        self._check_rows(rows, RowRuleType.MAX_ROW)
        if context.final:
            self._check_rows(rows, RowRuleType.MIN_ROW)
            self._check_tables(set(rows))
        AFTER.hit()

    def _check_rows(self, rows: Mapping[str, int], wanted: RowRuleType) -> None:
        entries = self.rule_set.tables_configs
        if len(entries) > 1:
            for entry in entries:
                _check_count(rows.get(entry.table_path, 0), f"table {entry.table_path}", entry.row_rules, wanted)
        else:
            rules = entries[0].row_rules if entries else self.rule_set.row_rules
            tables = f" of {', '.join(sorted(rows))}" if rows else ""
            _check_count(sum(rows.values()), f"all rows{tables}", rules, wanted)

    def _check_tables(self, seen: set[str]) -> None:
        wanted = set(self.rule_set.table_names)
        if wanted and wanted != seen:
            raise FatalError(
                f"Assert: rows came of the tables {', '.join(sorted(seen)) or 'none'}; "
                f"table-names wants {', '.join(sorted(wanted))}"
            )


def _rows(pieces: Sequence[Piece]) -> Counter[str]:
    rows: Counter[str] = Counter()
    for piece in pieces:
        tables = piece.data["tables"]
        assert isinstance(tables, Mapping)
        for table, count in tables.items():
            assert isinstance(count, int)
            rows[table] += count
    return rows


def _check_count(count: int, what: str, rules: Sequence[RowRule], wanted: RowRuleType) -> None:
    for rule in rules:
        least = rule.rule_type is RowRuleType.MIN_ROW
        if rule.rule_type is wanted and (count < rule.rule_value if least else count > rule.rule_value):
            fail = f"{counted(count, 'row')} {'fails' if count == 1 else 'fail'}"
            raise FatalError(f"Assert: {what}: {fail} rule {rule.rule_type.value} {rule.rule_value:g}")
