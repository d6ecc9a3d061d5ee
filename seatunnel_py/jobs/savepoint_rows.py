"""The rows of a list of savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_py.errors import SeaTunnelError

if TYPE_CHECKING:
    from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
    from seatunnel_py.runtime.storage.savepoint_store import SavepointStore


def savepoint_rows(places: SavepointLocations) -> list[dict[str, Any]]:
    """All savepoints of these places, oldest first."""
    found = [_about(shelf, name) for shelf in places.all() for name in shelf.names()]
    return sorted(found, key=lambda one: one["taken"])


def _about(shelf: SavepointStore, name: str) -> dict[str, Any]:
    """A damaged savepoint must not hide the others."""
    try:
        plain = shelf.manifest(name)
    except SeaTunnelError as error:
        return {"name": name, "taken": 0.0, "job_id": "", "job_file": "", "tables": 0, "damaged": error.message}
    job = plain["job"]
    of = {"job_id": job["job_id"], "job_file": job["job_file"], "tables": len(plain["records"])}
    return {"name": name, "taken": plain["taken"], **of, "damaged": ""}
