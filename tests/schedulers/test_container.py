"""The recipe of the image. It is not built here: its parts, paths and commands are compared with what they name."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from seatunnel_py.runtime.storage.home import HOME_VARIABLE
from seatunnel_py.spark.app.jvm import JAVA_MIN
from tests.schedulers.command_lines import require_command

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "schedulers" / "container" / "Containerfile"
Instruction = tuple[str, str]


def instructions(text: str) -> list[Instruction]:
    """Names and arguments, with continued lines joined."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined.splitlines() if line.strip()]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage; what comes before the first one belongs to none."""
    made: list[list[Instruction]] = []
    for name, rest in instructions(RECIPE.read_text()):
        if name == "FROM":
            made.append([])
        if made:
            made[-1].append((name, rest))
    return made


def last(name: str) -> str:
    """The argument of the only instruction of this name in the image."""
    (found,) = [rest for each, rest in stages()[-1] if each == name]
    return found


def test_the_image_is_built_in_two_stages_from_a_wheel() -> None:
    """Both from the same Python, and the environment at the same path: its programs name it."""
    build, image = stages()
    bases = [rest.split()[0] for stage in (build, image) for name, rest in stage if name == "FROM"]
    assert bases[0] == bases[1] and "${PYTHON}" in bases[0]
    made = re.search(r"python -m venv (\S+)", " ".join(rest for _, rest in build))
    copied = re.search(r"--from=build (\S+) (\S+)$", last("COPY"))
    assert made is not None and copied is not None and {made[1], copied[1], copied[2]} == {"/opt/seatunnel"}
    wheel = next(rest.split()[0] for name, rest in build if name == "COPY")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert wheel == f"dist/{project['name'].replace('-', '_')}-*.whl"
    (extras,) = [rest.partition("=")[2] for name, rest in build if name == "ARG"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"]) and "server" in extras.split(",")
    version = re.search(r"^ARG PYTHON=3\.(\d+)$", RECIPE.read_text(), flags=re.MULTILINE)
    least = re.search(r">=3\.(\d+)", project["requires-python"])
    assert version is not None and least is not None and int(version[1]) >= int(least[1])


def test_the_image_runs_as_a_user_of_its_own_with_a_home() -> None:
    """The same number in each place; the home exists, is that user's, and outlives the container."""
    uid, _, gid = last("USER").partition(":")
    run = " ".join(rest for name, rest in stages()[-1] if name == "RUN")
    assert (
        uid == gid and int(uid) >= 1000 and f"--uid {uid}" in run and f"--owner={uid} --group={gid} --mode=0700" in run
    )
    environment = dict(re.findall(r"(\w+)=(\S+)", last("ENV")))
    home = environment[HOME_VARIABLE]
    assert home == last("VOLUME") == last("WORKDIR") and run.rstrip().endswith(home)
    assert environment["PATH"].startswith("/opt/seatunnel/bin:")
    names = [name for name, _ in stages()[-1]]
    assert names.index("USER") > max(at for at, name in enumerate(names) if name == "RUN")


def test_the_image_has_what_the_commands_need() -> None:
    """Java as Spark needs it, and an init as process 1, which reaps, and hands signals on to the command alone: that ends its Spark in order."""
    run = " ".join(rest for name, rest in stages()[-1] if name == "RUN")
    java = re.search(r"openjdk-(\d+)-jre-headless", run)
    assert java is not None and int(java[1]) >= JAVA_MIN
    entry = json.loads(last("ENTRYPOINT"))
    assert entry == ["/usr/bin/tini", "--", "seatunnel"] and "tini" in run.split()


def test_the_commands_of_the_image_are_ours() -> None:
    require_command(json.loads(last("CMD")))
    options, _, words = last("HEALTHCHECK").partition(" CMD ")
    program, *rest = json.loads(words)
    assert program == "seatunnel" and rest == ["server", "probe"]
    require_command(rest)
    assert int(re.search(r"--timeout=(\d+)s", options)[1]) > 5
    assert f"EXPOSE {last('EXPOSE')}" == "EXPOSE 5801"


@pytest.mark.parametrize("secret", ["PASSWORD", "TOKEN", "SECRET"])
def test_no_secret_is_in_the_image(secret: str) -> None:
    assert secret not in RECIPE.read_text().upper()
