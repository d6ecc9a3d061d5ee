"""The settings of a server, and whether they are safe together."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from seatunnel_py.errors import SeaTunnelError

PORT = 5801
PARTIAL = ("failed", "finished")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class SeaTunnelApi:
    """SeaTunnel's REST API. ``v1``: also its older paths; ``partial``: status of a run of which some tables have
    failed; ``status_open``: addresses that may read the status of a known job without a token; ``strict``: an unknown
    job is 404."""

    enabled: bool = False
    v1: bool = False
    partial: str = "failed"
    status_open: tuple[str, ...] = ()
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """``trusted_proxies``: addresses whose X-Forwarded headers count, empty: none; ``allowed_hosts``: further names of
    this server; ``environment``: names of its variables that job files may refer to; ``warm_drivers``: how many drivers
    wait for a job; ``settings_file``: notifications, rules of addresses. Times in seconds, sizes in bytes, rates per
    second and token, of log-ins per address."""

    host: str = "127.0.0.1"
    port: int = PORT
    certificate: Path | None = None
    key: Path | None = None
    trusted_proxies: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    warm_drivers: int = 1
    settings_file: Path | None = None
    body_max: int = 2**20
    json_depth_max: int = 64
    request_seconds: float = 30.0
    requests_per_second: float = 100.0
    costly_per_minute: float = 30.0
    checks_per_minute: float = 120.0
    logins_per_minute: float = 10.0
    streams_max: int = 500
    streams_per_token: int = 20
    ping_seconds: float = 15.0
    seatunnel: SeaTunnelApi = SeaTunnelApi()

    @property
    def tls(self) -> bool:
        return self.certificate is not None

    @property
    def secure(self) -> bool:
        """Whether browsers reach the server only through TLS: its own, or that of a proxy."""
        return self.tls or bool(self.trusted_proxies)

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which a request may call this server, in lower case."""
        own = set() if self.host in ("0.0.0.0", "::") else {self.host}
        return frozenset(name.lower() for name in {*LOOPBACK_NAMES, *own, *self.allowed_hosts})


def require_safe(settings: ServerSettings) -> None:
    """Raise SeaTunnelError for an address that others reach without TLS, and for half a pair of TLS files."""
    if (settings.certificate is None) != (settings.key is None):
        raise SeaTunnelError("TLS needs a certificate and its key", "give both --tls-certificate and --tls-key")
    for file in (settings.certificate, settings.key):
        if file is not None and not file.is_file():
            raise SeaTunnelError(f"there is no file {file}", "name the files of the certificate and of its key")
    for proxy in settings.trusted_proxies:
        if not _is_address(proxy):
            raise SeaTunnelError(f"{proxy!r} is not an address of a proxy", "--trusted-proxy takes an IP address")
    _require_whole(settings.seatunnel)
    if is_loopback(settings.host) or settings.tls or settings.trusted_proxies:
        return
    raise SeaTunnelError(
        f"other machines would reach {settings.host} without TLS, and tokens could be read on the way",
        "give --tls-certificate and --tls-key; or --trusted-proxy ADDRESS, the proxy that speaks TLS; or stay at "
        "127.0.0.1",
    )


def _require_whole(api: SeaTunnelApi) -> None:
    """Raise SeaTunnelError for options of SeaTunnel's API that have no effect, and for wrong ones."""
    if not api.enabled and api != SeaTunnelApi():
        raise SeaTunnelError("options of SeaTunnel's API are given without it", "add --seatunnel-api")
    if api.partial not in PARTIAL:
        raise SeaTunnelError(
            f"there is no status {api.partial!r} for a partial success", f"valid: {', '.join(PARTIAL)}"
        )
    for address in api.status_open:
        if not _is_address(address):
            raise SeaTunnelError(f"{address!r} is not an address", "--seatunnel-status-open takes an IP address")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that address."""
    if host in LOOPBACK_NAMES:
        return True
    return _is_address(host) and ip_address(host).is_loopback


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
