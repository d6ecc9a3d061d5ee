"""Stores checkpoints in a database, through SQLAlchemy: ``postgresql://``, ``mysql://``, ``mariadb://``,
``sqlite:///…``

All jobs share one table, ``seatunnel_checkpoint``; its primary key ensures that a name is created once. Appending adds
further rows of a name. Every call is one transaction. If the server does not answer in time, the call fails and its
connection is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from seatunnel_py.api import RetriableError, Storage, make_private_file, reachable_addresses, redacted_text, silence

DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
CONNECT_SECONDS = 10
ANSWER_SECONDS = 30  # calls are small; ``read_timeout`` in the URL overrides it
DATA_BYTES_MAX = 2**32 - 1  # makes MySQL use its largest type
TABLE = sa.Table(
    "seatunnel_checkpoint",
    sa.MetaData(),
    sa.Column("job", sa.String(100), primary_key=True),
    sa.Column("name", sa.String(100), primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("data", sa.LargeBinary(DATA_BYTES_MAX), nullable=False),
)
T = TypeVar("T")


def open_storage(url: str, job_id: str) -> Storage:
    """The storage of a job in that database."""
    made = sa.make_url(url)
    made = made.set(drivername=DRIVERS.get(made.drivername, made.drivername))
    seconds = int(str(made.query.get("read_timeout", ANSWER_SECONDS)))
    made = made.difference_update_query(["read_timeout"])
    limits = {name: value for name, value in _limits(made, seconds).items() if name not in made.query}
    if made.get_backend_name() == "sqlite" and made.database and made.database != ":memory:":
        make_private_file(made.database)  # states may contain values of rows
    if made.host:
        reachable_addresses(made.host, made.port or 0)
    engine = sa.create_engine(made, pool_size=1, pool_pre_ping=True, hide_parameters=True, connect_args=limits)
    return DatabaseStorage(engine, job_id, seconds)


def _limits(url: sa.URL, seconds: int) -> Mapping[str, Any]:
    """Timeouts of the client, in seconds, as far as the client supports them."""
    match url.drivername:
        case "postgresql+psycopg":
            return {"connect_timeout": CONNECT_SECONDS, **silence.LIBPQ}
        case "mysql+pymysql" | "mariadb+pymysql":
            return {"connect_timeout": CONNECT_SECONDS, "read_timeout": seconds, "write_timeout": seconds}
        case _:
            return {}


class DatabaseStorage(Storage):
    """Stores the files of jobs as rows. ``engine`` connects to the database; a missing table is created."""

    def __init__(self, engine: sa.Engine, job_id: str, seconds: float = ANSWER_SECONDS) -> None:
        self._engine = engine
        self._patience = LockPatience(engine, seconds)
        self._job = job_id
        self._shown = redacted_text(engine.url.render_as_string())
        self._parts: dict[str, int] = {}
        if not self._try(TABLE.name, lambda _: sa.inspect(engine).has_table(TABLE.name)):
            self._make_table()

    def create(self, name: str, data: bytes) -> bool:
        def insert(connection: sa.Connection) -> bool:
            connection.execute(TABLE.insert().values(job=self._job, name=name, part=0, data=data))
            return True

        try:
            return self._try(name, insert)
        except _NameTakenError:
            return False

    def append(self, name: str, data: bytes) -> None:
        if name not in self._parts:
            count = sa.select(sa.func.count()).where(self._is(name))
            self._parts[name] = self._try(name, lambda connection: int(connection.execute(count).scalar_one()))
        row = TABLE.insert().values(job=self._job, name=name, part=self._parts[name], data=data)
        with suppress(_NameTakenError):  # an earlier try has succeeded, although its answer was lost
            self._try(name, lambda connection: connection.execute(row))
        self._parts[name] += 1

    def get(self, name: str) -> bytes | None:
        parts = sa.select(TABLE.c.data).where(self._is(name)).order_by(TABLE.c.part)
        found = self._try(name, lambda connection: connection.execute(parts).scalars().all())
        return b"".join(map(bytes, found)) if found else None

    def names(self, folder: str) -> Sequence[str]:
        start = f"{folder}/"
        own = (TABLE.c.job == self._job) & TABLE.c.name.startswith(start, autoescape=True)
        query = sa.select(TABLE.c.name).distinct().where(own)
        found = self._try(folder, lambda connection: connection.execute(query).scalars().all())
        return sorted(name.removeprefix(start) for name in found)

    def delete(self, name: str) -> None:
        self._try(name, lambda connection: connection.execute(TABLE.delete().where(self._is(name))))
        self._parts.pop(name, None)

    def jobs(self) -> Sequence[str]:
        query = sa.select(TABLE.c.job).distinct()
        return sorted(self._try(TABLE.name, lambda connection: connection.execute(query).scalars().all()))

    def describe(self, name: str) -> str:
        return f"{name} of job {self._job} in {self._shown}"

    def close(self) -> None:
        self._engine.dispose()

    def _is(self, name: str) -> sa.ColumnElement[bool]:
        return (TABLE.c.job == self._job) & (TABLE.c.name == name)

    def _make_table(self) -> None:
        """Create the table. If two processes find it missing, one gets the error that it exists, which is fine."""
        try:
            self._try(TABLE.name, lambda connection: TABLE.create(connection, checkfirst=True))
        except (RetriableError, _NameTakenError):
            if not self._try(TABLE.name, lambda _: sa.inspect(self._engine).has_table(TABLE.name)):
                raise

    def _try(self, name: str, act: Callable[[sa.Connection], T]) -> T:
        try:
            with self._patience.limited(), self._engine.begin() as connection:
                return act(connection)
        except IntegrityError as error:
            raise _NameTakenError from error
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or type(error).__name__).splitlines()[0]
            raise RetriableError(
                f"{self.describe(name)} cannot be used: {cause}", "look at the address, the rights and the server"
            ) from None


class LockPatience:
    """Closes connections whose server has not answered for ``seconds``: psycopg would wait forever."""

    def __init__(self, engine: sa.Engine, seconds: float) -> None:
        self._seconds = seconds
        self._limits = engine.dialect.driver == "psycopg"
        self._connections: list[Any] = []
        if self._limits:
            sa.event.listen(engine, "connect", self._connected)

    def _connected(self, connection: Any, _: object) -> None:
        self._connections = [one for one in self._connections if not one.closed] + [connection]

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Limit the time of the block."""
        if not self._limits:
            yield
            return
        ended = threading.Event()
        threading.Thread(target=self._watch, args=(ended,), name="patience", daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(self._seconds):
            for connection in self._connections:
                if not connection.closed:
                    silence.cut(connection.pgconn.socket)


class _NameTakenError(Exception):
    """A row with that key exists."""
