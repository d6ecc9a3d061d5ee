"""The options of targets, as the server's settings file has them below ``notify``."""

from __future__ import annotations

from enum import StrEnum

from seatunnel_py.api.options import Options, Secret, option
from seatunnel_py.api.options.rules import together


class TargetType(StrEnum):
    """How events are sent to a target."""

    WEBHOOK = "webhook"
    MAIL = "mail"
    SLACK = "slack"
    TEAMS = "teams"
    FEISHU = "feishu"
    DINGTALK = "dingtalk"


class MailTls(StrEnum):
    """How a mail server is reached: encrypted from the first byte, after a plain greeting, or not at all."""

    TLS = "tls"
    STARTTLS = "starttls"
    NONE = "none"


class NotifyOptions(Options):
    """Options of all targets."""

    allow: tuple[str, ...] = option(
        (), doc="inner addresses that targets may have: networks, addresses and names of hosts, with or without :PORT"
    )
    give_up_hours: float = option(
        72.0, gt=0, le=720, key="give-up-hours", doc="an event that its target has not taken for so long is given up"
    )
    group_seconds: float = option(
        60.0, ge=0, le=3_600, key="group-seconds", doc="tables that fail within this time are one event"
    )


class TargetOptions(Options):
    """Options of every target."""

    type: TargetType = option(doc="how events are sent")
    events: tuple[str, ...] = option((), doc="kinds of events, also as in run.*; default: all that need attention")
    jobs: tuple[str, ...] = option(("*",), doc="names of jobs or ids of definitions, as in shop-*")
    ca_file: str | None = option(None, key="ca-file", doc="certificates that are trusted in place of the usual ones")


class WebhookOptions(TargetOptions):
    """A program that takes events as JSON."""

    url: Secret = option(doc="where events are sent to")
    secret: Secret = option(doc="whsec_ and the key in base64 by which events are signed")
    old_secret: Secret | None = option(None, key="old-secret", doc="a second one, while receivers change theirs")
    headers: dict[str, Secret] = option({}, doc="further headers")


class ChatOptions(TargetOptions):
    """A room of a chat."""

    url: Secret = option(doc="the address of its webhook, which is a secret")


class MailOptions(TargetOptions):
    """Receivers of mail."""

    host: str = option(doc="the mail server")
    port: int = option(587, ge=1, le=65_535, doc="its port")
    tls: MailTls = option(MailTls.STARTTLS, doc="how it is reached; none: only at an address of notify.allow")
    username: str | None = option(None, doc="for its log-in")
    password: Secret | None = option(None, doc="for its log-in")
    sender: str = option(key="from", doc="the address of the sender")
    to: tuple[str, ...] = option(min_length=1, doc="the addresses of the receivers")
    rules = (together("username", "password"),)


MODELS: dict[TargetType, type[TargetOptions]] = {
    TargetType.WEBHOOK: WebhookOptions,
    TargetType.MAIL: MailOptions,
    **dict.fromkeys((TargetType.SLACK, TargetType.TEAMS, TargetType.FEISHU, TargetType.DINGTALK), ChatOptions),
}
