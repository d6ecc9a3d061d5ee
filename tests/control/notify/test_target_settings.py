"""The settings of targets: every mistake with its place, secrets by reference only, and never shown."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from seatunnel_py.control.notify.event_kinds import CHOSEN, QUIET, EventKind
from seatunnel_py.control.notify.notice import Notice, NoticedRun
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.notify.target_settings import NotifySettings, read_settings
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.errors import JobFileError
from tests.control.notify.settings_files import ENVIRONMENT, SECRET, hook, settings_of, written

CANARY = "canary-4711-secret"


def refusal(folder: Path, targets: str, more: str = "", **environment: str) -> JobFileError:
    with pytest.raises(JobFileError) as found:
        settings_of(folder, targets, more, **environment)
    return found.value


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ('a { type = webhok, url = "https://x" }', "a.type", "did you mean 'webhook'"),
        ("a { type = webhook, secret = ${env:HOOK_SECRET} }", "a.url", "missing"),
        (hook("a", 1, "event = [run.failed]"), "a.event", "did you mean 'events'"),
        (hook("a", 1, "events = [run.fialed]"), "a.events", "chooses no kind"),
        (hook("A b", 1), "A b", "name of a target"),
        ('a { type = slack, url = "https://hooks.example.com/T0/B0/x" }', "a.url", "a secret is written"),
        ('a { type = webhook, url = "ftp://x/y", secret = ${env:HOOK_SECRET} }', "a.url", "not an address"),
        ('a { type = webhook, url = "https://u@x/y", secret = ${env:HOOK_SECRET} }', "a.url", "user or a password"),
        ('a { type = webhook, url = "https://x/\\ny", secret = ${env:HOOK_SECRET} }', "a.url", "a blank"),
        (hook("a", 1, 'headers { X = "literal" }'), "a.headers.X", "a secret is written"),
        (hook("a", 1, "headers { Host = ${env:HOOK_SECRET} }"), "a.headers", "not a header that may be set"),
        (hook("a", 1, "headers { webhook-id = ${env:HOOK_SECRET} }"), "a.headers", "not a header that may be set"),
        (hook("a", 1, 'ca-file = "nowhere.pem"'), "a.ca-file", "there is no file"),
        ('a { type = webhook, url = "https://x/y", secret = ${env:NONE} }', "a.secret", "'NONE' is not set"),
        ('a { type = mail, host = x, from = "no", to = ["a@b.c"] }', "a.from", "not an address of mail"),
        ('a { type = mail, host = x, from = "a@b.c", to = ["a@b.c,d@e.f"] }', "a.to", "not an address of mail"),
        ('a { type = mail, host = x, from = "a@b.c", to = [] }', "a.to", "at least 1"),
        ('a { type = mail, host = x, username = me, from = "a@b.c", to = ["a@b.c"] }', "a", "password"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place(tmp_path: Path, text: str, path: str, message: str) -> None:
    found = refusal(tmp_path, text)
    assert any(one.line > 0 and one.path == f"notify.targets.{path}" for one in found.problems), str(found)
    assert message in str(found)


def taken_again(book: TargetBook) -> bool:
    """Whether the file has other settings now, which count from here on."""
    found = book.changed()
    if found is not None:
        book.take(found)
    return found is not None


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "server.conf"
    file.write_text('notiffy {}\nnotify { allow = ["a b"], targets { a { type = x }, b { type = slack } } }')
    with pytest.raises(JobFileError) as found:
        read_settings(file, {})
    assert [one.path for one in found.value.problems] == [
        "notiffy", "notify.allow", "notify.targets.a.type", "notify.targets.b.url",
    ]  # fmt: skip


@pytest.mark.parametrize("secret", [CANARY, "whsec_" + "!" * 40, "whsec_" + "QUJD", "whsec_" + "A" * 100])
def test_t6_a_secret_that_is_none_is_not_shown(tmp_path: Path, secret: str) -> None:
    found = refusal(tmp_path, hook("a", 1), HOOK_SECRET=secret)
    assert secret not in str(found) and "openssl rand" in str(found)


def test_t6_a_secret_that_is_written_out_is_refused_and_not_shown(tmp_path: Path) -> None:
    """A secret, a password, and the address of a chat."""
    for text in (
        f'a {{ type = webhook, url = "https://x/y", secret = "{CANARY}" }}',
        f'a {{ type = teams, url = "https://x/{CANARY}" }}',
        f'a {{ type = mail, host = x, username = me, password = "{CANARY}", from = "a@b.c", to = ["a@b.c"] }}',
        f'a {{ type = webhook, url = "https://x/y", secret = ${{env:HOOK_SECRET}}, old-secret = "{CANARY}" }}',
    ):
        found = refusal(tmp_path, text)
        assert CANARY not in str(found) and "${env:NAME}" in str(found)


def test_t6_nothing_of_a_target_shows_a_secret(tmp_path: Path) -> None:
    """A secret may come from a file beside the settings, as from the environment."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "hook").write_text(f"{SECRET}\n")
    text = 'a { type = webhook, url = "https://hooks.example.com/${env:CANARY}?k=1", secret = "${file:secrets/hook}" }'
    settings = settings_of(tmp_path, text, CANARY=CANARY)
    target = settings.targets["a"]
    assert target.options.secret.get_secret_value() == SECRET  # type: ignore[attr-defined]
    assert target.shown == "https://hooks.example.com:443"
    for shown in (repr(settings), repr(target), repr(target.options), str(target.options)):
        assert CANARY not in shown and SECRET not in shown


def wanting(settings: NotifySettings, kind: EventKind, job: str, definition: str | None = None) -> set[str]:
    row = RunRow("r-1", "FAILED", job, "x.conf", driver="d")
    return set(settings.receivers(Notice(kind, NoticedRun("r-1", definition, 1, row), "k")))


def test_u16_each_target_chooses_its_events_and_jobs(tmp_path: Path) -> None:
    """Several targets; by default a target gets what needs attention, of all jobs."""
    text = "".join(
        [
            hook("all", 1),
            hook("runs", 1, 'events = ["run.*"]'),
            hook("shop", 1, 'jobs = ["shop-*", billing]'),
            hook("tables", 1, "events = [table.failed], jobs = [nightly]"),
        ]
    )
    settings = settings_of(tmp_path, text)
    assert wanting(settings, EventKind.RUN_FAILED, "shop-1") == {"all", "runs", "shop"}
    assert wanting(settings, EventKind.RUN_FAILED, "other", "billing") == {"all", "runs", "shop"}
    assert wanting(settings, EventKind.RUN_SUCCEEDED, "shop-1") == {"runs"}
    assert wanting(settings, EventKind.TABLE_FAILED, "nightly") == {"all", "tables"}
    assert wanting(settings, EventKind.SCHEMA_WAITS, "x") == {"all"}
    for kind in CHOSEN:
        assert ("all" in wanting(settings, kind, "x")) == (kind not in QUIET)


def test_failures_of_tables_that_the_end_reports_too_are_one_event(tmp_path: Path) -> None:
    """For a target that gets the end; one that chose only tables gets those."""
    settings = settings_of(tmp_path, hook("all", 1) + hook("tables", 1, "events = [table.failed]"))
    notice = Notice(EventKind.TABLE_FAILED, NoticedRun("r"), "k", covered_by=EventKind.RUN_PARTIAL)
    assert settings.receivers(notice) == ["tables"]


def test_a_changed_file_counts_and_a_wrong_one_changes_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, hook("one", 1))
    book = TargetBook(file, ENVIRONMENT)
    assert list(book.settings.targets) == ["one"] and not taken_again(book)

    written(tmp_path, hook("one", 1) + hook("two", 1))
    os.utime(file, (1, 1))
    assert taken_again(book) and list(book.settings.targets) == ["one", "two"] and not book.fault

    file.write_text("notify { targets { x {")
    assert not taken_again(book) and list(book.settings.targets) == ["one", "two"]
    assert "never closed" in book.fault

    file.unlink()
    assert not taken_again(book) and list(book.settings.targets) == ["one", "two"] and "cannot be read" in book.fault
    written(tmp_path, hook("three", 1))
    assert taken_again(book) and list(book.settings.targets) == ["three"] and not book.fault


def test_a_wrong_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match="cannot be read"):
        TargetBook(tmp_path / "none.conf", {})


def test_the_examples_of_the_page_are_valid(tmp_path: Path) -> None:
    """With the secrets to which they refer."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "be-notified.md").read_text()
    first, second = re.findall(r"^```hocon\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "shop-chat.url").write_text("https://hooks.example.com/services/T0/B0/x\n")
    file = tmp_path / "server.conf"
    file.write_text(first)
    settings = read_settings(file, {"OPS_WEBHOOK_SECRET": SECRET, "MAIL_PASSWORD": "x" * 12})
    assert list(settings.targets) == ["ops", "shop-chat", "night-shift"]
    assert settings.targets["night-shift"].kinds == {EventKind.RUN_GAVE_UP, EventKind.SCHEMA_WAITS}
    file.write_text(second)
    assert read_settings(file, {}).targets == {}


def test_the_page_names_every_kind_of_event() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "be-notified.md").read_text()
    assert [kind.value for kind in CHOSEN if f"`{kind.value}`" not in page] == []
