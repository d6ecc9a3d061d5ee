"""Twenty jobs under a server that is killed: ``python -m e2e.server_kills [--minutes N] [--seed N] [--short] [--folder PATH]``.

Clients start, stop, restore and schedule jobs, and ask again with their keys of idempotency, while kill -9 hits the
server at random moments, also during its start, and some drivers. In the end: each accepted start has one run, with one
driver at once; each act that was answered has its audit line; each time of a schedule has one run, or a reason; each
target has each row once; and, without the database, the next server finds each run.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from e2e.server_kills.campaign import Campaign


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="three minutes")
    parser.add_argument("--minutes", type=float, default=13.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="a new folder that is kept, to look into faults")
    given = parser.parse_args()
    if given.folder is not None:
        given.folder.mkdir(parents=True)
    with nullcontext(given.folder) if given.folder else tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), random.Random(given.seed))
        try:
            campaign.run(60 * (3.0 if given.short else given.minutes))
        finally:
            campaign.end()
    print(f"seed {given.seed}: {campaign.told}: {len(campaign.faults)} faults")
    for fault in campaign.faults:
        print(f"  {fault}")
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
