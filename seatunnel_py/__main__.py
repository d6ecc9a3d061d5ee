"""The console script, and ``python -m seatunnel_py``. Nothing else is imported before Ctrl-C is answered without a
trace: what a command needs takes longer to load than a person needs to see a mistake."""

from __future__ import annotations

import gc
import sys

GARBAGE_AFTER = 500_000
"""Objects after which Python looks for cycles among the new ones. Its own 700 cost a tenth of every start: what is
imported and planned lives as long as the command does. 100,000 cost a tenth of the time of 200 tables. Cycles among
500,000 objects hold at most some tens of megabytes."""

INTERRUPTED = 130
"""128 + SIGINT, as shells have it; ``ExitCode`` would have to be imported."""


def main() -> None:
    """The ``seatunnel`` command."""
    gc.set_threshold(GARBAGE_AFTER)
    try:
        from seatunnel_py.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except RuntimeError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # it came while a class was made
            sys.exit(INTERRUPTED)
        raise
    finally:
        gc.freeze()  # or Python looks through all that was imported once more, just to end: 30 ms


if __name__ == "__main__":
    main()
