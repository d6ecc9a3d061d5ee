"""Reads the block ``egress`` of the server's settings file: the addresses that the server and its jobs may reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seatunnel_py.api.options import Options, option
from seatunnel_py.api.process.egress.address_rules import AllowedAddress, allowed_address
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
    read_rules(node, "egress.allow", options.allow, problems)
    read_rules(node, "egress.deny", options.deny, problems)
    return Egress(options.mode, options.allow, options.deny)


def read_rules(node: Node, path: str, texts: Iterable[str], problems: list[Problem]) -> Sequence[AllowedAddress]:
    """The rules in an option of this block, without wrong ones; mistakes are added to ``problems``."""
    found, place = [], node.fields.get(path.rpartition(".")[2], node).place
    for text in texts:
        try:
            found.append(allowed_address(text))
        except ValueError as error:
            problems.append(place.problem(str(error), path=path))
    return found
