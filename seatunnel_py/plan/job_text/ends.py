"""Finds the plugin that understands an address, as ``seatunnel copy`` takes it, and its options.

Each plugin declares which addresses it understands (``from_shorthand``). A password never enters the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from seatunnel_py.api import Shorthand, SinkFactory, SourceFactory
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.job_text.blocks import NamedStep
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import BrokenPluginError, PluginKind

MORE = "for anything else `seatunnel init` writes a job file to begin with"
UNDERSTOOD = (
    "addresses look like postgresql://user@host/db, mysql://user@host/db, sqlite:shop.db, kafka://host:9092/topic, "
    f"console: or the path of files; {MORE}"
)
Reference: TypeAlias = Callable[[PluginKind, str, str], str]
"""Makes a reference of the password and the user of an address; empty: there is none."""
_CUT = re.compile(r"//[^/?#@]+[/?#].*@")
_CREDENTIALS = re.compile(r"[?&;](user|password)=", re.IGNORECASE)


def end_of(kind: PluginKind, given: Shorthand, reference: Reference) -> Shorthand:
    """Take user and password out of the address. Raises SeaTunnelError, which does not repeat a password."""
    if _CREDENTIALS.search(given.address):
        raise SeaTunnelError(
            f"the {kind.value}'s address has credentials among its parameters",
            "write them as user:password@host, the password as ${env:NAME}",
        )
    if _CUT.search(given.address):  # not repeated: it may hold a password
        raise SeaTunnelError(
            f"the {kind.value}'s address cannot be read: the part before its @ holds one of / ? #",
            "write these as %2F %3F %23, or the password as ${env:NAME}",
        )
    java = "jdbc:" if given.address.startswith("jdbc:") else ""
    parts = urlsplit(given.address.removeprefix(java))
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    place = parts.netloc.rpartition("@")[2]
    address = java + parts._replace(netloc=place).geturl() if parts.netloc else given.address
    return replace(given, address=address, user=user, password=reference(kind, password, user))


def step_of(kind: PluginKind, end: Shorthand) -> NamedStep:
    """The plugin for an address without user and password, and its options. Raises SeaTunnelError."""
    plugins = installed()
    for name in plugins.names(kind):
        try:
            factory = plugins.factory(kind, name)
        except BrokenPluginError:
            continue  # it stops those who use it by its name
        assert isinstance(factory, SourceFactory | SinkFactory)
        try:
            options = factory.from_shorthand(end)
        except ValueError as error:
            raise SeaTunnelError(f"{kind.value} {end.address}: {error}", MORE) from None
        if options is not None:
            return name, options
    raise SeaTunnelError(f"no {kind.value} understands the address {end.address!r}", UNDERSTOOD)
