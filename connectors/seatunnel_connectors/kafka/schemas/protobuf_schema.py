"""Compiles ``protobuf_schema`` and finds ``protobuf_message_name`` in it, when a job is planned.

Rules. (1) protoc compiles the text in its own process with a time limit: the text comes from a job file, and a crash of
the compiler must not reach the driver. (2) The text may import only Protobuf's own files (``google/protobuf/…``), so no
file of this machine is read. (3) The compiled schema travels to the workers, which need the runtime only.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from seatunnel_py.api import FatalError

TEXT_MAX = 1_000_000  # characters: far more than a real schema in a job file has
COMPILE_SECONDS = 30.0
DEPTH_MAX = 200  # nesting of messages as the runtime walks them; it makes their classes by recursion
PROTOBUF_EXTRA = "protobuf"
_FILE = "seatunnel_schema.proto"
_KNOWN = "google/protobuf/"
_ROWS = "seatunnel_py_rows_of_messages"  # a package that no schema has


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """A message, by its full name, with the compiled files that describe it."""

    files: bytes
    name: str

    @property
    def descriptor(self) -> Any:
        return loaded(self).descriptor


@dataclass(frozen=True, slots=True)
class MessageClasses:
    """The runtime's classes of a message. ``many`` holds it as the repeated field ``rows``, to parse all in one go."""

    descriptor: Any
    one: Any
    many: Any


def message_schema(text: str, name: str) -> MessageSchema:
    """Return the message of this name. Raises ValueError, which begins with the option at fault, and FatalError without
    libraries."""
    need_libraries()
    files = compiled(text)
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    proto = next(file for file in FileDescriptorSet.FromString(files).file if file.name == _FILE)
    return MessageSchema(files, _found(name, proto.package, list(_names(proto.message_type, proto.package))))


def need_libraries() -> None:
    """Raise FatalError if a library is not installed, before anything starts."""
    for name, package in (("google.protobuf", "protobuf"), ("grpc_tools", "grpcio-tools")):
        if find_spec(name.partition(".")[0]) is None or find_spec(name) is None:
            raise FatalError(
                f"the format protobuf needs the library {package}, which is not installed",
                f"pip install 'seatunnel-py[{PROTOBUF_EXTRA}]'",
            )


# ------------------------------------------------------------ compiling


@lru_cache(maxsize=32)
def compiled(text: str) -> bytes:
    """Serialised descriptors of the text and its imports. Raises ValueError."""
    if len(text) > TEXT_MAX:
        raise ValueError(f"protobuf_schema: it is longer than {TEXT_MAX:,} characters")
    with tempfile.TemporaryDirectory(prefix="seatunnel-protobuf-") as place:
        (Path(place) / _FILE).write_text(text, encoding="utf-8", errors="replace")
        command = [sys.executable, "-P", "-m", "grpc_tools.protoc", "-I.", "--include_imports"]
        try:
            done = subprocess.run(
                [*command, "--descriptor_set_out=found", _FILE],
                cwd=place,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=COMPILE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"protobuf_schema: protoc was not through with it after {COMPILE_SECONDS:.0f} s") from None
        if done.returncode:
            raise ValueError(f"protobuf_schema: {_complaint(done.stderr.decode(errors='replace'), done.returncode)}")
        files = (Path(place) / "found").read_bytes()
    _check_loads(files)
    return files


def _complaint(said: str, code: int) -> str:
    """The compiler's first complaint with line and column; errors about imports are handled separately."""
    lines = [line.removeprefix(f"{_FILE}:") for line in said.splitlines() if line.startswith(f"{_FILE}:")]
    lines = [line for line in lines if "warning:" not in line]
    missing = [line for line in said.splitlines() if line.endswith(": File not found.")]
    if missing:
        name = missing[0].removesuffix(": File not found.")
        return f"it imports {name}; the schema is one text, and may import {_KNOWN}*.proto only"
    if not lines:
        return f"protoc ended with {code}, with the output: {said.strip()[-300:] or 'nothing'}"
    line, _, rest = lines[0].partition(":")
    column, _, what = rest.partition(":")
    return f"line {line}, column {column}: {what.strip()}" if line.isdigit() and column.isdigit() else lines[0].strip()


def _check_loads(files: bytes) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    others = [file.name for file in FileDescriptorSet.FromString(files).file if file.name != _FILE]
    strange = [name for name in others if not name.startswith(_KNOWN)]
    if strange:
        raise ValueError(f"protobuf_schema: it imports {strange[0]}; it may import {_KNOWN}*.proto only")
    try:
        _pool(files)
    except (TypeError, ValueError) as error:
        raise ValueError(f"protobuf_schema: the runtime does not take it: {error}") from None


# ------------------------------------------------------------ names


def _names(messages: Any, outer: str) -> Iterator[str]:
    for message in messages:
        if message.options.map_entry:
            continue
        name = f"{outer}.{message.name}" if outer else message.name
        yield name
        yield from _names(message.nested_type, name)


def _found(wanted: str, package: str, names: list[str]) -> str:
    """Full name of a message that is given in full, or from any of its dots on; the full name has priority."""
    option = "protobuf_message_name"
    if not names:
        raise ValueError("protobuf_schema: there is no message in it")
    bare = wanted.removeprefix(".")
    for exact in (bare, f"{package}.{bare}"):
        if exact in names:
            return exact
    matching = [name for name in names if name.endswith(f".{bare}")]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise ValueError(f"{option}: {wanted!r} is the name of several messages: {', '.join(matching)}")
    short = {name.removeprefix(f"{package}."): name for name in names}
    near = difflib.get_close_matches(bare, [*short, *names, *(name.rpartition(".")[2] for name in names)], n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the messages are {', '.join(list(short)[:10])}"
    raise ValueError(f"{option}: there is no message {wanted!r} in the schema; {hint}")


# ------------------------------------------------------------ the runtime


def _pool(files: bytes) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(files).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _check_depth(descriptor: Any, seen: set[str], depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ValueError(f"protobuf_schema: more than {DEPTH_MAX} messages, each inside of the one before")
    for field in descriptor.fields:
        inner = field.message_type
        if inner is not None and inner.full_name not in seen:
            seen.add(inner.full_name)
            _check_depth(inner, seen, depth + 1)


@lru_cache(maxsize=32)
def loaded(schema: MessageSchema) -> MessageClasses:
    """The classes of a message, in a descriptor pool of their own: two jobs may define one name differently."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.message_factory import GetMessageClass

    pool = _pool(schema.files)
    descriptor = pool.FindMessageTypeByName(schema.name)
    _check_depth(descriptor, {schema.name}, 1)
    file = FileDescriptorProto(name=f"{_ROWS}.proto", package=_ROWS, dependency=[descriptor.file.name], syntax="proto3")
    file.message_type.add(name="Rows").field.add(
        name="rows",
        number=1,
        label=FieldDescriptorProto.LABEL_REPEATED,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=f".{schema.name}",
    )
    pool.AddSerializedFile(file.SerializeToString())
    many = GetMessageClass(pool.FindMessageTypeByName(f"{_ROWS}.Rows"))
    return MessageClasses(descriptor, GetMessageClass(descriptor), many)
