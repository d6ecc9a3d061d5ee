"""Where lineage events go, by the job file and the environment."""

from __future__ import annotations

import json

import pytest

from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import JobFileError, SeaTunnelError
from seatunnel_py.openlineage.settings import LineageSettings, settings_of

JOB = "env {{ job.mode = BATCH, {} }}\nsource {{ FakeSource {{ schema {{ fields {{ a = int }} }} }} }}\nsink {{ Console {{}} }}"


def chosen(options: str = "", environment: dict[str, str] | None = None) -> LineageSettings | None:
    environment = environment or {}
    file = loads(JOB.format(options), environment=environment)
    return settings_of(file.env.openlineage, environment, file.secrets)


def test_nothing_is_sent_unless_it_is_asked_for() -> None:
    assert chosen() is None
    assert chosen("openlineage.namespace = prod") is None
    assert chosen("", {"OPENLINEAGE_API_KEY": "abc"}) is None
    assert chosen('openlineage { url = "http://a", disabled = true }') is None
    assert chosen("", {"OPENLINEAGE_URL": "http://a", "OPENLINEAGE_DISABLED": "True"}) is None


def test_the_variables_are_those_of_the_clients_of_openlineage() -> None:
    known = {"OPENLINEAGE_URL": "https://a:5000/", "OPENLINEAGE_API_KEY": "abc", "OPENLINEAGE_NAMESPACE": "prod"}
    found = chosen("", known)
    assert found is not None
    assert (found.target, found.namespace) == ("https://a:5000/api/v1/lineage", "prod")
    assert found.headers == {"Authorization": "Bearer abc"}
    other = chosen("", {"OPENLINEAGE_URL": "http://a", "OPENLINEAGE_ENDPOINT": "/x"})
    assert other is not None and other.target == "http://a/x"
    auth = json.dumps({"type": "api_key", "apiKey": "abc"})
    prefix = "OPENLINEAGE__TRANSPORT__"
    newer = chosen("", {f"{prefix}TYPE": "http", f"{prefix}URL": "http://b", f"{prefix}AUTH": auth})
    assert newer is not None and newer.target == "http://b/api/v1/lineage"
    assert newer.headers == {"Authorization": "Bearer abc"}
    file = chosen("", {f"{prefix}TYPE": "file", f"{prefix}LOG_FILE_PATH": "/tmp/a.jsonl"})
    assert file is not None and (file.transport, file.target) == ("file", "/tmp/a.jsonl")
    console = chosen("", {f"{prefix}TYPE": "console"})
    assert console is not None and console.transport == "console"


def test_the_job_file_has_precedence_and_the_key_of_the_environment_stays_with_its_address() -> None:
    """A job file must not send the key to an address of its own."""
    known = {"OPENLINEAGE_URL": "http://a", "OPENLINEAGE_API_KEY": "abc", "KEY": "other-key"}
    found = chosen('openlineage.url = "http://b"', known)
    assert found is not None and found.target.startswith("http://b/") and found.headers == {}
    own = chosen('openlineage { url = "http://b", api-key = "${env:KEY}", headers { X-Team = "${env:KEY}" } }', known)
    assert own is not None and own.headers == {"Authorization": "Bearer other-key", "X-Team": "other-key"}
    assert "other-key" not in repr(own)
    assert chosen("openlineage.file = out.jsonl", known) == LineageSettings("file", "out.jsonl")  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["ftp://a", "a:5000", "http://me:word@a", "http://a?key=1"])
def test_a_wrong_address_is_an_error_of_the_job_file(url: str) -> None:
    with pytest.raises(JobFileError) as error:
        chosen(f'openlineage.url = "{url}"')
    assert "url" in str(error.value)


@pytest.mark.parametrize(
    "environment",
    [
        {"OPENLINEAGE_URL": "a:5000"},
        {"OPENLINEAGE__TRANSPORT__TYPE": "kafka"},
        {"OPENLINEAGE__TRANSPORT__TYPE": "file"},
    ],
)
def test_a_wrong_variable_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(SeaTunnelError) as error:
        chosen("", environment)
    assert error.value.remedy


def test_a_secret_that_is_not_there_is_named() -> None:
    with pytest.raises(SeaTunnelError) as error:
        chosen('openlineage { url = "http://b", api-key = "${env:MISSING}" }')
    assert "api-key" in error.value.message and "MISSING" in error.value.message
