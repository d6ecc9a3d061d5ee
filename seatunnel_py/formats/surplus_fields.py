"""Defines the option for surplus fields in rows of text or csv."""

from __future__ import annotations

from enum import StrEnum


class SurplusFields(StrEnum):
    """Action for surplus fields."""

    REFUSE = "refuse"
    DROP = "drop"

    def notes(self, form: str | None) -> tuple[str, ...]:
        """Notes in `plan` and the receipt for a table in this format."""
        drops = self is SurplusFields.DROP and form in ("text", "csv")
        return ("fields beyond the columns of a row are dropped, and not counted (surplus_fields = drop)",) * drops
