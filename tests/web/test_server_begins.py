"""The start of a server after one that was killed: its port, and its first token."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.places.sqlite_file import database_file
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web.serving import first_token, listening, token_file_of
from seatunnel_py.web.settings import ServerSettings


def test_a_port_that_is_free_in_a_moment_is_waited_for() -> None:
    """O14: A process that a killed server was starting holds it until it begins."""
    taken = socket.create_server(("127.0.0.1", 0))
    settings = ServerSettings(port=taken.getsockname()[1])
    with pytest.raises(SeaTunnelError, match="is taken"):
        listening(settings)
    threading.Timer(0.3, taken.close).start()
    listening(settings).close()


@pytest.mark.parametrize("left", ["half a token", ""])
def test_a_start_that_was_killed_before_its_token_was_kept_stops_no_other(tmp_path: Path, left: str) -> None:
    """O10: The same file is there after the database was deleted."""
    home = Home(tmp_path)
    database = Database.open(database_file(home.path), time.time)
    token_file_of(home).write_text(left)
    assert first_token(home, database) == token_file_of(home)
    with database.reading() as connection:
        assert tokens.verified(connection, token_file_of(home).read_text().strip(), time.time()) is not None
    assert token_file_of(home).stat().st_mode & 0o077 == 0
    assert first_token(home, database) is None
    database.close()
