"""Implements ``seatunnel init``: writes job files, or a connector, to start from. Each template is a file, or a folder,
of ``templates/``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from seatunnel_py.cli.view.files import making, writing
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.config.variables import RESERVED, references
from seatunnel_py.errors import ExitCode, SeaTunnelError

CONNECTOR = "connector"
CONNECTOR_FOLDER = Path("my-connector")
MONITORING, MONITORING_FOLDER = "monitoring", Path("seatunnel-monitoring")
STDOUT = Path("-")
IGNORED = ".seatunnel/"


@dataclass(frozen=True, slots=True)
class Template:
    """A job file with gaps. Its first line, a comment, describes it."""

    name: str
    text: str

    @property
    def summary(self) -> str:
        return _first_line(self.text)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the environment variables that hold its secrets."""
        return tuple(default for name, default in self._references() if name == "env")

    @property
    def variables(self) -> Mapping[str, str]:
        """The template's variables with their defaults."""
        return {name: default for name, default in self._references() if name != "env" and name not in RESERVED}

    def _references(self) -> Iterator[tuple[str, str]]:
        """Placeholders inside comments are ignored."""
        for line in self.text.splitlines():
            if not line.lstrip().startswith("#"):
                yield from ((match[1], (match[2] or "")[1:]) for match in references(line))


def listing() -> int:
    """List each template with its purpose, and the command that writes it."""
    found = templates()
    say("Job files to begin with:\n")
    for template in found:
        say(f"  {template.name:22} {template.summary}")
    say("\nA connector of your own, as a folder to begin with:\n")
    say(f"  {CONNECTOR:22} {_first_line(_connector().joinpath('pyproject.toml').read_text('utf-8'))}")
    say("\nFor Prometheus and Grafana, as a folder:\n")
    say(f"  {MONITORING:22} {_first_line(_templates().joinpath(MONITORING, 'alerts.yml').read_text('utf-8'))}")
    say(f"\nTake one: seatunnel init {found[0].name}")
    say(f"It goes into {found[0].name}.conf; `--to FILE` chooses another file, `--to -` prints it.")
    return ExitCode.SUCCESS


def write(name: str, to: Path | None) -> int:
    """Write one template to a new file or folder, and print the next step. Raises SeaTunnelError."""
    if name == CONNECTOR:
        return _write_connector(to or CONNECTOR_FOLDER)
    if name == MONITORING:
        return _write_monitoring(to or MONITORING_FOLDER)
    known = {template.name: template for template in templates()}
    if name not in known:
        remedy = did_you_mean(name, [*known, CONNECTOR, MONITORING])
        raise SeaTunnelError(f"there is no template {name!r}", f"{remedy}`seatunnel init` shows all of them")
    if to == STDOUT:
        say(known[name].text, nl=False)
        return ExitCode.SUCCESS
    return _write_job(known[name], to or Path(f"{name}.conf"))


def templates() -> tuple[Template, ...]:
    """All job templates, by name."""
    found = [one for one in _templates().iterdir() if one.name.endswith(".conf")]
    read = (Template(one.name.removesuffix(".conf"), one.read_text("utf-8")) for one in found)
    return tuple(sorted(read, key=lambda template: template.name))


def _write_job(template: Template, path: Path) -> int:
    with making(path), path.open("x", encoding="utf-8") as file:
        file.write(template.text)
    say(f"wrote {path}: {template.summary}")
    _ignore_state()
    say("\nNext:")
    for secret in template.secrets:
        say(f"  export {secret}=…")
    job = shlex.quote(str(path))
    for command, purpose in (
        ("check", "every mistake at once; starts nothing"),
        ("plan", "shows the work of a run; changes nothing"),
        ("run", "and a receipt"),
    ):
        say(f"  {f'seatunnel {command} {job}':50} # {purpose}")
    if template.variables:
        say("\nVariables: -i NAME=VALUE after each command, or change the default in the file")
        for name, default in template.variables.items():
            say(f"  {name:22} {default}")
    return ExitCode.SUCCESS


def _ignore_state() -> None:
    """Job state is not source code, so it is ignored; an existing ``.gitignore`` is left to its author."""
    path = Path(".gitignore")
    if path.exists():
        return
    with writing(path), path.open("x", encoding="utf-8") as file:
        file.write(f"{IGNORED}\n")
    say(f"wrote {path}: {IGNORED}, where jobs keep their state, stays out of git")


def _write_connector(folder: Path) -> int:
    _write_folder(folder, CONNECTOR)
    say("\nNext:")
    say(f"  cd {shlex.quote(str(folder))}")
    say("  pip install --editable . pytest")
    say("  pytest                                             # does it keep its promises?")
    say("  seatunnel run job.conf")
    say("\nThen make it yours: docs/authors.md of seatunnel-py explains every part.")
    return ExitCode.SUCCESS


def _write_monitoring(folder: Path) -> int:
    _write_folder(folder, MONITORING)
    say("\nNext:")
    say("  name alerts.yml in rule_files of prometheus.yml, and import dashboard.json into Grafana")
    say("  env { metrics.textfile = FILE } in job files, or `seatunnel jobs metrics --to FILE` every minute")
    return ExitCode.SUCCESS


def _write_folder(folder: Path, name: str) -> None:
    """Write the files of a template that is a folder. Raises SeaTunnelError."""
    if folder == STDOUT:
        raise SeaTunnelError(f"{name} is a folder of files and cannot be printed", "name a folder: --to FOLDER")
    sources = [one for one in (_templates() / name).iterdir() if one.is_file()]
    with making(folder):
        folder.mkdir()
        for source in sources:
            (folder / source.name).write_bytes(source.read_bytes())
    say(f"wrote {folder}/: {', '.join(sorted(source.name for source in sources))}")


def _templates() -> Traversable:
    return files("seatunnel_py") / "templates"


def _connector() -> Traversable:
    return _templates() / CONNECTOR


def _first_line(text: str) -> str:
    return text.partition("\n")[0].removeprefix("#").strip()
