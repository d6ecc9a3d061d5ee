"""Reads files that a job file includes: only below the job file's own directory, never from a URL."""

from __future__ import annotations

from pathlib import Path

from seatunnel_py.config.guard import Limits, decode
from seatunnel_py.config.hocon import Include, ObjectExpression, read

DEPTH_MAX = 10
FILES_MAX = 50


class Includes:
    """Reads included files, each once per including place.

    ``root`` is the directory that must contain the files; without one (text from elsewhere) nothing is read. Paths are
    relative to the including file. As in HOCON, a missing file counts as empty unless it is ``required``.
    """

    def __init__(self, root: Path | None, file: str, limits: Limits) -> None:
        self._root = root.resolve() if root else None
        self._limits = limits
        self._blocks: dict[tuple[Path, tuple[str, ...]], ObjectExpression] = {}
        self._chains: dict[str, tuple[Path, ...]] = {file: ((root / Path(file).name).resolve(),) if root else ()}
        self._bytes = 0

    def load(self, include: Include, path: tuple[str, ...]) -> ObjectExpression:
        """Return the block of an included file, for the place ``path`` of the job."""
        target, chain = self._target(include)
        if target is None:
            if include.required:
                raise include.place.error(f"required include {include.path!r} is not there")
            return ObjectExpression((), include.place)
        if target in chain:
            raise include.place.error(f"include {include.path!r} includes itself")
        if len(chain) > DEPTH_MAX:
            raise include.place.error(f"includes nested deeper than {DEPTH_MAX}")
        known = self._blocks.get((target, path))
        return known or self._read(include, target, path, (*chain, target))

    def _target(self, include: Include) -> tuple[Path | None, tuple[Path, ...]]:
        place, name = include.place, include.path
        if self._root is None:
            raise place.error("includes are refused: the job is not read from a file")
        if "\0" in name or "://" in name:
            raise place.error("an include must be a file path", remedy="Keep the file beside the job file.")
        chain = self._chains[place.file]
        base = (chain[-1].parent / name).resolve()
        if not base.is_relative_to(self._root):
            remedy = "Only files below the job file's directory may be included."
            raise place.error(f"include {name!r} leads outside the job file's directory", remedy=remedy)
        candidates = [base] if base.suffix else [base, base.with_suffix(".conf"), base.with_suffix(".json")]
        return next((one for one in candidates if _is_file(one)), None), chain

    def _read(self, include: Include, target: Path, path: tuple[str, ...], chain: tuple[Path, ...]) -> ObjectExpression:
        place = include.place
        if len(self._blocks) >= FILES_MAX:
            raise place.error(f"more than {FILES_MAX} includes")
        try:
            with target.open("rb") as opened:
                data = opened.read(self._limits.bytes + 1)
        except OSError as error:
            raise place.error(f"include {include.path!r} cannot be read: {error.strerror}") from None
        self._bytes += len(data)
        if self._bytes > self._limits.bytes:
            raise place.error(f"included files are larger than {self._limits.bytes} bytes together")
        file = str(target)
        self._chains[file] = chain
        block = read(decode(data, file), file, prefix=path, limits=self._limits)
        if not isinstance(block, ObjectExpression):
            raise place.error(f"include {include.path!r} holds a list, not an object")
        self._blocks[target, path] = block
        return block


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
