"""The process that is copied: ``python -m tests.kit.copy_server HANDLE``. It imports, and copies itself.

One thread, so that a copy is a whole process. It runs no code of the product: a copy begins with modules, and nothing
else. Each copy says at its end what it had to import, and the next one has it already. The process ends with the socket
over which it is asked.
"""

from __future__ import annotations

import array
import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import re
import selectors
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import seatunnel_connectors
import seatunnel_plugins
import seatunnel_py
from seatunnel_py import app

ROOT = Path(__file__).parents[2]

REQUEST_BYTES = 1 << 18
HANDLES = 3
NOT_IMPORTED = ("pyspark", "py4j")  # an application imports them while its JVM starts
PRODUCT = (seatunnel_py, seatunnel_connectors, seatunnel_plugins)
"""Imported at the start, for a copy that is killed names nothing; but what only Spark needs."""
LEFT_OUT = re.compile(r"seatunnel_py\.(spark|templates|testing)\b.*|.*\.__main__")


@dataclass(frozen=True, slots=True)
class Asked:
    """A command: its words, and ``told``, a pipe that is to say its process id and its end."""

    request: dict[str, Any]
    out: int
    err: int
    told: int


@dataclass(slots=True)
class Server:
    """``learned``: a pair of sockets by which copies name modules."""

    control: socket.socket
    learned: tuple[socket.socket, socket.socket]
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    living: dict[int, tuple[int, int]] = field(default_factory=dict)

    def serve(self) -> Asked | None:
        """Copy this process whenever that is asked for. Returns in each copy; None: nothing is asked for any more."""
        self.selector.register(self.control, selectors.EVENT_READ)
        self.selector.register(self.learned[0], selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.learned[0]:
                    _import(self.learned[0].recv(REQUEST_BYTES))
                elif key.fileobj is not self.control:
                    self._ended(key.fd)
                elif (asked := self._asked()) is None or self._copied(asked):
                    return asked

    def _asked(self) -> Asked | None:
        size = array.array("i").itemsize
        data, ancillary, _, _ = self.control.recvmsg(REQUEST_BYTES, socket.CMSG_LEN(HANDLES * size))
        if not data:
            return None
        handles = array.array("i")
        for _, _, held in ancillary:
            handles.frombytes(held[: len(held) - len(held) % size])
        return Asked(json.loads(data), *handles)

    def _copied(self, asked: Asked) -> bool:
        """True in the copy."""
        pid = os.fork()
        if pid == 0:
            self._leave(asked)
            return True
        os.write(asked.told, b"%d\n" % pid)
        os.close(asked.out)
        os.close(asked.err)
        handle = os.pidfd_open(pid)
        self.living[handle] = pid, asked.told
        self.selector.register(handle, selectors.EVENT_READ)
        return False

    def _leave(self, asked: Asked) -> None:
        """A copy holds nothing of this process or of other copies."""
        for handle, (_, told) in self.living.items():
            os.close(handle)
            os.close(told)
        self.selector.close()
        self.control.close()
        self.learned[0].close()
        os.close(asked.told)

    def _ended(self, handle: int) -> None:
        self.selector.unregister(handle)
        os.close(handle)
        pid, told = self.living.pop(handle)
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # a test that has failed does not ask any more
            os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(told)


def _import(names: bytes) -> None:
    for name in json.loads(names):
        with suppress(ImportError):  # a part that only its package can import: each copy imports it for itself
            importlib.import_module(name)
    gc.freeze()  # or each copy would write into the pages of all objects when it looks for garbage


def become(asked: Asked, learned: socket.socket) -> None:
    """Turn this copy into the command that was asked for."""
    for handle, standard in ((asked.out, 1), (asked.err, 2)):
        os.dup2(handle, standard)
        os.close(handle)
    before = set(sys.modules)
    atexit.register(_tell, learned, before)
    os.environ.clear()
    os.environ.update(asked.request["environment"])
    time.tzset()
    os.chdir(asked.request["home"])
    sys.argv = ["seatunnel", *asked.request["words"]]
    sys.path[0] = ""
    importlib.invalidate_caches()
    app.PROCESS_STARTED = time.time()
    if asked.request["local"]:
        app.RunOptions = functools.partial(_local, app.RunOptions)  # type: ignore[misc, assignment]


def _local(given: type[app.RunOptions], *words: Any, **more: Any) -> app.RunOptions:
    return given(*words, **{**more, "local": True})


def _tell(learned: socket.socket, before: set[str]) -> None:
    """Name what is new, if it is installed: the modules of a test's own directory are its own."""
    installed = tuple(os.path.realpath(place) + os.sep for place in (sys.prefix, sys.base_prefix, ROOT))
    found = []
    for name in [name for name in sys.modules if name not in before and name.partition(".")[0] not in NOT_IMPORTED]:
        spec = getattr(sys.modules[name], "__spec__", None)
        origin = getattr(spec, "origin", None) or ""
        if spec is not None and spec.name == name and os.path.realpath(origin).startswith(installed):
            found.append(name)
    if found:
        learned.send(json.dumps(found).encode())


def main() -> None:
    for part in PRODUCT:
        for module in pkgutil.walk_packages(part.__path__, f"{part.__name__}."):
            if not LEFT_OUT.fullmatch(module.name):
                importlib.import_module(module.name)
    gc.freeze()
    learned = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = Server(socket.socket(fileno=int(sys.argv[1])), learned)
    asked = server.serve()
    if asked is not None:
        become(asked, learned[1])
        from seatunnel_py.__main__ import main as command

        command()


if __name__ == "__main__":
    main()
