"""Redis, with the options of SeaTunnel, as a third party writes it: it imports our API and formats, and nothing else."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import pyarrow as pa

from seatunnel_py import api
from seatunnel_py.formats import MessageCodec, MessageFormat, SchemaOptions, table_schema

CONTENT = api.Column("content", api.parse_type("string"), nullable=False)
PLACEHOLDER = re.compile(r"\$?\{([^{}]+)\}")
PAGE = 1000  # elements of one key that are read at once


DataType = StrEnum("DataType", ["KEY", "STRING", "HASH", "LIST", "SET", "ZSET"])
Mode = StrEnum("Mode", ["SINGLE", "CLUSTER"])
ParseMode = StrEnum("ParseMode", ["ALL", "KV"])


class Connection:
    """The options that source and sink share."""

    host: str | None = api.option(None, doc="address of the server, with mode = single")
    port: int = api.option(6379, ge=1, le=65535, doc="port of the server, with mode = single")
    user: str | None = api.option(None, doc="user of the server's access list")
    auth: api.Secret | None = api.option(None, doc="password")
    db_num: int = api.option(0, ge=0, doc="number of the database, with mode = single")
    mode: Mode = api.option(Mode.SINGLE, doc="one server, or a cluster")
    nodes: tuple[str, ...] = api.option((), doc="host:port of some servers of a cluster")
    data_type: DataType = api.option(doc="type of the keys; key and string are the same")
    batch_size: int = api.option(10, ge=1, doc="keys or rows of one round trip")
    format: MessageFormat = api.option(MessageFormat.JSON, doc="how a value holds a row")
    field_delimiter: str = api.option(",", min_length=1, doc="between fields, with format = text or csv")

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A connection of the pool; its errors name the server."""
        import redis

        login: dict[str, Any] = {"username": self.user, "password": self.auth.get_secret_value() if self.auth else None}
        place = ",".join(self.nodes) or f"{self.host}:{self.port}/{self.db_num}"

        def connect() -> Any:
            limits: dict[str, Any] = {"socket_connect_timeout": 10, "socket_timeout": 60}
            if self.mode is Mode.SINGLE:
                return redis.Redis(self.host or "", self.port, self.db_num, **login, **limits)
            node: Any = redis.cluster.ClusterNode
            nodes = [node(host, int(port)) for host, _, port in (one.rpartition(":") for one in self.nodes)]
            return redis.cluster.RedisCluster(startup_nodes=nodes, **login, **limits)

        try:
            with api.borrow(("redis", place, *login.values()), connect, lambda one: one.close()) as client:
                yield client
        except redis.AuthenticationError as error:
            raise api.FatalError(f"Redis at {place} refuses the login: {error}", "correct `user` and `auth`") from None
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise api.RetriableError(f"Redis at {place} does not answer: {error}", "see that the server runs") from None
        except redis.RedisError as error:
            raise api.FatalError(f"Redis at {place}: {error}", "see that `data_type` is that of the keys") from None


RULES = (
    api.required_when("host", other="mode", equals=(Mode.SINGLE,)),
    api.required_when("nodes", other="mode", equals=(Mode.CLUSTER,)),
)


class RedisSource(Connection, api.SimpleSource):
    name = "Redis"
    summary = "reads the values of keys"
    keys: str = api.option(doc="pattern of the keys")
    schema: SchemaOptions | None = api.option(None, doc="columns; without them rows have one column, content")
    hash_key_parse_mode: ParseMode = api.option(ParseMode.ALL, doc="a hash is one row, or each of its fields is one")
    read_key_enabled: bool = api.option(False, doc="rows have the key, in the column key_field_name")
    key_field_name: str = api.option("key", doc="column of the key, which the schema declares")
    rules = RULES

    def tables(self) -> list[api.TableSchema]:
        key = (api.Column(self.key_field_name, CONTENT.dtype),) * self.read_key_enabled
        found = table_schema(self.schema, self.plugin_output, (*key, CONTENT))
        if self.read_key_enabled and found.column(self.key_field_name) is None:
            raise ValueError(f"read_key_enabled: the schema declares no column {self.key_field_name!r}")
        return [found]

    def read(self, split: api.Split, start: api.Position | None) -> Iterator[Any]:
        (table,) = self.tables()
        has_content = not (self.schema and self.schema.declared_columns)
        codec = MessageCodec(table, self.format, self.field_delimiter)
        with self.client() as client:
            seen: set[bytes] = set()  # a scan may give a key twice
            for key in client.scan_iter(self.keys, count=self.batch_size):
                for values in self._values(client, key, table) if key not in seen else ():
                    seen.add(key)
                    if has_content:
                        yield from (self._content(key, value) for value in values)
                    else:
                        yield from codec.decode([self._with_key(key, one) for one in values])

    def _values(self, client: Any, key: bytes, table: api.TableSchema) -> Iterator[list[bytes]]:
        match self.data_type:
            case DataType.KEY | DataType.STRING:
                value = client.get(key)
                yield [] if value is None else [value]
            case DataType.HASH:
                fields = client.hgetall(key)
                if self.hash_key_parse_mode is ParseMode.KV:
                    yield [_spliced(table.names[0], name, value) for name, value in fields.items()]
                elif fields:
                    yield [_document(fields, table)]
            case DataType.SET:
                yield [*client.smembers(key)]
            case _:
                page = client.lrange if self.data_type is DataType.LIST else client.zrange
                at = 0
                while found := page(key, at, at + PAGE - 1):
                    yield found
                    at += PAGE

    def _content(self, key: bytes, value: bytes) -> dict[str, str]:
        named = {self.key_field_name: _text(key)} if self.read_key_enabled else {}
        return named | {CONTENT.name: _text(value)}

    def _with_key(self, key: bytes, value: bytes) -> bytes:
        if not self.read_key_enabled:
            return value
        if self.format is MessageFormat.JSON:
            return _spliced(self.key_field_name, key, value)
        return key + self.field_delimiter.encode() + value


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise api.BadRowsError(f"{value[:50]!r} in Redis is not UTF-8 text", "leave its key out of `keys`") from None


def _spliced(name: str, key: bytes, value: bytes) -> bytes:
    """The JSON object with one field more in front; what is no object stays, and is refused where it is decoded."""
    inside = value.strip()
    if not inside.startswith(b"{"):
        return value
    comma = b"" if inside[1:].lstrip().startswith(b"}") else b","
    return json.dumps({name: _text(key)})[:-1].encode() + comma + inside[1:]


def _document(fields: dict[bytes, bytes], table: api.TableSchema) -> bytes:
    """A hash as a JSON object: its values are texts, but for columns that hold rows, lists or maps."""
    nested = {one.name for one in table.columns if one.dtype.fields or one.dtype.element}
    pairs = ((_text(name), _text(value)) for name, value in fields.items())
    parts = (f"{json.dumps(name)}:{value if name in nested else json.dumps(value)}" for name, value in pairs)
    return ("{" + ",".join(parts) + "}").encode()


class RedisSink(Connection, api.SimpleSink):
    name = "Redis"
    summary = "writes rows to keys"
    key: str = api.option(min_length=1, doc="a column whose values are the keys, or one key")
    expire: int = api.option(-1, doc="seconds until a key is removed; 0 or less: never")
    support_custom_key: bool = api.option(False, doc="replaces {column} in key by the value of the column")
    value_field: str | None = api.option(None, doc="column of the value; without it the value is the row")
    hash_key_field: str | None = api.option(None, doc="column of a hash's field; without it all columns are fields")
    hash_value_field: str | None = api.option(None, doc="column of the value of hash_key_field; without it the row")
    rules = RULES

    def capabilities(self, options: Any, table: api.TableSchema, context: api.StepContext) -> api.SinkCapabilities:
        if options.data_type is DataType.LIST:
            return api.SinkCapabilities(api.Guarantee.AT_LEAST_ONCE, "a list takes an element again")
        return api.SinkCapabilities(api.Guarantee.IDEMPOTENT, f"a {options.data_type} takes a value twice as once")

    def check(self, batch: api.Batch) -> None:
        """Every row has a key and a value, or is a bad row."""
        self._commands(batch.data)

    def write(self, batches: Iterator[api.Batch], context: api.WriteContext) -> None:
        with self.client() as client:
            for batch in batches:
                for first in range(0, batch.rows, self.batch_size):
                    pipeline = client.pipeline(transaction=False)
                    for command in self._commands(batch.data.slice(first, self.batch_size)):
                        pipeline.execute_command(*command)
                    pipeline.execute()

    def _commands(self, rows: pa.RecordBatch) -> list[tuple[Any, ...]]:
        row_texts = MessageCodec(self.table, self.format, self.field_delimiter).encode(rows).to_pylist()
        values = self._texts(rows, self.value_field) if self.value_field else row_texts
        found: list[tuple[Any, ...]] = []
        for at, key in enumerate(self._keys(rows)):
            match self.data_type:
                case DataType.KEY | DataType.STRING:
                    found.append(("SET", key, values[at]))
                case DataType.LIST:
                    found.append(("LPUSH", key, values[at]))
                case DataType.SET:
                    found.append(("SADD", key, values[at]))
                case DataType.ZSET:
                    found.append(("ZADD", key, 1, values[at]))
                case DataType.HASH:
                    found += self._hash(key, rows.slice(at, 1), row_texts[at])
            found += [("EXPIRE", key, self.expire)] if self.expire > 0 else []
        return found

    def _hash(self, key: str, row: pa.RecordBatch, text: str) -> list[tuple[Any, ...]]:
        """One field of it, or one for each column; a column that is null is no field."""
        if self.hash_key_field:
            value = self._texts(row, self.hash_value_field)[0] if self.hash_value_field else text
            return [("HSET", key, self._texts(row, self.hash_key_field)[0], value)]
        there = [name for name in self.table.names if row.column(name).null_count == 0]
        pairs = [part for name in there for part in (name, self._texts(row, name)[0])]
        absent = [name for name in self.table.names if name not in there]
        return [*([("HSET", key, *pairs)] if there else []), *([("HDEL", key, *absent)] if absent else [])]

    def _keys(self, rows: pa.RecordBatch) -> list[str]:
        if self.table.column(self.key):
            return self._texts(rows, self.key)
        parts = PLACEHOLDER.split(self.key) if self.support_custom_key else [self.key]
        texts = [self._texts(rows, one) if at % 2 else [one] * rows.num_rows for at, one in enumerate(parts)]
        return ["".join(pieces) for pieces in zip(*texts, strict=True)]

    def _texts(self, rows: pa.RecordBatch, name: str) -> list[str]:
        column = self.table.column(name)
        if column is None:
            raise api.FatalError(
                f"table {self.table.path} has no column {name!r}", f"columns: {', '.join(self.table.names)}"
            )
        if rows.column(name).null_count:
            raise api.BadRowsError(
                f"column {name!r}, which is a key or a value in Redis, is null", "filter such rows out"
            )
        codec = MessageCodec(self.table.with_columns((column,)), MessageFormat.TEXT)
        found: list[str] = codec.encode(rows.select([name])).to_pylist()
        return found
