"""The settings of a job's loop, taken from ``env``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from seatunnel_py.api.factory import JobMode
from seatunnel_py.config.env import Consistency, EnvOptions, FailurePolicy, Retain
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.work.bad_rows.limits import ErrorLimits
from seatunnel_py.work.unit import Budget

PROGRESS_SECONDS = 10.0  # between the checkpoints of a bounded job that asks for none


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a job. ``checkpoint``: its interval may be absent. ``isolates``: other pipelines go on after one
    has failed; set beforehand if the job has tables beside its pipelines."""

    retry: RetryPolicy
    budget: Budget
    channel_capacity: int = 16
    fail_fast: bool = False
    exchange: str = ""
    retain: Retain = Retain.AUTO
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    restarts: Backoff = field(default_factory=Backoff)
    per_split: bool = False
    exchange_max_bytes: int = 10 * 2**30
    read_rows: int | None = None
    read_bytes: int | None = None
    errors: ErrorLimits | None = None
    store: str = ""
    fresh: bool = False
    isolates: bool = False
    ledger_days: int = 30
    stall_seconds: float = 60.0

    def isolating(self, *, several: bool) -> Settings:
        """Set whether others go on after a failure. ``several``: the job has more than one pipeline."""
        return replace(self, isolates=(self.isolates or several) and not self.fail_fast)

    @property
    def alignment_timeout(self) -> float:
        """The alignment timeout in seconds; 0: none."""
        return self.checkpoint.alignment_timeout or 0.0

    def checkpoints(self, *, bounded: bool, early: bool, at_end_only: bool = False) -> CheckpointSettings:
        """For one pipeline. Without an interval a bounded one takes checkpoints only where these show nothing
        (``early``), an unbounded one always. ``at_end_only``: none before the end, whatever the interval."""
        if at_end_only:
            return replace(self.checkpoint, interval=None, at_end_only=True)
        if self.checkpoint.interval is not None:
            return self.checkpoint
        if bounded and not early:
            return replace(self.checkpoint, at_end_only=True)
        return replace(self.checkpoint, interval=PROGRESS_SECONDS)


STREAMING_UNIT_SECONDS = 0.2
QUARTER = 4  # of an interval: a barrier waits for the unit that is under way


def settings_of(env: EnvOptions, exchange: str, job_id: str = "") -> Settings:
    """The settings of a job; ``exchange`` is where channels lie unless ``env`` names a place that jobs share."""
    streaming = env.job_mode is JobMode.STREAMING
    interval = None if env.checkpoint_interval is None else env.checkpoint_interval / 1000
    seconds = env.unit_seconds or (STREAMING_UNIT_SECONDS if streaming else Budget().seconds)
    if interval is not None and env.unit_seconds is None:
        seconds = min(seconds, interval / QUARTER)
    alignment = env.checkpoint_alignment_timeout
    return Settings(
        RetryPolicy(env.job_retry_times, env.job_retry_interval),
        Budget(env.unit_rows, seconds, env.state_max_bytes),
        env.channel_capacity,
        env.failure_policy is FailurePolicy.FAIL_FAST,
        f"{env.exchange_location.rstrip('/')}/{job_id}" if env.exchange_location else exchange,
        env.channel_retain,
        CheckpointSettings(
            interval=interval,
            timeout=env.checkpoint_timeout / 1000,
            min_pause=env.checkpoint_min_pause / 1000,
            max_concurrent=env.checkpoint_max_concurrent,
            tolerable_failures=env.checkpoint_tolerable_failures,
            max_retained=env.checkpoint_max_retained,
            max_uncommitted=env.checkpoint_max_uncommitted,
            alignment_timeout=None if alignment < 0 else alignment / 1000,
        ),
        Backoff(
            retries=env.job_retry_times,
            first=env.job_retry_interval / 8,
            longest=max(env.job_retry_interval, env.job_retry_interval / 8),
            reset_after=env.job_retry_reset_after,
        ),
        env.source_consistency is Consistency.PER_SPLIT,
        env.exchange_max_bytes,
        env.read_limit_rows,
        env.read_limit_bytes,
        ledger_days=env.ledger_retention_days,
        stall_seconds=env.unit_stall_seconds,
    )
