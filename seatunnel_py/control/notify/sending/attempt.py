"""One attempt to send an event to a target."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from seatunnel_py.control.notify.sending import mail
from seatunnel_py.control.notify.sending.chat_bodies import BODIES, refusal
from seatunnel_py.control.notify.sending.mail import MailServer, mail_of
from seatunnel_py.control.notify.sending.pinned_socket import SendError
from seatunnel_py.control.notify.sending.plain_message import message_of
from seatunnel_py.control.notify.sending.signature import signed
from seatunnel_py.control.notify.sending.web_request import GONE, AnswerError, WebAddress, json_bytes, post
from seatunnel_py.control.notify.target_options import ChatOptions, MailOptions, WebhookOptions
from seatunnel_py.control.notify.target_settings import NotifyTarget, text_of
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from seatunnel_py.errors import worded
from seatunnel_py.redaction import redacted_text

SOURCE = "/seatunnel"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """``code``: of the answer, None: there was none; ``error``: empty: it was taken, or, with ``sent``, a note;
    ``gone``: the target wants no more events."""

    sent: bool
    code: int | None = None
    error: str = ""
    gone: bool = False
    seconds: float = 0.0


def attempt(target: NotifyTarget, event: OutboxEvent, now: float) -> AttemptResult:
    """Send an event, in ten seconds at most. Never raises: whatever fails is the result."""
    begun = time.monotonic()
    try:
        code, note = _sender(target, event, now)()
    except AnswerError as error:
        return AttemptResult(False, error.code, error.message, error.code == GONE, time.monotonic() - begun)
    except SendError as error:
        text = f"{error.message}; {error.remedy}" if error.remedy else error.message
        return AttemptResult(False, None, redacted_text(text), seconds=time.monotonic() - begun)
    except Exception as error:  # noqa: BLE001 - one target never ends the thread that sends to it
        return AttemptResult(False, None, redacted_text(worded(error)), seconds=time.monotonic() - begun)
    return AttemptResult(True, code, note, seconds=time.monotonic() - begun)


def _sender(target: NotifyTarget, event: OutboxEvent, now: float) -> Callable[[], tuple[int | None, str]]:
    options = target.options
    if isinstance(options, MailOptions):
        return partial(_by_mail, target, options, event)
    if isinstance(options, WebhookOptions):
        return partial(_by_webhook, target, options, event, now)
    assert isinstance(options, ChatOptions)
    return partial(_by_chat, target, options, event)


def _by_webhook(
    target: NotifyTarget, options: WebhookOptions, event: OutboxEvent, now: float
) -> tuple[int | None, str]:
    body, timestamp = json_bytes(event.body), int(now)
    secrets = [one.get_secret_value() for one in (options.secret, options.old_secret) if one is not None]
    headers = {
        "Content-Type": "application/json",
        "webhook-id": event.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signed(secrets, event.id, timestamp, body),
        "ce-specversion": "1.0",
        "ce-id": event.id,
        "ce-type": event.kind,
        "ce-source": SOURCE,
        "ce-time": str(event.body["timestamp"]),
    }
    own = {name: value.get_secret_value() for name, value in options.headers.items()}
    address = WebAddress.of(options.url.get_secret_value())
    code, _ = post(address, {**headers, **own}, body, target.route.rules, options.ca_file, reads=False)
    return code, ""


def _by_chat(target: NotifyTarget, options: ChatOptions, event: OutboxEvent) -> tuple[int | None, str]:
    body = json_bytes(BODIES[options.type.value](message_of(event)))
    address = WebAddress.of(options.url.get_secret_value())
    headers = {"Content-Type": "application/json"}
    code, answer = post(address, headers, body, target.route.rules, options.ca_file, reads=True)
    if why := refusal(options.type.value, answer):
        raise AnswerError(code, why)
    return code, ""


def _by_mail(target: NotifyTarget, options: MailOptions, event: OutboxEvent) -> tuple[int | None, str]:
    server = MailServer(
        target.route, options.tls.value, options.ca_file, options.username or "", text_of(options.password)
    )
    return None, mail.send(mail_of(event, options.sender, options.to), server)
