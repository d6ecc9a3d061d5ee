"""Names, types and nesting of SeaTunnel's documents, from its documentation and the sources of its server.

``str``, ``int``, ``bool``: the type of a value; ``None``: null is allowed, with the type beside it; a list has the shape
of each element; a dictionary needs these keys, and may have more; ``MAP``: any keys with this value.
"""

from __future__ import annotations

from typing import Any

MAP = "*"
TEXT_OR_NULL = (str, None)
VERTEX = {"vertexId": int, "type": str, "vertexName": str, "tablePaths": [str]}
DAG = {
    "jobId": str,
    "envOptions": {},
    "vertexInfoMap": [VERTEX],
    "pipelineEdges": {MAP: [{"inputVertexId": str, "targetVertexId": str}]},
}
PARTS = ("Count", "QPS", "Bytes", "BytesPerSeconds")
SIDES = ("SourceReceived", "SinkWrite", "SinkCommitted")
METRICS: dict[str, Any] = {f"{side}{part}": str for side in SIDES for part in PARTS}
METRICS |= {f"Table{name}": {MAP: str} for name in METRICS} | {"IntermediateQueueSize": str}
JOB = {
    "jobId": str,
    "jobName": str,
    "jobStatus": str,
    "errorMsg": TEXT_OR_NULL,
    "envOptions": {},
    "createTime": str,
    "startTime": str,
    "finishTime": str,
    "jobDag": DAG,
    "pluginJarsUrls": [{"jarPath": str}],
    "isStartWithSavePoint": bool,
    "metrics": METRICS,
}
COMPLETED = {
    "checkpointId": int,
    "checkpointType": str,
    "status": str,
    "triggerTimestamp": int,
    "completedTimestamp": int,
    "durationMillis": int,
    "stateSize": int,
}
RECORD = {"pipelineId": int, "checkpoint": COMPLETED}
CHECKPOINTS = {
    "jobId": str,
    "updatedAt": int,
    "pipelines": [
        {
            "pipelineId": int,
            "counts": dict.fromkeys(("triggered", "completed", "failed", "inProgress", "restored"), int),
            "latestCompleted": COMPLETED,
            "latestFailed": (dict, None),
            "latestSavepoint": (dict, None),
            "inProgress": [{}],
            "history": [RECORD],
        }
    ],
}
OVERVIEW = dict.fromkeys(
    (
        "projectVersion", "gitCommitAbbrev", "totalSlot", "unassignedSlot", "works", "runningJobs", "pendingJobs",
        "finishedJobs", "failedJobs", "cancelledJobs",
    ),
    str,
)  # fmt: skip
PENDING_JOB = {
    "jobId": str,
    "jobName": str,
    "pendingSourceState": str,
    "jobStatus": str,
    "enqueueTimestamp": int,
    "checkTime": int,
    "waitDurationMs": int,
    "checkCount": int,
    "totalTaskGroups": int,
    "allocatedTaskGroups": int,
    "lackingTaskGroups": int,
    "failureReason": str,
    "failureMessage": str,
    "tagFilter": {},
    "blockingJobIds": [str],
    "pipelines": [{}],
    "lackingTaskGroupDiagnostics": [{}],
}
WORKER = {
    "address": str, "tags": {}, "totalSlots": int, "freeSlots": int, "dynamicSlot": bool, "runningJobIds": [str],
}  # fmt: skip
PENDING = {
    "queueSummary": {
        "size": int,
        "scheduleStrategy": str,
        "oldestEnqueueTimestamp": (int, None),
        "newestEnqueueTimestamp": (int, None),
        "lackingTaskGroups": int,
    },
    "clusterSnapshot": {
        "totalSlots": int, "freeSlots": int, "assignedSlots": int, "workerCount": int, "workers": [WORKER],
    },
    "pendingJobs": [PENDING_JOB],
}  # fmt: skip
MACHINE = dict.fromkeys(
    (
        "processors", "physical.memory.total", "physical.memory.free", "swap.space.total", "swap.space.free",
        "heap.memory.used", "heap.memory.free", "heap.memory.total", "heap.memory.max", "heap.memory.used/total",
        "heap.memory.used/max", "load.system", "load.systemAverage", "thread.count",
    ),
    str,
)  # fmt: skip
OPTION = {
    "key": str,
    "type": str,
    "defaultValue": object,
    "description": str,
    "fallbackKeys": [str],
    "optionValues": (list, None),
}
OPTION_RULES = {
    "engineType": str,
    "pluginType": str,
    "pluginName": str,
    "optionRule": {
        "optionalOptions": [OPTION],
        "requiredOptions": [{"ruleType": str, "options": [OPTION]}],
        "conditionRules": [{}],
        "valueConstraints": [{}],
    },
}
LOGS = [{"node": str, "logLink": str, "logName": str}]
FAILURE = {
    "sequence": int, "timestamp": str, "pipelineId": object, "attempt": int, "taskName": str, "worker": str,
    "exceptionType": str, "message": str, "stackTrace": str,
}  # fmt: skip
SUBMITTED = {"jobId": str, "jobName": str}
FAIL = {"status": str, "message": str}


def require_shape(value: Any, shape: Any, where: str = "answer") -> None:
    """Fails where a value has not this shape."""
    if isinstance(shape, tuple):
        kind, _ = shape
        assert value is None or isinstance(value, kind), (where, value)
    elif isinstance(shape, list):
        assert isinstance(value, list), (where, value)
        for number, one in enumerate(value):
            require_shape(one, shape[0], f"{where}[{number}]")
    elif isinstance(shape, dict):
        assert isinstance(value, dict), (where, value)
        if MAP in shape:
            shape = dict.fromkeys(value, shape[MAP])
        assert shape.keys() <= value.keys(), (where, shape.keys() - value.keys())
        for name, one in shape.items():
            require_shape(value[name], one, f"{where}.{name}")
    else:
        assert isinstance(value, shape) and not (shape is int and isinstance(value, bool)), (where, value)
