"""The operator: runs a job on a server, and answers for it until its end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from airflow_seatunnel_py.airflow_names import AirflowException, AirflowFailException, BaseOperator
from airflow_seatunnel_py.hooks import CONNECTION, SeaTunnelServerHook
from airflow_seatunnel_py.links import URL_KEY, SeaTunnelRunLink
from airflow_seatunnel_py.run_outcome import (
    PARTIAL,
    Verdict,
    definition_id,
    end_of,
    has_begun,
    has_ended,
    idempotency_key,
    may_restore,
)
from airflow_seatunnel_py.server_client import API, ServerClient, ServerError, StartOrder
from airflow_seatunnel_py.triggers import RESTARTING, SeaTunnelRunTrigger

ENDS = ("cancel", "stop", "")


class SeaTunnelRunOperator(BaseOperator):
    """Runs a job, and waits for its end.

    ``definition``: the id of a stored job file; or ``text``: a job file, or ``file``: the path of one on the worker.
    Both are stored as a definition first, which needs a token with the role edit. ``variables``: of the job file.
    ``partial``: what a run means of which some tables failed: ``fail``, ``warn`` (the log names them) or ``ok``.
    ``deferrable``: wait in the triggerer. ``on_kill_ends``: ``cancel`` or ``stop`` (with a savepoint) ends the run of a
    killed task, and kills it after ``kill_seconds``; empty: it goes on. A retry adopts the run of the first try, and
    restores it from its newest checkpoint if it has ended.
    """

    template_fields: Sequence[str] = ("definition", "text", "file", "variables")
    template_ext: Sequence[str] = ()
    operator_extra_links = (SeaTunnelRunLink(),)
    ui_color = "#d5e8f7"

    def __init__(
        self,
        *,
        definition: str = "",
        text: str = "",
        file: str = "",
        variables: Mapping[str, str] | None = None,
        partial: str = "fail",
        deferrable: bool = False,
        seatunnel_conn_id: str = CONNECTION,
        poll_seconds: float = 5.0,
        unreachable_seconds: float = 600.0,
        on_kill_ends: str = "cancel",
        kill_seconds: float = 20.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if sum(map(bool, (definition, text, file))) != 1:
            raise ValueError("give one of definition, text and file")
        if partial not in PARTIAL or on_kill_ends not in ENDS:
            raise ValueError(f"partial is one of {', '.join(PARTIAL)}; on_kill_ends is cancel, stop or empty")
        self.definition, self.text, self.file = definition, text, file
        self.variables = dict(variables or {})
        self.partial, self.deferrable, self.seatunnel_conn_id = partial, deferrable, seatunnel_conn_id
        self.poll_seconds, self.unreachable_seconds = poll_seconds, unreachable_seconds
        self.on_kill_ends, self.kill_seconds = on_kill_ends, kill_seconds
        self._run = ""

    def execute(self, context: Any) -> dict[str, Any]:
        """Start or adopt the run, and wait for its end. Returns its receipt without the tables."""
        client = self._client()
        order, again = self._order(context, client), context["ti"].try_number > 1
        head = self._begun(client, order)
        if again and has_ended(head) and not has_begun(head):  # nothing to go on with
            order = replace(order, key=f"{order.key}-{context['ti'].try_number}")
            head = self._begun(client, order)
        context["ti"].xcom_push(key=URL_KEY, value=f"{client.address.url}{API}/runs/{self._run}/log")
        if again and may_restore(head):
            self.log.info("it had ended as %s: it goes on from its newest checkpoint", head["state"])
            client.restore(self._run)
            head = self._restored(client, head)
        if has_ended(head):
            return self._ended(client, head)
        if self.deferrable:
            self.defer(trigger=self._trigger(order), method_name="execute_complete")
        return self._ended(client, self._awaited(client, order))

    def _begun(self, client: ServerClient, order: StartOrder) -> dict[str, Any]:
        """Start a run, or find the one with this key; return its head."""
        self._run = str(client.start(order)["job_id"])
        self.log.info("the run is %s", self._run)
        return client.head(self._run, order)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        """Go on after the trigger."""
        if "error" in event:
            raise AirflowException(event["error"])
        return self._ended(self._client(), event["head"])

    def _client(self) -> ServerClient:
        return SeaTunnelServerHook(self.seatunnel_conn_id).get_conn()

    def _order(self, context: Any, client: ServerClient) -> StartOrder:
        ti = context["ti"]
        id = self.definition
        if not id:
            id = definition_id(ti.dag_id, ti.task_id)
            number = client.store(id, self.text or Path(self.file).read_text(encoding="utf-8"))
            self.log.info("the job file is the definition %s, revision %s", id, number)
        # A person who clears a task asks for a new run; Airflow raises max_tries for that, and not for a retry.
        cleared = max(0, (ti.max_tries or 0) - (self.retries or 0))
        key = idempotency_key(ti.dag_id, ti.run_id, ti.task_id, ti.map_index, cleared)
        return StartOrder(id, key, {name: str(value) for name, value in self.variables.items()})

    def _trigger(self, order: StartOrder) -> SeaTunnelRunTrigger:
        return SeaTunnelRunTrigger(
            seatunnel_conn_id=self.seatunnel_conn_id,
            run=self._run,
            definition=order.definition,
            key=order.key,
            variables=order.variables,
            poll_seconds=self.poll_seconds,
            unreachable_seconds=self.unreachable_seconds,
            ends=self.on_kill_ends,
            kill_seconds=self.kill_seconds,
        )

    def _restored(self, client: ServerClient, before: Mapping[str, Any]) -> dict[str, Any]:
        """The head of a run once its next driver has it: before that, the receipt is that of the driver before."""
        until = time.monotonic() + self.unreachable_seconds
        while time.monotonic() < until:
            head = client.head(self._run)
            if not has_ended(head) or head["job"]["driver"] != before["job"]["driver"]:
                return head
            time.sleep(min(1.0, self.poll_seconds))
        raise AirflowException(f"no driver has taken the run {self._run} up within {self.unreachable_seconds:.0f} s")

    def _awaited(self, client: ServerClient, order: StartOrder) -> dict[str, Any]:
        silent_since = None
        while True:
            try:
                head = client.head(self._run, order)
                silent_since = None
                if has_ended(head):
                    return head
            except (httpx.TransportError, ServerError) as error:
                if isinstance(error, ServerError) and error.status not in RESTARTING:
                    raise AirflowException(str(error)) from error
                silent_since = silent_since or time.monotonic()
                if time.monotonic() - silent_since > self.unreachable_seconds:
                    raise AirflowException(
                        f"the server has not answered for {self.unreachable_seconds:.0f} s"
                    ) from error
                self.log.warning("the server does not answer; the run goes on: %s", error)
            time.sleep(self.poll_seconds)

    def _ended(self, client: ServerClient, head: Mapping[str, Any]) -> dict[str, Any]:
        end = end_of(head, self.partial)
        if end.verdict is Verdict.SUCCEEDS:
            self.log.info("%s", end.text)
            return end.summary
        for one in client.failures(str(head["job_id"])):
            self.log.warning("%s: %s; %s", one["table"] or one["what"], one["cause"], one["remedy"])
        if end.verdict is Verdict.WARNS:
            self.log.warning("%s", end.text)
            return end.summary
        raise (AirflowFailException if end.verdict is Verdict.FAILS_FOR_GOOD else AirflowException)(end.text)

    def on_kill(self) -> None:
        """End the run of a killed task."""
        if self._run and self.on_kill_ends:
            saves = self.on_kill_ends == "stop"
            self.log.info("%s", self._client().end(self._run, saves=saves, seconds=self.kill_seconds))
