"""Whether a run may have its driver on another machine, which shares the home with this one.

Rules. (1) Only a home on a network file system is shared: elsewhere a lock that is free proves that no driver is alive,
whatever name the machine had. (2) There the lock may be one of this machine only. A driver of another machine without a
receipt may live: it is never taken for dead. (3) A machine with another name but the same start of its kernel is this
one, as in a container.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from seatunnel_py.runtime.observe.driver_process import boot_id


def is_elsewhere(about: Mapping[str, Any]) -> bool:
    """Whether the driver in this job.json was started on another machine."""
    host, boot = about.get("host", ""), about.get("boot", "")
    return bool(host) and host != socket.gethostname() and (not boot or boot != boot_id())
