"""Settings of the server that are changed while it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from seatunnel_py.control.store.tables import SETTING


def value(connection: Connection, name: str, default: Any = None) -> Any:
    """The value of a setting: JSON-ready data."""
    found = connection.execute(select(SETTING.c.value).where(SETTING.c.name == name)).scalar()
    return default if found is None else json.loads(found)


def every(connection: Connection) -> Mapping[str, Any]:
    """All settings that were changed."""
    return {row.name: json.loads(row.value) for row in connection.execute(select(SETTING))}


def keep(connection: Connection, name: str, new: Any) -> None:
    """Set a setting; None: back to its default."""
    connection.execute(delete(SETTING).where(SETTING.c.name == name))
    if new is not None:
        connection.execute(insert(SETTING).values(name=name, value=json.dumps(new)))
