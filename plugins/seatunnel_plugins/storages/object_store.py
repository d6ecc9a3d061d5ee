"""Stores checkpoints in an object store, through fsspec: ``s3://``, ``gs://``, ``abfs://``, ``memory://`` …

An object appears completely, or not at all. Objects cannot be extended, so each append is an object of its own:
``name``, ``name+00000001``, ``name+00000002``. Reading joins them again.

A call that is not answered in time fails, however long the client would retry. A late arrival of the call is harmless,
since each call writes the same bytes under the same name, or creates only what is absent.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

import fsspec

from seatunnel_py.api import RetriableError, Storage, redacted_text

ANSWER_SECONDS = 60.0
_PART = re.compile(r"\+\d{8}$")
T = TypeVar("T")


def open_storage(url: str, job_id: str) -> Storage:
    """The storage of a job below that URL."""
    files, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    return ObjectStorage(files, f"{path.rstrip('/')}/{job_id}", redacted_text(url))


class ObjectStorage(Storage):
    """Stores the files of one job as objects. ``files`` is an fsspec file system."""

    def __init__(self, files: Any, path: str, shown: str) -> None:
        self._files = files
        self._path = path
        self._shown = shown
        self._parts: dict[str, int] = {}

    def create(self, name: str, data: bytes) -> bool:
        return self._try(name, lambda: self._create(self._placed(name), data))

    def append(self, name: str, data: bytes) -> None:
        if name not in self._parts:
            self._parts[name] = len(self._parts_of(name))
        number = self._parts[name]
        path = self._placed(name) if number == 0 else f"{self._placed(name)}+{number:08}"
        self._try(name, lambda: self._put(path, data))
        self._parts[name] += 1

    def get(self, name: str) -> bytes | None:
        parts = self._parts_of(name)
        return b"".join(self._try(name, partial(self._files.cat_file, part)) for part in parts) if parts else None

    def names(self, folder: str) -> Sequence[str]:
        return sorted({_PART.sub("", path.rpartition("/")[2]) for path in self._listed(folder)})

    def delete(self, name: str) -> None:
        for path in reversed(self._parts_of(name)):
            self._try(name, partial(self._gone, path))
        self._parts.pop(name, None)

    def jobs(self) -> Sequence[str]:
        return sorted(path.rstrip("/").rpartition("/")[2] for path in self._listed(""))

    def describe(self, name: str) -> str:
        return f"{name} in {self._shown}"

    def _placed(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _put(self, path: str, data: bytes) -> None:
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(path, data)

    def _create(self, path: str, data: bytes) -> bool:
        """Create an object by the store's conditional write, else by the file system's exclusive open."""
        try:
            if self._files.async_impl:
                self._files.pipe_file(path, data, mode="create")
            else:
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
                with self._files.open(path, "xb") as file:
                    file.write(data)
        except FileExistsError:
            return False
        return True

    def _parts_of(self, name: str) -> list[str]:
        folder, _, own = name.rpartition("/")
        return [path for path in self._listed(folder) if _PART.sub("", path.rpartition("/")[2]) == own]

    def _listed(self, folder: str) -> list[str]:
        def listed() -> list[str]:
            self._files.invalidate_cache()
            try:
                return sorted(self._files.ls(self._placed(folder), detail=False))
            except FileNotFoundError:
                return []

        return self._try(folder, listed)

    def _gone(self, path: str) -> None:
        try:
            self._files.rm_file(path)
        except FileNotFoundError:
            return

    def _try(self, name: str, act: Callable[[], T]) -> T:
        try:
            return _answered(act)
        except Exception as error:
            if not isinstance(error, OSError) and type(error).__module__ == "builtins":
                raise  # one of our errors; a client's errors have classes of their own
            text = redacted_text(f"{type(error).__name__}: {error}")
            raise RetriableError(
                f"{self.describe(name)} cannot be used: {text}", "look at the address and rights"
            ) from None


def _answered(act: Callable[[], T]) -> T:
    """Return the answer, from a thread that can be abandoned: clients retry for many minutes."""
    answer: Future[T] = Future()

    def asked() -> None:
        try:
            answer.set_result(act())
        except Exception as error:  # noqa: BLE001 - given to the caller
            answer.set_exception(error)

    threading.Thread(target=asked, name="object store", daemon=True).start()
    try:
        return answer.result(ANSWER_SECONDS)
    except TimeoutError:
        if answer.done():
            raise
        raise TimeoutError(f"no answer within {ANSWER_SECONDS:.0f} s") from None
