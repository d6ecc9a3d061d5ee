"""The sensor: waits for a run that another program has started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from airflow_seatunnel_py.airflow_names import AirflowException, AirflowFailException, BaseSensorOperator
from airflow_seatunnel_py.hooks import CONNECTION, SeaTunnelServerHook
from airflow_seatunnel_py.run_outcome import PARTIAL, Verdict, end_of, has_ended
from airflow_seatunnel_py.server_client import ServerError
from airflow_seatunnel_py.triggers import RESTARTING, SeaTunnelRunTrigger


class SeaTunnelRunSensor(BaseSensorOperator):
    """Waits for the end of ``run``. It never ends the run. ``partial``, ``deferrable``: as of the operator."""

    template_fields: Sequence[str] = ("run_id",)

    def __init__(
        self,
        *,
        run_id: str,
        partial: str = "fail",
        deferrable: bool = False,
        seatunnel_conn_id: str = CONNECTION,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if partial not in PARTIAL:
            raise ValueError(f"partial is one of {', '.join(PARTIAL)}")
        self.run_id, self.partial, self.deferrable = run_id, partial, deferrable
        self.seatunnel_conn_id = seatunnel_conn_id

    def execute(self, context: Any) -> Any:
        """Wait here, or in the triggerer."""
        if self.deferrable and not self.poke(context):
            trigger = SeaTunnelRunTrigger(
                seatunnel_conn_id=self.seatunnel_conn_id,
                run=self.run_id,
                poll_seconds=float(self.poke_interval),
                ends="",
            )
            self.defer(trigger=trigger, method_name="execute_complete")
        return None if self.deferrable else super().execute(context)

    def poke(self, context: Any) -> bool:
        """Whether the run has ended well. Raises AirflowException if it has failed."""
        try:
            head = SeaTunnelServerHook(self.seatunnel_conn_id).get_conn().head(self.run_id)
        except httpx.TransportError as error:
            self.log.warning("the server does not answer: %s", error)
            return False
        except ServerError as error:
            if error.status in RESTARTING:
                return False
            raise AirflowException(str(error)) from error
        return has_ended(head) and self._judge(head)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> None:
        """Go on after the trigger."""
        if "error" in event:
            raise AirflowException(event["error"])
        self._judge(event["head"])

    def _judge(self, head: dict[str, Any]) -> bool:
        end = end_of(head, self.partial)
        self.log.info("%s", end.text)
        if end.verdict is Verdict.FAILS_FOR_GOOD:
            raise AirflowFailException(end.text)
        if end.verdict is Verdict.FAILS:
            raise AirflowException(end.text)
        return True
