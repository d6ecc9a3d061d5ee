"""Our provider: success and failure, partial success, deferral, a job file that is wrong, and a retry."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pendulum
from airflow.sdk import DAG
from airflow_seatunnel_py.operators import SeaTunnelRunOperator
from airflow_seatunnel_py.sensors import SeaTunnelRunSensor

FOLDER = Path(os.environ["DAG_FOLDER"])
GOOD, PARTIAL = (FOLDER / "good.conf").read_text(), (FOLDER / "partial.conf").read_text()


def repair(context: object) -> None:
    """What a person does between two tries."""
    (FOLDER / "later.json").write_text('{"id": 1}\n{"id": 2}\n')


with DAG("provided", schedule=None, start_date=pendulum.datetime(2026, 1, 1)) as dag:
    usual = {"poll_seconds": 0.5}
    SeaTunnelRunOperator(task_id="text", text=GOOD, variables={"rows": "7"}, **usual)
    SeaTunnelRunOperator(task_id="file", file=str(FOLDER / "good.conf"), deferrable=True, **usual)
    SeaTunnelRunOperator(task_id="stored", definition="stored", **usual)
    SeaTunnelRunOperator(task_id="warn", text=PARTIAL, partial="warn", **usual)
    SeaTunnelRunOperator(task_id="partial", text=PARTIAL, **usual)
    SeaTunnelRunOperator(task_id="deferred_failure", text=(FOLDER / "bad.conf").read_text(), deferrable=True, **usual)
    wrong = GOOD.replace("row.num", "row.nun")
    SeaTunnelRunOperator(task_id="wrong", text=wrong, retries=2, retry_delay=timedelta(0), **usual)
    SeaTunnelRunOperator(
        task_id="retried", text=(FOLDER / "later.conf").read_text(), retries=1, retry_delay=timedelta(0),
        on_retry_callback=repair, **usual,
    )  # fmt: skip
    SeaTunnelRunSensor(task_id="sensor", run_id=os.environ["JOB_GOOD"], poke_interval=1)
    SeaTunnelRunSensor(task_id="sensor_deferred", run_id=os.environ["JOB_GOOD"], poke_interval=1, deferrable=True)
    SeaTunnelRunSensor(task_id="sensor_bad", run_id=os.environ["JOB_BAD"], poke_interval=1)

if __name__ == "__main__":
    for one in dag.test().get_task_instances():
        print("TASK", one.task_id, one.state, flush=True)
        value = one.xcom_pull(task_ids=one.task_id)
        if isinstance(value, dict):
            print("VALUE", one.task_id, json.dumps({**value, "try": one.try_number}), flush=True)
