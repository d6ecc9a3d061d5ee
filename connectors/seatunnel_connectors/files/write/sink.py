"""Defines the file sink: prepares the directory at the start, and makes writers and committers."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from seatunnel_connectors.files.formats.writers.base import name_ending
from seatunnel_connectors.files.formats.writers.xml import check_names
from seatunnel_connectors.files.forms import check_forms, conversions
from seatunnel_connectors.files.storage import LocalFiles, path_of
from seatunnel_connectors.files.write.binary_writer import BinaryWriter, check_columns_of
from seatunnel_connectors.files.write.committer import FileCommitter
from seatunnel_connectors.files.write.directory_mark import DirectoryMark, Owner
from seatunnel_connectors.files.write.file_names import NAME_BYTES_MAX, STAGING, check_partition_expression
from seatunnel_connectors.files.write.options import FileWriteOptions, WriteFormat
from seatunnel_connectors.files.write.single_file import HoldingWriter, SingleFileCommitter
from seatunnel_connectors.files.write.writer import FileWriter, WritePlan, staging_of
from seatunnel_connectors.save_modes import DataSaveMode, SchemaSaveMode
from seatunnel_py.api import (
    Committer,
    Dataset,
    Effect,
    FatalError,
    NameRules,
    Plain,
    Present,
    SchemaChange,
    Setup,
    Sink,
    TableSchema,
    TargetPlace,
    Treatment,
    WriteContext,
    Writer,
)
from seatunnel_py.formats.schema_option import check_columns

COUNTED_MAX = 10_000
WAYS = (
    "data_save_mode = DROP_DATA replaces them, APPEND_DATA adds to them, or name another directory in path; "
    "seatunnel copy: --replace, --append"
)
OptionsT = TypeVar("OptionsT", bound=FileWriteOptions)


@dataclass(frozen=True)
class FileSink(Sink):
    """Writes one table into a directory of one storage; ``endless``: the job is streaming."""

    storage: LocalFiles
    options: FileWriteOptions
    table: TableSchema
    endless: bool = False
    job: str = ""
    step: str = ""

    @property
    def target(self) -> str:
        return path_of(self.options.path)

    @property
    def target_place(self) -> TargetPlace:
        root, name = os.path.realpath(self.target), self._fixed_name()
        return TargetPlace(("file",), (*Path(root).parts, *filter(None, (name,))), exclusive=bool(name))

    def dataset(self) -> Dataset:
        return Dataset("file", os.path.realpath(self.target))

    def name_rules(self) -> NameRules:
        return self.storage.name_rules(self.target)

    def _fixed_name(self) -> str:
        """Name of the one file that is always replaced; empty: none."""
        options = self.options
        if not options.single_file_mode or "${" in options.file_name_expression or self.endless:
            return ""
        return options.file_name_expression + name_ending(options)

    def plan(self, setup: Mapping[str, Plain] | None = None) -> WritePlan:
        """Paths and columns; ``setup`` is the stored decision of the start, if any."""
        staging = (setup or {}).get("staging")
        if not isinstance(staging, str):
            tmp_path = path_of(self.options.tmp_path) if self.options.tmp_path else ""
            staging = staging_of(self.storage, self.target, tmp_path)
        return WritePlan(self.storage, self.options, self.table, self.target, staging)

    # ------------------------------------------------------------ start

    def plan_setup(self) -> Setup:
        root, storage = self.target, self.storage
        if storage.stat(root) is not None:
            raise FatalError(f"the path {root} is a file, not a directory", "correct the option path")
        exists = storage.is_directory(root)
        mode, data_mode = self.options.schema_save_mode, self.options.data_save_mode
        if not exists and mode is SchemaSaveMode.ERROR_WHEN_SCHEMA_NOT_EXIST:
            raise FatalError(
                f"sink table not exist: there is no directory {root}",
                "create it, or set schema_save_mode = CREATE_SCHEMA_WHEN_NOT_EXIST",
            )
        if mode is SchemaSaveMode.RECREATE_SCHEMA or data_mode is DataSaveMode.DROP_DATA:
            self._check_may_delete(root)
        present, count = self._present_files()
        effects, action = [], "none"
        if mode is SchemaSaveMode.RECREATE_SCHEMA and exists:
            action = "drop"
            effects.append(Effect("recreate directory", root, f"rm -r {root}/*", destructive=bool(present)))
        elif not exists and mode is not SchemaSaveMode.IGNORE:
            action = "create"
            effects.append(Effect("create directory", root, f"mkdir -p {root}"))
        elif present and data_mode is DataSaveMode.DROP_DATA:
            action = "drop"
            effects.append(Effect("delete files", root, f"rm -r {root}/*", destructive=True))
        elif present and data_mode is DataSaveMode.ERROR_WHEN_DATA_EXISTS:
            raise FatalError(
                f"the target {root} holds data already, for example {present}",
                "empty it, or set data_save_mode to APPEND_DATA or DROP_DATA",
            )
        if action != "drop":
            effects += self._replaced()
        data: dict[str, Plain] = {"staging": self.plan().staging, "action": action, "mark": secrets.token_hex(4)}
        return Setup(
            tuple(effects),
            data,
            present=self._becomes(action, count),
            conversions=conversions(self.options, self.table),
        )

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        """Later files have the new columns; they must name them."""
        options, before, after = self.options, change.before.names, change.after.names
        positional = options.file_format_type in (WriteFormat.TEXT, WriteFormat.CSV) and not options.enable_header_write
        if before != after and (positional or options.single_file_mode):
            raise FatalError(
                f"the files in {self.target} do not name their columns, so a reader cannot know the schema of each",
                "set enable_header_write = true without single_file_mode, or write another format",
            )
        return replace(setup, conversions=conversions(options, self.table))

    def _becomes(self, action: str, count: int) -> Present:
        """Describe existing files and what happens to them."""
        bound = "more than" if count > COUNTED_MAX else ""
        count = min(count, COUNTED_MAX)
        if action == "drop":
            return Present(Treatment.REPLACED, count, bound, "files")
        if not count:
            return Present(Treatment.NEW, what="files")
        if self._fixed_name() or self.options.file_format_type is WriteFormat.BINARY:
            return Present(Treatment.UPDATED, count, bound, "files", by="name")
        said = "data_save_mode" in self.options.model_fields_set
        why = "files of one run never replace those of another"
        return Present(
            Treatment.APPENDED, count, bound, "files", doubles="" if said else why, ways="" if said else WAYS
        )

    def _replaced(self) -> list[Effect]:
        """Report that an existing file with a fixed name will be replaced."""
        name = self._fixed_name()
        if not name:
            return []
        path = str(Path(self.target, name))
        return [Effect("replace file", path, destructive=True)] if self.storage.exists(path) else []

    def _present_files(self) -> tuple[str, int]:
        """An existing file, and the number of files, at most one more than are counted."""
        if not self.storage.is_directory(self.target):
            return "", 0
        hidden = Path(self.target, STAGING)
        found = (entry.path for entry in self.storage.files(self.target) if hidden not in Path(entry.path).parents)
        some = list(islice(found, COUNTED_MAX + 1))
        return min(some, default=""), len(some)

    def _check_may_delete(self, root: str) -> None:
        """Refuse to delete important directories: a typing error in a path must not cost a home directory."""
        place = Path(root).resolve()
        for kept in (Path.home(), Path.cwd()):
            if place == kept.resolve() or place in kept.resolve().parents:
                raise FatalError(
                    f"refusing to delete everything in {root}: it holds {kept}",
                    "give the sink a directory of its own",
                )

    def setup(self, setup: Setup) -> None:
        action, token = setup.data.get("action"), setup.data.get("mark")
        mark = DirectoryMark(self.storage, self.target, token) if isinstance(token, str) else None
        # An overtaken driver may come to this after a newer one has set up the directory and written files.
        if action == "drop" and (mark is None or not mark.is_there()):
            self._check_may_delete(self.target)
            for name in self.storage.names(self.target):
                if name != STAGING:  # files that other steps of this job have staged there are not data yet
                    self.storage.delete_tree(str(Path(self.target, name)))
        if action in ("drop", "create"):
            self.storage.make_directory(self.target)
        if mark is not None:
            mark.make(Owner(self.job, self.step, str(self.table.path)))

    # ------------------------------------------------------------ data

    def open(self, context: WriteContext) -> Writer:
        if self.options.single_file_mode:
            return HoldingWriter(self.plan(context.setup), context)
        kind = BinaryWriter if self.options.file_format_type is WriteFormat.BINARY else FileWriter
        return kind(self.plan(context.setup), context)

    def committer(self) -> Committer:
        if self.options.single_file_mode:
            return SingleFileCommitter(self.plan(), each=self.endless)
        return FileCommitter(self.plan())


def spelt_as_in(table: TableSchema, options: OptionsT) -> OptionsT:
    """The options with columns spelt as in the table: as in SeaTunnel, their case does not matter."""

    def known(name: str) -> str:
        alike = [column for column in table.names if column.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else name  # if two columns differ in case only, the case decides

    named = {"sink_columns": options.sink_columns, "partition_by": options.partition_by}
    return options.model_copy(update={option: tuple(map(known, names)) for option, names in named.items()})


def check_table(options: FileWriteOptions, table: TableSchema) -> None:
    """Raise ValueError if the options do not fit the table."""
    for part in Path(path_of(options.path)).parts:
        if len(part.encode()) > NAME_BYTES_MAX:
            raise ValueError(
                f"path: the name {part!r} has more than {NAME_BYTES_MAX} bytes, and no file system takes it"
            )
    check_columns(options.sink_columns, table.names, "sink_columns")
    selected = options.sink_columns or table.names
    check_columns(options.partitions, table.names, "partition_by")
    check_columns(options.partitions, selected, "partition_by: every column must be in sink_columns, but")
    check_partition_expression(options)
    if options.file_format_type is WriteFormat.BINARY:
        check_columns_of(table)
        return
    check_forms(options, table)
    if options.file_format_type is WriteFormat.XML:
        check_names(options, tuple(column for column in table.columns if column.name in selected))
    if not options.is_partition_field_write_in_file and set(selected) <= set(options.partitions):
        raise ValueError("every column is a partition column, so that files would have none")
