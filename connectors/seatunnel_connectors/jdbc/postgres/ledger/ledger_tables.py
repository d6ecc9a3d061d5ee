"""Keeps two small tables in the target's schema, in which the target itself records what has arrived.

``seatunnel_piece`` has a row for each unit, written in the transaction of the unit's rows: a second attempt at the same
rows finds it and applies nothing. The record names the table that holds the rows (``staged``): the unit's own table by
name, the target by its oid, because another table may have its name at the time of the commit. The row without
``data_id`` does the same for units whose records are deleted. ``seatunnel_ledger`` has a row for each (lineage, step,
table): the last committed checkpoint, and the newest incarnation and epoch, which fence off older writers. A lineage
has ended when its driver reports that all tables of the job are done, not when its rows here are ``finished``. If
another table failed, a later driver repeats the last commits of all tables, and only these rows show that they are
done.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from seatunnel_connectors.jdbc.postgres.connection.session import literal, quote
from seatunnel_connectors.jdbc.target.unit_record import RecordedUnit
from seatunnel_py.api import CommitContext, WriteContext

LEDGER = "seatunnel_ledger"
PIECES = "seatunnel_piece"
OID = "oid "
_LOCK = 7_305_808_869_232_650_098  # "seatunnr": one session at a time creates schemas and the two tables


def create_schema(schema: str) -> str:
    """Create a schema under a lock: two sessions that do it at once collide in the catalog despite IF NOT EXISTS."""
    return f"SELECT pg_advisory_xact_lock({_LOCK}); CREATE SCHEMA IF NOT EXISTS {quote(schema)}"


def create(schema: str) -> str:
    """Statements that create both tables, under the same lock."""
    return f"""
        SELECT pg_advisory_xact_lock({_LOCK});
        CREATE TABLE IF NOT EXISTS {quote(schema, LEDGER)} (
            lineage text NOT NULL, step text NOT NULL, table_name text NOT NULL, job_id text NOT NULL,
            token text NOT NULL, last_checkpoint bigint, incarnation integer NOT NULL, epoch integer NOT NULL,
            rows bigint NOT NULL DEFAULT 0, source_position text, finished boolean NOT NULL DEFAULT false,
            committed_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz,
            PRIMARY KEY (lineage, step, table_name));
        CREATE TABLE IF NOT EXISTS {quote(schema, PIECES)} (
            token text NOT NULL, data_id text NOT NULL, subtask integer NOT NULL, incarnation integer NOT NULL,
            epoch integer NOT NULL, attempt integer NOT NULL, rows bigint NOT NULL, bytes bigint NOT NULL,
            merged bigint NOT NULL, source_position text, source_rows bigint NOT NULL DEFAULT 0, checkpoint bigint,
            staged text, vertex text NOT NULL DEFAULT '', number bigint GENERATED ALWAYS AS IDENTITY,
            written_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (token, data_id));
    """


def oid_of(schema: str, table: str) -> str:
    """SQL expression for the id of the table with this name. A rewrite, TRUNCATE or a rename do not change it."""
    return f"'{OID}' || to_regclass({literal(quote(schema, table))})::oid"


def _among(tokens: Sequence[str]) -> str:
    return f"token IN ({', '.join(map(literal, tokens))})"


@dataclass(frozen=True, slots=True)
class PostgresLedger:
    """Statements about one sink and table. ``token`` was drawn when the run was planned: it is the same for all
    attempts and restores of a run and different for every other run."""

    schema: str
    token: str
    table: str

    def insert_piece(self, context: WriteContext, recorded: RecordedUnit, staged: str) -> str:
        """Insert the unit's row. If the ledger has a newer writer, its attempt is null, which the table refuses, so the
        statement can be sent together with COMMIT. ``staged`` is an expression for the table with the unit's rows."""
        end = "NULL" if recorded.end is None else literal(json.dumps(recorded.end))
        return f"""
            INSERT INTO {quote(self.schema, PIECES)}
                (token, data_id, subtask, incarnation, epoch, attempt, rows, bytes, merged, source_position,
                 source_rows, staged, vertex)
            SELECT {literal(self.token)}, {literal(context.data_id)}, {context.subtask}, {context.incarnation},
                   {context.epoch}, CASE WHEN NOT EXISTS (
                       SELECT 1 FROM {quote(self.schema, LEDGER)} WHERE {self._row(context.lineage, context.step)}
                       AND (finished AND token = {literal(self.token)}
                            OR (incarnation, epoch) > ({context.incarnation}, {context.epoch}))
                   ) THEN {context.attempt} END,
                   {recorded.rows}, {recorded.bytes}, {recorded.merged}, {end}, {recorded.read},
                   {staged}, {literal(context.vertex)}
        """

    def select_piece(self, data_id: str) -> str:
        return f"""
            SELECT rows, bytes, merged, source_position, source_rows, staged, checkpoint
            FROM {quote(self.schema, PIECES)} WHERE token = {literal(self.token)} AND data_id = {literal(data_id)}
        """

    def raise_fence(self, job_id: str, lineage: str, step: str, incarnation: int, epoch: int) -> str:
        """Announce this incarnation and epoch, so that older writers are refused from now on."""
        return f"""
            INSERT INTO {quote(self.schema, LEDGER)} AS l
                (lineage, step, table_name, job_id, token, incarnation, epoch)
            VALUES ({literal(lineage)}, {literal(step)}, {literal(self.table)}, {literal(job_id)},
                    {literal(self.token)}, {incarnation}, {epoch})
            ON CONFLICT (lineage, step, table_name) DO UPDATE
            SET incarnation = excluded.incarnation, epoch = excluded.epoch, job_id = excluded.job_id, ended_at = NULL
            WHERE (l.incarnation, l.epoch) < (excluded.incarnation, excluded.epoch)
        """

    def last(self, context: CommitContext) -> str:
        """The last checkpoint of this lineage, in any set-up."""
        return (
            f"SELECT last_checkpoint FROM {quote(self.schema, LEDGER)} WHERE {self._row(context.lineage, context.step)}"
        )

    def others(self, context: CommitContext) -> str:
        """The job's other lineages."""
        return (
            f"SELECT lineage FROM {quote(self.schema, LEDGER)} WHERE {self._others(context)} ORDER BY committed_at DESC"
        )

    def end_others(self, context: CommitContext) -> str:
        """Refuse their writers from now on; returns token and rows of each."""
        ended = f"UPDATE {quote(self.schema, LEDGER)} SET finished = true"
        return f"{ended} WHERE {self._others(context)} RETURNING token, rows"

    def set_up_by(self, job: str) -> str:
        """Tokens of this job's runs that may have had no commit yet."""
        return (
            f"SELECT token FROM {quote(self.schema, PIECES)} WHERE data_id = '' AND vertex = {literal(job)} "
            f"AND token <> {literal(self.token)}"
        )

    def not_counted(self, tokens: Sequence[str]) -> str:
        """By token: rows in the target that no commit has counted yet, minus those counted by commits that still wait
        in separate tables."""
        here = f"starts_with(staged, {literal(OID)})"
        return f"""
            SELECT token, sum(CASE WHEN checkpoint IS NULL AND {here} THEN rows
                                   WHEN checkpoint > 0 AND NOT {here} THEN -rows ELSE 0 END)::bigint
            FROM {quote(self.schema, PIECES)} WHERE {_among(tokens)} GROUP BY token
        """

    def staged_by(self, tokens: Sequence[str]) -> str:
        """Tables beside targets that these runs have created: a token is part of the names."""
        names = f"__st_({'|'.join(tokens)})(_[0-9a-f]{{12}})?$"
        return f"""
            SELECT relname FROM pg_class
            WHERE relnamespace = {self._namespace} AND relkind = 'r' AND relname ~ {literal(names)}
        """

    def forget_runs(self, tokens: Sequence[str]) -> str:
        return f"DELETE FROM {quote(self.schema, PIECES)} WHERE {_among(tokens)}"

    def release_owner(self, context: CommitContext) -> str:
        """Mark other lineages as ended, without an owner."""
        return (
            f"UPDATE {quote(self.schema, LEDGER)} SET finished = true, job_id = '', "
            f"ended_at = coalesce(ended_at, now()) WHERE {self._others(context)}"
        )

    def _others(self, context: CommitContext) -> str:
        return (
            f"job_id = {literal(context.job_id)} AND step = {literal(context.step)} "
            f"AND table_name = {literal(self.table)} AND lineage <> {literal(context.lineage)}"
        )

    def lock(self, lineage: str, step: str) -> str:
        """Lock the ledger's row until the transaction ends. Returns last checkpoint of this set-up, and incarnation."""
        return f"""
            SELECT CASE WHEN token = {literal(self.token)} THEN last_checkpoint END, incarnation
            FROM {quote(self.schema, LEDGER)} WHERE {self._row(lineage, step)} FOR UPDATE
        """

    def named(self) -> str:
        """Tables of the units in checkpoints, in the order of staging: name, whether it exists, whether it has columns
        for row kinds, for rounds of rows with absent cells and for the order, and how many rows were staged in it."""
        kinds, rounds, order = (
            f"EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = '{name}')"
            for name in ("__st_kind", "__st_round", "__st_order")
        )
        return f"""
            SELECT p.staged, c.oid IS NOT NULL, {kinds}, {rounds}, {order}, p.rows - p.merged
            FROM {quote(self.schema, PIECES)} p
            LEFT JOIN pg_class c ON c.relname = p.staged AND c.relnamespace = {self._namespace}
            WHERE p.token = {literal(self.token)} AND p.checkpoint IS NOT NULL AND p.staged IS NOT NULL
            AND p.data_id <> ''
            ORDER BY p.number
        """

    def forget_named(self) -> str:
        return f"{self.forget_pieces()} AND checkpoint > 0"

    def staged_rows(self) -> str:
        """Number of rows that units have written to staging tables."""
        return (
            f"SELECT coalesce(sum(rows - merged), 0)::bigint FROM {quote(self.schema, PIECES)} "
            f"WHERE token = {literal(self.token)}"
        )

    def tables(self, prefix: str) -> str:
        """Every table whose name has this prefix."""
        return f"""
            SELECT relname FROM pg_class
            WHERE relnamespace = {self._namespace} AND relkind = 'r' AND starts_with(relname, {literal(prefix)})
        """

    @property
    def _namespace(self) -> str:
        return f"to_regnamespace({literal(quote(self.schema))})"

    def unnamed(self) -> str:
        """Pieces in the target that are in no checkpoint."""
        return f"""
            SELECT data_id FROM {quote(self.schema, PIECES)}
            WHERE token = {literal(self.token)} AND checkpoint IS NULL ORDER BY data_id LIMIT 5
        """

    def forget_piece(self, data_id: str, staged: str) -> str:
        """Delete the record for another attempt; has no effect if yet another attempt was faster."""
        return f"{self.forget_pieces()} AND data_id = {literal(data_id)} AND coalesce(staged, '') = {literal(staged)}"

    def forget_unit(self, data_id: str) -> str:
        """Delete the record of a unit, in the transaction that has written it."""
        return f"{self.forget_pieces()} AND data_id = {literal(data_id)}"

    def forget_pieces(self) -> str:
        return f"DELETE FROM {quote(self.schema, PIECES)} WHERE token = {literal(self.token)}"

    def claim_table(self, job: str) -> str:
        """Insert a record without rows: this run of a job (``unit_record.of_job``) has set up its target, and its other
        tables are in use."""
        return f"""
            INSERT INTO {quote(self.schema, PIECES)}
                (token, data_id, subtask, incarnation, epoch, attempt, rows, bytes, merged, checkpoint, vertex)
            VALUES ({literal(self.token)}, '', 0, 0, 0, 0, 0, 0, 0, 0, {literal(job)}) ON CONFLICT DO NOTHING
        """

    def end(self, context: CommitContext) -> str:
        """End the whole lineage, unless a later driver has continued it."""
        return (
            f"UPDATE {quote(self.schema, LEDGER)} SET ended_at = now() "
            f"WHERE lineage = {literal(context.lineage)} AND incarnation <= {context.incarnation} AND ended_at IS NULL"
        )

    def sweep(self, keep_days: int) -> str:
        """Delete lineages whose rows all ended so long ago that they will not be restored."""
        ledger, old = quote(self.schema, LEDGER), f"ended_at < now() - interval '{keep_days} days'"
        return f"""
            DELETE FROM {ledger} WHERE {old} AND lineage IN (
                SELECT lineage FROM {ledger} GROUP BY lineage HAVING bool_and(coalesce({old}, false)))
        """

    def abandoned(self, shadow_pattern: str) -> str:
        """Shadows of one table whose runs have written nothing for a day: (name, token)."""
        return f"""
            SELECT c.relname, right(c.relname, 8) FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = {literal(self.schema)}
            WHERE c.relkind = 'r' AND c.relname ~ {literal(shadow_pattern)} AND NOT EXISTS (
                SELECT 1 FROM {quote(self.schema, PIECES)} p WHERE p.token = right(c.relname, 8)
                AND p.written_at > now() - interval '1 day')
        """

    def _row(self, lineage: str, step: str) -> str:
        return f"lineage = {literal(lineage)} AND step = {literal(step)} AND table_name = {literal(self.table)}"
