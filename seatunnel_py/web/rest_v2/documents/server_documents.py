"""Documents about the server in SeaTunnel's form: overview, queue, machine. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatunnel_py.control.start_order import WaitingStart
from seatunnel_py.control.store.intents import StartKind
from seatunnel_py.web.rest_v2.documents.job_status import (
    CANCELED,
    ENDED,
    FAILED,
    FINISHED,
    INITIALIZING,
    PENDING,
    SAVEPOINT_DONE,
)
from seatunnel_py.web.rest_v2.documents.values import local_time, milliseconds, share, size

STRATEGY = "WAIT"


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A server as the only node of its cluster. ``slots``: how many drivers may run at once; ``running``: runs whose
    driver is alive."""

    version: str
    address: str
    slots: int
    running: Sequence[int]

    @property
    def free(self) -> int:
        return max(0, self.slots - len(self.running))


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """The machine of a server. Sizes in bytes. ``load``: the mean of a minute; ``resident``: memory of the server."""

    host: str
    port: int
    processors: int
    load: float
    memory: int
    memory_free: int
    swap: int
    swap_free: int
    disk: int
    disk_free: int
    resident: int
    threads: int


def overview_document(facts: ClusterFacts, statuses: Iterable[str]) -> dict[str, str]:
    """The state of the cluster, all as texts. ``statuses``: of all runs."""
    counts = Counter(statuses)
    pending = counts[PENDING] + counts[INITIALIZING]
    return {
        "projectVersion": facts.version,
        "gitCommitAbbrev": "",
        "totalSlot": str(facts.slots),
        "unassignedSlot": str(facts.free),
        "works": "1",
        "runningJobs": str(sum(number for status, number in counts.items() if status not in ENDED) - pending),
        "pendingJobs": str(pending),
        "finishedJobs": str(counts[FINISHED] + counts[SAVEPOINT_DONE]),
        "failedJobs": str(counts[FAILED]),
        "cancelledJobs": str(counts[CANCELED]),
    }


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A run in the queue."""

    number: int
    name: str
    start: WaitingStart


def pending_document(
    waiting: Sequence[WaitingJob], total: int, facts: ClusterFacts, at: float, *, pretty: bool
) -> dict[str, Any]:
    """The queue. ``total``: of all that wait; ``pretty``: times as texts."""
    time: Callable[[float], str | int] = local_time if pretty else milliseconds
    since = [one.start.entry.at for one in waiting]
    summary = {
        "size": total,
        "scheduleStrategy": STRATEGY,
        "oldestEnqueueTimestamp": time(min(since)) if since else None,
        "newestEnqueueTimestamp": time(max(since)) if since else None,
        "lackingTaskGroups": len(waiting),
    }
    blocking = [] if facts.free else [str(number) for number in facts.running]
    jobs = [{**_waiting_job(one, time, at), "blockingJobIds": blocking} for one in waiting]
    return {"queueSummary": summary, "clusterSnapshot": _cluster(facts), "pendingJobs": jobs}


def _cluster(facts: ClusterFacts) -> dict[str, Any]:
    node = {
        "address": facts.address,
        "tags": {},
        "totalSlots": facts.slots,
        "freeSlots": facts.free,
        "dynamicSlot": False,
        "runningJobIds": [str(number) for number in facts.running],
    }
    assigned = len(facts.running)
    slots = {"totalSlots": facts.slots, "freeSlots": facts.free, "assignedSlots": assigned}
    return {**slots, "workerCount": 1, "workers": [node]}


def _waiting_job(one: WaitingJob, time: Callable[[float], str | int], at: float) -> dict[str, Any]:
    entry = one.start.entry
    return {
        "jobId": str(one.number),
        "jobName": one.name,
        "pendingSourceState": "SUBMIT" if entry.intent.kind is StartKind.NEW else "RESTORE",
        "jobStatus": PENDING,
        "enqueueTimestamp": time(entry.at),
        "checkTime": time(at),
        "waitDurationMs": milliseconds(max(0.0, at - entry.at)),
        "checkCount": 0,
        "totalTaskGroups": 1,
        "allocatedTaskGroups": 0,
        "lackingTaskGroups": 1,
        "failureReason": "RESOURCE_NOT_ENOUGH",
        "failureMessage": one.start.why,
        "tagFilter": {},
        "pipelines": [],
        "lackingTaskGroupDiagnostics": [],
    }


def machine_document(facts: MachineFacts) -> dict[str, str]:
    """The machine as a node. Keys of the virtual machine of Java have the memory of the server's process."""
    used = facts.memory - facts.memory_free
    heap = {
        "heap.memory.used": size(facts.resident),
        "heap.memory.free": size(facts.memory_free),
        "heap.memory.total": size(facts.resident + facts.memory_free),
        "heap.memory.max": size(facts.memory),
        "heap.memory.used/total": share(facts.resident, facts.resident + facts.memory_free),
        "heap.memory.used/max": share(facts.resident, facts.memory),
    }
    return {
        "isMaster": "true",
        "host": facts.host,
        "port": str(facts.port),
        "processors": str(facts.processors),
        "physical.memory.total": size(facts.memory),
        "physical.memory.free": size(facts.memory_free),
        "physical.memory.used/total": share(used, facts.memory),
        "swap.space.total": size(facts.swap),
        "swap.space.free": size(facts.swap_free),
        **heap,
        "load.system": share(facts.load, facts.processors),
        "load.systemAverage": f"{facts.load:.2f}",
        "thread.count": str(facts.threads),
        "disk.home.total": size(facts.disk),
        "disk.home.free": size(facts.disk_free),
    }


def paged(rows: Sequence[Mapping[str, Any]], total: int) -> dict[str, Any]:
    """A page of a list."""
    return {"data": list(rows), "total": total}
