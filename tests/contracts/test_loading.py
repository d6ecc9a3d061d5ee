"""What the commands load: `check` what says what options mean, workers what does the work, before they need it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from seatunnel_connectors.files.factory import LocalFileSinkFactory, LocalFileSourceFactory
from seatunnel_connectors.files.write.options import CHANGE_FORMATS, WriteFormat

JOB = """
env { job.name = "x" }
source { Jdbc { plugin_output = a, url = "jdbc:sqlite:x.db", table_path = t }
         LocalFile { plugin_output = b, path = "/x", file_format_type = parquet }
         FakeSource { plugin_output = c, row.num = 1, schema { fields { id = int } } } }
sink { Jdbc { plugin_input = b, url = "jdbc:sqlite:x.db", generate_sink_sql = true, table = t }
       LocalFile { plugin_input = [a, c], path = "/x", file_format_type = xml, xml_use_attr_format = true } }
"""
SMALL_JOB = """
source { Jdbc { url = "jdbc:postgresql://127.0.0.1:5432/shop", username = "u", table_path = "shop.public.t" } }
sink { Jdbc { url = "jdbc:postgresql://127.0.0.1:5432/shop", username = "u", generate_sink_sql = true, database = "shop"
              table = "target.t", schema_save_mode = "RECREATE_SCHEMA" } }
"""
TINY_JOB = """
source { FakeSource { row.num = 1, schema { fields { id = int } } } }
sink { Console {} }
"""
OURS = ("seatunnel_py", "seatunnel_connectors", "seatunnel_plugins")
OURS_MAX = 73
NOT_OF_A_CHECK = (
    "logging", "pandas", "psycopg", "mkdocs", "seatunnel_py.formats", "seatunnel_py.work.run", "seatunnel_py.job_run",
    "seatunnel_py.api.simple", "seatunnel_py.api.sink", "seatunnel_py.api.source", "seatunnel_py.api.schema",
    "seatunnel_py.api.types", "seatunnel_py.runtime.driver", "seatunnel_py.protocol",
)  # fmt: skip
HEAVY = (
    "pyarrow", "numpy", "pyspark", "sqlglot", "rich", "sqlite3", "concurrent.futures",
    "seatunnel_connectors.files.write.sink", "seatunnel_connectors.files.read.source", "seatunnel_connectors.files.read.scan",
    "seatunnel_connectors.jdbc.dialect", "seatunnel_connectors.jdbc.source.source", "seatunnel_connectors.fake.source",
)  # fmt: skip
OF_A_SERVER = (
    "fastapi", "starlette", "uvicorn", "sqlalchemy", "prometheus_client", "multipart", "h11", "seatunnel_py.web", "seatunnel_py.control",
)  # fmt: skip
XML = {"xml_row_tag": "row", "xml_use_attr_format": True}


def test_check_loads_nothing_that_works(tmp_path: Path) -> None:
    """It is run from editors and hooks, at every key."""
    assert not loaded_by_check(JOB, tmp_path) & {*HEAVY}


def test_check_of_two_steps_loads_few_modules(tmp_path: Path) -> None:
    """Each module costs a third of a millisecond, at every start of every command. Whoever raises the number says in the
    commit what it buys; a lower one is always welcome."""
    loaded = loaded_by_check(SMALL_JOB, tmp_path)

    assert not loaded & {*HEAVY, *NOT_OF_A_CHECK}
    ours = {name for name in loaded if name.partition(".")[0] in OURS}
    assert len(ours) <= OURS_MAX, sorted(ours)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "job.conf", "--here"),
        ("check", "job.conf"),
        ("plan", "job.conf"),
        ("jobs", "list"),
        ("jobs", "metrics"),
        ("plugins", "list"),
        ("server", "--help"),
        ("server", "run", "--help"),
    ],
    ids=" ".join,
)
def test_only_the_server_loads_the_libraries_of_a_server(tmp_path: Path, words: tuple[str, ...]) -> None:
    """They are an extra: no other command may need them, and none pays for them."""
    (tmp_path / "job.conf").write_text(TINY_JOB)

    assert not loaded_by(words, tmp_path) & {*OF_A_SERVER}


def test_the_api_loads_what_is_used() -> None:
    """A worker that needs one name of it does not pay for all."""
    program = "import sys; from seatunnel_py.api import Guarantee; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    found = {name for name in run.stdout.split() if name.startswith("seatunnel_py")}

    assert found == {"seatunnel_py", "seatunnel_py.api", "seatunnel_py.api.capabilities"}


def loaded_by_check(job: str, place: Path) -> set[str]:
    """The modules that a process has at the end of ``seatunnel check``."""
    (place / "job.conf").write_text(job)
    return loaded_by(("check", "job.conf"), place)


def loaded_by(words: tuple[str, ...], place: Path) -> set[str]:
    """The modules that a process has at the end of a command, which succeeds and has nothing to say on stderr."""
    program = (
        f"import sys\nfrom seatunnel_py.__main__ import main\nsys.argv[1:] = {[*words]!r}\n"
        "try: main()\nexcept SystemExit as end: code = end.code\nprint(*sys.modules)\nsys.exit(code)"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    return {*run.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize("kind", [*WriteFormat])
def test_workers_are_told_modules_that_are_there(kind: WriteFormat) -> None:
    """For every format; a name that is wrong is found by nobody else, for workers go without."""
    given = {"path": "/x", "file_format_type": kind}
    sink = LocalFileSinkFactory()
    named = [*sink.modules(sink.options.model_validate({**given, "xml_use_attr_format": True}))]
    if kind not in CHANGE_FORMATS:
        source = LocalFileSourceFactory()
        named += source.modules(source.options.model_validate({**given, **XML}))

    for name in named:
        import_module(name)
    assert "seatunnel_connectors.files.write.sink" in named


def test_a_name_of_the_api_is_no_module_but_one() -> None:
    """`terminal_text` is a function in a module of that name: once a plugin got the module, and could not call it."""
    import seatunnel_py.api as api

    modules = [name for name in api.__all__ if isinstance(getattr(api, name), ModuleType)]
    assert modules == ["silence"]
