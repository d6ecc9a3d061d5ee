"""Creates the Spark application of a job: its settings, and the context in which packs run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.process import failpoints
from seatunnel_py.api.process.egress.egress_guard import OWN_VARIABLE
from seatunnel_py.api.process.egress.egress_rules import VARIABLE
from seatunnel_py.errors import EngineError
from seatunnel_py.spark.app.bundle import shipment
from seatunnel_py.spark.app.cluster_check import probe, retry_until
from seatunnel_py.spark.app.daemon import PANDAS_VARIABLE, PRELOAD_VARIABLE
from seatunnel_py.spark.app.early_daemon import NAME_VARIABLE, EarlyDaemon
from seatunnel_py.spark.app.jvm import Jvm, JvmRequest, start_jvm

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

REDACTED = "(?i)secret|password|token|access[._-]?key|api[._-]?key|credential|auth"

DAEMON = "seatunnel_py.spark.app.daemon"
_ALWAYS = {
    # A task that Spark repeats would apply its finished units again: we make the attempts (design, section 4.3).
    "spark.task.maxFailures": "1",
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": DAEMON,
    "spark.redaction.regex": REDACTED,
    # A larger closure would go through a file, and a pack's closure holds the secrets of its steps.
    "spark.broadcast.UDFCompressionThreshold": "1g",
}
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark's history grows as long as a stream runs, and is never read.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.ui.retainedDeadExecutors": "5",
    "spark.sql.ui.retainedExecutions": "5",
    # Collect a stream driver's garbage before its heap grows for it: the live heap is 40 MB, and a collection takes a
    # tenth of a second.
    "spark.cleaner.periodicGC.interval": "1min",
    # Time in which a cancelled worker must end: it writes to targets meanwhile.
    "spark.python.task.killTimeout": "200ms",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.warehouse.dir": "spark-warehouse",
}
_QUERIES = {"spark.cleaner.periodicGC.interval": "5min"}  # their heaps may hold gigabytes
# Leftovers of a killed executor (the archive of libraries, native code) are in the application's own directory, which
# the cluster removes one day.
_STANDALONE_JAVA = "-Djava.io.tmpdir=."
# Without queries an executor only passes bytes on: it starts in half of the time with the first compiler alone.
_QUICK_JAVA = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # In one JVM Spark makes up the secret itself; a cluster needs a given one.
    "spark.authenticate": "true",
    "spark.python.unix.domain.socket.enabled": "true",
}


SAFE_PATH = "PYTHONSAFEPATH"
"""Python would put the directory of the command first on its path: a ``csv.py`` there would reach every worker."""
CORES_FOR_RESIDENTS = 4  # of a cluster: with fewer, units that take turns use them better


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """``given`` are the job's ``spark.*`` keys without the prefix. ``place`` receives logs and scratch files, ``cache``
    files that later runs reuse. ``catalyst``: the job has queries. ``preload`` names plugin modules, and ``extras`` the
    extras that they need. ``residents``: number of workers that may have their own slot."""

    name: str
    given: Mapping[str, str]
    place: Path
    cache: Path
    catalyst: bool = False
    preload: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    residents: int = 0


@dataclass(slots=True)
class SparkApplication:
    """A running context and the JVM under it; ``slots`` are those of packs, ``residents`` those beside them.
    ``staying``: packs may keep their workers, for no query needs every slot, and no executor comes or goes."""

    context: SparkContext
    jvm: Jvm
    slots: int
    staying: bool
    residents: int = 0
    early: EarlyDaemon | None = None

    def session(self) -> SparkSession:
        """The SQL side of the application, made on first use."""
        from pyspark.sql import SparkSession

        return SparkSession(self.context)

    def stop(self) -> None:
        """End the application; its JVM ends by itself. Idempotent."""
        from pyspark import SparkContext

        if self.early is not None:
            self.early.stop()
        if SparkContext._active_spark_context is self.context:
            # The end of the JVM is not an error, but its listener would print one on the terminal.
            vars(self.context._accumulatorServer)["handle_error"] = lambda *_: None
            # The JVM's own shutdown stops the context after this process has ended, without a wait.
            self.jvm.stop()
            SparkContext._active_spark_context = None
            SparkContext._gateway = None
            SparkContext._jvm = None
            _forget_sessions()


def _forget_sessions() -> None:
    """pyspark would pass the sessions of this application to the next one of the process."""
    sql = sys.modules.get("pyspark.sql")
    if sql is not None:
        sql.SparkSession._instantiatedSession = None
        sql.SparkSession._activeSession = None
        sql.SQLContext._instantiatedContext = None


def master_of(given: Mapping[str, str]) -> str:
    """``local`` alone means local with the machine's cores; Spark's own retries (``local[2, 3]``) are dropped."""
    master = given.get("master", "local")
    local = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?", master)
    if local is None:
        return master
    threads = os.cpu_count() or 1 if local[1] in (None, "*") else local[1]
    return f"local[{threads}]"


def with_room_for(more: int, master: str) -> str:
    """A local master with threads beside its cores, for workers that mostly wait. A cluster has only its cores."""
    return f"local[{_cores(master) + more}]" if _cores(master) else master


def spare_of(master: str, *, quick: bool) -> int:
    """Threads beside a local master's cores, for jobs without queries: a worker waits for servers part of its time."""
    return int(quick and _cores(master) > 1)


def _cores(master: str) -> int:
    """Cores of a local master; 0 for any other."""
    local = re.fullmatch(r"local\[(\d+)\]", master)
    return int(local[1]) if local else 0


def start(settings: SparkSettings) -> SparkApplication:
    """Start Spark. Raises EngineError with a remedy if Java or the master is missing."""
    master = master_of(settings.given)
    local = master.startswith("local[")
    _environment(settings, local=local)
    memory = settings.given.get("driver.memory", "1g")
    quick = not settings.catalyst
    log = settings.place / "job.log"
    early = _early_daemon(settings.given) if local else None
    named = {} if early is None else {NAME_VARIABLE: early.name}  # the name under which Spark's daemon will find it
    try:
        jvm = start_jvm(JvmRequest(log, settings.cache, memory, quick, named))
    except BaseException:
        if early is not None:
            early.stop()
        raise
    os.environ["PYSPARK_GATEWAY_PORT"] = str(jvm.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = jvm.secret
    residents = settings.residents
    try:
        if quick:
            _forget_numpy_arguments()
        more = residents + spare_of(master, quick=quick)
        context = _context(settings, with_room_for(more, master), local=local)
        if local:
            slots = max(1, int(context.defaultParallelism) - residents)
            retry_until(partial(_warm_up, context, slots))
    except Exception as error:
        jvm.stop()
        if early is not None:
            early.stop()
        raise EngineError(f"Spark did not start on {master}: {_reason(error)}", f"look at the end of {log}") from error
    finally:
        # Child processes must not inherit access to this JVM.
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    if not local:
        try:
            probe(context, _worker_modules(settings), settings.place / "exchange")
        except BaseException:
            jvm.stop()
            raise
        # Only now have the cluster's executors reported their cores; a resident keeps one also while it waits.
        cores = int(context.defaultParallelism)
        residents = min(residents, cores // 2) if cores >= CORES_FOR_RESIDENTS else 0
        slots = cores - residents
    return SparkApplication(context, jvm, slots, local and quick, residents, early)


def _early_daemon(given: Mapping[str, str]) -> EarlyDaemon | None:
    """Started with the settings that Spark would make for a daemon before it imports."""
    named = {key.removeprefix("executorEnv."): value for key, value in given.items() if key.startswith("executorEnv.")}
    named["PYTHONPATH"] = os.pathsep.join(filter(None, (named.get("PYTHONPATH"), os.environ["PYTHONPATH"])))
    threads = {"OMP_NUM_THREADS": given.get("task.cpus", "1")}
    return EarlyDaemon.start(DAEMON, {**os.environ, **threads, **named})


def _warm_up(context: SparkContext, slots: int) -> None:
    """Start the daemon and a worker per slot while the driver is still planning."""
    from seatunnel_py.spark.packs.pack_task import take_all  # a module that workers have

    context.parallelize(range(slots), slots).foreachPartition(take_all)


def _worker_modules(settings: SparkSettings) -> tuple[str, ...]:
    return ("seatunnel_py.work.run", "seatunnel_py.work.segments", *settings.preload)


def _environment(settings: SparkSettings, *, local: bool) -> None:
    if local:
        # Workers must have the libraries that this process has.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ[SAFE_PATH] = "1"
    os.environ[PRELOAD_VARIABLE] = ",".join(settings.preload)
    os.environ[PANDAS_VARIABLE] = "1" if settings.catalyst else "0"
    # The JVM inherits it and passes it to the daemon; without it an installed checkout is found, a plain one is not.
    ours = str(Path(__file__).parents[2])
    if ours not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))


def _forget_numpy_arguments() -> None:
    """pyspark checks every argument of every call into the JVM for numpy's arrays, and imports pandas for the first: a
    third of a second of each start. Jobs without queries pass no arrays."""
    import pyspark.sql.types  # noqa: F401 - registers them
    from py4j.protocol import INPUT_CONVERTER

    INPUT_CONVERTER[:] = [one for one in INPUT_CONVERTER if not type(one).__name__.startswith("Numpy")]


def _context(settings: SparkSettings, master: str, *, local: bool) -> SparkContext:
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setMaster(master).setAppName(settings.name)
    merged: dict[str, Any] = {**_DEFAULTS, **(_QUERIES if settings.catalyst else {}), **(_LOCAL if local else {})}
    merged["spark.local.dir"] = str(settings.place / "spark")
    merged["spark.sql.warehouse.dir"] = str(settings.place / "spark-warehouse")
    if master.startswith("spark://"):
        java = _STANDALONE_JAVA if settings.catalyst else f"{_STANDALONE_JAVA} {_QUICK_JAVA}"
        merged["spark.executor.extraJavaOptions"] = java
    if not local:
        travelling = shipment(settings.preload, settings.extras, settings.cache, catalyst=settings.catalyst)
        merged |= {f"spark.{key}": value for key, value in travelling.items()}
        merged[f"spark.executorEnv.{SAFE_PATH}"] = "1"
        merged |= {f"spark.executorEnv.{name}": value for name, value in failpoints.environment().items()}
        rules = (VARIABLE, OWN_VARIABLE)
        merged |= {f"spark.executorEnv.{name}": os.environ[name] for name in rules if name in os.environ}
    merged |= {f"spark.{key}": value for key, value in settings.given.items() if key not in ("master", "app.name")}
    merged |= _ALWAYS
    for key, value in merged.items():
        conf.set(key, value)
    return SparkContext(conf=conf)


def _reason(error: Exception) -> str:
    """The innermost cause in a py4j error's text: the first line of a Java traceback is too general."""
    causes = re.findall(r"Caused by: (?:[\w.$]+: )?(.+)", str(error))
    return causes[-1] if causes else str(error).partition("\n")[0]
