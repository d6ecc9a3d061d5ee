"""Runs in the environment of Dagster: loads the assets of a job, materialises them, and prints what became of them."""

import json
import os
import sys

from dagster import AssetExecutionContext, DagsterInstance, materialize
from dagster_seatunnel_py import SeaTunnelCommand, seatunnel_assets

PROGRAM = json.loads(os.environ["PROGRAM"])
PLAN = os.environ.get("PLAN", "")


@seatunnel_assets(job=os.environ["JOB_FILE"], variables={"rows": os.environ["ROWS"]}, plan=PLAN, program=PROGRAM)
def shop(context: AssetExecutionContext, seatunnel: SeaTunnelCommand):
    yield from seatunnel.run(context, job_id=os.environ["JOB_ID"])


if __name__ == "__main__":
    print("SPECS", json.dumps({"/".join(one.key.path): one.description for one in shop.specs}), flush=True)
    command = SeaTunnelCommand(program=PROGRAM, home=os.environ["SEATUNNEL_HOME"])
    with DagsterInstance.ephemeral() as instance:
        done = materialize([shop], resources={"seatunnel": command}, instance=instance, raise_on_error=False)
        made = [event.step_materialization_data.materialization for event in done.get_asset_materialization_events()]
    facts = {"/".join(one.asset_key.path): {key: value.value for key, value in one.metadata.items()} for one in made}
    print("MADE", json.dumps(facts), flush=True)
    sys.exit(0 if done.success else 1)
