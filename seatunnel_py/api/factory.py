"""Factories: name, options and capabilities of a plugin, importable without any client library.

``seatunnel check`` and ``seatunnel plugins`` load factories only; the implementation (and its driver library) is
imported inside ``create``. A factory is found through an entry point of its group, under its own name:

``seatunnel_py.sources``, ``seatunnel_py.transforms``, ``seatunnel_py.sinks``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

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
    """BATCH jobs end when all their sources have been read; STREAMING jobs run until they are stopped."""

    BATCH = "BATCH"
    STREAMING = "STREAMING"


@dataclass(frozen=True, slots=True)
class StepContext:
    """Information about the job for a plugin. ``parallelism`` is the step's; a transform or sink has that of its input.
    ``registry`` holds objects that the plugins of the job share, see ``JobRegistry``. ``store``: where the job keeps
    its state; with ``job_id`` it names the job on all machines. ``continues``: another sink of this step has created
    the target and written the first rows of the table: this one must not create, empty or refuse it."""

    step: str
    job_id: str = ""
    job_name: str = "SeaTunnel_Job"
    mode: JobMode = JobMode.BATCH
    parallelism: int = 1
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)
    store: str = ""
    continues: bool = False


class Factory(ABC):
    """Base of all factories. Job files use ``name``, in any case. ``extra`` is the extra of the plugin's distribution
    that ``create`` needs: if ``create`` raises ImportError, the message names it. The loader sets ``distribution``."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    distribution: str = ""

    def extras(self, options: Any) -> tuple[str, ...]:
        """The extras that a step with these options needs on a worker."""
        return (self.extra,) if self.extra else ()

    def modules(self, options: Any) -> tuple[str, ...]:
        """Modules that workers import in advance: the implementation, with its client library."""
        return ()

    def test_connection(self, options: Any) -> Mapping[str, str] | None:
        """Connect with these options, disconnect, and return facts about the server to show (``server``, ``user``,
        ...). None: the plugin connects to nothing. Raises SeaTunnelError with cause and remedy."""
        return None


class SourceFactory(Factory, Generic[SourceO]):
    """Makes sources."""

    options: ClassVar[type[SourceOptions]]
    everything: ClassVar[Mapping[str, Plain]] = {}
    """Options that select all tables; ``seatunnel discover`` adds them if the user selects none."""

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        """Convert a command-line address to options. None: the address belongs to another plugin. Raises ValueError if
        it belongs to this one and has a fault."""
        return None

    def selecting(self, tables: Sequence[str]) -> Mapping[str, Plain] | None:
        """Options that select these tables, named as ``seatunnel discover`` names them; they take the place of
        ``everything``. None: the source has no such options."""
        return None

    def output_transform(self, options: SourceO) -> OutputTransform | None:
        """Return a transform for all tables of the source, if its options ask for rows in another form. The transform
        follows the source in every job; steps that read the source read the transform's output."""
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
        """Return a transform bound to ``table``. Raise ValueError for an option that does not fit the table."""


class SinkFactory(Factory, Generic[SinkO]):
    """Makes sinks, each bound to one upstream table."""

    options: ClassVar[type[SinkOptions]]

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        """Convert a command-line address to options; see ``SourceFactory.from_shorthand``."""
        return None

    @abstractmethod
    def capabilities(self, options: SinkO, table: TableSchema, context: StepContext) -> SinkCapabilities: ...

    @abstractmethod
    def create(self, options: SinkO, table: TableSchema, context: StepContext) -> Sink:
        """Return a sink bound to ``table``. The placeholders in ``options`` are already replaced."""


OutputTransform: TypeAlias = tuple[TransformFactory[Any], TransformOptions]
"""A transform that a source brings along, and its options."""
