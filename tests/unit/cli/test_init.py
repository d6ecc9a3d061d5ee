"""Templates: each is valid as it is, says what it wants to be told, and overwrites nothing."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.cli.commands import init
from seatunnel_py.errors import JobFileError, SeaTunnelError

TEMPLATES = init.templates()
WITH_SECRETS = [template for template in TEMPLATES if template.secrets]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with nothing in it, and no secrets set."""
    monkeypatch.chdir(tmp_path)
    for secret in {secret for template in TEMPLATES for secret in template.secrets}:
        monkeypatch.delenv(secret, raising=False)
    return tmp_path


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_every_template_is_valid_once_its_secrets_are_set(
    template: init.Template, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables have defaults; what is to be set is said, and nothing else is missing."""
    for secret in template.secrets:
        monkeypatch.setenv(secret, "dummy")

    assert init.write(template.name, None) == 0
    job = app.check(Path(f"{template.name}.conf"))

    said = capsys.readouterr().out
    assert job.notes == ()
    assert [secret for secret in template.secrets if f"export {secret}=" not in said] == []
    assert [name for name in template.variables if f"  {name} " not in said] == []
    assert all(template.variables.values())


@pytest.mark.parametrize("template", WITH_SECRETS, ids=lambda template: template.name)
def test_a_secret_that_is_not_set_is_named(template: init.Template) -> None:
    """And it is all that is wrong."""
    init.write(template.name, None)

    with pytest.raises(JobFileError) as caught:
        app.check(Path(f"{template.name}.conf"))

    messages = [problem.message for problem in caught.value.problems]
    assert messages == [f"environment variable {secret!r} is not set" for secret in template.secrets]


def test_the_list_names_every_template_with_its_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    init.listing()

    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert [template.name for template in TEMPLATES if [template.name, template.summary] not in lines] == []
    assert [template.name for template in TEMPLATES if not template.text.startswith("# ")] == []
    assert "connector" in [line[0] for line in lines if line]


@pytest.mark.parametrize("name", ["fake-to-console", "connector"])
def test_nothing_is_overwritten(name: str, here: Path) -> None:
    (here / "mine").write_text("my work")

    with pytest.raises(SeaTunnelError, match="mine is there already") as caught:
        init.write(name, Path("mine"))

    assert "--to" in caught.value.remedy
    assert (here / "mine").read_text() == "my work"
    assert [path.name for path in here.iterdir()] == ["mine"]


def test_what_cannot_be_done_is_told_with_the_way_out() -> None:
    with pytest.raises(SeaTunnelError, match="no template") as unknown:
        init.write("csv-to-parqet", None)
    with pytest.raises(SeaTunnelError, match="cannot be printed"):
        init.write("connector", Path("-"))
    with pytest.raises(SeaTunnelError, match=r"cannot write missing.*No such file"):
        init.write("fake-to-console", Path("missing/job.conf"))

    assert "'csv-to-parquet'" in unknown.value.remedy


def test_a_template_that_is_printed_is_the_file_and_nothing_else(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    """For a pipe."""
    init.write("fake-to-console", Path("-"))

    assert capsys.readouterr().out == next(one.text for one in TEMPLATES if one.name == "fake-to-console")
    assert list(here.iterdir()) == []


def test_state_stays_out_of_git_but_a_gitignore_that_is_there_is_left_alone(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    init.write("fake-to-console", Path("a.conf"))
    first, written = capsys.readouterr().out, (here / ".gitignore").read_text()
    (here / ".gitignore").write_text("mine\n")
    init.write("fake-to-console", Path("b.conf"))

    assert written == ".seatunnel/\n"
    assert ".gitignore" in first and ".gitignore" not in capsys.readouterr().out
    assert (here / ".gitignore").read_text() == "mine\n"


def test_a_name_that_a_shell_would_divide_is_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed can be typed."""
    init.write("fake-to-console", Path("my job.conf"))

    assert "seatunnel check 'my job.conf'" in capsys.readouterr().out


def test_every_template_gets_into_the_wheel() -> None:
    """What git ignores the wheel leaves out."""
    folder = Path(str(files("seatunnel_py") / "templates"))
    wanted = [str(path) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    ignored = subprocess.run(["git", "check-ignore", *wanted], cwd=folder, capture_output=True, text=True, check=False)

    assert len(wanted) > len(TEMPLATES)
    assert (ignored.returncode, ignored.stdout) == (1, "")
