"""The link from a task to its run."""

from __future__ import annotations

from typing import Any

from airflow_seatunnel_py.airflow_names import BaseOperatorLink

try:
    from airflow.sdk import XCom
except ImportError:
    from airflow.models import XCom

URL_KEY = "seatunnel_run_url"


class SeaTunnelRunLink(BaseOperatorLink):
    """The log of the run on its server; it needs a token."""

    name = "Run on the SeaTunnel server"

    @property
    def xcom_key(self) -> str:
        return URL_KEY

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address; empty before the run was started."""
        return str(XCom.get_value(ti_key=ti_key, key=URL_KEY) or "")
