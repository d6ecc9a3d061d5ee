"""SeaTunnel's home directory, built once under `.cache/peer` from Maven artifacts.

    python -m bench.peer.home

Three things of 2.3.8 that cost time to find: `config-1.3.3.jar` must not be on the class path, the shaded
configuration library must come before `seatunnel-config-base`, and the connectors are found through
`connectors/plugin-mapping.properties`.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parent.parent / ".cache" / "peer"
# Maven profiles of pom.xml, and whether what they need comes along.
PROFILES = {"engine": True, "plugins": False, "files": False, "cdc": False, "lib": False, "drivers": False}
NOT_ON_CLASS_PATH = ("config-1.3.3.jar",)
FIRST_ON_CLASS_PATH = ("seatunnel-config-shade", "seatunnel-config-sql")

PLUGIN_MAPPING = """\
seatunnel.source.Jdbc = connector-jdbc
seatunnel.sink.Jdbc = connector-jdbc
seatunnel.source.FakeSource = connector-fake
seatunnel.sink.Console = connector-console
seatunnel.source.LocalFile = connector-file-local
seatunnel.source.MySQL-CDC = connector-cdc-mysql
seatunnel.sink.LocalFile = connector-file-local
"""
SEATUNNEL_YAML = """\
seatunnel:
  engine:
    history-job-expire-minutes: 1440
    backup-count: 0
    queue-type: blockingqueue
    print-execution-info-interval: 3600
    slot-service:
      dynamic-slot: true
    checkpoint:
      interval: 10000
      timeout: 60000
      storage:
        type: localfile
        max-retained: 3
        plugin-config:
          namespace: {checkpoints}/
"""
# Loopback only: the engine's defaults would listen on every interface.
HAZELCAST_YAML = """\
hazelcast:
  cluster-name: bench
  network:
    join:
      multicast:
        enabled: false
      tcp-ip:
        enabled: true
        member-list:
          - 127.0.0.1:{port}
    interfaces:
      enabled: true
      interfaces:
        - 127.0.0.1
    port:
      auto-increment: false
      port: {port}
  properties:
    hazelcast.socket.bind.any: false
    hazelcast.invocation.max.retry.count: 20
    hazelcast.tcp.join.port.try.count: 30
    hazelcast.logging.type: log4j2
    hazelcast.operation.generic.thread.count: 50
    hazelcast.phone.home.enabled: false
"""
HAZELCAST_CLIENT_YAML = """\
hazelcast-client:
  cluster-name: bench
  properties:
    hazelcast.logging.type: log4j2
  connection-strategy:
    connection-retry:
      cluster-connect-timeout-millis: 3000
  network:
    cluster-members:
      - 127.0.0.1:{port}
"""
LOG4J = """\
rootLogger.level = WARN
rootLogger.appenderRef.file.ref = file
appender.file.name = file
appender.file.type = File
appender.file.fileName = {log}
appender.file.append = true
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %-5p %c{{1.}} - %m%n%ex
"""


@dataclass(frozen=True, slots=True)
class PeerHome:
    """Where the engine finds everything, and the class path to start it with."""

    directory: Path
    class_path: str

    @property
    def config(self) -> Path:
        return self.directory / "config"

    def beside(self, directory: Path) -> PeerHome:
        """Another home with the same libraries, and with configuration and checkpoints of its own."""
        directory.mkdir(parents=True)
        for name in ("connectors", "lib", "plugins", "starter"):
            (directory / name).symlink_to(self.directory / name)
        return PeerHome(directory, self.class_path)

    def configure(self, port: int, log: Path) -> None:
        """Write the configuration for an engine on this port."""
        self.config.mkdir(exist_ok=True)
        checkpoints = self.directory / "checkpoints"
        files = {
            "seatunnel.yaml": SEATUNNEL_YAML.format(checkpoints=checkpoints),
            "hazelcast.yaml": HAZELCAST_YAML.format(port=port),
            "hazelcast-client.yaml": HAZELCAST_CLIENT_YAML.format(port=port),
            "log4j2.properties": LOG4J.format(log=log),
        }
        for name, text in files.items():
            (self.config / name).write_text(text)


def prepare() -> PeerHome:
    """Fetch and build whatever is not there yet."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for profile, transitive in PROFILES.items():
        if not (CACHE / profile / ".complete").exists():
            fetch(profile, transitive=transitive)
    home = CACHE / "home"
    (home / "plugins").mkdir(parents=True, exist_ok=True)
    (home / "starter").mkdir(exist_ok=True)
    fill(home / "connectors", CACHE / "plugins")
    fill(home / "connectors", CACHE / "files")
    fill(home / "connectors", CACHE / "cdc")
    fill(home / "lib", CACHE / "lib")
    fill(home / "lib", CACHE / "drivers")
    (home / "connectors" / "plugin-mapping.properties").write_text(PLUGIN_MAPPING)
    jars = class_path_of(CACHE / "engine") + sorted((home / "lib").glob("*.jar"))
    classes = compile_main(jars)
    return PeerHome(home, ":".join(str(path) for path in [classes, *jars]))


def fetch(profile: str, *, transitive: bool) -> None:
    target = CACHE / profile
    shutil.rmtree(target, ignore_errors=True)
    command = [
        "mvn", "-B", "-q", "-f", str(HERE / "pom.xml"), "-P", profile, "dependency:copy-dependencies",
        "-DincludeScope=runtime", f"-DoutputDirectory={target}", f"-DexcludeTransitive={str(not transitive).lower()}",
    ]  # fmt: skip
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    (target / ".complete").touch()


def fill(target: Path, source: Path) -> None:
    target.mkdir(exist_ok=True)
    for jar in source.glob("*.jar"):
        if not (target / jar.name).exists():
            shutil.copy2(jar, target)


def class_path_of(folder: Path) -> list[Path]:
    jars = [jar for jar in sorted(folder.glob("*.jar")) if jar.name not in NOT_ON_CLASS_PATH]
    return sorted(jars, key=lambda jar: not jar.name.startswith(FIRST_ON_CLASS_PATH))


def compile_main(jars: list[Path]) -> Path:
    source, classes = HERE / "RunJobs.java", CACHE / "classes"
    compiled = classes / "RunJobs.class"
    if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
        class_path = ":".join(str(jar) for jar in jars)
        subprocess.run(["javac", "-cp", class_path, "-d", str(classes), str(source)], check=True)
    return classes


if __name__ == "__main__":
    print(prepare().directory)
