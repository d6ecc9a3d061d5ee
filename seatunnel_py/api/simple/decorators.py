"""A source or a sink in one function, whose parameters are its options."""

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
    """Make a source of one table from a function that yields rows. Its parameters are options, but ``split`` and
    ``start``, which it may take as well::

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
    """Make a sink from a function that writes the ``batches`` of a unit. Its parameters are options, but ``batches``,
    ``context`` and ``table``, of which it takes those that it names::

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
    """The parameters of a function: those that the engine gives, and the others, which are options."""

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
        """A class in the place of the function, so that pickle finds it under the function's name."""
        place = {key: getattr(self._function, key) for key in ("__module__", "__qualname__", "__doc__")}
        defaults = {one.name: one.default for one in self._options if one.default is not one.empty}
        annotations = {one.name: one.annotation for one in self._options}
        members = {**defaults, **place, **declared, "name": name, "__annotations__": annotations}
        return new_class(self._function.__name__, (base,), exec_body=lambda space: space.update(members))
