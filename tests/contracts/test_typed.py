"""Authors of plugins have types: the public packages are marked, and what is wrong with a plugin is found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import seatunnel_connectors
import seatunnel_plugins
import seatunnel_py

ROOT = Path(__file__).parents[2]
WRONG = """
from collections.abc import Sequence

from seatunnel_py.api import Position, Source, SourceTable


class Wrong(Source):
    def tables(self) -> Sequence[int]:
        return [1]


Position(1)
"""


def test_every_shipped_package_is_marked_as_typed() -> None:
    for package in (seatunnel_py, seatunnel_connectors, seatunnel_plugins):
        assert Path(str(package.__file__)).with_name("py.typed").exists(), package.__name__


def test_a_plugin_outside_of_the_tree_is_type_checked(tmp_path: Path) -> None:
    """P2-F4: without the mark mypy and editors saw Any for the whole API. The example and what `seatunnel init` writes are
    right under --strict; of a wrong one each mistake is found."""
    plugins = (
        *sorted((ROOT / "tests" / "plugin_example").glob("seatunnel_*.py")),
        ROOT / "tests" / "plugin_redis" / "seatunnel_redis.py",
        ROOT / "seatunnel_py" / "templates" / "connector" / "my_connector.py",
    )
    for plugin in plugins:
        shutil.copy(plugin, tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n[mypy-pyarrow.*]\nignore_missing_imports = true\n")
    names = [*(plugin.name for plugin in plugins), "wrong.py"]

    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *names],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    lines = found.stdout.splitlines()
    errors = [line for line in lines if ": error:" in line]
    assert all(line.startswith("wrong.py:") for line in errors), found.stdout
    codes = [line.rpartition("[")[2].rstrip("]") for line in errors]
    assert sorted(codes) == ["arg-type", "override"], found.stdout + found.stderr
