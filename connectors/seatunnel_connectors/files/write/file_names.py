"""Makes names of files and directories from ``file_name_expression`` and ``partition_dir_expression``.

A name holds the scope (lineage, sink step, table) and the rows that the file was made of, as hashes: the same rows get
the same name in every attempt, and two writers never share one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote
from uuid import UUID

from seatunnel_connectors.files.write.options import TRANSACTION, FileWriteOptions
from seatunnel_py.api import BadRowsError, FatalError, TablePath
from seatunnel_py.formats.value_text import compile_pattern, format_one

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""Directory value of a null, as in Hive and Spark."""

STAGING = ".seatunnel"
NAME_BYTES_MAX = 255


def digest(*parts: str, length: int) -> str:
    """A short, stable name for texts of any length."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()[:length]


@dataclass(frozen=True, slots=True)
class UnitNames:
    """Names for the files of one unit and table."""

    job: str
    lineage: str
    step: str
    table: TablePath
    data_id: str

    @property
    def scope(self) -> str:
        """Name shared by everything that this sink step writes for this table in this lineage."""
        return digest(self.lineage, self.step, str(self.table), length=10)

    @property
    def rows(self) -> str:
        return digest(self.lineage, self.step, str(self.table), self.data_id, length=12)

    @property
    def transaction(self) -> str:
        job = re.sub(r"[^A-Za-z0-9_.-]", "-", self.job)[:60] or "job"
        return f"T_{job}_{self.scope}_{self.rows}"

    def stem(self, options: FileWriteOptions) -> str:
        """The file name without part number and extension."""
        text = options.file_name_expression
        now = format_one(datetime.now(), compile_pattern(options.filename_time_format))  # noqa: DTZ005  (the reader's clock)
        values = {"transactionId": self.transaction, "now": now, "uuid": str(UUID(self._uuid()))}
        values[options.filename_time_format] = now  # older job files write the pattern itself
        text = re.sub(r"\$\{([^{}]+)\}", lambda match: values.get(match[1], match[0]), text)
        if TRANSACTION not in options.file_name_expression and not options.single_file_mode:
            text += f"_{self.scope[:6]}{self.rows}"
        if "/" in text or "\0" in text or text in (".", "..") or len(text.encode()) > NAME_BYTES_MAX - 30:
            raise FatalError(
                f"file_name_expression makes the name {text!r}, which no file can have",
                "use letters, digits and - _ . and keep it short",
            )
        return text

    def _uuid(self) -> str:
        return digest(self.lineage, self.step, str(self.table), self.data_id, "uuid", length=32)


def incarnation_of(directory: str) -> int | None:
    """The incarnation that made a directory in a scope, from its name: ``<what>.<incarnation>[.…]``."""
    part = directory.split(".")[1:2]
    return int(part[0]) if part and part[0].isdecimal() else None


ANY_PARTITIONS = "${k0}=${v0}/${k1}=${v1}/.../${kn}=${vn}/"
"""Spelling of the default in SeaTunnel's documentation."""

_PLACEHOLDER = re.compile(r"\$\{([kv])(\d+)\}")


def partition_expression(options: FileWriteOptions) -> str:
    """The given expression, or the default one for the number of columns."""
    given = options.partition_dir_expression or ANY_PARTITIONS
    if given != ANY_PARTITIONS:
        return given
    return "/".join(f"${{k{index}}}=${{v{index}}}" for index in range(len(options.partitions)))


def check_partition_expression(options: FileWriteOptions) -> None:
    """Raise ValueError for a placeholder without a column: it would become a literal directory name."""
    count = len(options.partitions)
    for match in _PLACEHOLDER.finditer(partition_expression(options)) if count else ():
        if int(match[2]) >= count:
            columns = "one column" if count == 1 else f"{count} columns"
            raise ValueError(f"partition_dir_expression: there is no {match[0]}, for partition_by names {columns}")


def partition_directory(options: FileWriteOptions, values: tuple[str | None, ...]) -> str:
    """Directory of a partition below the path; characters with a meaning in paths are escaped."""
    names = options.partitions
    expression = partition_expression(options)
    known = {f"k{index}": _escaped(name) for index, name in enumerate(names)}
    known |= {f"v{index}": _value_part(options, names[index], value) for index, value in enumerate(values)}
    text = re.sub(r"\$\{(\w+)\}", lambda match: known.get(match[1], match[0]), expression)
    parts = [part for part in text.split("/") if part]
    if any(part in (".", "..") or part.startswith(STAGING) for part in parts):
        raise FatalError(f"partition_dir_expression makes the directory {text!r}", "correct the expression")
    if any(len(part.encode()) > NAME_BYTES_MAX for part in parts):
        raise BadRowsError(f"a partition's directory would be longer than {NAME_BYTES_MAX} bytes: {text[:80]!r}…")
    return "/".join(parts)


def _value_part(options: FileWriteOptions, name: str, value: str | None) -> str:
    """A value as part of a directory. Null has a name that no text gets; an empty text has no name of its own."""
    if value is None:
        return NULL_PARTITION
    if not value and not options.is_partition_field_write_in_file:
        raise BadRowsError(
            f"column {name!r}: an empty text and null have the same name as a partition's directory",
            "set is_partition_field_write_in_file = true, or make another value of it with a transform",
        )
    if value == NULL_PARTITION:
        return f"%5F{value[1:]}"
    return _escaped(value or NULL_PARTITION)


_SPECIAL = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|%=#]")


def _escaped(text: str) -> str:
    """Escape a text for a path: characters with a meaning there, and a leading dot, become ``%XX``."""
    safe = _SPECIAL.sub(lambda match: quote(match[0], safe=""), text)
    return f"%2E{safe[1:]}" if safe.startswith(".") else safe
