"""Reads the block ``store`` of the server's settings file: the database of its control plane.

The place is read from ``server.conf`` in SEATUNNEL_HOME only: all servers of a home, and the commands beside them, must
use the same database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from seatunnel_py.api.options import Options, Secret, option
from seatunnel_py.config.resolve import resolve_options
from seatunnel_py.config.shade import Secrets, literal_secrets
from seatunnel_py.config.tree import Node
from seatunnel_py.control.definition_text import REMEDY
from seatunnel_py.control.settings.settings_file import blocks_of
from seatunnel_py.control.store.places.postgres_store import LEASE_SECONDS, PostgresStore
from seatunnel_py.control.store.places.sqlite_file import SqliteFile, database_file
from seatunnel_py.control.store.places.store_place import POSTGRES, StorePlace
from seatunnel_py.errors import JobFileError, Problem, SeaTunnelError
from seatunnel_py.redaction import keep_secret

BLOCK = "store"
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class StoreOptions(Options):
    """The database of the server."""

    url: str = option(doc="its address: postgresql://USER@HOST:PORT/DATABASE, with further parameters of libpq")
    password: Secret | None = option(None, doc="of its user")
    schema_name: str = option("seatunnel", key="schema", doc="its tables are there; it is made if it is missing")
    lease_seconds: float = option(
        LEASE_SECONDS,
        ge=2,
        le=600,
        key="lease-seconds",
        doc="another server leads when the leader was away for so long; it renews its lease three times as often",
    )


def store_of(home: Path, environment: Mapping[str, str], given: Path | None = None) -> StorePlace:
    """The place of the database of a home; ``given``: another settings file of its server. Raises JobFileError with
    every mistake of the block, and for one in another file."""
    own = home / "server.conf"
    if given is not None and given.absolute() != own.absolute():
        other = blocks_of(given, environment).blocks.get(BLOCK)
        if other is not None:
            remedy = f"write it into {own}: the commands beside the server read it there, too"
            raise other.place.error("the store is in another settings file than that of the home", remedy=remedy)
    block = blocks_of(own, environment) if own.is_file() else None
    if block is None or BLOCK not in block.blocks:
        return SqliteFile(database_file(home))
    problems: list[Problem] = []
    found = read_store(block.blocks[BLOCK], block.secrets, problems)
    if found is None:
        raise JobFileError(tuple(problems))
    return found


def read_store(node: Node, secrets: Secrets, problems: list[Problem]) -> PostgresStore | None:
    """The store of this block; None: it is wrong, and its mistakes are added to ``problems``."""
    before = len(problems)
    for key, one in literal_secrets(node):
        problems.append(
            one.place.problem("a secret is written in the settings file", path=f"{BLOCK}.{key}", remedy=REMEDY)
        )
    options, found, _ = resolve_options(node, StoreOptions, path=BLOCK, secrets=secrets)
    problems += found
    if options is None or len(problems) > before:
        return None
    try:
        return _checked(options)
    except SeaTunnelError as error:
        problems.append(node.place.problem(error.message, path=BLOCK, remedy=error.remedy))
    return None


def _checked(options: StoreOptions) -> PostgresStore:
    """Raises SeaTunnelError."""
    form = "as in postgresql://seatunnel@db.example.com:5432/seatunnel"
    try:
        url = make_url(options.url)
    except (ArgumentError, ValueError):
        raise SeaTunnelError("the address of the store cannot be read", f"write it {form}") from None
    if url.drivername not in (POSTGRES, "postgres") or not url.database:
        raise SeaTunnelError("a store is a database of PostgreSQL", f"write it {form}; without `store` it is SQLite")
    if not _SCHEMA.fullmatch(options.schema_name):
        raise SeaTunnelError(f"{options.schema_name!r} cannot name a schema here", "use a-z, 0-9 and _")
    if options.password is not None:
        url = url.set(password=options.password.get_secret_value())
    keep_secret([url.password] if url.password else [])
    return PostgresStore(url, options.schema_name, options.lease_seconds)
