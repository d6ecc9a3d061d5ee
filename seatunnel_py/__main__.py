"""Runs the console script, and ``python -m seatunnel_py``. Nothing else is imported before Ctrl-C is handled without a
traceback: a command takes longer to load than a user needs to notice a mistake."""

from __future__ import annotations

import gc
import os
import sys

GARBAGE_AFTER = 500_000
"""New objects after which Python looks for reference cycles. Its default of 700 cost a tenth of every start, for
imports and plans stay until the command ends. 100,000 cost a tenth of the time of 200 tables. Cycles among 500,000
objects hold at most some tens of megabytes."""

NO_PLUGINS_OF_PYDANTIC = ("PYDANTIC_DISABLE_PLUGINS", "__all__")
"""Pydantic would look for plugins of its own in the files of every distribution, here and in the workers, which inherit
this: 5 ms each. A user who sets the variable decides otherwise."""

EGRESS = "SEATUNNEL_EGRESS"
"""``egress_rules.VARIABLE``, which would have to be imported."""

INTERRUPTED = 130
"""128 + SIGINT, as in shells; ``ExitCode`` would have to be imported."""


def main() -> None:
    """Run the ``seatunnel`` command."""
    gc.set_threshold(GARBAGE_AFTER)
    os.environ.setdefault(*NO_PLUGINS_OF_PYDANTIC)
    try:
        if EGRESS in os.environ:
            from seatunnel_py.api.process.egress.egress_guard import watch

            watch()
        from seatunnel_py.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except RuntimeError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # raised while a class was being made
            sys.exit(INTERRUPTED)
        raise
    finally:
        gc.freeze()  # or the interpreter scans every imported object again at exit: 30 ms


if __name__ == "__main__":
    main()
