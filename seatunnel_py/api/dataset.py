"""Names data in the same way as other systems do, for lineage events."""

from __future__ import annotations

from dataclasses import dataclass

PORTS = {"postgres": 5432, "mysql": 3306}


@dataclass(frozen=True, slots=True, order=True)
class Dataset:
    """Data outside of the job, after the naming rules of OpenLineage. ``namespace``: the server or the store, such as
    ``postgres://host:5432``; ``name``: the table, topic or path there. Neither holds a user, a password or a query."""

    namespace: str
    name: str

    @classmethod
    def of_server(cls, scheme: str, host: str, port: int, *names: str) -> Dataset:
        """A table, or another named thing, of a server. A port of 0 is the usual one of the scheme."""
        port = port or PORTS.get(scheme, 0)
        authority = f"[{host}]" if ":" in host else host.lower()
        return cls(f"{scheme}://{authority}{f':{port}' if port else ''}", ".".join(filter(None, names)))
