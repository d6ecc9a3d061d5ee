"""Builds the logical graph: every step of the job file with its typed options, wired by name.

Wiring rules (SeaTunnel's, without its silent fall-backs): in a *simple* graph - one source, at most one transform, one
sink - names may be absent and the steps follow one another. In any other graph every source and transform names its
output, and every transform and sink names its inputs. Names are unique, every input exists, and every output is used.
An undefined name is an error with the nearest name, in either kind of graph; ``env.strict = false`` makes it a note in
a simple one.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_py.api.factory import Factory, JobMode, SourceFactory, StepContext
from seatunnel_py.api.job_registry import JobRegistry
from seatunnel_py.api.options.step import SinkOptions, SourceOptions, TransformOptions
from seatunnel_py.api.plain_data import STATE_BYTES_MAX
from seatunnel_py.config.job_file import JobFile, StepNode, resolve_step
from seatunnel_py.config.references import References, references_in
from seatunnel_py.errors import JobFileError, Problem
from seatunnel_py.plan.plugins.registry import BrokenPluginError, PluginKind, Registry, UnknownPluginError


@dataclass(frozen=True, slots=True)
class Step:
    """One step as written in the job file. ``inputs`` are ids of steps, in the order of ``plugin_input``;
    ``state_bytes`` limits what a split of it may put into a checkpoint."""

    id: str
    kind: PluginKind
    plugin: str
    factory: Factory
    options: Any
    node: StepNode
    inputs: tuple[str, ...] = ()
    parallelism: int = 1
    references: References = field(default_factory=References, repr=False)
    state_bytes: int = STATE_BYTES_MAX

    def context(self, job: Job) -> StepContext:
        return StepContext(self.id, job.id, job.name, job.mode, self.parallelism, job.registry, job.store)


@dataclass(frozen=True, slots=True)
class Job:
    """A job file understood: steps in topological order, environment, notes for the person who wrote it, and what its
    plugins share. ``store``: where it keeps its state, once it runs."""

    file: JobFile
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    id: str = ""
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)
    store: str = ""

    @property
    def name(self) -> str:
        return self.file.env.job_name

    @property
    def mode(self) -> JobMode:
        return self.file.env.job_mode

    def step(self, step_id: str) -> Step:
        return next(step for step in self.steps if step.id == step_id)

    def of_kind(self, kind: PluginKind) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.kind is kind)


def understand(file: JobFile, registry: Registry, found: Iterable[Problem] = ()) -> Job:
    """Resolve and wire all steps. Raises JobFileError with every problem, including those already ``found``."""
    problems: list[Problem] = list(found)
    notes: list[Problem] = list(file.notes)
    resolved: list[_Resolved] = []
    for node in file.steps:
        step = _resolve(node, file, registry, problems, notes)
        if step is not None:
            resolved.append(step)
    if file.sources and file.sinks and len(resolved) == len(file.steps):
        resolved = _told_apart(resolved)
        # Wiring steps that are not fully resolved would only repeat the first problems in other words.
        edges = _wire(resolved, problems, notes, strict=file.env.strict)
    elif len(file.steps) > 3 or file.env.strict:  # in a simple job a wrong name may be right enough
        problems += _unknown_inputs(resolved, file)
    if problems:
        raise JobFileError(tuple(problems))
    steps = _with_output_transforms(_ordered(resolved, edges, file))
    return Job(file, steps, (*map(str, notes), *registry.broken))


@dataclass(frozen=True, slots=True)
class _Resolved:
    id: str
    kind: PluginKind
    factory: Factory
    options: SourceOptions | TransformOptions | SinkOptions
    node: StepNode

    @property
    def output(self) -> str | None:
        return getattr(self.options, "plugin_output", None)

    @property
    def inputs(self) -> tuple[str, ...]:
        return getattr(self.options, "plugin_input", None) or ()

    def problem(self, message: str, remedy: str = "", suggestion: str = "", option: str = "") -> Problem:
        return self.node.problem(message, remedy=remedy, suggestion=suggestion, option=option)


def _resolve(
    node: StepNode, file: JobFile, registry: Registry, problems: list[Problem], notes: list[Problem]
) -> _Resolved | None:
    kind = PluginKind(node.kind)
    try:
        factory: Any = registry.factory(kind, node.plugin)
    except UnknownPluginError as error:
        problems.append(node.problem(error.message, remedy=error.remedy, suggestion=error.suggestion))
        return None
    except BrokenPluginError as error:
        problems.append(node.problem(error.message, remedy=error.remedy))
        return None
    options: Any
    options, wrong, remarks = resolve_step(node, factory.options, strict=file.env.strict, secrets=file.secrets)
    problems += wrong
    notes += remarks
    if options is None:
        return None
    step_id = options.id or getattr(options, "plugin_output", None) or _default_id(factory, node)
    return _Resolved(step_id, kind, factory, options, node)


def _is_simple(steps: list[_Resolved]) -> bool:
    """One source, one sink and at most one transform: their order wires them where names do not."""
    kinds = Counter(step.kind for step in steps)
    return kinds[PluginKind.SOURCE] == kinds[PluginKind.SINK] == 1 and kinds[PluginKind.TRANSFORM] <= 1


def _told_apart(steps: list[_Resolved]) -> list[_Resolved]:
    """In a simple graph the transform may give its output the name of the source's: the meaning is clear."""
    if not _is_simple(steps):
        return steps
    source = next(step for step in steps if step.kind is PluginKind.SOURCE)
    return [
        replace(step, id=_default_id(step.factory, step.node))
        if step.kind is PluginKind.TRANSFORM and step.id == step.output == source.output
        else step
        for step in steps
    ]


def _default_id(factory: Factory, node: StepNode) -> str:
    return f"{factory.name}-{node.kind}-{node.ordinal + 1}"


def _wire(
    steps: list[_Resolved], problems: list[Problem], notes: list[Problem], *, strict: bool
) -> dict[str, tuple[str, ...]]:
    """Return edges as {step id: input step ids}. In a simple graph a wrong name can only mean the step before: if the
    job is not strict, that step is used, with a note."""
    simple = _is_simple(steps)
    duplicates = [step_id for step_id, count in Counter(step.id for step in steps).items() if count > 1]
    for step in steps:
        if step.id in duplicates:
            problems.append(step.problem(f"the name {step.id!r} is used by more than one step", option="plugin_output"))
    everything = _outputs(steps)
    edges: dict[str, tuple[str, ...]] = {}
    previous: _Resolved | None = None
    for step in steps:
        if step.kind is not PluginKind.SOURCE:
            outputs = _outputs(other for other in steps if other is not step) if simple else everything
            missing = [_unknown_input(step, name, outputs) for name in step.inputs if name not in outputs]
            follows = simple and not strict and len(missing) == len(step.inputs)
            (notes if follows else problems).extend(missing)
            problems += _repeated(step)
            if step.inputs and not follows:
                edges[step.id] = tuple(outputs[name] for name in step.inputs if name in outputs)
            elif simple and previous is not None:
                edges[step.id] = (previous.id,)
        previous = step
    if not simple:
        problems += _complex_problems(steps, edges)
    elif not problems:
        problems += _unused(steps, edges)
    return edges


def _unknown_inputs(steps: list[_Resolved], file: JobFile) -> Iterable[Problem]:
    """Inputs that no step provides, if other steps could not be resolved: only the names of their outputs are known."""
    understood = {id(step.node) for step in steps}
    others = [node for node in file.steps if id(node) not in understood and node.kind != PluginKind.SINK]
    written = [node.options.find("plugin_output") or node.options.find("result_table_name") for node in others]
    named = [node.value for node in written if node is not None and isinstance(node.value, str)]
    if len(named) == len(others):  # a missing name may be a misspelt one
        outputs = _outputs(steps) | dict.fromkeys(named, "")
        for step in steps:
            if step.kind is not PluginKind.SOURCE:
                yield from (_unknown_input(step, name, outputs) for name in step.inputs if name not in outputs)


def _outputs(steps: Iterable[_Resolved]) -> dict[str, str]:
    """Ids of the steps by the names of their outputs."""
    return {step.output: step.id for step in steps if step.output}


def _repeated(step: _Resolved) -> Iterable[Problem]:
    """An input that is named twice would bring every row twice."""
    for name, times in Counter(step.inputs).items():
        if times > 1:
            text = f"the input {name!r} is named {times} times"
            yield step.problem(text, remedy="name it once", option="plugin_input")


def _unused(steps: list[_Resolved], edges: dict[str, tuple[str, ...]]) -> Iterable[Problem]:
    """In a simple graph names may bypass the transform, whose rows would then go nowhere."""
    used = {input_id for inputs in edges.values() for input_id in inputs}
    for step in steps:
        if step.kind is not PluginKind.SINK and step.id not in used:
            text = f"nothing reads the output of {step.id!r}"
            yield step.problem(text, remedy="name it in a plugin_input, or remove the step")


def _unknown_input(step: _Resolved, name: str, outputs: dict[str, str]) -> Problem:
    near = difflib.get_close_matches(name, outputs, n=1)
    return step.problem(
        f"no step has the output {name!r}",
        remedy=f"outputs of this job: {', '.join(sorted(outputs))}"
        if outputs
        else "give the wanted step a plugin_output",
        suggestion=near[0] if near else "",
        option="plugin_input",
    )


def _complex_problems(steps: list[_Resolved], edges: dict[str, tuple[str, ...]]) -> Iterable[Problem]:
    used = {input_id for inputs in edges.values() for input_id in inputs}
    remedy = "a job with more than one source, transform or sink needs a name on every edge"
    for step in steps:
        if step.kind is not PluginKind.SINK and not step.output:
            yield step.problem("plugin_output is missing", remedy=remedy)
        elif step.kind is not PluginKind.SINK and step.id not in used:
            yield step.problem(
                f"nothing reads the output {step.output!r}",
                remedy="name it in a plugin_input, or remove the step",
                option="plugin_output",
            )
        if step.kind is not PluginKind.SOURCE and not step.inputs:
            yield step.problem("plugin_input is missing", remedy=remedy)


def _ordered(steps: list[_Resolved], edges: dict[str, tuple[str, ...]], file: JobFile) -> tuple[Step, ...]:
    """Sort steps topologically; equals keep the order of the file. Cycles are an error."""
    done: dict[str, Step] = {}
    waiting = list(steps)
    while waiting:
        ready = [step for step in waiting if all(name in done for name in edges.get(step.id, ()))]
        if not ready:
            looped = ", ".join(step.id for step in waiting)
            raise JobFileError((waiting[0].problem(f"these steps feed one another in a circle: {looped}"),))
        for step in ready:
            inputs = edges.get(step.id, ())
            done[step.id] = Step(
                step.id,
                step.kind,
                step.factory.name,
                step.factory,
                step.options,
                step.node,
                inputs,
                _parallelism(step, [done[name] for name in inputs], file),
                references_in(step.node.options, file.secrets, file.env.shade_options),
                file.env.state_max_bytes,
            )
        waiting = [step for step in waiting if step.id not in done]
    return tuple(done.values())


def _with_output_transforms(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps, each source followed by the transform that it brings along: readers of the source read its output."""
    found: list[Step] = []
    instead: dict[str, str] = {}
    for step in steps:
        found.append(replace(step, inputs=tuple(instead.get(name, name) for name in step.inputs)))
        if isinstance(step.factory, SourceFactory) and (added := step.factory.output_transform(step.options)):
            factory, options = added
            instead[step.id] = made = f"{step.id}-{factory.name}"
            kind = PluginKind.TRANSFORM
            found.append(Step(made, kind, factory.name, factory, options, step.node, (step.id,), step.parallelism))
    return tuple(found)


def _parallelism(step: _Resolved, inputs: list[Step], file: JobFile) -> int:
    if step.kind is PluginKind.SOURCE:
        own = getattr(step.options, "parallelism", None)
        return int(own or file.env.parallelism)
    return max((step.parallelism for step in inputs), default=file.env.parallelism)
