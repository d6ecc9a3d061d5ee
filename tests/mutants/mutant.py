"""A deliberate bug: a replacement in the text of one file of the protocol, of the runtime round it, or of the reference
beside the protocol's tests.

It is loaded in a process of its own, where that file's module is imported from the changed text.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import re
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = "seatunnel_py.protocol"
REFERENCE = "tests.protocol.reference"
RUNTIME = "seatunnel_py.runtime"


@dataclass(frozen=True)
class Mutant:
    """``old`` stands once in ``file``, a path below ``package``. ``rules`` names the rules that the mutant drops and the
    invariants that this breaks; in the runtime, a file and the number of a rule in its text.

    ``killer``: the test file that has to fail; none: the simulation has to notice.
    """

    name: str
    file: str
    old: str
    new: str
    rules: str
    killer: str = ""
    package: str = PROTOCOL

    @property
    def module(self) -> str:
        """The dotted name of the file."""
        return f"{self.package}.{self.file.removesuffix('.py').replace('/', '.')}"

    def is_of(self, file: str | None) -> bool:
        """Whether this names its file, as a path or as a plain name; None: any does."""
        return file in (None, self.file, self.file.rsplit("/", 1)[-1])

    @property
    def path(self) -> Path:
        """Where the file stands."""
        return ROOT / self.package.replace(".", "/") / self.file

    @property
    def labels(self) -> frozenset[str]:
        """The rules one by one."""
        return frozenset(re.split(r",\s*", self.rules))


class _Changed(SourceFileLoader):
    """Reads a module with one replacement."""

    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        return compile(changed(self.mutant), self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        where = str(self.mutant.path)
        return importlib.util.spec_from_file_location(fullname, where, loader=_Changed(fullname, where, self.mutant))


def runtime(name: str, file: str, old: str, new: str, rules: str, killer: str = "") -> Mutant:
    """A mutant of the runtime."""
    return Mutant(name, file, old, new, rules, killer, RUNTIME)


def changed(mutant: Mutant) -> str:
    """The file's text with the bug in it. ValueError if the file is not the one that the mutant was written for."""
    text = mutant.path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {mutant.old!r} stands {text.count(mutant.old)} times in {mutant.file}")
    return text.replace(mutant.old, mutant.new)


def install(mutant: Mutant) -> None:
    """From now on this process has the bug. Its file must not have been imported yet."""
    loaded = mutant.module
    if loaded in sys.modules:
        raise RuntimeError(f"{loaded} is imported already")
    changed(mutant)
    sys.meta_path.insert(0, _Finder(mutant))
