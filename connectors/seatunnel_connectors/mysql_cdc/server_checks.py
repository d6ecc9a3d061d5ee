"""Checks before a job starts, and before its log is read: whether the server writes a log of whole rows, whether the
user may read it."""

from __future__ import annotations

from collections.abc import Mapping

import pymysql

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained, sessions
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.dump.session import server_facts
from seatunnel_py.api import FatalError

_SETTINGS = ("log_bin", "binlog_format", "binlog_row_image", "binlog_row_metadata", "gtid_mode")
_NOT_ALLOWED = (1142, 1227)


def require_row_log(address: Address) -> Mapping[str, str]:
    """Raise FatalError unless the server writes a log of whole rows that the user may read. Returns its settings."""
    with explained(f"looking at the settings of {address.display}"), sessions(address) as session:
        found = settings_of(session)
        require_settings(address, found)
        _require_privileges(address, session)
    return {name: found[name] for name in ("binlog_row_metadata", "gtid_mode") if name in found}


def settings_of(session: MysqlSession) -> dict[str, str]:
    """The settings of the log, in capital letters; those that the server has."""
    names = ", ".join(f"'{name}'" for name in _SETTINGS)
    rows = session.ask(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    return {str(name).lower(): str(value).upper() for name, value in rows}


def require_settings(address: Address, found: Mapping[str, str]) -> None:
    """Raise FatalError for a setting that keeps rows out of the log."""
    if found.get("log_bin") not in ("ON", "1"):
        raise FatalError(
            f"{address.display} writes no binary log, so its changes cannot be followed",
            "add log_bin = binlog and server_id = 1 to the section [mysqld] of its configuration, and start it again",
        )
    for name, wanted in (("binlog_format", "ROW"), ("binlog_row_image", "FULL")):
        if (value := found.get(name, wanted)) != wanted:
            raise FatalError(
                f"{address.display} writes its log with {name} = {value}, which does not hold whole rows",
                f"SET GLOBAL {name} = {wanted}, also in its configuration; sessions that are open keep the old value",
            )


def _require_privileges(address: Address, session: MysqlSession) -> None:
    account = _account(session)
    monitor = "BINLOG MONITOR" if server_facts(session).mariadb else "REPLICATION CLIENT"
    try:
        session.ask("SHOW BINARY LOGS")
    except pymysql.Error as error:
        if error.args[0] not in _NOT_ALLOWED:
            raise
        raise FatalError(
            f"the user {account} may not look at the log of {address.display}",
            f"GRANT {monitor}, REPLICATION SLAVE ON *.* TO {account}",
        ) from error
    grants = [str(row[0]).upper() for row in session.ask("SHOW GRANTS")]
    roles = any(" ON " not in one for one in grants)  # what a role allows is seen when the log is read
    if not roles and not any("REPLICATION SLAVE" in one or "ALL PRIVILEGES ON *.*" in one for one in grants):
        raise FatalError(
            f"the user {account} may not read the log of {address.display}",
            f"GRANT REPLICATION SLAVE ON *.* TO {account}",
        )


def _account(session: MysqlSession) -> str:
    user = str(session.ask("SELECT CURRENT_USER()")[0][0])
    return "@".join(f"'{part}'" for part in user.rpartition("@")[::2])


def expire_seconds(session: MysqlSession) -> int:
    """The age at which the server purges a file of its log; 0: never. Older servers count days."""
    found = {
        str(name).lower(): float(value)
        for name, value in session.ask(
            "SHOW GLOBAL VARIABLES WHERE variable_name IN ('binlog_expire_logs_seconds', 'expire_logs_days')"
        )
    }
    return int(found.get("binlog_expire_logs_seconds") or found.get("expire_logs_days", 0.0) * 86_400)
