"""The gateway's metrics for Prometheus, in its text format 0.0.4.

Rule: they are counted when an exchange is recorded, off the way of the bytes; reading them waits for nothing. No
text of a request and no name that a client chose is in them.
"""

from collections.abc import Iterable, Iterator
from threading import Lock

from holdfast.gateway.exchange import RecordedExchange
from holdfast.messages import Usage

PATH = b"/holdfast/metrics"
CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
PREFIX = "holdfast_gateway_"
COUNTERS = {
    "requests_total": "Requests with messages; status 0 is one that the provider did not answer.",
    "removed_tokens_total": "Tokens that requests were made smaller by, each counted once.",
    "prompt_tokens_total": "Tokens of prompts as the provider reported them, cached or not.",
    "cache_read_tokens_total": "Tokens of prompts that the provider read from its cache.",
    "cache_write_tokens_total": "Tokens of prompts that the provider wrote to its cache.",
    "output_tokens_total": "Tokens of replies as the provider reported them.",
    "dollars_total": "Cost of requests at the prices of their models.",
    "unpriced_requests_total": "Answered requests whose cost is not known, and is in no dollars.",
    "retries_total": "Requests that were sent once more after the provider refused a changed one.",
    "faults_total": "Requests that went as they came because of a failure of the gateway.",
}
BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds to the first byte: some models think for minutes."""

Labels = tuple[tuple[str, str], ...]


class GatewayMetrics:
    """Counts what passed, from one thread; may be read from any."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: dict[str, dict[Labels, float]] = {name: {} for name in COUNTERS}
        self._waits: dict[Labels, list[int]] = {}
        """By wire, for each bucket how many waited no longer, and last how many there were."""
        self._waited: dict[Labels, float] = {}

    def observe(self, recorded: RecordedExchange) -> None:
        exchange, change = recorded.exchange, recorded.exchange.change
        usage = (recorded.reply.usage if recorded.reply else None) or Usage(0)
        wire: Labels = (("wire", exchange.route.wire),)
        labels: Labels = (*wire, ("mode", change.mode))
        with self._lock:
            self._add("requests_total", (*labels, ("status", str(exchange.status))), 1)
            for name, amount in (
                ("removed_tokens_total", change.removed_now),
                ("prompt_tokens_total", usage.prompt),
                ("cache_read_tokens_total", usage.cache_read),
                ("cache_write_tokens_total", usage.cache_write),
                ("output_tokens_total", usage.completion),
                ("dollars_total", recorded.dollars or 0.0),
                ("unpriced_requests_total", exchange.status == 200 and recorded.dollars is None),
                ("retries_total", change.retry != ""),
                ("faults_total", change.fault != ""),
            ):
                self._add(name, labels, amount)
            if exchange.status:
                self._wait(wire, exchange.first_byte_seconds)

    def _add(self, name: str, labels: Labels, amount: float) -> None:
        self._counts[name][labels] = self._counts[name].get(labels, 0) + amount

    def _wait(self, labels: Labels, seconds: float) -> None:
        counts = self._waits.setdefault(labels, [0] * (len(BUCKETS) + 1))
        for place, most in enumerate((*BUCKETS, float("inf"))):
            counts[place] += seconds <= most
        self._waited[labels] = self._waited.get(labels, 0.0) + seconds

    def page(self, *, in_flight: int, waiting: int, missed: int) -> bytes:
        """All metrics, as a scraper reads them."""
        lines: list[str] = []
        with self._lock:
            for name, about in COUNTERS.items():
                lines += _metric(name, "counter", about, (("", *one) for one in self._counts[name].items()))
            about = "Seconds from a request to the first byte of its answer."
            lines += _metric("first_byte_seconds", "histogram", about, self._histogram())
        for name, kind, about, value in (
            ("missed_exchanges_total", "counter", "Exchanges that could not be recorded.", missed),
            ("exchanges_in_flight", "gauge", "Requests that are on their way now.", in_flight),
            ("exchanges_waiting", "gauge", "Exchanges that wait to be recorded.", waiting),
        ):
            lines += _metric(name, kind, about, [("", (), value)])
        return "".join(f"{line}\n" for line in lines).encode()

    def _histogram(self) -> Iterator[tuple[str, Labels, float]]:
        for labels, counts in self._waits.items():
            for most, number in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                yield "_bucket", (*labels, ("le", most)), number
            yield "_sum", labels, self._waited[labels]
            yield "_count", labels, counts[-1]


def _metric(name: str, kind: str, about: str, samples: Iterable[tuple[str, Labels, float]]) -> Iterator[str]:
    """A metric and its samples, each with what is put behind the name, its labels and its value."""
    yield f"# HELP {PREFIX}{name} {about}"
    yield f"# TYPE {PREFIX}{name} {kind}"
    for suffix, labels, value in samples:
        # The values of labels are words of our own and numbers, so nothing in them needs an escape.
        named = ",".join(f'{label}="{text}"' for label, text in labels)
        yield f"{PREFIX}{name}{suffix}{f'{{{named}}}' if named else ''} {float(value):.15g}"
