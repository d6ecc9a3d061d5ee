"""A task over a stream, which a person kills: in the worker, and in the triggerer."""

import asyncio
import os

import pendulum
from airflow.sdk import DAG
from airflow_seatunnel_py.operators import SeaTunnelRunOperator
from airflow_seatunnel_py.triggers import SeaTunnelRunTrigger

with DAG("killed", schedule=None, start_date=pendulum.datetime(2026, 1, 1)) as dag:
    SeaTunnelRunOperator(task_id="stream", definition="stream", poll_seconds=0.5, on_kill_ends="stop", kill_seconds=60)

if __name__ == "__main__":
    if run := os.environ.get("KILL_DEFERRED"):
        trigger = SeaTunnelRunTrigger(seatunnel_conn_id="seatunnel_py_default", run=run, kill_seconds=60)
        asyncio.run(trigger.on_kill())
    else:
        dag.test()
