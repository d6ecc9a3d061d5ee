"""Fills a shadow table, which takes the target's name at the end by one RENAME TABLE.

DDL ends a transaction here, so the ledger alone cannot show whether the rename has happened: a driver may die between
the rename and the ledger's COMMIT. The proof is the name, and a mark at the end of the table's comment: lineage,
checkpoint, and the token of the run.

Rules. (1) The shadow is marked before it is renamed, and the mark is removed after the ledger has committed. A later
session finds the shadow under its own name (not renamed), or a target with this very mark (renamed), or neither, which
is a loss and never a success (I31). (2) All names contain the run's token, so that a late statement of an older driver
finds nothing to rename. (3) The old table is dropped last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import pymysql

from seatunnel_connectors.jdbc import failpoints
from seatunnel_connectors.jdbc.mysql.connection.session import quote
from seatunnel_connectors.jdbc.mysql.write.rename_blockers import shape, ties
from seatunnel_connectors.jdbc.statements.ledger_tables import StatementLedger
from seatunnel_connectors.jdbc.statements.load_plan import EMPTIED, StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_py.api import CannotResumeError, CommitContext, FatalError, RetriableError

COMMENT_MAX = 2048
TRIES = 3
_OLD = "_old"
_MARK = re.compile(r" ?\[seatunnel (\S+) (\d+) ([0-9a-f]{8})\]$")
_REFERRED_TO = (1217, 1451, 3730)
_MOVED = (1050, 1146)
"""Another session has renamed in between: one name is taken, or the other is missing."""


@dataclass(frozen=True, slots=True)
class ShadowComments:
    """Comments of target and shadow now; None: there is no such table."""

    target: str | None
    shadow: str | None


class ShadowStep(StrEnum):
    """The next step until the target is the shadow."""

    SWAP = "the target goes aside for it"
    TAKE = "its name is free"
    ADD = "another session has created a table of that name, which takes its rows"
    NOTHING = "it is"
    LOST = "there is neither"


def following(seen: ShadowComments, mark: str, *, replaces: bool) -> ShadowStep:
    """Decide by rule 1."""
    if seen.target is not None and seen.target.endswith(mark):
        return ShadowStep.NOTHING
    if seen.shadow is None:
        return ShadowStep.LOST
    if seen.target is None:
        return ShadowStep.TAKE
    return ShadowStep.SWAP if replaces else ShadowStep.ADD


def mark_of(load: StatementLoad, context: CommitContext) -> str:
    """Mark at the end of the comment between the rename and the end."""
    return f"[seatunnel {context.lineage} {context.checkpoint} {load.token}]"


def marked(comment: str, mark: str) -> str:
    """The comment with the mark, shortened to make room; the complete one returns when the mark is removed."""
    return f"{comment[: COMMENT_MAX - len(mark) - 1]} {mark}" if comment else mark


def without_mark(comment: str) -> str:
    """The user's comment without any mark."""
    return _MARK.sub("", comment)


def token_in(comment: str | None) -> str:
    """Token of the mark in a comment; empty: none."""
    found = _MARK.search(comment or "")
    return found.group(3) if found else ""


def old_name(load: StatementLoad) -> str:
    return load.staging + _OLD


def look(session: StatementSession, load: StatementLoad) -> ShadowComments:
    """Compare names as the server does: without letter case it returns them in lower case."""
    rows = session.ask(
        "SELECT table_name, table_comment, @@lower_case_table_names FROM information_schema.tables "
        "WHERE table_schema = %s AND table_name IN (%s, %s)",
        (load.database, load.table, load.staging),
    )
    found = {(name.lower() if plain else name): comment for name, comment, plain in rows}
    plain = any(row[2] for row in rows)
    target, shadow = (name.lower() if plain else name for name in (load.table, load.staging))
    return ShadowComments(found.get(target), found.get(shadow))


def take_place(
    session: StatementSession, load: StatementLoad, context: CommitContext, rows: int, begin_anew: str
) -> bool:
    """Do all remaining steps, in a session of its own, because it commits. Return False if another sink has created the
    target, so that the rows must be added to it. Raise LOST if the shadow does not hold the ``rows`` that units have
    written to it."""
    mark = mark_of(load, context)
    for _ in range(TRIES):
        step = following(look(session, load), mark, replaces=bool(load.replaces))
        if step is ShadowStep.NOTHING:
            return True
        if step is ShadowStep.LOST:
            raise CannotResumeError(
                f"table {load.table}: its staging table {load.staging} is gone, and {load.table} has no "
                f"mark that it was the staging table: the rows are lost",
                begin_anew,
            )
        _expect_rows(session, load, rows, begin_anew)
        if step is ShadowStep.ADD:
            return False
        if step is ShadowStep.SWAP:
            _refuse_ties(session, load)
        try:
            _rename(session, load, mark, aside=step is ShadowStep.SWAP)
            return True
        except pymysql.Error as error:
            if not error.args or error.args[0] not in _MOVED:
                raise
    raise RetriableError(
        f"table {load.table}: another session renames it at the same time",
        f"check for a leftover table {old_name(load)}",
    )


def _expect_rows(session: StatementSession, load: StatementLoad, rows: int, begin_anew: str) -> None:
    found = int(session.ask(f"SELECT COUNT(*) FROM {quote(load.database, load.staging)}")[0][0])
    if found != rows:
        raise conservation.lost_rows(load.shown, f"{load.database}.{load.staging}", rows, found, begin_anew)


def _refuse_ties(session: StatementSession, load: StatementLoad) -> None:
    kept = load.replaces == EMPTIED
    found = ties(session, load.database, load.table, kept=kept)
    if kept and shape(session, load.database, load.table) != shape(session, load.database, load.staging):
        found = (*found, "the change of its columns or indexes")
    if found:
        raise FatalError(
            f"table {load.table}: since the job was planned it has got what another table in its place would lose: "
            f"{', '.join(found)}",
            "remove that and run the job again with --restore latest; or run it with --fresh",
        )


def _rename(session: StatementSession, load: StatementLoad, mark: str, *, aside: bool) -> None:
    target, shadow = (quote(load.database, name) for name in (load.table, load.staging))
    _set_comment(session, load.database, load.staging, marked(load.comment, mark))
    failpoints.MYSQL_COMMENTED.hit()
    session.run(f"RENAME TABLE {_aside(load)}{shadow} TO {target}" if aside else f"RENAME TABLE {shadow} TO {target}")
    failpoints.MYSQL_RENAMED.hit()


def _aside(load: StatementLoad) -> str:
    return f"{quote(load.database, load.table)} TO {quote(load.database, old_name(load))}, "


def statement(load: StatementLoad) -> str:
    """The rename statement, for display."""
    return f"RENAME TABLE {_aside(load)}{quote(load.database, load.staging)} TO {quote(load.database, load.table)}"


def tidy(session: StatementSession, load: StatementLoad) -> None:
    """Clean up after the ledger's COMMIT; can be repeated."""
    try:
        session.run(f"DROP TABLE IF EXISTS {quote(load.database, old_name(load))}")
    except pymysql.Error as error:
        if not error.args or error.args[0] not in _REFERRED_TO:
            raise
        raise FatalError(
            f"table {load.table} has arrived, but {old_name(load)}, which it was before, cannot be dropped: "
            f"{error.args[-1]}",
            f"the foreign key of a table that this user may not see refers to it: let it refer to {load.table}",
        ) from error
    session.run(f"DROP TABLE IF EXISTS {quote(load.database, load.staging)}")
    failpoints.MYSQL_DROPPED.hit()
    target = look(session, load).target
    if target is not None and token_in(target) == load.token:
        now = without_mark(target)  # the user may have changed it since, or it was shortened for the mark
        _set_comment(session, load.database, load.table, load.comment if load.comment.startswith(now) else now)


def drop_unmarked(session: StatementSession, load: StatementLoad) -> None:
    """Drop the shadow of an abandoned run. A shadow or target with its mark belongs to a completed checkpoint (I33),
    and stays."""
    seen = look(session, load)
    if load.token not in (token_in(seen.target), token_in(seen.shadow)):
        session.run(f"DROP TABLE IF EXISTS {quote(load.database, load.staging)}")


def _set_comment(session: StatementSession, database: str, table: str, comment: str) -> None:
    # The driver substitutes values itself, after "%".
    session.run(f"ALTER TABLE {quote(database, table).replace('%', '%%')} COMMENT = %s", (comment,))


def sweep(session: StatementSession, books: StatementLedger, load: StatementLoad, prefix: str) -> None:
    """Drop leftovers of runs into this table that were not resumed. If the ledger shows that a run has ended, its
    writers are refused. A run that the ledger does not know had no checkpoint yet; it counts as active if it has
    written within the last day."""
    pattern = re.compile(re.escape(prefix) + rf"([0-9a-f]{{8}})({_OLD})?", re.IGNORECASE)
    names = session.ask(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND left(table_name, %s) = %s",
        (load.database, len(prefix), prefix),
    )
    left = {name: found.group(1) for (name,) in names if (found := pattern.fullmatch(name))}
    for name, token in left.items():
        ended = books.has_ended(session, token)
        if token == load.token or ended is False or (ended is None and not _is_idle(session, load.database, name)):
            continue
        session.run(f"DROP TABLE IF EXISTS {quote(load.database, name)}")
        books.of(token).forget_all(session)


def _is_idle(session: StatementSession, database: str, table: str) -> bool:
    rows = session.ask(
        "SELECT greatest(create_time, coalesce(update_time, create_time)) < now() - INTERVAL 1 DAY "
        "FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
        (database, table),
    )
    return bool(rows and rows[0][0])
