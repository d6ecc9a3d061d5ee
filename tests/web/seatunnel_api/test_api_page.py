"""The page about SeaTunnel's API does what it describes: its commands run, and every path is named with its role."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from string import Template

import httpx

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.web.rest_v2.rest_v2_table import V2
from tests.web.running import Served

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-seatunnel-clients.md"


def commands() -> list[str]:
    """The lines of the page that call curl."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("curl ")]


def curl(line: str, places: dict[str, str]) -> httpx.Response:
    """Send what curl would send."""
    words = [Template(word).substitute(places) for word in shlex.split(line.replace("${env", "$${env"))[1:]]
    assert words[0] == "-u"
    user, _, password = words[1].partition(":")
    body = words[3] if words[2] == "--data-binary" else None
    with httpx.Client(trust_env=False, timeout=30) as client:
        return client.request("POST" if body else "GET", words[-1], auth=(user, password), content=body)


def test_every_command_of_the_page_succeeds(own_api: Served) -> None:
    """In their order: one submits the job that the next ones look at and stop."""
    places = {"TOKEN": own_api.tokens[Role.ADMIN], "URL": own_api.url}
    answers = []
    for line in commands():
        if "/jobs/checkpoints/4711" in line:
            continue  # the job waits here, and has none
        answer = curl(line, places)
        assert answer.status_code == 200, (line, answer.text)
        answers.append(answer.json())
    assert len(answers) == 6
    assert answers[3] == answers[-1] | {"jobName": "people"} == {"jobId": "4711", "jobName": "people"}


def test_the_page_names_every_path_with_its_role() -> None:
    """And no other one."""
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if re.match(r"\| `(GET|POST) /", line)]
    named = {
        (*path.split(" "), row[2].strip(" `")) for row in rows for path in re.findall(r"`((?:GET|POST) [^`]+)`", row[1])
    }

    assert named == {(route.method, route.path, str(route.need.role and route.need.role.value)) for route in V2}
