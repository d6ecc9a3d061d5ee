"""The hand-written pages: their commands and options exist, and the tutorial does what it says."""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from seatunnel_py.api.options import describe
from seatunnel_py.config.env import EnvOptions
from seatunnel_py.control.notify.target_options import MODELS, NotifyOptions
from seatunnel_py.errors import ExitCode
from tests.docs.site import cli_page
from tests.docs.site.installed import all_models, plugins

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        DOCS / "index.md",
        DOCS / "tutorial.md",
        DOCS / "production.md",
        DOCS / "guide.md",
        *(DOCS / "how-to").glob("*.md"),
    ]
)
OF_ALL = {"--help", "-h", "--debug"}
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
_SET = re.compile(r"(?:^|[{,\s])([a-z][\w.-]*) = ")
ELSEWHERE = {"kafka.config", "sasl.username", "security.protocol", "slot.drop.on.stop", "wal_level"}
"""Keys of maps, whose names are Kafka's or Debezium's own, and settings of servers."""


def inline(path: Path) -> list[str]:
    """What stands in single backquotes outside of blocks."""
    return re.findall(r"`([^`\n]+)`", _FENCED.sub("", path.read_text(encoding="utf-8")))


def blocks(path: Path, *languages: str) -> list[str]:
    return [text for language, text in _FENCED.findall(path.read_text(encoding="utf-8")) if language in languages]


def commands(path: Path) -> list[str]:
    """Command lines of a page, each from `seatunnel` on."""
    lines = [line for block in blocks(path, "sh", "") for line in block.splitlines()]
    found = [*inline(path), *(part.partition("#")[0] for line in lines for part in re.split(r"&&|;", line))]
    begins = [(text, [*re.finditer(r"(?:^| )(?=seatunnel [a-z])", text)]) for text in found]
    return [text[matches[-1].end() :] for text, matches in begins if matches]


@cache
def known() -> dict[str, set[str]]:
    """The options of every command."""
    return {
        name: {spelt for one in command.params for spelt in (*one.opts, *one.secondary_opts)} | OF_ALL
        for name, command in cli_page.commands()
    }


@cache
def keys() -> set[str]:
    """Every key of every option model, and the last parts of dotted ones."""
    models = [model for plugin in plugins() for _, model in all_models(plugin.model)]
    found = {name for model in (*models, EnvOptions) for info in describe(model) for name in (info.key, *info.fallback)}
    found |= {info.key for model in (NotifyOptions, *MODELS.values()) for info in describe(model)}
    return found | {f"env.{info.key}" for info in describe(EnvOptions)}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_of_a_page_exists_with_its_options(path: Path) -> None:
    """A reader types it, and it is understood."""
    for line in commands(path):
        words = line.replace("…", " ").replace("[", " ").replace("]", " ").split()
        two, one = " ".join(words[:3]), " ".join(words[:2])
        name = two if two in known() else one
        groups = {known_name.rpartition(" ")[0] for known_name in known()}
        assert name in known() or one in groups, line
        options = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert options - known().get(name, options) == set(), line


@pytest.mark.parametrize("path", [path for path in PAGES if path.parent.name == "how-to"], ids=lambda path: path.stem)
def test_every_option_of_a_how_to_page_exists(path: Path) -> None:
    """Those in tables; blocks are whole job files, and checked as such."""
    named = {name for text in inline(path) for name in _SET.findall(text)}

    assert named - keys() - ELSEWHERE == set()


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    """Every command runs as it stands, but in one process; every line that is shown is printed."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    program = [sys.executable, "-m", "seatunnel_py"]
    printed = _run([sys.executable, "configs/demo/make_shop.py", "demo"], tmp_path, 0)
    printed += _run([*program, "run", "configs/demo/shop.conf", "-i", "dir=demo", "--here"], tmp_path, 0)
    lines = [line for block in blocks(DOCS / "tutorial.md", "sh")[1:] for line in block.splitlines()]
    for line in lines:
        command, _, code = line.partition("    # exit code ")
        if command.startswith("sed "):
            text = (tmp_path / "configs/demo/shop.conf").read_text()
            (tmp_path / "demo/typo.conf").write_text(text.replace("exclude_fields", "exclude_feilds"))
            continue
        words = shlex.split(command)
        words = [*program, *words[1:]] if words[0] == "seatunnel" else [sys.executable, *words[1:]]
        here = ["--here"] if "run" in words else []
        printed += _run([*words, *here], tmp_path, int(code or ExitCode.SUCCESS))

    shown = [line.strip() for block in blocks(DOCS / "tutorial.md", "text") for line in block.splitlines()]
    assert len(shown) >= 8
    assert [line for line in shown if line not in printed] == []


def test_the_demo_does_what_its_comments_say(tmp_path: Path) -> None:
    """Personal data stays at home, and one word of the reviews is replaced: the patterns name the tables in full."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    program = [sys.executable, "-m", "seatunnel_py"]
    _run([sys.executable, "configs/demo/make_shop.py", "demo"], tmp_path, 0)
    _run([*program, "run", "configs/demo/shop.conf", "-i", "dir=demo", "--here"], tmp_path, 0)

    with closing(sqlite3.connect(tmp_path / "demo/warehouse.db")) as db:
        names = [name for (name,) in db.execute("SELECT name FROM pragma_table_info('customers')")]
        dull = db.execute("SELECT count(*) FROM reviews WHERE text LIKE '%meh%'").fetchall()
    assert "email" not in names and {"id", "name"} <= {*names} and dull == [(0,)]


def _run(words: list[str], folder: Path, code: int) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr
