"""The calls of the provider for SeaTunnel, which is not on the package index: its hook runs the scripts below
``seatunnel_home``; its sensor asks ``/job-info`` without a token, and reads ``jobStatus``."""

import os

import httpx
import pendulum
from airflow.exceptions import AirflowException
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.sensors.python import PythonSensor
from airflow.sdk import DAG

HOME, SERVER, FOLDER = os.environ["SCRIPTS"], os.environ["SERVER"], os.environ["DAG_FOLDER"]
ZETA, SPARK = (
    f"{HOME}/bin/seatunnel.sh --config",
    f"{HOME}/bin/start-seatunnel-spark-connector-v2.sh --deploy local --config",
)


def finished(job: str) -> bool:
    answer = httpx.get(f"{SERVER}/job-info/{job}", timeout=10)
    status = answer.json().get("jobStatus") if answer.status_code == 200 else None
    if status in ("FAILED", "CANCELED"):
        raise AirflowException(f"SeaTunnel job {job} is in {status} state")
    return status == "FINISHED"


with DAG("compatible", schedule=None, start_date=pendulum.datetime(2026, 1, 1)) as dag:
    for name, command in (("zeta", ZETA), ("spark", SPARK)):
        BashOperator(task_id=f"{name}_good", bash_command=f"{command} {FOLDER}/good.conf")
    BashOperator(task_id="zeta_bad", bash_command=f"{ZETA} {FOLDER}/bad.conf")
    for name in ("good", "bad", "partial"):
        job = os.environ[f"JOB_{name.upper()}"]
        PythonSensor(task_id=f"sensor_{name}", python_callable=finished, op_args=[job], poke_interval=1, timeout=90)

if __name__ == "__main__":
    for one in dag.test().get_task_instances():
        print("TASK", one.task_id, one.state, flush=True)
