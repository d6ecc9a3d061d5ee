"""Events reach real receivers: webhooks, chats and mail."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from email import message_from_string
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.control.notify.event_kinds import EventKind
from seatunnel_py.control.notify.notice import Notice, NoticedRun, NoticedTable, event_of
from seatunnel_py.control.notify.sending import pinned_socket
from seatunnel_py.control.notify.sending.attempt import attempt
from seatunnel_py.control.notify.sending.chat_bodies import BODIES
from seatunnel_py.control.notify.sending.plain_message import message_of
from seatunnel_py.control.notify.sending.signature import key_of, signed
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from tests.control.notify.receivers import certificate, drips, hangs, mail_receiver, unused_port, web_receiver
from tests.control.notify.settings_files import OTHER_SECRET, SECRET, hook, target_of

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "be-notified.md"
NOW = 1_800_000_000.0


def event(job: str = "shop", cause: str = "no such table", run: str = "shop-1") -> OutboxEvent:
    row = RunRow(
        run, "FAILED", job, "shop.conf", NOW, 3.0, 10, tables={"DONE": 1, "FAILED": 1}, exit_code=1, driver="d1"
    )
    tables = [NoticedTable("shop.orders", "FAILED", cause, "create it")]
    notice = Notice(EventKind.RUN_FAILED, NoticedRun(run, "shop", 4, row), "d1", cause, "create it", tables)
    return event_of(notice, NOW, "https://etl.example.com")


def example() -> Any:
    """The function of the page."""
    code = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names["is_genuine"]


def test_t16_the_example_of_the_page_takes_a_genuine_request_once_and_no_other(tmp_path: Path) -> None:
    """Forged, changed, old and repeated ones are refused."""
    is_genuine = example()
    with web_receiver() as receiver:
        assert attempt(target_of(tmp_path, hook("ops", receiver.port)), event(), time.time()).sent
        assert attempt(target_of(tmp_path, hook("ops", receiver.port)), event(), time.time() - 400).sent
    new, old = receiver.received
    seen: set[str] = set()
    changed = new.body.replace(b"FAILED", b"DONE")
    assert not is_genuine(new.headers, changed, SECRET, seen), "changed on the way"
    assert not is_genuine(new.headers, new.body, OTHER_SECRET, seen), "signed by another key"
    later = {**new.headers, "webhook-timestamp": str(int(new.headers["webhook-timestamp"]) + 1)}
    assert not is_genuine(later, new.body, SECRET, seen), "with another time"
    renamed = {**new.headers, "webhook-id": "evt_other"}
    assert not is_genuine(renamed, new.body, SECRET, seen), "with another id"
    assert not is_genuine(old.headers, old.body, SECRET, seen), "sent again later"
    assert is_genuine(new.headers, new.body, SECRET, seen)
    assert not is_genuine(new.headers, new.body, SECRET, seen), "a repeat"


def test_t16_two_keys_sign_while_receivers_change_theirs(tmp_path: Path) -> None:
    with web_receiver() as receiver:
        target = target_of(tmp_path, hook("ops", receiver.port, 'old-secret = "${env:OLD_SECRET}"'))
        assert attempt(target, event(), time.time()).sent
    (one,) = receiver.received
    assert all(example()(one.headers, one.body, secret, set()) for secret in (SECRET, OTHER_SECRET))


@given(st.binary(min_size=24, max_size=64), st.text("abc_-", min_size=1), st.integers(0, 2**40), st.binary())
def test_a_signature_is_that_of_standard_webhooks(key: bytes, id: str, timestamp: int, body: bytes) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    wanted = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    assert key_of(secret) == key
    assert signed([secret], id, timestamp, body) == "v1," + base64.b64encode(wanted).decode()


def test_a_signature_equals_the_published_one() -> None:
    """The example of the specification of Standard Webhooks."""
    body = b'{"test": 2432232314}'
    made = signed(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_u16_a_webhook_has_ids_and_the_attributes_of_a_cloud_event(tmp_path: Path) -> None:
    """Of event, run, definition, revision and driver."""
    with web_receiver() as receiver:
        result = attempt(target_of(tmp_path, hook("ops", receiver.port, "headers { X-Team = ${env:TEAM} }"), TEAM="etl"), event(), NOW)  # fmt: skip
    assert (result.sent, result.code, result.error) == (True, 200, "")
    (one,) = receiver.received
    body = json.loads(one.body)
    assert one.path == "/hook" and one.headers["x-team"] == "etl"
    assert one.headers["webhook-id"] == one.headers["ce-id"] == body["id"] == event().id
    assert (one.headers["ce-specversion"], one.headers["ce-type"], body["type"]) == ("1.0", "run.failed", "run.failed")
    data = body["data"]
    about = ("shop-1", "shop", 4, "d1", 1, "no such table")
    assert tuple(data[name] for name in ("run", "definition", "revision", "driver", "exit_code", "cause")) == about
    assert data["tables"] == {"DONE": 1, "FAILED": 1} and data["link"] == "https://etl.example.com/jobs/shop-1"
    assert data["failed_tables"] == [
        {"table": "shop.orders", "state": "FAILED", "cause": "no such table", "remedy": "create it"}
    ]


@pytest.mark.parametrize("code", [301, 302, 307, 400, 404, 410, 429, 500, 503])
def test_another_answer_is_a_failure(tmp_path: Path, code: int) -> None:
    """T4: A redirect is not followed. Of the answer its code and a short text are kept, without control characters."""
    with web_receiver() as receiver:
        receiver.answer, receiver.body = code, b"\x1b[31mno " + b"x" * 100_000
        result = attempt(target_of(tmp_path, hook("ops", receiver.port)), event(), NOW)
    assert (result.sent, result.code, result.gone) == (False, code, code == 410)
    assert [one.path for one in receiver.received] == ["/hook"]
    assert len(result.error) < 300 and "\x1b" not in result.error and ("redirect" in result.error) == (code < 400)


@pytest.mark.parametrize("behaviour", [hangs, drips])
def test_o23_an_attempt_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: Any) -> None:
    """The time is that of the whole attempt, also if a byte comes now and then. No thread stays."""
    monkeypatch.setattr(pinned_socket.Deadline.__init__, "__defaults__", (0.7,))
    with web_receiver() as receiver:
        receiver.answer = behaviour
        before, begun = threading.active_count(), time.monotonic()
        result = attempt(target_of(tmp_path, hook("ops", receiver.port)), event(), NOW)
        assert (result.sent, result.code) == (False, None) and "no answer in time" in result.error
        assert 0.6 < time.monotonic() - begun < 5
        until = time.monotonic() + 10
        while threading.active_count() > before and time.monotonic() < until:
            time.sleep(0.02)  # the receiver's own thread
        assert threading.active_count() <= before


def test_a_server_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    port = unused_port()
    result = attempt(target_of(tmp_path, hook("ops", port)), event(), NOW)
    assert not result.sent and f"cannot connect to 127.0.0.1:{port}: Connection refused" in result.error


def test_a_certificate_must_be_valid_for_the_host(tmp_path: Path) -> None:
    """The name in the address counts, although the connection goes to an address that was looked up before."""
    right, wrong = certificate(tmp_path), certificate(tmp_path, "other")
    for files, trusted, sent in ((right, right, True), (wrong, wrong, False), (right, None, False)):
        with web_receiver(files) as receiver:
            ca = f'ca-file = "{trusted[0]}"' if trusted else ""
            text = f'ops {{ type = webhook, url = "https://localhost:{receiver.port}/hook", secret = "${{env:HOOK_SECRET}}", {ca} }}'
            result = attempt(target_of(tmp_path, text), event(), NOW)
            assert result.sent is sent, result.error
            assert sent or "certificate is not valid" in result.error
            assert len(receiver.received) == sent


@pytest.mark.parametrize("chat", BODIES)
def test_u16_a_chat_gets_its_own_form(tmp_path: Path, chat: str) -> None:
    answers = {"feishu": b'{"code": 0}', "dingtalk": b'{"errcode": 0, "errmsg": "ok"}'}
    with web_receiver() as receiver:
        receiver.body = answers.get(chat, b"ok")
        target = target_of(
            tmp_path, f"room {{ type = {chat}, url = ${{env:URL}} }}", URL=f"http://127.0.0.1:{receiver.port}/s/xyz"
        )
        assert attempt(target, event(), NOW).sent
        receiver.body = b'{"code": 19001, "errcode": 310000, "msg": "no key", "errmsg": "no key"}'
        refused = attempt(target, event(), NOW)
    assert refused.sent is (chat not in answers) and (refused.sent or "no key" in refused.error)
    assert "xyz" not in target.shown
    body = json.loads(receiver.received[0].body)
    text = json.dumps(body)
    assert "shop: the run has failed" in text and "create it" in text and "shop.orders FAILED" in text
    if chat == "slack":
        assert body["text"] == "shop: the run has failed"
    if chat == "teams":
        card = body["attachments"][0]
        assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
        assert card["content"]["actions"][0]["url"] == "https://etl.example.com/jobs/shop-1"


@given(st.sampled_from(sorted(BODIES)), st.text(), st.text())
def test_a_name_neither_mentions_nor_formats(chat: str, name: str, cause: str) -> None:
    """Slack reads ``<!channel>`` in its form mrkdwn only, Teams formats no runs of text, Feishu reads tags."""
    made = BODIES[chat](message_of(event(f"<!channel> <at id=all> {name}", f"[x](http://y) *b* <@U1> {cause}")))
    if chat == "slack":
        assert "<!" not in str(made["text"])
        marked = [one for one in made["blocks"] for one in [one.get("text", {})] if one.get("type") == "mrkdwn"]
        assert marked == []
    if chat == "feishu":
        assert "<" not in str(made["content"]["text"])
    if chat == "dingtalk":
        assert made["at"] == {"atMobiles": [], "isAtAll": False} and made["msgtype"] == "text"
    if chat == "teams":
        blocks = made["attachments"][0]["content"]["body"]
        assert {one["type"] for one in blocks} == {"RichTextBlock"}


MAIL = 'night {{ type = mail, host = "{host}", port = {port}, from = "etl@example.com", to = ["a@x.org", "b@x.org"], {more} }}'


def test_a_mail_arrives(tmp_path: Path) -> None:
    """Its Message-ID follows from the event, so that a repeat is the same mail."""
    with mail_receiver() as receiver:
        target = target_of(tmp_path, MAIL.format(host="127.0.0.1", port=receiver.port, more="tls = none"))
        first, second = attempt(target, event(), NOW), attempt(target, event(), NOW + 60)
    assert first.sent and second.sent and not first.error
    mails = [message_from_string(one, policy=default) for one in receiver.mails]
    assert mails[0]["Message-ID"] == mails[1]["Message-ID"] == f"<{event().id}@seatunnel.invalid>"
    assert (mails[0]["Subject"], mails[0]["To"]) == ("[seatunnel] shop: the run has failed", "a@x.org, b@x.org")
    assert "shop.orders FAILED: no such table: create it" in mails[0].get_content()


@pytest.mark.parametrize("name", ["x\r\nBcc: evil@x.org", "\u202eabc", "x" * 5_000, "\ud800", "größe"])
def test_a_name_adds_no_header_to_a_mail(tmp_path: Path, name: str) -> None:
    with mail_receiver() as receiver:
        target = target_of(tmp_path, MAIL.format(host="127.0.0.1", port=receiver.port, more="tls = none"))
        assert attempt(target, event(name, f"cause\n.\r\nQUIT {name}"), NOW).sent
    (mail,) = [message_from_string(one, policy=default) for one in receiver.mails]
    assert mail["Bcc"] is None and mail["Subject"].startswith("[seatunnel] ")
    assert [one for one in receiver.commands if one.startswith("RCPT")] == ["RCPT TO:<a@x.org>", "RCPT TO:<b@x.org>"]


def test_a_mail_server_is_encrypted_before_the_log_in(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    more = f'username = me, password = "${{env:PW}}", ca-file = "{files[0]}"'
    with mail_receiver(files) as receiver:
        target = target_of(
            tmp_path, MAIL.format(host="localhost", port=receiver.port, more=more), PW="hunter22-hunter22"
        )
        result = attempt(target, event(), NOW)
        assert result.sent, result.error
        assert [one.split(" ")[0].upper() for one in receiver.commands][:4] == ["EHLO", "STARTTLS", "EHLO", "AUTH"]
    with mail_receiver() as receiver:  # it offers no TLS
        target = target_of(
            tmp_path, MAIL.format(host="localhost", port=receiver.port, more=more), PW="hunter22-hunter22"
        )
        result = attempt(target, event(), NOW)
    assert not result.sent and "STARTTLS" in result.error and "AUTH" not in str(receiver.commands)


def test_a_mail_that_is_refused_is_a_failure(tmp_path: Path) -> None:
    """Of one that some receivers get, the others are named."""
    with mail_receiver() as receiver:
        target = target_of(tmp_path, MAIL.format(host="127.0.0.1", port=receiver.port, more="tls = none"))
        receiver.refuses = frozenset({"a@x.org"})
        some = attempt(target, event(), NOW)
        receiver.refuses = frozenset({"a@x.org", "b@x.org"})
        none = attempt(target, event(), NOW)
        receiver.refuses, receiver.answer = frozenset(), "451 later"
        later = attempt(target, event(), NOW)
    assert (some.sent, some.error) == (True, "refused: a@x.org")
    assert not none.sent and "no such receiver" in none.error
    assert not later.sent and "451" in later.error
