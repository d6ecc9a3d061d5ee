"""U39: hundreds of job files and hundreds of plugins are listed with the work of one page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import event

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.store import definitions
from seatunnel_py.control.store.audit import Act
from tests.web.running import Served, serving

JOB = "source { FakeSource {} }\nsink { Console {} }\n"
PLUGINS = 600
CPU_SECONDS_MAX = 10.0
LIST = """
import json, sys, time
opened = []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name in ("open", "import") else None)
from seatunnel_py.plan.plugins.plugin_rows import plugin_rows
began = time.process_time()
first = plugin_rows()
spent = time.process_time() - began
modules = sum(name.startswith("many_plugins.") for name in opened)
opened.clear()
second = plugin_rows()
names = sorted(one["name"] for one in second if one["distribution"].startswith("many-plugins"))
print(json.dumps({"equal": first == second, "names": names, "again": opened, "modules": modules, "seconds": spent}))
"""


def test_u39_a_page_of_hundreds_of_job_files_is_as_much_work_as_one_of_few(tmp_path: Path) -> None:
    """The same number of questions to the database, and an answer of the same size."""
    found = {}
    with serving(tmp_path) as served:
        for number in (50, 600):
            define(served, range(len(found) and 50, number))
            statements: list[str] = []
            engine: Any = served.context.database._readers
            event.listen(engine, "before_cursor_execute", lambda *given, to=statements: to.append(given[2]))
            asked = []
            for _ in range(5):  # the supervisor may ask, too, at the same time
                before = len(statements)
                answer = served.get("definitions?limit=50")
                asked.append(len(statements) - before)
            found[number] = (min(asked), len(answer.json()["definitions"]), round(len(answer.content), -3))
            assert answer.json()["total"] == number
    assert found[600] == found[50] and found[50][1] == 50, found


def define(served: Served, numbers: range) -> None:
    with served.context.database.acting(Act("tester", "definition.create")) as write:
        for number in numbers:
            name = f"job-{number:04}"
            definitions.create(write.connection, name, DefinitionText.of(JOB, name), "tester", "", 1_000.0)


def test_u39_hundreds_of_plugins_are_listed_and_read_once(tmp_path: Path) -> None:
    """Processor time of the first list, which imports each of them; the next one reads no file."""
    package, about = tmp_path / "many_plugins", tmp_path / "many_plugins-1.0.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text("")
    for at in range(PLUGINS):
        (package / f"p{at:03}.py").write_text(
            "from seatunnel_connectors.fake.factory import FakeSourceFactory\n"
            f"class Made(FakeSourceFactory):\n    name = 'Made{at:03}'\n    summary = 'number {at}'\n"
        )
    points = "".join(f"Made{at:03} = many_plugins.p{at:03}:Made\n" for at in range(PLUGINS))
    (about / "entry_points.txt").write_text(f"[seatunnel_py.sources]\n{points}")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: many-plugins\nVersion: 1.0\n")
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{LIST}"]
    told = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert told["names"] == [f"Made{at:03}" for at in range(PLUGINS)]
    assert told["equal"] and told["again"] == []
    assert told["seconds"] < CPU_SECONDS_MAX
