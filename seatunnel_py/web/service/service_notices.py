"""Notices to the service manager that has started this process, after systemd's protocol: one datagram each.

Without a service manager (no ``NOTIFY_SOCKET`` in the environment) nothing is sent.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress

READY = "READY=1"
ENDING = "STOPPING=1"
ALIVE = "WATCHDOG=1"


def notify(notice: str, environment: Mapping[str, str] = os.environ) -> None:
    """Send a notice. A notice that cannot be sent is dropped: the service manager waits for it, and acts."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.setblocking(False)
        sender.sendto(notice.encode(), f"\0{address[1:]}" if address[0] == "@" else address)


def watch_seconds(environment: Mapping[str, str] = os.environ) -> float | None:
    """How often the service manager wants to hear that this process is alive: twice in its limit. None: it does not."""
    limit, pid = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not limit.isdecimal() or int(limit) == 0 or (pid and pid != str(os.getpid())):
        return None
    return int(limit) / 2e6


async def serve_notices(is_alive: Callable[[], bool]) -> None:
    """Send that the server is ready, and then that it is alive, from its loop, until it is cancelled. ``is_alive``:
    whether its other threads do their work; if not, the service manager gets no notice, and starts it again."""
    notify(READY)
    try:
        every = watch_seconds()
        while every is not None:
            if is_alive():
                notify(ALIVE)
            await asyncio.sleep(every)
        await asyncio.Event().wait()
    finally:
        notify(ENDING)
