"""The hook: a connection of Airflow as a client of a server."""

from __future__ import annotations

from typing import Any

from airflow_seatunnel_py.airflow_names import AirflowException, BaseHook
from airflow_seatunnel_py.server_client import ServerAddress, ServerClient, ServerError

CONNECTION = "seatunnel_py_default"
PORT = 5801


class SeaTunnelServerHook(BaseHook):
    """A server of seatunnel-py. The password of the connection is the text of a token."""

    conn_name_attr = "seatunnel_conn_id"
    default_conn_name = CONNECTION
    conn_type = "seatunnel_py"
    hook_name = "seatunnel-py server"

    def __init__(self, seatunnel_conn_id: str = CONNECTION) -> None:
        super().__init__()
        self.seatunnel_conn_id = seatunnel_conn_id

    @staticmethod
    def get_ui_field_behaviour() -> dict[str, Any]:
        """The form of the connection."""
        return {
            "hidden_fields": ["login"],
            "relabeling": {"password": "Token", "schema": "http or https"},
            "placeholders": {"port": str(PORT), "schema": "https", "extra": '{"verify": "/etc/ssl/authority.pem"}'},
        }

    def address(self) -> ServerAddress:
        """Where the server is. Raises AirflowException for a connection without a host or a token."""
        found = self.get_connection(self.seatunnel_conn_id)
        if not found.host or not found.password:
            raise AirflowException(
                f"the connection {self.seatunnel_conn_id!r} needs a host, and a token as its password"
            )
        scheme = found.schema or "https"
        if scheme not in ("http", "https"):
            raise AirflowException(f"the schema of {self.seatunnel_conn_id!r} is http or https, not {scheme!r}")
        host = f"[{found.host}]" if ":" in found.host else found.host
        url = f"{scheme}://{host}:{found.port or PORT}"
        return ServerAddress(url, found.password, found.extra_dejson.get("verify", True))

    def get_conn(self) -> ServerClient:
        """A client of the server."""
        return ServerClient(self.address())

    def test_connection(self) -> tuple[bool, str]:
        """Whether the server answers, and what the token may do."""
        try:
            about = self.get_conn().whoami()
        except (ServerError, AirflowException, OSError) as error:
            return False, str(error)
        except Exception as error:  # noqa: BLE001 - the form shows whatever the network library raises
            return False, f"{type(error).__name__}: {error}"
        return True, f"the token {about['name']!r} has the role {about['role']}"
