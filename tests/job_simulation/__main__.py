"""python -m tests.job_simulation --seeds 1000 --jobs 2, or --seed 7."""

from __future__ import annotations

from tests.job_simulation.runner import main

if __name__ == "__main__":
    raise SystemExit(main())
