"""Fields of a row of text or csv beyond its columns."""

from __future__ import annotations

from enum import StrEnum


class SurplusFields(StrEnum):
    """What becomes of them."""

    REFUSE = "refuse"
    DROP = "drop"

    def notes(self, form: str | None) -> tuple[str, ...]:
        """What `plan` and the receipt say of a table in this format."""
        drops = self is SurplusFields.DROP and form in ("text", "csv")
        return ("fields beyond the columns of a row are dropped, and not counted (surplus_fields = drop)",) * drops
