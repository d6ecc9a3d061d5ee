"""A server that does not listen: the failure passes, whichever call of the plugin meets it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seatunnel_connectors.jdbc.postgres.connection.session import connect, statements
from seatunnel_connectors.jdbc.url import Address, parse_url
from seatunnel_py.api import RetriableError
from tests.servers.ports import free_port


def borrowed(address: Address) -> None:
    with statements(address):
        pass


@pytest.mark.parametrize("opened", [borrowed, connect])
def test_it_is_asked_again(opened: Callable[[Address], object]) -> None:
    """A log that was opened again while its server was started again was isolated by the server's refusal."""
    port = free_port()
    with pytest.raises(RetriableError, match=rf"connecting to 127\.0\.0\.1:{port}/shop: .*refused"):
        opened(parse_url(f"jdbc:postgresql://127.0.0.1:{port}/shop"))
