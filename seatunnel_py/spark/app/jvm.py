"""Starts the JVM that Spark runs in: finds it, checks it, and starts it faster than ``spark-submit`` does.

Two things save seconds. ``spark-submit`` starts a JVM only to compute the command line of the next one: here the
command is written directly. Classes are loaded from a *class-data archive*, which the first JVM writes when it exits
(in the background) and later ones map. The archive belongs to one Java and one Spark; a run whose archive is missing,
stale or damaged is only slower (``-Xshare:auto``).

No setting of the job is put on the command line: every user of the machine can read that.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seatunnel_py.errors import EngineError
from seatunnel_py.spark.app.artifact_cache import drop_unused, held

JAVA_MIN = 17
START_SECONDS_MAX = 60.0
INSTALL_JAVA = "install Java 17 or newer (on Debian: apt-get install -y openjdk-17-jre-headless) or set JAVA_HOME"

# Packages that Spark's own launcher opens for Java 17: Spark uses their internals.
OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)

# An allocator with per-thread arenas never returns their memory: a stream's JVM has many threads.
_FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}

# The archive is written beside its place, and moved there when the JVM has ended well: a partial file must not be
# mapped.
_KEEPING = ["sh", "-c", 'half=$1; shift; kept=$1; shift; "$@" && mv -f "$half" "$kept" || rm -f "$half"', "jvm"]


@dataclass(frozen=True, slots=True)
class Java:
    """A usable Java."""

    program: str
    version: str


@dataclass(frozen=True, slots=True)
class JvmRequest:
    """``log`` receives Spark's output; ``cache`` holds class-data archives. ``quick`` uses only the first compiler: it
    starts sooner, and slows down long runs of Catalyst. ``environment``: beside ours."""

    log: Path
    cache: Path
    memory: str = "1g"
    quick: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Jvm:
    """A running JVM that waits for pyspark. The JVM ends when its standard input is closed, so it never outlives the
    driver."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str

    def stop(self) -> None:
        """Let it end by itself; it may spend some more seconds on writing the archive, in the background."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        threading.Thread(target=self.process.wait, name="jvm-ends", daemon=True).start()


def find_java() -> Java:
    """Find the Java of JAVA_HOME, else of the path. Raises EngineError with the command to type."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        raise EngineError("Spark needs Java, and there is none on this machine", INSTALL_JAVA)
    if not os.access(program, os.X_OK):
        raise EngineError(f"JAVA_HOME is {home!r}, but there is no program {program}", INSTALL_JAVA)
    version = _written_version(program) or _said_version(program)
    major = version.partition(".")[0]
    if not major.isdigit() or int(major) < JAVA_MIN:
        raise EngineError(
            f"{program} is Java {version or 'of an unknown version'}; Spark needs {JAVA_MIN}", INSTALL_JAVA
        )
    return Java(program, version)


def _written_version(program: str) -> str:
    """Read the installation's ``release`` file: asking the program would cost the start of a JVM."""
    try:
        text = (Path(program).resolve().parents[1] / "release").read_text()
    except (OSError, UnicodeDecodeError):
        return ""
    return text.partition('JAVA_VERSION="')[2].partition('"')[0]


def _said_version(program: str) -> str:
    try:
        shown = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{program} cannot be run: {error}", INSTALL_JAVA) from None
    return shown.stderr.partition('"')[2].partition('"')[0]


def start_jvm(request: JvmRequest) -> Jvm:
    """Start a JVM with Spark on its class path and wait until pyspark can connect to it."""
    java = find_java()
    spark_home = Path(os.environ.get("SPARK_HOME") or _directory_of_pyspark())
    jars = sorted(str(path) for path in (spark_home / "jars").glob("*.jar"))
    # Jobs with queries load many more classes: they have their own archive.
    kind = "quick" if request.quick else "catalyst"
    archive = request.cache / f"classes-{kind}-{_fingerprint(java, jars)}.jsa"
    with tempfile.TemporaryDirectory(prefix="seatunnel-") as directory:
        handshake = Path(directory) / "connection"
        environment = {**_FEW_ARENAS, **os.environ, **request.environment}
        environment |= {"_PYSPARK_DRIVER_CONN_INFO_PATH": str(handshake), "SPARK_HOME": str(spark_home)}
        command = _command(java, request, jars, archive)
        request.log.touch(mode=0o600)  # error texts may hold personal data (S14)
        with request.log.open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        import pyspark  # noqa: F401 - takes a quarter of a second, while the JVM boots on another core

        port, secret = _await(process, handshake, request.log)
    return Jvm(process, port, secret)


def _directory_of_pyspark() -> Path:
    """Find Spark without importing it: the JVM starts first."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EngineError("pyspark is not installed", "reinstall seatunnel-py with its dependencies")
    return Path(spec.origin).parent


def _fingerprint(java: Java, jars: list[str]) -> str:
    text = "\n".join([java.program, java.version, *jars])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _command(java: Java, request: JvmRequest, jars: list[str], archive: Path) -> list[str]:
    options = [f"-Xmx{request.memory}", "-XX:+UseSerialGC" if request.quick else "-XX:+UseParallelGC"]
    options += [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
    options += ["--add-modules=jdk.incubator.vector", "-Dio.netty.tryReflectionSetAccessible=true"]
    options += ["-Djdk.reflect.useDirectMethodHandle=false", "-XX:+IgnoreUnrecognizedVMOptions"]
    options += [f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"]
    options += [f"-Dseatunnel.log={request.log}", "-Djava.net.preferIPv6Addresses=false"]
    options += ["-XX:TieredStopAtLevel=1"] if request.quick else []
    options += ["-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off"]
    spark = ["-cp", ":".join(jars), "org.apache.spark.deploy.SparkSubmit", "--name", "seatunnel", "pyspark-shell"]
    if held(archive):
        return [java.program, *options, f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", *spark]
    archive.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    drop_unused(archive.parent.glob("classes-*"))
    half = archive.with_suffix(f".{secrets.token_hex(4)}")
    return [*_KEEPING, str(half), str(archive), java.program, *options, f"-XX:ArchiveClassesAtExit={half}", *spark]


def _await(process: subprocess.Popen[bytes], handshake: Path, log: Path) -> tuple[int, str]:
    """Read the port and secret that the JVM's gateway writes once it listens."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while not handshake.is_file():
        if process.poll() is not None or time.monotonic() > deadline:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # its own group: a shell and the JVM under it
                process.wait()
            raise EngineError("Spark's JVM did not start", f"look at the end of {log}; `seatunnel doctor` checks Java")
        time.sleep(0.01)
    with handshake.open("rb") as file:
        port = int.from_bytes(file.read(4), "big")
        length = int.from_bytes(file.read(4), "big")
        return port, file.read(length).decode()
