"""Describes the ledger entries for the commits of many tables, and builds the statements that write all of them at
once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc.postgres.connection.session import literal, quote
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import LEDGER, PIECES, oid_of
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.target.load_decision import SHADOW, STAGED
from seatunnel_connectors.jdbc.target.unit_record import data_ids, lives
from seatunnel_py.api import CommitContext, Piece


@dataclass(frozen=True, slots=True)
class Entry:
    """One table's commit. ``taken_off``: units whose records are no longer needed; ``marked``: units whose records
    stay, as part of this checkpoint. ``lives``: the newest execution of each vertex; writers of older ones are
    refused. ``seen``: the rows are in the target itself. ``ends``: no record is needed any longer. ``shows``: rows of
    this run are in the target before its last commit, so the table must stay the same."""

    load: Load
    table: str
    context: CommitContext
    rows: int
    taken_off: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    lives: tuple[tuple[str, int, int], ...] = ()
    seen: bool = False
    ends: bool = False
    shows: bool = False

    @property
    def shown(self) -> str:
        return self.load.shown

    @property
    def token(self) -> str:
        return self.load.token

    @property
    def names_units(self) -> bool:
        return bool(self.taken_off or self.marked)

    @property
    def row(self) -> tuple[str, str]:
        """Key in the ledger, besides the lineage."""
        return self.context.step, self.table


def entry_of(load: Load, table: str, pieces: Sequence[Piece], context: CommitContext) -> Entry:
    """The ledger entry for these pieces. If units write to the target itself, records in a checkpoint are needed only
    by late attempts."""
    names, rows = data_ids(pieces), sum(piece.rows for piece in pieces)
    newest = tuple((vertex, *life) for vertex, life in lives(pieces).items())
    shows = bool(load.into) and load.how != SHADOW and not (load.how == STAGED and load.at_end)
    entry = Entry(load, table, context, rows, lives=newest, shows=shows)
    if load.how in (SHADOW, STAGED):
        return replace(entry, marked=tuple(names), lives=newest if load.how == STAGED else ())
    contested = set(data_ids([piece for piece in pieces if piece.data["contested"]]))
    plain = tuple(name for name in names if name not in contested)
    return replace(entry, taken_off=plain, marked=tuple(sorted(contested)), seen=True, ends=context.final)


@dataclass(frozen=True, slots=True)
class EntryStatements:
    """Statements about all these tables; a driver has one lineage, incarnation and job id for all of them."""

    schema: str
    entries: Sequence[Entry]

    @property
    def _who(self) -> CommitContext:
        return self.entries[0].context

    def lock(self) -> str:
        """Lock the rows in a fixed order, so that no two sessions deadlock. Returns checkpoint of this set-up, and
        incarnation."""
        wanted = (f"({literal(one.context.step)}, {literal(one.table)}, {literal(one.token)})" for one in self.entries)
        return f"""
            SELECT l.step, l.table_name, CASE WHEN l.token = w.token THEN l.last_checkpoint END, l.incarnation
            FROM {quote(self.schema, LEDGER)} l JOIN (VALUES {", ".join(wanted)}) AS w (step, table_name, token)
            ON l.step = w.step AND l.table_name = w.table_name
            WHERE l.lineage = {literal(self._who.lineage)} ORDER BY l.step, l.table_name FOR UPDATE OF l
        """

    def places(self, entries: Iterable[Entry]) -> str:
        """By token: the table with the target's name now, and the one of earlier commits."""
        wanted = ", ".join(f"({literal(one.token)}, {oid_of(one.load.schema, one.load.table)})" for one in entries)
        return f"""
            SELECT w.token, w.place, p.staged FROM (VALUES {wanted}) AS w (token, place)
            LEFT JOIN {quote(self.schema, PIECES)} p ON p.token = w.token AND p.data_id = ''
        """

    def remember(self, entries: Iterable[Entry]) -> str:
        """Record the table with this run's rows for later commits, since the units' own records are deleted."""
        wanted = ", ".join(
            f"({literal(one.token)}, '', 0, 0, 0, 0, 0, 0, 0, 0, {oid_of(one.load.schema, one.load.table)})"
            for one in entries
        )
        return f"""
            INSERT INTO {quote(self.schema, PIECES)} AS p
                (token, data_id, subtask, incarnation, epoch, attempt, rows, bytes, merged, checkpoint, staged)
            VALUES {wanted} ON CONFLICT (token, data_id) DO UPDATE SET staged = excluded.staged WHERE p.staged IS NULL
        """

    def take_off(self, entries: Iterable[Entry]) -> str:
        """By token: the number of records and rows per table. A record that stays belongs from now on to the execution
        whose checkpoint contains it: attempts of that execution may still come."""
        named = (
            f"({literal(one.token)}, {literal(name)}, {one.context.checkpoint}, {str(stays).lower()}, {life})"
            for one in entries
            for life in [", ".join(map(str, max((life for _, *life in one.lives), default=[0, 0])))]
            for names, stays in ((one.taken_off, False), (one.marked, True))
            for name in names
        )
        pieces = quote(self.schema, PIECES)
        later = "(w.incarnation, w.epoch) > (p.incarnation, p.epoch)"
        return f"""
            WITH w (token, data_id, checkpoint, stays, incarnation, epoch) AS (VALUES {", ".join(named)}),
                 gone AS (DELETE FROM {pieces} p USING w
                          WHERE p.token = w.token AND p.data_id = w.data_id AND NOT w.stays
                          RETURNING p.token, p.rows, p.staged),
                 kept AS (UPDATE {pieces} p SET checkpoint = coalesce(p.checkpoint, w.checkpoint),
                              incarnation = CASE WHEN {later} THEN w.incarnation ELSE p.incarnation END,
                              epoch = CASE WHEN {later} THEN w.epoch ELSE p.epoch END
                          FROM w WHERE p.token = w.token AND p.data_id = w.data_id AND w.stays
                          RETURNING p.token, p.rows, p.staged)
            SELECT token, count(*), sum(rows)::bigint, array_agg(DISTINCT staged)
            FROM (SELECT * FROM gone UNION ALL SELECT * FROM kept) AS one GROUP BY token
        """

    def forget_overtaken(self, entries: Iterable[Entry]) -> str:
        """Delete leftovers of older executions of a vertex; returns their tables. For visible rows, delete the records
        of late attempts: once in a checkpoint they cannot come any more, before that the unit may be read again. For
        staged rows, delete those outside of any checkpoint: a piece of a later execution is in one, so all pieces in
        checkpoints of older ones are marked by then, or are about to be."""
        newest = (
            f"({literal(one.token)}, {literal(vertex)}, {incarnation}, {epoch}, {str(one.seen).lower()})"
            for one in entries
            for vertex, incarnation, epoch in one.lives
        )
        return f"""
            DELETE FROM {quote(self.schema, PIECES)} p
            USING (VALUES {", ".join(newest)}) AS w (token, vertex, incarnation, epoch, seen)
            WHERE p.token = w.token AND p.vertex = w.vertex AND (p.checkpoint IS NOT NULL) = w.seen
            AND (p.incarnation, p.epoch) < (w.incarnation, w.epoch) AND p.data_id <> ''
            RETURNING CASE WHEN NOT w.seen THEN p.staged END
        """

    def forget(self, entries: Iterable[Entry]) -> str:
        tokens = ", ".join(literal(one.token) for one in entries)
        return f"DELETE FROM {quote(self.schema, PIECES)} WHERE token IN ({tokens})"

    def record(self) -> str:
        """Write the checkpoints into the ledger; a row that is not affected belongs to a newer driver."""
        who = self._who
        same = f"{literal(who.lineage)}, {literal(who.job_id)}, {who.incarnation}, 0"
        rows = (
            f"({same}, {literal(one.context.step)}, {literal(one.table)}, {literal(one.token)}, "
            f"{one.context.checkpoint}, {one.rows}, {str(one.context.final).lower()})"
            for one in self.entries
        )
        return f"""
            INSERT INTO {quote(self.schema, LEDGER)} AS l
                (lineage, job_id, incarnation, epoch, step, table_name, token, last_checkpoint, rows, finished)
            VALUES {", ".join(rows)}
            ON CONFLICT (lineage, step, table_name) DO UPDATE
            SET last_checkpoint = excluded.last_checkpoint, token = excluded.token,
                rows = excluded.rows + CASE WHEN l.token = excluded.token THEN l.rows ELSE 0 END,
                incarnation = greatest(l.incarnation, excluded.incarnation),
                finished = excluded.finished, committed_at = now()
            WHERE l.incarnation <= excluded.incarnation
        """
