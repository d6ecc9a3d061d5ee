"""Implements ``seatunnel server probe``: an exit code for probes of containers and schedulers."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request

from seatunnel_py.cli.server.extra import server_parts
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.runtime.storage.home import Home

WORKS, FAILS, GONE = 0, 1, 2
SECONDS = 5.0


def probe(*, ready: bool) -> int:
    """Ask the server of this home whether it answers, or whether it takes writes. Returns one of the codes above."""
    with server_parts():
        from seatunnel_py.control.server_lock import ServerLock
    home = Home.of_environment().path
    noted = ServerLock.noted(home)
    if noted is None:
        say(f"no server of {home} runs")
        return GONE
    if "probed" not in noted:
        say("the server is starting")
        return FAILS
    code, answer = _asked(f"{noted['probed']}/{'readyz' if ready else 'livez'}")
    say(answer)
    return code


def _asked(url: str) -> tuple[int, str]:
    """Ask without a proxy, and without a check of the certificate, which has another name: nothing secret is sent."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with ask.open(url, timeout=SECONDS) as found:
            return WORKS, f"{url} answers {found.status}"
    except urllib.error.HTTPError as error:
        error.close()
        answers = error.code < 500  # as 401, where only callers from the address of the host itself need no token
        return WORKS if answers else FAILS, f"{url} answers {error.code}"
    except OSError as error:
        return FAILS, f"{url} does not answer within {SECONDS:.0f} s: {error}"
