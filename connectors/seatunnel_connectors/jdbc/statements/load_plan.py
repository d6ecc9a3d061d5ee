"""Holds the decisions of a sink that writes by statements: plain data for every writer and the committer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, cast

from seatunnel_connectors.jdbc.target import conservation
from seatunnel_connectors.jdbc.target.load_decision import SHADOW, STAGED, TABLE
from seatunnel_py.api import Plain, WriteContext

EMPTIED = "emptied"
RECREATED = "recreated"


@dataclass(frozen=True, slots=True)
class StatementLoad:
    """How rows get into the target. ``how`` is STAGED (units fill the table ``staging``, commits add its rows to the
    target), SHADOW (units fill ``staging``, which takes the target's name at the end) or TABLE (units write to the
    target). ``renew``: statements that destroy existing data, ``prepare``: statements that may be repeated.
    ``at_end``: staged rows wait for the last checkpoint; ``booked``: a ledger existed before.
    ``versioned_by``: see ``version_column``. ``replaces``: effect of a shadow on an existing table (EMPTIED,
    RECREATED; empty: there is none); ``comment``: comment of the table. ``sources``: columns of the rows for ``names``;
    empty in a set-up of an older version. ``required``: names whose columns do not allow nulls.
    ``told_by``: identity of the target, which a later table of its name does not have
    (``TargetDialect.told_by``); empty if not needed, or not available. ``fresh``: the target is empty before the
    first unit. ``types``: types of ``names``; ``rewritten``: columns that ``ColumnFit`` tests or converts.
    ``inexact``: columns of ``key`` in which the target may take different texts for equal. ``other_keys``: the target
    has unique keys beside ``key``, and the database updates by any of them. ``whole``: see ``ColumnFit``.
    ``keeps_masks``: ``staging`` has columns for rows with absent cells (``partial_rows``); not in a set-up of an older
    version. ``recorded``: a unit leaves a record; a repair leaves none."""

    database: str
    table: str
    token: str
    names: tuple[str, ...]
    key: tuple[str, ...]
    upsert: bool
    books: bool
    renew: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    how: str = TABLE
    staging: str = ""
    at_end: bool = False
    booked: bool = False
    versioned_by: str = ""
    replaces: str = ""
    comment: str = ""
    sources: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    told_by: str = ""
    fresh: bool = False
    types: tuple[str, ...] = ()
    rewritten: tuple[tuple[Plain, ...], ...] = ()
    inexact: tuple[str, ...] = ()
    other_keys: bool = False
    whole: tuple[str, ...] = ()
    keeps_masks: bool = False
    recorded: bool = True

    @property
    def shows_early(self) -> bool:
        """True if rows are visible in the target before the last commit of a run."""
        return self.how == TABLE or (self.how == STAGED and not self.at_end)

    @property
    def shown(self) -> str:
        """The target's name for display."""
        return ".".join(filter(None, (self.database, self.table)))

    def restart_remedy(self, empty: str) -> str:
        """Remedy after a loss; ``empty`` is the statement that empties the target."""
        return conservation.begin_anew(self.shown, empty, visible=self.shows_early)

    @property
    def into(self) -> str:
        """The table that units write to, if their rows are not separated by unit."""
        return self.staging if self.how == SHADOW else self.table

    def unit(self, context: WriteContext) -> str:
        """Name under which this attempt stages its rows: different for every attempt."""
        if self.how != STAGED:
            return ""
        who = (context.data_id, context.incarnation, context.epoch, context.attempt)
        return blake2b(repr(who).encode(), digest_size=12).hexdigest()

    def to_plain(self) -> dict[str, Plain]:
        return cast(
            "dict[str, Plain]", {**{field.name: getattr(self, field.name) for field in fields(self)}, "version": 1}
        )


def load_of(data: Any) -> StatementLoad:
    """Parse the result of ``Load.to_plain``."""
    fields = {key: value for key, value in dict(data).items() if key != "version"}
    for name in ("names", "key", "renew", "prepare", "sources", "required", "types", "rewritten", "inexact", "whole"):
        fields[name] = tuple(fields.get(name, ()))
    return StatementLoad(**fields)
