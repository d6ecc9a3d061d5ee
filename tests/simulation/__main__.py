"""python -m tests.simulation --seeds 1000 --jobs 2, or --seed 7 --mode unaligned --trace."""

from __future__ import annotations

from tests.simulation.runner import main

if __name__ == "__main__":
    raise SystemExit(main())
