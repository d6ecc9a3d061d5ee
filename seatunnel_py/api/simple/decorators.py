"""Decorators that turn one function into a source or a sink; its parameters are the options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import new_class
from typing import Any

from seatunnel_py.api.batch import Batch, Position
from seatunnel_py.api.capabilities import Determinism, Guarantee
from seatunnel_py.api.simple.sink import AGAIN, SimpleSink
from seatunnel_py.api.simple.source import SimpleSource
from seatunnel_py.api.sink import WriteContext
from seatunnel_py.api.source import Split
from seatunnel_py.api.types import DataType


def simple_source(
    name: str,
    *,
    columns: Mapping[str, str | DataType],
    determinism: Determinism = Determinism.INDETERMINATE,
    summary: str = "",
    extra: str = "",
) -> Callable[[Callable[..., Iterable[Any]]], type[SimpleSource]]:
    """Create a source of one table from a function that yields rows. The function's parameters are options, except
    ``split`` and ``start``, which it may also have::

        @simple_source("Countdown", columns={"n": "bigint"})
        def countdown(start_at: int = option(ge=1)):
            return ({"n": n} for n in range(start_at, 0, -1))
    """

    def made(function: Callable[..., Iterable[Any]]) -> type[SimpleSource]:
        parameters = _Parameters(function, ("split", "start"))

        def read(self: SimpleSource, split: Split, start: Position | None) -> Iterable[Any]:
            return function(**parameters.values(self, split=split, start=start))

        declared = {"columns": columns, "determinism": determinism, "summary": summary, "extra": extra, "read": read}
        found: type[SimpleSource] = parameters.plugin(SimpleSource, name, declared)
        return found

    return made


def simple_sink(
    name: str, *, guarantee: Guarantee = Guarantee.AT_LEAST_ONCE, why: str = AGAIN, summary: str = "", extra: str = ""
) -> Callable[[Callable[..., int | None]], type[SimpleSink]]:
    """Create a sink from a function that writes the ``batches`` of a unit. The function's parameters are options,
    except ``batches``, ``context`` and ``table``, which the engine passes if the function has them::

        @simple_sink("Lines")
        def lines(batches: Iterator[Batch], path: str) -> None:
            with open(path, "a") as file:
                file.writelines(f"{row}\\n" for batch in batches for row in batch.data.to_pylist())
    """

    def made(function: Callable[..., int | None]) -> type[SimpleSink]:
        parameters = _Parameters(function, ("batches", "context", "table"))

        def write(self: SimpleSink, batches: Iterator[Batch], context: WriteContext) -> int | None:
            return function(**parameters.values(self, batches=batches, context=context, table=self.table))

        declared = {"guarantee": guarantee, "why": why, "summary": summary, "extra": extra, "write": write}
        found: type[SimpleSink] = parameters.plugin(SimpleSink, name, declared)
        return found

    return made


class _Parameters:
    """Parameters of a function: those that the engine passes, and the options."""

    def __init__(self, function: Callable[..., Any], given: tuple[str, ...]) -> None:
        self._function = function
        found = inspect.signature(function).parameters
        self._given = [name for name in found if name in given]
        self._options = [found[name] for name in found if name not in given]
        for one in self._options:
            if one.annotation is one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY):
                raise TypeError(
                    f"{function.__qualname__}: the parameter {one.name!r} is an option, which needs a name and a type"
                )

    def values(self, plugin: Any, **given: Any) -> dict[str, Any]:
        options = {one.name: getattr(plugin, one.name) for one in self._options}
        return {**options, **{name: given[name] for name in self._given}}

    def plugin(self, base: Any, name: str, declared: Mapping[str, Any]) -> Any:
        """Create a class under the function's name, so that pickle finds it."""
        place = {key: getattr(self._function, key) for key in ("__module__", "__qualname__", "__doc__")}
        defaults = {one.name: one.default for one in self._options if one.default is not one.empty}
        annotations = {one.name: one.annotation for one in self._options}
        members = {**defaults, **place, **declared, "name": name, "__annotations__": annotations}
        return new_class(self._function.__name__, (base,), exec_body=lambda space: space.update(members))
