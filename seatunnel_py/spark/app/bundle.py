"""Packs the files that a job ships to a cluster: our packages and the plugins' as one zip, their libraries as an
archive.

Executors then need only Spark and the same minor version of Python. Both files are made once per set of versions and
kept (``artifact_cache.py``). Compiled modules are shipped too: an executor would compile them all before its first row.
A job with its own environment (``spark.archives``) gets no archive from us.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import py_compile
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seatunnel_py.spark.app.artifact_cache import drop_unused, held

CODE = "seatunnel-code.zip"
LIBRARIES = "seatunnel-libraries"
OURS = ("seatunnel_py", "seatunnel_connectors", "seatunnel_plugins")
WORKER_BASE = ("pydantic", "pyarrow", "numpy")
CATALYST_BASE = ("pandas",)
NOT_SHIPPED = frozenset({"pyspark", "py4j", "seatunnel-py", "grpcio-tools"})
"""Spark ships its own Python side; compilers are not needed once workers run."""
_OF_NO_USE = re.compile(r"/tests/|/include/|[.](pyx|pxd|pxi|pyi|pyc|cc|hpp)$")


def shipment(modules: Iterable[str], extras: Iterable[str], cache: Path, *, catalyst: bool) -> dict[str, str]:
    """Pack the packages that hold ``modules`` (the plugins of a job) and the libraries that these need.

    ``extras`` are those of the plugins, as ``distribution[extra]``. Returns the Spark settings (without prefix) that
    ship the files and add them to the workers' path.
    """
    packages = sorted({*OURS, *(module.partition(".")[0] for module in modules)})
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    code = _zip(_code_files(packages), cache / "code", CODE, lambda name: f"{name}c")
    settings = {"files": code.as_uri(), "executorEnv.PYTHONPATH": f"{CODE}{os.pathsep}{LIBRARIES}"}
    distributions = _distributions(packages, extras, catalyst=catalyst)
    archive = _zip(
        _library_files(distributions), cache / "libraries", f"{LIBRARIES}.zip", importlib.util.cache_from_source
    )
    return {**settings, "archives": f"{archive.as_uri()}#{LIBRARIES}"}


def _code_files(packages: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Return (file, name in the zip) of all source files of the packages; a package may be a single module."""
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        if not spec.submodule_search_locations:
            yield origin, origin.name
            continue
        files = [path for path in origin.parent.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        if any(path.suffix == ".so" for path in files):
            continue  # a client library that workers import early: impossible from a zip, so it goes into the archive
        for path in sorted(files):
            yield path, str(path.relative_to(origin.parent.parent))


def _distributions(packages: Iterable[str], extras: Iterable[str], *, catalyst: bool) -> list[str]:
    """All installed distributions that the packages need on a worker, sorted."""
    owners = importlib.metadata.packages_distributions()
    waiting = [*WORKER_BASE, *(CATALYST_BASE if catalyst else ())]
    for wanted in extras:
        distribution, _, named = wanted.rstrip("]").partition("[")
        waiting += _required(distribution, frozenset(named.split(",")))  # without the needs of their command lines
    waiting += [name for package in packages if package not in OURS for name in owners.get(package, ())]
    found: set[str] = set()
    seen: set[str] = set()
    while waiting:
        wanted = waiting.pop()
        written, _, more = wanted.rstrip("]").partition("[")
        name = re.sub(r"[-_.]+", "-", written).lower()
        if wanted in seen or name in NOT_SHIPPED:
            continue
        seen.add(wanted)
        found.add(name)
        waiting += _required(name, frozenset())
        waiting += _required(name, frozenset(more.split(","))) if more else ()
    return sorted(found)


def _required(distribution: str, extras: frozenset[str]) -> Iterator[str]:
    """Requirements of a distribution itself (no extras given), or of these extras alone, with their own extras."""
    try:
        lines = importlib.metadata.distribution(distribution).requires or []
    except importlib.metadata.PackageNotFoundError:
        return  # a distribution that is not installed here is not used by the job either
    for line in lines:
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", line)
        name = re.match(r"[A-Za-z0-9._-]+(\[[A-Za-z0-9._,-]+\])?", line)
        if name and (extra[1] in extras if extra else not extras):
            yield name[0]


def _library_files(distributions: Iterable[str]) -> Iterator[tuple[Path, str]]:
    for name in distributions:
        for file in _files(name):
            path = Path(str(file.locate()))
            wanted = not _OF_NO_USE.search(str(file))
            if wanted and not str(file).startswith("..") and path.is_file():
                yield path, str(file)


def _files(distribution: str) -> list[importlib.metadata.PackagePath]:
    try:
        return importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return []  # of another platform


def _zip(files: Iterable[tuple[Path, str]], directory: Path, name: str, compiled: Callable[[str], str]) -> Path:
    """Make a zip of the files, under a name that changes with any of them. ``compiled``: where Python looks for a
    compiled module, which differs between zips and directories."""
    listed = sorted(files, key=lambda pair: pair[1])
    digest = hashlib.sha256(f"compiled {sys.implementation.cache_tag}\n".encode())
    for path, inside in listed:
        stat = path.stat()
        digest.update(f"{inside} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    target = directory / digest.hexdigest()[:16] / name
    while not held(target):
        drop_unused(directory.glob("*/*"))
        target.parent.mkdir(parents=True, exist_ok=True)
        half = target.with_suffix(f".{os.getpid()}")
        with (
            zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            tempfile.NamedTemporaryFile(prefix="seatunnel-", suffix=".pyc") as code,
        ):
            for path, inside in listed:
                archive.write(path, inside)
                if path.suffix == ".py" and _compiles(path, inside, code.name):
                    archive.write(code.name, compiled(inside))
        half.rename(target)
    return target


def _compiles(source: Path, shown: str, target: str) -> bool:
    """Write the module as Python caches it, without a check of the source's time, which an archive does not keep.
    Returns False for files that are not modules of this Python: templates, and code for other versions."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            py_compile.compile(str(source), target, shown, doraise=True, invalidation_mode=mode)
    except (py_compile.PyCompileError, UnicodeDecodeError):
        return False
    return True
