"""``python -m seatunnel_py.cli.scripts``: runs a call of SeaTunnel's scripts."""

from __future__ import annotations

from seatunnel_py.cli.scripts.script import main

if __name__ == "__main__":
    main()
