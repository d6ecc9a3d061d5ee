"""Save modes: treatment of an existing target, with SeaTunnel's names."""

from __future__ import annotations

from enum import StrEnum


class SchemaSaveMode(StrEnum):
    """Treatment of the target's structure before the first row."""

    CREATE_SCHEMA_WHEN_NOT_EXIST = "CREATE_SCHEMA_WHEN_NOT_EXIST"
    RECREATE_SCHEMA = "RECREATE_SCHEMA"
    ERROR_WHEN_SCHEMA_NOT_EXIST = "ERROR_WHEN_SCHEMA_NOT_EXIST"
    IGNORE = "IGNORE"


class DataSaveMode(StrEnum):
    """Treatment of rows that are already in the target."""

    APPEND_DATA = "APPEND_DATA"
    DROP_DATA = "DROP_DATA"
    CUSTOM_PROCESSING = "CUSTOM_PROCESSING"
    ERROR_WHEN_DATA_EXISTS = "ERROR_WHEN_DATA_EXISTS"
