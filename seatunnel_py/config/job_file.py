"""Reads a job file: its ``env`` and its steps in order, each with its place.

The plugins' own options stay trees; ``resolve_step`` makes them typed once the plugin is known.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from seatunnel_py.api.options import Options, describe
from seatunnel_py.config import shade
from seatunnel_py.config.env import ALWAYS_RETAINED, RETAIN_AFTER_CANCEL, WITHOUT_EFFECT, EnvOptions
from seatunnel_py.config.evaluate import Evaluation
from seatunnel_py.config.guard import DEFAULT_LIMITS, Limits, decode
from seatunnel_py.config.hocon import ObjectExpression, read
from seatunnel_py.config.includes import Includes
from seatunnel_py.config.resolve import nearest, resolve_options
from seatunnel_py.config.row_errors import BadRowsAllowed, described
from seatunnel_py.config.shade import Secrets
from seatunnel_py.config.steps import KINDS, NAME_KEY, StepNode, read_steps
from seatunnel_py.config.tree import Node, SourcePlace
from seatunnel_py.config.variables import Variables
from seatunnel_py.errors import JobFileError, Problem, SeaTunnelError
from seatunnel_py.redaction import keep_secret

__all__ = ["JobFile", "StepNode", "load", "loads", "resolve_step"]

O = TypeVar("O", bound=Options)  # noqa: E741


@dataclass(frozen=True, slots=True)
class JobFile:
    """One job file with its variables filled in. ``digest`` identifies its content, without secrets; ``variables``: the
    names that it uses; ``given``: those set on the command line."""

    path: str
    digest: str
    env: EnvOptions
    sources: tuple[StepNode, ...]
    transforms: tuple[StepNode, ...]
    sinks: tuple[StepNode, ...]
    notes: tuple[Problem, ...] = ()
    secrets: Secrets = field(default_factory=lambda: Secrets({}), repr=False)
    variables: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    env_tree: Node = field(default_factory=lambda: Node({}, SourcePlace("", 1, 1)), repr=False)

    @property
    def steps(self) -> tuple[StepNode, ...]:
        """Sources, transforms and sinks, in this order."""
        return self.sources + self.transforms + self.sinks

    def redacted(self) -> str:
        """Return the job as JSON text for logs: it runs like the file, except for the secrets, which are masked."""
        return self.rendered(partial(shade.redacted, more=self.env.shade_options))

    def rendered(self, change: Callable[[Node], Node]) -> str:
        """Return the job as JSON text, each block changed by ``change``; parsed again, it is the same job."""
        return _rendered(self.env_tree, self.steps, change)


def load(
    path: str | Path,
    variables: Mapping[str, str] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    collect: list[Problem] | None = None,
    decrypt: bool = True,
) -> JobFile:
    """Read a job file. ``variables`` come from ``-i``; ``environment`` is the process's by default.

    Raises ``JobFileError`` with every problem. With ``collect``, problems that leave the steps readable are added to it
    instead, so that a caller can report them with those of the steps' options. Without ``decrypt`` encrypted options
    stay as written.
    """
    file = str(path)
    if Path(path).suffix.lower() == ".sql":
        remedy = "Write the job as HOCON (.conf) or JSON, with an Sql transform for the query."
        raise JobFileError((Problem("SQL job files are not supported", file, remedy=remedy),))
    try:
        with Path(path).open("rb") as opened:
            data = opened.read(limits.bytes + 4)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise JobFileError((Problem(f"cannot be read: {reason}", file),)) from None
    return loads(
        decode(data, file),
        variables,
        file=file,
        root=Path(path).parent,
        environment=environment,
        limits=limits,
        collect=collect,
        decrypt=decrypt,
    )


def loads(
    text: str,
    variables: Mapping[str, str] | None = None,
    *,
    file: str = "job.conf",
    root: Path | None = None,
    environment: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    collect: list[Problem] | None = None,
    decrypt: bool = True,
) -> JobFile:
    """Read a job file's text; see ``load``. Includes and secret files must be below ``root``, else they are refused."""
    environment = os.environ if environment is None else environment
    start = SourcePlace(file, 1, 1)
    block = read(text, file, limits=limits)
    if not isinstance(block, ObjectExpression):
        raise start.error("a job file is an object with env, source, transform and sink, not a list")
    known = Variables(variables or {}, environment)
    evaluation = Evaluation(known, Includes(root, file, limits).load, start)
    evaluation.add(block)

    problems = list(_misnamed_blocks(evaluation))
    env_tree, env, notes = _env(evaluation, start, problems)
    steps = {kind: read_steps(kind, block, evaluation, problems) for kind in KINDS}
    for kind in ("source", "sink"):
        if not steps[kind]:
            remedy = f"Add a {kind} block with at least one plugin."
            problems.append(start.problem(f"the job has no {kind}", remedy=remedy))
    if decrypt:
        steps = {kind: _decrypted(found, env, env_tree, problems) for kind, found in steps.items()}
    notes += tuple(_unused(known))
    if collect is not None:
        collect += problems
    elif problems:
        raise JobFileError(tuple(problems))
    every = tuple(step for kind in KINDS for step in steps[kind])
    hidden = partial(shade.redacted, more=env.shade_options)
    return JobFile(
        path=file,
        digest=hashlib.sha256(_rendered(env_tree, every, hidden).encode()).hexdigest(),
        env=env,
        sources=steps["source"],
        transforms=steps["transform"],
        sinks=steps["sink"],
        notes=notes,
        secrets=Secrets(environment, _secret_directories(root, environment)),
        variables=frozenset(known.asked),
        given=frozenset(known.given),
        env_tree=env_tree,
    )


def _secret_directories(root: Path | None, environment: Mapping[str, str]) -> tuple[Path, ...]:
    named = environment.get("SEATUNNEL_SECRETS_DIR")
    return (*filter(None, (root,)), *((Path(named),) if named else ()))


def _unused(variables: Variables) -> Iterator[Problem]:
    """An unused variable is often a misspelt one."""
    for name in sorted(variables.given.keys() - variables.asked):
        near = nearest(name, sorted(variables.asked - variables.given.keys()))
        yield Problem(f"-i {name}: the job file has no ${{{name}}}", "command line", suggestion=near)


def resolve_step(
    step: StepNode, model: type[O], *, strict: bool = True, secrets: Secrets | None = None
) -> tuple[O | None, tuple[Problem, ...], tuple[Problem, ...]]:
    """Return typed options of a step (None if there are problems), its problems, and notes on older keys.

    Resolves ``${env:NAME}`` and ``${file:path}`` if ``secrets`` is given (``JobFile.secrets``).
    """
    return resolve_options(step.options, model, path=step.path, strict=strict, secrets=secrets)


def _misnamed_blocks(evaluation: Evaluation) -> Iterator[Problem]:
    """Other outermost names may hold values to refer to; one close to the name of an absent block is a slip."""
    absent = {"env", *KINDS} - evaluation.names().keys()
    for name, place in evaluation.names().items():
        near = nearest(name, sorted(absent)) if name not in KINDS and len(name) <= 12 else ""
        if near and name != "env":
            yield place.problem("unknown block", path=name, suggestion=near)


def _env(
    evaluation: Evaluation, start: SourcePlace, problems: list[Problem]
) -> tuple[Node, EnvOptions, tuple[Problem, ...]]:
    tree = evaluation.at("env") or Node({}, start)
    keep_secret(shade.secrets_of(tree))
    if not isinstance(tree.value, dict):
        problems.append(tree.place.problem("must be an object", path="env"))
        tree = Node({}, tree.place)
    written = tree.find("strict")
    strict = written is None or str(written.value).lower() not in ("false", "no", "off")
    env, found, notes = resolve_options(tree, EnvOptions, path="env", strict=strict)
    problems += found
    env = env or EnvOptions(strict=strict)
    for info in describe(EnvOptions):
        if info.name in WITHOUT_EFFECT and getattr(env, info.name):
            place = (tree.find(info.key) or tree).place
            notes += (place.problem("accepted without effect", path=f"env.{info.key}"),)
        if isinstance(getattr(env, info.name), BadRowsAllowed) and any(getattr(env, info.name).allows):
            place = (tree.find(info.key) or tree).place
            notes += (place.problem(described(env.bad_rows_allowed), path=f"env.{info.key}"),)
    written = tree.find(RETAIN_AFTER_CANCEL)
    if written is not None and not env.checkpoint_retain_after_cancel:
        notes += (written.place.problem(ALWAYS_RETAINED, path=f"env.{RETAIN_AFTER_CANCEL}"),)
    return tree, env, notes


def _decrypted(
    steps: tuple[StepNode, ...], env: EnvOptions, tree: Node, problems: list[Problem]
) -> tuple[StepNode, ...]:
    try:
        cipher = shade.cipher(env.shade_identifier, env.shade_properties)
    except SeaTunnelError as error:
        place = (tree.find("shade.identifier") or tree).place
        found = place.problem(error.message, path="env.shade.identifier", remedy=error.remedy)
        problems += [] if found in problems else [found]
        return steps
    result = []
    for step in steps:
        try:
            step = StepNode(
                step.kind, step.plugin, step.ordinal, shade.decrypted(step.options, cipher, env.shade_options)
            )
        except JobFileError as error:
            problems += error.problems
        keep_secret(shade.secrets_of(step.options, env.shade_options))
        result.append(step)
    return tuple(result)


def _rendered(env: Node, steps: tuple[StepNode, ...], change: Callable[[Node], Node]) -> str:
    job: dict[str, object] = {"env": change(env).plain()}
    for kind in KINDS:
        entries = [{NAME_KEY: step.plugin, **change(step.options).plain()} for step in steps if step.kind == kind]
        if entries:
            job[kind] = entries
    return json.dumps(job, indent=2, ensure_ascii=False)
