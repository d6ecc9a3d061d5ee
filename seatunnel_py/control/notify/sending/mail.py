"""Sends an event as a mail through an SMTP server."""

from __future__ import annotations

import smtplib
import socket
import ssl
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from seatunnel_py.control.notify.sending.pinned_socket import Deadline, HostRoute, SendError, connected
from seatunnel_py.control.notify.sending.plain_message import message_of
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from seatunnel_py.redaction import redacted_text
from seatunnel_py.terminal_text import terminal_text

SHOWN_CHARACTERS = 200
ID_DOMAIN = "seatunnel.invalid"


@dataclass(frozen=True, slots=True)
class MailServer:
    """``tls``: ``tls`` from the first byte, ``starttls``, or ``none``, for allowed inner addresses only."""

    route: HostRoute
    tls: str
    ca_file: str | None
    username: str
    password: str = field(repr=False)


class _PinnedSmtp(smtplib.SMTP):
    """A session over a socket that was made by our rules."""

    def __init__(self, server: MailServer, deadline: Deadline, open: ExitStack) -> None:
        self._server, self._deadline, self._open = server, deadline, open
        self._tls = ssl.create_default_context(cafile=server.ca_file) if server.tls != "none" else None
        name = socket.gethostname() or "localhost"
        super().__init__(server.route.host, server.route.port, local_hostname=name, timeout=deadline.left)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        made = connected(self._server.route, self._deadline)
        self._open.callback(made.close)
        made.settimeout(self._deadline.left)
        self._open.enter_context(self._deadline.over(made))
        if self._tls is not None and self._server.tls == "tls":
            made = self._tls.wrap_socket(made, server_hostname=host)
        return made

    def opened(self) -> None:
        """Encrypt and log in, as the settings ask."""
        if self._server.tls == "starttls":
            self.starttls(context=self._tls)
        if self._server.username:
            self.login(self._server.username, self._server.password)


def mail_of(event: OutboxEvent, sender: str, receivers: tuple[str, ...]) -> EmailMessage:
    """Make the mail of an event. The Message-ID follows from the event: a repeat has the same one."""
    message = message_of(event)
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, ", ".join(receivers), f"[seatunnel] {message.title}"
    mail["Date"] = format_datetime(datetime.fromtimestamp(event.at, UTC))
    mail["Message-ID"] = f"<{event.id}@{ID_DOMAIN}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Seatunnel-Event"], mail["X-Seatunnel-Kind"] = event.id, event.kind
    mail.set_content("\n".join([*message.lines, *filter(None, [message.link])]) or message.title)
    return mail


def send(mail: EmailMessage, server: MailServer) -> str:
    """Send a mail; return a note about receivers that were refused, empty: none was. Raises SendError."""
    deadline = Deadline()
    with ExitStack() as open:
        try:
            session = _PinnedSmtp(server, deadline, open)
            open.callback(session.close)
            session.opened()
            refused = session.send_message(mail)
            with suppress(smtplib.SMTPException, OSError):
                session.quit()  # the mail was taken: nothing that follows makes it fail
        except (OSError, smtplib.SMTPException, ValueError) as error:
            why = "no answer in time" if deadline.passed else _reason(error)
            raise SendError(f"{server.route.host}: {why}") from None
    return f"refused: {', '.join(refused)}" if refused else ""


def _reason(error: Exception) -> str:
    match error:
        case smtplib.SMTPResponseException():
            return f"it has answered {error.smtp_code}: {_shown(error.smtp_error)}"
        case smtplib.SMTPRecipientsRefused():
            answers = {_shown(text) for _, text in error.recipients.values()}
            return f"it has refused all receivers: {'; '.join(sorted(answers))}"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not valid: {error.verify_message}"
        case smtplib.SMTPException():
            return _shown(str(error)) or type(error).__name__
        case OSError():
            return error.strerror or type(error).__name__
    return type(error).__name__


def _shown(text: Any) -> str:
    plain = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    return terminal_text(redacted_text(" ".join(plain.split())))[:SHOWN_CHARACTERS]
