"""The metrics of the server itself, and the document of all metrics.

The series of the runs come from the same functions as those of ``jobs metrics`` and ``metrics.textfile``: one pass over
the files at a scrape, at most once a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from seatunnel_py.runtime.observe.metric_text import Metric

CACHED_SECONDS = 1.0
BUCKETS = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0)


class ServerMetrics:
    """``runs``: makes the metrics of all runs."""

    def __init__(self, runs: Callable[[], Sequence[Metric]]) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_RunMetrics(runs))
        registry = self._registry
        self._started = time.monotonic()
        up = Gauge("seatunnel_server_up_seconds", "Seconds since the server has started.", registry=registry)
        up.set_function(lambda: time.monotonic() - self._started)
        self.streams = Gauge("seatunnel_live_streams", "Open streams of events.", registry=registry)
        self.login_failures = Counter(
            "seatunnel_login_failures", "Requests with a token that is not valid.", registry=registry
        )
        labels = ["route", "method", "code"]
        self._requests = Histogram(
            "seatunnel_http_request_seconds",
            "Requests by route and class of status.",
            labels,
            buckets=BUCKETS,
            registry=registry,
        )
        self._lock = threading.Lock()
        self._text, self._made = b"", -CACHED_SECONDS

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request. Unknown methods count as one, because a client chooses their names."""
        known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE") else "(other)"
        self._requests.labels(route, known, f"{status // 100}xx").observe(seconds)

    def text(self) -> bytes:
        """The document, at most a second old."""
        with self._lock:
            if time.monotonic() - self._made >= CACHED_SECONDS:
                self._text = generate_latest(self._registry)
                self._made = time.monotonic()
            return self._text


class _RunMetrics(Collector):
    def __init__(self, runs: Callable[[], Sequence[Metric]]) -> None:
        self._runs = runs

    def collect(self) -> Iterable[Family]:
        """The metrics of all runs, as the client library writes them."""
        for metric in self._runs():
            if metric.samples:
                yield _family(metric)


def _family(metric: Metric) -> Family:
    name = metric.name.removesuffix("_total")
    found = Family(name, metric.help, metric.kind.value)
    suffix = "_total" if metric.name.endswith("_total") else ""
    for labels, value, part in metric.samples:
        found.add_sample(f"{name}{suffix}{part}", dict(labels), value)
    return found
