"""T3: the block `egress` of the settings file: for jobs, and for webhooks, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seatunnel_py.api.process.egress.egress_rules import Egress, EgressMode
from seatunnel_py.control.notify.sending.pinned_socket import addresses_of
from seatunnel_py.control.notify.target_settings import read_settings
from seatunnel_py.errors import JobFileError
from tests.control.notify.settings_files import ENVIRONMENT, hook

PAGE = Path(__file__).parents[2] / "docs/how-to/run-the-server.md"


def egress_of(folder: Path, text: str) -> Egress:
    file = folder / "server.conf"
    file.write_text(text)
    return read_settings(file, ENVIRONMENT).egress


def test_t3_the_example_of_the_page_is_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```hocon\n(egress .*?)```", PAGE.read_text(), flags=re.DOTALL)
    found = egress_of(tmp_path, block)
    assert found.mode is EgressMode.DENY_PRIVATE and len(found.allow) == 3
    assert not found.why_refused("10.1.2.8", (), 5432)
    for address, port in (("10.1.2.8", 80), ("10.1.2.9", 5432), ("127.0.0.1", 5432)):
        assert found.why_refused(address, (), port)
    assert egress_of(tmp_path, "") == Egress()


@pytest.mark.parametrize(
    ("text", "path", "remedy"),
    [
        ('egress { mode = "deny-privat" }', "egress.mode", "deny-private"),
        ('egress { allow = ["a b"] }', "egress.allow", ""),
        ('egress { deny = ["10.0.0.300"] }', "egress.deny", ""),
        ("egress { denny = [] }", "egress.denny", "deny"),
        ("egres { }", "egres", "egress"),
    ],
)
def test_t3_a_wrong_rule_has_its_place(tmp_path: Path, text: str, path: str, remedy: str) -> None:
    with pytest.raises(JobFileError) as raised:
        egress_of(tmp_path, text)
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == (path, 1) and remedy in f"{problem.remedy} {problem.suggestion}"


def test_t3_webhooks_take_the_same_rules(tmp_path: Path) -> None:
    """An inner address is allowed by either list, and `deny` counts before both."""
    file = tmp_path / "server.conf"
    target = f"targets {{ {hook('ops', 8080)} }}"
    file.write_text(f'egress {{ allow = ["127.0.0.1:8080"] }}\nnotify {{ {target} }}')
    (found,) = read_settings(file, ENVIRONMENT).targets.values()
    assert addresses_of(found.route) == ["127.0.0.1"]

    for allowed in ('egress.allow = ["127.0.0.1"]', 'notify.allow = ["127.0.0.1"]'):
        file.write_text(f'egress {{ deny = ["127.0.0.1"] }}\n{allowed}\nnotify {{ {target} }}')
        with pytest.raises(JobFileError, match=r"egress\.deny"):
            read_settings(file, ENVIRONMENT)
