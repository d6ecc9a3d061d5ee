"""Reads the server's settings file: the targets of notifications, and the addresses that may be reached; the store is
checked with them.

Rules. (1) Every mistake is reported at once, with its place. (2) A secret, and the address of a chat, is a reference:
``${env:NAME}`` or ``${file:NAME}``. (3) An address of an inner network that is not allowed is a mistake, if it is known
now; each connection looks again. (4) Only the host of a target is shown, never its path or a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path

from seatunnel_py.api.options import Options, Secret
from seatunnel_py.api.process.egress.egress_rules import Egress
from seatunnel_py.config.resolve import nearest, resolve_options
from seatunnel_py.config.shade import REFERENCE, Secrets, literal_secrets
from seatunnel_py.config.tree import Node
from seatunnel_py.control.definition_text import REMEDY
from seatunnel_py.control.egress.egress_settings import read_egress, read_rules
from seatunnel_py.control.notify.event_kinds import EventKind, chosen_kinds, wanted
from seatunnel_py.control.notify.notice import Notice
from seatunnel_py.control.notify.sending.pinned_socket import (
    HostRoute,
    RefusedAddressError,
    TargetRules,
    require_allowed,
)
from seatunnel_py.control.notify.sending.signature import key_of
from seatunnel_py.control.notify.sending.web_request import WebAddress
from seatunnel_py.control.notify.target_options import (
    MODELS,
    ChatOptions,
    MailOptions,
    MailTls,
    NotifyOptions,
    TargetOptions,
    TargetType,
    WebhookOptions,
)
from seatunnel_py.control.settings.settings_file import blocks_of
from seatunnel_py.control.settings.store_settings import BLOCK as STORE
from seatunnel_py.control.settings.store_settings import read_store
from seatunnel_py.errors import JobFileError, Problem
from seatunnel_py.redaction import keep_secret

TARGETS_MAX = 50
OWN_HEADERS = ("webhook-", "ce-", "content-", "host", "connection", "transfer-encoding", "user-agent")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_ADDRESS = re.compile(r"[^\s@<>,;\"]{1,64}@[^\s@<>,;\"]{1,255}")
_MAKE_SECRET = 'make one: echo "whsec_$(openssl rand -base64 32)"'


@dataclass(frozen=True, slots=True)
class NotifyTarget:
    """One target. ``kinds``: of the events that it gets; ``route``: the way to its host."""

    name: str
    options: TargetOptions = field(repr=False)
    kinds: frozenset[EventKind]
    route: HostRoute
    shown: str

    def wants(self, notice: Notice) -> bool:
        """Whether it gets this notice."""
        names = {notice.of.job, notice.of.definition or notice.of.job}
        named = any(fnmatchcase(name, pattern) for name in names for pattern in self.options.jobs)
        return named and wanted(self.kinds, notice.kind, notice.covered_by)


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """All targets by name. ``egress``: the addresses that jobs may reach."""

    targets: Mapping[str, NotifyTarget] = field(default_factory=dict)
    give_up_seconds: float = 72 * 3_600.0
    group_seconds: float = 60.0
    egress: Egress = field(default_factory=Egress)

    def receivers(self, notice: Notice) -> list[str]:
        """The names of the targets that get a notice."""
        return [name for name, target in self.targets.items() if target.wants(notice)]


def read_settings(path: Path, environment: Mapping[str, str]) -> NotifySettings:
    """Read a settings file. Raises JobFileError with every mistake."""
    read = blocks_of(path, environment)
    secrets, problems = read.secrets, list(read.problems)
    wrong = list[Problem]()
    egress = read_egress(read.block("egress"), secrets, wrong)
    problems += wrong
    if wrong:  # a rule that cannot be read must not be a second mistake of each target
        egress = Egress(allow=("0.0.0.0/0", "::/0"))
    if STORE in read.blocks:
        read_store(read.blocks[STORE], secrets, problems)
    found = _SettingsReading(secrets, problems, egress).settings(read.block("notify"))
    if problems:
        raise JobFileError(tuple(problems))
    return found


class _SettingsReading:
    """Reads the block ``notify``; mistakes are added to ``problems``."""

    def __init__(self, secrets: Secrets, problems: list[Problem], egress: Egress) -> None:
        self._secrets, self._problems, self._egress = secrets, problems, egress

    def settings(self, node: Node) -> NotifySettings:
        """All settings."""
        own = Node({name: value for name, value in node.fields.items() if name != "targets"}, node.place)
        found = self._options(own, NotifyOptions, "notify")
        general = found if isinstance(found, NotifyOptions) else NotifyOptions()
        allowed = read_rules(node, "notify.allow", general.allow, self._problems)
        rules = TargetRules((*self._egress.allowed, *allowed), self._egress.denied)
        blocks = node.fields["targets"].fields if "targets" in node.fields else {}
        if len(blocks) > TARGETS_MAX:
            self._add(node, f"there are {len(blocks)} targets, and at most {TARGETS_MAX}", "notify.targets")
        targets = (self._target(name, one, rules) for name, one in blocks.items())
        known = {target.name: target for target in targets if target is not None}
        return NotifySettings(known, general.give_up_hours * 3_600, general.group_seconds, self._egress)

    def _target(self, name: str, node: Node, rules: TargetRules) -> NotifyTarget | None:
        path = f"notify.targets.{name}"
        if not _NAME.fullmatch(name):
            self._add(node, "the name of a target has a-z, 0-9, - and _, and at most 40 of them", path)
        written = str(node.fields["type"].plain()).strip().lower() if "type" in node.fields else ""
        if written not in list(TargetType):
            near = nearest(written, [one.value for one in TargetType])
            remedy = f"valid: {', '.join(TargetType)}"
            self._problems.append(
                node.place.problem("it needs a type", path=f"{path}.type", remedy=remedy, suggestion=near)
            )
            return None
        kind = TargetType(written)
        literal = dict(literal_secrets(node, ("url",) if MODELS[kind] is ChatOptions else ()))
        literal |= {key: one for key, one in node.leaves() if key.startswith("headers.") and not _refers(one)}
        for key, one in literal.items():
            self._add(one, "a secret is written in the settings file", f"{path}.{key}", REMEDY)
        options = None if literal else self._options(node, MODELS[kind], path)
        if not isinstance(options, TargetOptions):
            return None
        return self._checked(name, options, node, rules)

    def _checked(self, name: str, options: TargetOptions, node: Node, rules: TargetRules) -> NotifyTarget | None:
        path, before = f"notify.targets.{name}", len(self._problems)
        kinds: frozenset[EventKind] = frozenset()
        try:
            kinds = chosen_kinds(options.events)
        except ValueError as error:
            self._add(node.fields["events"], str(error), f"{path}.events")
        if options.ca_file is not None and not Path(options.ca_file).is_file():
            self._add(node.fields["ca-file"], f"there is no file {options.ca_file}", f"{path}.ca-file")
        if isinstance(options, WebhookOptions):
            self._check_webhook(options, node, path)
        if isinstance(options, MailOptions):
            self._check_mail(options, node, path)
            route, shown = _mail_route(options, rules), f"smtp://{options.host}:{options.port}"
        else:
            assert isinstance(options, WebhookOptions | ChatOptions)
            try:
                address = WebAddress.of(options.url.get_secret_value())
            except ValueError as error:
                self._add(node.fields["url"], str(error), f"{path}.url")
                return None
            keep_secret([address.target] if len(address.target) > 1 else [])
            route, shown = address.route(rules), address.origin
        self._check_route(route, node, path)
        return NotifyTarget(name, options, kinds, route, shown) if len(self._problems) == before else None

    def _check_webhook(self, options: WebhookOptions, node: Node, path: str) -> None:
        for key, secret in (("secret", options.secret), ("old-secret", options.old_secret)):
            try:
                if secret is not None:
                    key_of(secret.get_secret_value())
            except ValueError as error:
                self._add(node.fields.get(key, node), str(error), f"{path}.{key}", _MAKE_SECRET)
        for header, value in options.headers.items():
            text = value.get_secret_value()
            if not _HEADER.fullmatch(header) or header.lower().startswith(OWN_HEADERS):
                self._add(node.fields["headers"], f"{header!r} is not a header that may be set", f"{path}.headers")
            elif not text.isascii() or not text.isprintable():
                self._add(node.fields["headers"], f"the value of {header!r} is not printable ASCII", f"{path}.headers")

    def _check_mail(self, options: MailOptions, node: Node, path: str) -> None:
        for key, address in (("from", options.sender), *(("to", one) for one in options.to)):
            if not _ADDRESS.fullmatch(address) or not address.isascii():
                self._add(node.fields[key], f"{address!r} is not an address of mail", f"{path}.{key}")

    def _check_route(self, route: HostRoute, node: Node, path: str) -> None:
        """An address that is written is checked now; the name of a host is looked up by ``target_book``."""
        try:
            ip_address(route.host)
        except ValueError:
            return
        try:
            require_allowed(route.host, route)
        except RefusedAddressError as error:
            self._add(node, error.message, path, error.remedy)

    def _options(self, node: Node, model: type[Options], path: str) -> Options | None:
        options, problems, _ = resolve_options(node, model, path=path, secrets=self._secrets)
        self._problems += problems
        return options

    def _add(self, node: Node, message: str, path: str, remedy: str = "") -> None:
        self._problems.append(node.place.problem(message, path=path, remedy=remedy))


def _refers(node: Node) -> bool:
    return REFERENCE.search(str(node.value)) is not None


def _mail_route(options: MailOptions, rules: TargetRules) -> HostRoute:
    return HostRoute(options.host, options.port, rules, plain=options.tls is MailTls.NONE)


def text_of(secret: Secret | None) -> str:
    """The text of a secret; empty without one."""
    return "" if secret is None else secret.get_secret_value()
