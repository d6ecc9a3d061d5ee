"""Reads the block ``egress`` of the server's settings file: the addresses that the server and its jobs may reach."""

from __future__ import annotations

from seatunnel_py.api.options import Options, option
from seatunnel_py.api.process.egress.address_rules import allowed_address
from seatunnel_py.api.process.egress.egress_rules import Egress, EgressMode
from seatunnel_py.config.resolve import resolve_options
from seatunnel_py.config.shade import Secrets
from seatunnel_py.config.tree import Node
from seatunnel_py.errors import Problem


class EgressOptions(Options):
    """Addresses that jobs, discoveries and tests of connections may reach, and inner ones that webhooks may."""

    mode: EgressMode = option(EgressMode.NO_METADATA, doc="which addresses are refused that no rule names")
    allow: tuple[str, ...] = option(
        (), doc="addresses that may be reached: networks, addresses and names of hosts, with or without :PORT"
    )
    deny: tuple[str, ...] = option((), doc="addresses that may not be reached; they count before those of allow")


def read_egress(node: Node, secrets: Secrets, problems: list[Problem]) -> Egress:
    """The rules; mistakes are added to ``problems``."""
    options, found, _ = resolve_options(node, EgressOptions, path="egress", secrets=secrets)
    problems += found
    if not isinstance(options, EgressOptions):
        return Egress()
    for key, texts in (("allow", options.allow), ("deny", options.deny)):
        for text in texts:
            try:
                allowed_address(text)
            except ValueError as error:
                problems.append(node.fields.get(key, node).place.problem(str(error), path=f"egress.{key}"))
    return Egress(options.mode, options.allow, options.deny)
