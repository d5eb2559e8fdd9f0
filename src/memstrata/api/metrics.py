"""Figures for Prometheus. Their labels are of closed sets: no id, no path, nobody's words."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)

from memstrata._version import __version__

__all__ = ["MEDIA_TYPE", "REASONS", "Metrics", "method_of"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REASONS = ("attempts", "auth", "body", "busy", "rate", "slow")
"""Why a request is refused before it comes to memory."""
_METHODS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"))
_BUCKETS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
)  # fmt: skip


class Metrics:
    """The figures of one service."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("memstrata_build", "What is running.", registry=registry).info(
            {"version": __version__}
        )
        self._requests = Counter(
            "memstrata_http_requests",
            "Requests that were answered, by the first digit of the status.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "memstrata_http_request_seconds",
            "From a request to the end of its answer; streams of events are not in it.",
            ("route",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._in_flight = Gauge(
            "memstrata_http_requests_in_flight",
            "Requests that are being answered.",
            registry=registry,
        )
        self._received = Counter(
            "memstrata_http_received_bytes", "Bytes of the bodies of requests.", registry=registry
        )
        self._sent = Counter(
            "memstrata_http_sent_bytes", "Bytes of the bodies of answers.", registry=registry
        )
        self._refused = Counter(
            "memstrata_http_refused",
            "Requests that were refused before they came to memory, by the reason.",
            ("reason",),
            registry=registry,
        )
        for reason in REASONS:
            self._refused.labels(reason)
        self._batches = Gauge(
            "memstrata_batches",
            "Batches of all tenants that wait, and that have failed.",
            ("state",),
            registry=registry,
        )

    def began(self) -> None:
        """A request came."""
        self._in_flight.inc()

    def ended(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float | None,
        received: int,
        sent: int,
    ) -> None:
        """It was answered; without `seconds` by a stream, whose length says nothing.

        The method is one of `method_of`, the route one that is declared.
        """
        self._in_flight.dec()
        self._requests.labels(method, route, f"{status // 100}xx").inc()
        if seconds is not None:
            self._seconds.labels(route).observe(seconds)
        self._received.inc(received)
        self._sent.inc(sent)

    def refused(self, reason: str) -> None:
        """A request was refused; the reason is one of `REASONS`."""
        self._refused.labels(reason).inc()

    def written(self, waiting: int, failed: int) -> bytes:
        """All of it in the text format, with how many batches wait and have failed."""
        self._batches.labels("waiting").set(waiting)
        self._batches.labels("failed").set(failed)
        return generate_latest(self._registry)


def method_of(given: str) -> str:
    """The method of a request, or `other`."""
    return given if given in _METHODS else "other"
