"""Versions of a table whose log changes its schema at some rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seatunnel_py.api import SchemaChange, Setup

VERSION = "version"


@dataclass(frozen=True)
class SchemaChanges:
    """``places``: rows of the log from which on the table has another schema."""

    places: tuple[int, ...] = ()

    def version_of(self, row: int) -> int:
        return sum(place <= row for place in self.places)

    def end_of(self, version: int) -> int | None:
        """The first row of the next version; None: there is none."""
        return self.places[version] if version < len(self.places) else None


def altered_for(change: SchemaChange, setup: Setup) -> Setup:
    """The set-up for units of the next version."""
    return replace(setup, data={**setup.data, VERSION: int(change.after.options[VERSION])})
