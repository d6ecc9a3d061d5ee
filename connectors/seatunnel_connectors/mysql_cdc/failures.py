"""Defines the typed errors of log decoding: each names its cause, and the remedy where there is one."""

from __future__ import annotations

from seatunnel_py.api import CannotResumeError, FatalError, RetriableError


class BinlogFormatError(FatalError):
    """Bytes of the log contradict its format: the log is damaged, or of a form that is not known."""

    def __init__(self, message: str, remedy: str = "check the log with mysqlbinlog or mariadb-binlog") -> None:
        super().__init__(message, remedy)


class ChecksumError(BinlogFormatError):
    """The checksum of an event differs from that of its bytes."""


class UnknownEventError(BinlogFormatError):
    """An event of an unknown type that must not be skipped: rows may be in it."""


class EncryptedLogError(FatalError):
    """The log is a file that the server has encrypted."""


class IncidentError(FatalError):
    """The server itself reports that events are missing from its log."""


class TableLogError(FatalError):
    """The log cannot be read on for one table; its other tables go on."""


class StatementLoggedError(TableLogError):
    """A captured table was changed by a statement instead of by rows."""


class DefinitionMismatchError(TableLogError):
    """A row event does not fit the definition under which it would be decoded."""


class UnsupportedColumnError(TableLogError):
    """A column is stored in a form that cannot be decoded without loss."""


class UnreadableStatementError(TableLogError):
    """A DDL statement touches a captured table, and its effect is not understood."""


class PurgedLogError(CannotResumeError):
    """The server has deleted the log at the position asked for."""


class ServerIdTakenError(FatalError):
    """Another replica uses the same server id."""


class DumpEndedError(RetriableError):
    """The server ended the dump, or the connection was lost: a new dump goes on from the last position."""
