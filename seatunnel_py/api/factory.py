"""Factories: the cheap half of a plugin. Name, options and capabilities, importable without any client library.

``seatunnel check`` and ``seatunnel plugins`` load factories only; the implementation (and its driver library) is
imported inside ``create``. A factory is found through an entry point of its group, under its own name:

``seatunnel_py.sources``, ``seatunnel_py.transforms``, ``seatunnel_py.sinks``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from seatunnel_py.api.job_registry import JobRegistry
from seatunnel_py.api.options.step import SinkOptions, SourceOptions, TransformOptions
from seatunnel_py.api.shorthand import Shorthand

if TYPE_CHECKING:  # a command that only reads options does not pay for what works
    from seatunnel_py.api.batch import Plain
    from seatunnel_py.api.capabilities import SinkCapabilities, SourceCapabilities, TransformCapabilities
    from seatunnel_py.api.schema import TableSchema
    from seatunnel_py.api.sink import Sink
    from seatunnel_py.api.source import Source
    from seatunnel_py.api.transform import Transform

SourceO = TypeVar("SourceO", bound=SourceOptions)
TransformO = TypeVar("TransformO", bound=TransformOptions)
SinkO = TypeVar("SinkO", bound=SinkOptions)


class JobMode(StrEnum):
    """Whether a job ends when its sources do."""

    BATCH = "BATCH"
    STREAMING = "STREAMING"


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a plugin may know of its job. ``parallelism`` is the step's own: a transform's or sink's is its input's.
    ``registry`` holds what the plugins of the job share, see ``JobRegistry``."""

    step: str
    job_id: str = ""
    job_name: str = "SeaTunnel_Job"
    mode: JobMode = JobMode.BATCH
    parallelism: int = 1
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)


class Factory(ABC):
    """``name`` is what job files say (compared without regard to case). ``extra`` names the extra of the plugin's
    distribution whose absence makes ``create`` raise ImportError; it is put into the message. ``distribution`` is set
    where the plugin is loaded."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    distribution: str = ""

    def extras(self, options: Any) -> tuple[str, ...]:
        """The extras that a step with these options needs on a worker."""
        return (self.extra,) if self.extra else ()

    def modules(self, options: Any) -> tuple[str, ...]:
        """Modules of the implementation (with its client library), which workers import before they are needed."""
        return ()

    def test_connection(self, options: Any) -> Mapping[str, str] | None:
        """Connect as a step with these options would, and hang up: who answers, as names and values for people
        (``server``, ``user``, ...). None: there is nobody to connect to. Raises SeaTunnelError with cause and remedy.
        """
        return None


class SourceFactory(Factory, Generic[SourceO]):
    """Makes sources."""

    options: ClassVar[type[SourceOptions]]
    everything: ClassVar[Mapping[str, Plain]] = {}
    """Options that ask for all tables there are: what ``seatunnel discover`` adds where nobody said which."""

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        """Options for an address that a person typed. None: it is not of this plugin's kind. Raises ValueError where
        it is, and something is wrong with it."""
        return None

    @abstractmethod
    def capabilities(self, options: SourceO, context: StepContext) -> SourceCapabilities: ...

    @abstractmethod
    def create(self, options: SourceO, context: StepContext) -> Source: ...


class TransformFactory(Factory, Generic[TransformO]):
    """Makes transforms, each bound to one upstream table."""

    options: ClassVar[type[TransformOptions]]

    def capabilities(self, options: TransformO) -> TransformCapabilities:
        from seatunnel_py.api.capabilities import TransformCapabilities

        return TransformCapabilities()

    @abstractmethod
    def create(self, options: TransformO, table: TableSchema, context: StepContext) -> Transform:
        """A transform bound to ``table``. Raise ValueError for an option that does not fit it."""


class SinkFactory(Factory, Generic[SinkO]):
    """Makes sinks, each bound to one upstream table."""

    options: ClassVar[type[SinkOptions]]

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        """As a source's, for the other end."""
        return None

    @abstractmethod
    def capabilities(self, options: SinkO, table: TableSchema, context: StepContext) -> SinkCapabilities: ...

    @abstractmethod
    def create(self, options: SinkO, table: TableSchema, context: StepContext) -> Sink:
        """A sink bound to ``table``; placeholders in ``options`` are already replaced for it."""
