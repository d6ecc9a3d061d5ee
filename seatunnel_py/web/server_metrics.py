"""The metrics of the server itself, and the document of all metrics.

The series of the runs come from the same functions as those of ``jobs metrics`` and ``metrics.textfile``: one pass over
the files at a scrape, at most once a second. The client library writes only the others: it takes several times as long
for each line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from seatunnel_py.runtime.observe.metric_text import Metric, text_of

CACHED_SECONDS = 1.0
BUCKETS = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0)


class TargetMetrics(Collector):
    """Metrics of the targets of notifications. ``standings``: how many events wait for each, and whether it fails."""

    def __init__(self, standings: Callable[[], Mapping[str, tuple[int, bool]]]) -> None:
        self._standings = standings

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The metrics of now."""
        waiting = GaugeMetricFamily(
            "seatunnel_notifications_waiting", "Events that wait for a target.", labels=["target"]
        )
        failing = GaugeMetricFamily(
            "seatunnel_notifications_failing", "1: the target takes no events.", labels=["target"]
        )
        for name, (number, fails) in self._standings().items():
            waiting.add_metric([name], number)
            failing.add_metric([name], float(fails))
        yield from (waiting, failing)


class ServerMetrics:
    """``runs``: makes the metrics of all runs; ``targets``: as ``TargetMetrics`` has them."""

    def __init__(
        self, runs: Callable[[], Sequence[Metric]], targets: Callable[[], Mapping[str, tuple[int, bool]]]
    ) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._runs = runs
        registry = self._registry
        registry.register(TargetMetrics(targets))
        self._started = time.monotonic()
        up = Gauge("seatunnel_server_up_seconds", "Seconds since the server has started.", registry=registry)
        up.set_function(lambda: time.monotonic() - self._started)
        self.streams = Gauge("seatunnel_live_streams", "Open streams of events.", registry=registry)
        self.warm_drivers = Gauge("seatunnel_warm_drivers", "Drivers that wait for a job.", registry=registry)
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
                self._text = text_of(self._runs()).encode() + generate_latest(self._registry)
                self._made = time.monotonic()
            return self._text
