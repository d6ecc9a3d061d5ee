"""The trigger: waits for the end of a run without a worker.

Rules. (1) A server that does not answer is asked again for ``unreachable_seconds``: runs go on without it. (2) A person
who kills the task ends the run; a triggerer that ends does not, because another one takes the trigger over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_seatunnel_py.run_outcome import has_ended
from airflow_seatunnel_py.server_client import (
    API,
    ServerAddress,
    ServerClient,
    ServerError,
    StartOrder,
    checked,
    waiting_head,
)

RESTARTING = (502, 503, 504)


class SeaTunnelRunTrigger(BaseTrigger):
    """Waits for the end of ``run``. ``ends``: ``cancel``, ``stop`` or empty: what a killed task does with the run."""

    def __init__(
        self,
        *,
        seatunnel_conn_id: str,
        run: str,
        definition: str = "",
        key: str = "",
        variables: Mapping[str, str] | None = None,
        poll_seconds: float = 5.0,
        unreachable_seconds: float = 600.0,
        ends: str = "cancel",
        kill_seconds: float = 20.0,
    ) -> None:
        super().__init__()
        self.seatunnel_conn_id, self.run_id, self.ends = seatunnel_conn_id, run, ends
        self.order = StartOrder(definition, key, dict(variables or {})) if key else None
        self.poll_seconds, self.unreachable_seconds, self.kill_seconds = poll_seconds, unreachable_seconds, kill_seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The trigger as data, without the token."""
        order = self.order
        return f"{type(self).__module__}.{type(self).__name__}", {
            "seatunnel_conn_id": self.seatunnel_conn_id,
            "run": self.run_id,
            "definition": order.definition if order else "",
            "key": order.key if order else "",
            "variables": dict(order.variables) if order else {},
            "poll_seconds": self.poll_seconds,
            "unreachable_seconds": self.unreachable_seconds,
            "ends": self.ends,
            "kill_seconds": self.kill_seconds,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """One event: the head of the run at its end, or why it cannot be seen."""
        address = await self._address()
        try:
            async with httpx.AsyncClient(**address.options) as client:
                yield TriggerEvent(await self._awaited(client))
        except asyncio.CancelledError:
            # Airflow 3.3 calls on_kill by itself; older ones only cancel, also when a triggerer ends.
            if not hasattr(BaseTrigger, "on_kill") and await asyncio.to_thread(self._task_was_killed):
                await self.on_kill()
            raise

    async def _awaited(self, client: httpx.AsyncClient) -> dict[str, Any]:
        silent_since = None
        while True:
            try:
                head = await self._head(client)
                silent_since = None
                if has_ended(head):
                    return {"head": head}
            except (httpx.TransportError, ServerError) as error:
                if isinstance(error, ServerError) and error.status not in RESTARTING:
                    return {"error": str(error)}
                silent_since = silent_since or time.monotonic()
                if time.monotonic() - silent_since > self.unreachable_seconds:
                    return {"error": f"the server has not answered for {self.unreachable_seconds:.0f} s: {error}"}
            await asyncio.sleep(self.poll_seconds)

    async def _head(self, client: httpx.AsyncClient) -> dict[str, Any]:
        answer = await client.get(f"{API}/runs/{self.run_id}")
        if answer.status_code == 404 and self.order is not None:
            headers = {"Idempotency-Key": self.order.key}
            started = checked(await client.post(self.order.path, json=self.order.body, headers=headers))
            return waiting_head(started.json())
        return dict(checked(answer).json())

    async def on_kill(self) -> None:
        """End the run, because a person has killed the task."""
        if self.ends:
            client = ServerClient(await self._address())
            saves, seconds = self.ends == "stop", self.kill_seconds
            await asyncio.to_thread(client.end, self.run_id, saves=saves, seconds=seconds)

    async def _address(self) -> ServerAddress:
        from airflow_seatunnel_py.hooks import SeaTunnelServerHook

        return await asyncio.to_thread(SeaTunnelServerHook(self.seatunnel_conn_id).address)

    def _task_was_killed(self) -> bool:
        """Whether the task is not deferred any more. Airflow 2 only: there a trigger may read the database."""
        instance = getattr(self, "task_instance", None)
        if instance is None:
            return False
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.session import create_session

        with create_session() as session:
            same = {name: getattr(instance, name) for name in ("dag_id", "task_id", "run_id", "map_index")}
            found = session.query(TaskInstance).filter_by(**same).one_or_none()
            return found is None or str(found.state) != "deferred"
