"""Starting Spark: which master, which Java, and what stands on a command line that everybody can read."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pyspark
import pytest

from seatunnel_py.errors import EngineError
from seatunnel_py.spark import packs
from seatunnel_py.spark.app.daemon import from_directories
from seatunnel_py.spark.app.jvm import OPENED, find_java
from seatunnel_py.spark.app.session import SparkApplication, master_of, spare_of


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, f"local[{os.cpu_count()}]"),
        ("local", f"local[{os.cpu_count()}]"),
        ("local[*]", f"local[{os.cpu_count()}]"),
        ("local[*, 4]", f"local[{os.cpu_count()}]"),
        ("local[3]", "local[3]"),
        ("local[3,4]", "local[3]"),
        ("spark://host:7077", "spark://host:7077"),
        ("yarn", "yarn"),
    ],
)
def test_a_local_master_has_threads_and_no_retries(given: str | None, wanted: str) -> None:
    """Attempts are ours: what Spark would repeat would be applied twice."""
    assert master_of({"master": given} if given else {}) == wanted


def java_home(place: Path, release: str) -> Path:
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    (place / "bin" / "java").chmod(0o755)
    if release:
        (place / "release").write_text(release)
    return place


@pytest.mark.parametrize("release", ['JAVA_VERSION="11.0.2"\n', ""])
def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    """The version is read from the installation, or asked for; the message says what to install."""
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path / "jdk", release)))

    with pytest.raises(EngineError, match=r"Java 11\.0\.2; Spark needs 17") as error:
        find_java()
    assert "openjdk-17" in error.value.remedy


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message holds the wrong value, not a stack trace."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))

    with pytest.raises(EngineError, match=r"JAVA_HOME is '.*gone'"):
        find_java()


def test_a_machine_without_java_is_told_what_to_type(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The remedy is a command."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EngineError, match="there is none on this machine") as error:
        find_java()
    assert "apt-get install" in error.value.remedy


@pytest.mark.spark
def test_our_start_opens_what_sparks_own_launcher_opens() -> None:
    """The launcher is left out to save a JVM; what it would have said must be what we say."""
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    launcher = ["-cp", str(jars), "org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"]
    command = [find_java().program, "-XX:TieredStopAtLevel=1", *launcher, "pyspark-shell"]
    environment = {**os.environ, "SPARK_HOME": str(jars.parents[1]), "SPARK_SCALA_VERSION": "2.13"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split("\0")

    options = [option.strip() for option in shown]
    opened = {option.split("=", 1)[1].removesuffix("=ALL-UNNAMED") for option in options if "--add-opens" in option}
    assert opened == set(OPENED)


@pytest.mark.parametrize(
    ("master", "quick", "spare"),
    [
        ("local[2]", True, 1),
        ("local[8]", True, 1),
        ("local[2]", False, 0),
        ("local[1]", True, 0),
        ("spark://h:1", True, 0),
    ],
)
def test_a_local_master_has_a_thread_to_spare(master: str, quick: bool, spare: int) -> None:
    """Beside its cores, for workers wait; not where queries want every one of them, nor where one was asked for."""
    assert spare_of(master, quick=quick) == spare


@pytest.mark.spark
def test_the_running_application_is_as_we_rely_on(spark: SparkApplication) -> None:
    """No retries, no speculation (F12: no two tasks ever do the same), whatever a job file says; closures of any size in memory, workers that fork from our daemon."""
    conf = dict(spark.context.getConf().getAll())

    assert conf["spark.task.maxFailures"] == "1"
    assert conf["spark.speculation"] == "false"
    assert conf["spark.python.daemon.module"] == "seatunnel_py.spark.app.daemon"
    assert conf["spark.broadcast.UDFCompressionThreshold"] == "1g"
    assert spark.slots == 3, "two cores, and one to spare"


@pytest.mark.spark
def test_workers_are_forked_with_everything_loaded(spark: SparkApplication) -> None:
    """A worker that replaces a killed one imports nothing that units always need."""

    def look(rows: object) -> list[object]:
        import sys

        main = sys.modules["__main__"].__spec__
        zipped = [name for name, module in sys.modules.items() if ".zip/" in (getattr(module, "__file__", "") or "")]
        return [main and main.name, {"pyarrow", "seatunnel_py.work.run"} <= set(sys.modules), zipped]

    found = spark.context.parallelize([0], 1).mapPartitions(look).collect()

    assert found == ["seatunnel_py.spark.app.daemon", True, []]  # out of zips all would be compiled anew


@pytest.mark.spark
def test_the_functions_that_spark_calls_bring_no_module_with_them(spark: SparkApplication) -> None:
    """Each worker would import it within its first unit."""
    tasks = [f"{packs.__name__}.{file.stem}" for file in Path(packs.__file__).parent.glob("*_task.py")]

    def look(rows: object) -> list[str]:
        import importlib
        import sys

        before = set(sys.modules)
        for name in tasks:
            importlib.import_module(name)
        return sorted(set(sys.modules) - before)

    assert len(tasks) >= 3
    assert spark.context.parallelize([0], 1).mapPartitions(look).collect() == []


@pytest.mark.spark
def test_one_process_runs_jobs_with_queries_one_after_another(tmp_path: Path) -> None:
    """pyspark keeps the sessions of an application beyond its end."""
    rows = "FakeSource { row.num = 4, plugin_output = a, schema { fields { id = bigint } } }"
    query = 'Sql { plugin_input = a, plugin_output = b, query = "select id from a" }'
    sink = "LocalFile { plugin_input = b, path = out, file_format_type = json, data_save_mode = APPEND_DATA }"
    (tmp_path / "job.conf").write_text(f"source {{ {rows} }}\ntransform {{ {query} }}\nsink {{ {sink} }}")
    twice = """
        from pathlib import Path
        from seatunnel_py import app
        from seatunnel_py.runtime.storage.home import Home
        for _ in range(2):
            made = app.run(Path("job.conf"), app.RunOptions({}), Home(Path("home").absolute()), lambda _: None, lambda _: None)
            print(made.exit_code, made.to_plain()["totals"]["rows_written"])
    """
    command = [sys.executable, "-c", textwrap.dedent(twice)]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert shown.stdout.split() == ["0", "4", "0", "4"], shown.stderr


def test_spark_is_imported_from_directories_where_there_are_any(tmp_path: Path) -> None:
    """Of pip, beside other packages that Python looks at; of Spark's distribution, beside its zips; else from zips."""
    pip, other, spark, bare = (tmp_path / name for name in ("pip/pyspark", "other/pyspark", "spark", "bare"))
    for place in (pip, pip.parent / "py4j", other, spark / "python" / "pyspark"):
        place.mkdir(parents=True)
        (place / "__init__.py").touch()
    zips = {home: [f"{home}/python/lib/{name}" for name in ("pyspark.zip", "py4j-0.10-src.zip")] for home in (
        pip, other, spark, bare
    )}  # fmt: skip

    def path(home: Path) -> list[str]:
        jar = f"{home}/jars/spark-core_2.13-4.3.0.jar"
        return from_directories(["here", *zips[home], jar, "graphs.jar", str(pip.parent), "code.zip"])

    rest = ["graphs.jar", str(pip.parent), "code.zip"]
    assert path(pip) == ["here", *rest]
    assert path(other) == ["here", *zips[other], *rest]
    assert path(spark) == ["here", f"{spark}/python", zips[spark][1], *rest]
    assert path(bare) == ["here", *zips[bare], *rest]


@pytest.mark.spark
def test_a_job_without_queries_starts_without_pandas(tmp_path: Path) -> None:
    """pyspark would import it for the first call into the JVM, which everybody waits for."""
    job = "source { FakeSource { row.num = 1, schema { fields { id = bigint } } } }\nsink { Console {} }"
    (tmp_path / "job.conf").write_text(job)
    look = """
        import atexit, sys
        from seatunnel_py.cli.main import main
        atexit.register(lambda: print("loaded:", sorted({"pandas", "pyspark"} & set(sys.modules))))
        sys.argv = ["seatunnel", "run", "job.conf"]
        main()
    """
    environment = {**os.environ, "SEATUNNEL_HOME": str(tmp_path / "home")}
    shown = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(look)], capture_output=True, text=True, cwd=tmp_path, env=environment
    )

    assert shown.returncode == 0, shown.stderr
    assert "loaded: ['pyspark']" in shown.stdout
