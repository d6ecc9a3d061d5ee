"""The driver of a running job beside fifty viewers and beside none, in turns (A30).

python -m bench.viewers [--turns 7] [--seconds 30]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import pairs
from e2e.server.running import client, server
from e2e.server.viewers import VIEWERS, middle, started, tokens_of, work

BARS = {"cores": (1.01, True), "written": (1.01, True), "rows": (0.99, False)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.viewers", description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        with server(folder) as (_, url), client(url, folder) as api:
            tokens = tokens_of(api)
            run, pid = started(api, folder)
            turns = [number for _ in range(given.turns) for number in (0, VIEWERS)]
            try:
                found = [work(api, url, tokens, run, pid, number, given.seconds) for number in turns]
            finally:
                api.post(f"/api/v1/runs/{run}/cancel", json={}).raise_for_status()
    for name in ("cores", "rows", "reads", "writes", "written"):
        without, beside = (middle(found, number, name) for number in (0, VIEWERS))
        ratio = f"{beside / without:.3f}"
        print(f"{name:8} a second: without viewers {without:.3f}, with {VIEWERS} {beside:.3f}, ratio {ratio}")
    print(json.dumps({"benchmark": "viewers", "turns": [one.plain() for one in found]}))
    for name, (bar, at_most) in BARS.items():
        ratio = middle(found, VIEWERS, name) / middle(found, 0, name)
        pairs.verdict(f"A30 {name}, with {VIEWERS} viewers / without", ratio, bar, at_most=at_most)


if __name__ == "__main__":
    main()
