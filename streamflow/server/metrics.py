"""Counters of a server, and their text form for Prometheus."""

from collections import Counter
from collections.abc import Mapping

_HELP = {
    "flows_created_total": "Flows that were begun.",
    "flows_live": "Flows that run now.",
    "subscribers": "Connections that read a flow now.",
    "subscriptions_total": "Connections that read a flow, by kind.",
    "resumes_total": "Connections that came back with an id.",
    "events_sent_total": "Events that were written to clients.",
    "bytes_sent_total": "Bytes that were written to clients.",
    "cut_off_total": "Clients that took nothing for too long.",
    "refused_total": "Requests that were refused, by status.",
    "stops_total": "Flows that a client stopped.",
}


class Metrics:
    """Counts by name and label.

    >>> metrics = Metrics()
    >>> metrics.add("refused_total", status=429)
    >>> print(metrics.text({}).splitlines()[-1])
    streamflow_refused_total{status="429"} 1
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()

    def add(self, name: str, amount: int = 1, **labels: object) -> None:
        """Count; labels are words of ours, never of a client."""
        self._counts[name, tuple((key, str(value)) for key, value in labels.items())] += amount

    def get(self, name: str, **labels: object) -> int:
        """The count so far."""
        return self._counts[name, tuple((key, str(value)) for key, value in labels.items())]

    def text(self, gauges: Mapping[str, int]) -> str:
        """Everything, in the text format of Prometheus."""
        values: dict[str, list[tuple[str, int]]] = {name: [("", value)] for name, value in gauges.items()}
        for (name, labels), value in sorted(self._counts.items()):
            written = ",".join(f'{key}="{word}"' for key, word in labels)
            values.setdefault(name, []).append((f"{{{written}}}" if written else "", value))
        lines: list[str] = []
        for name, rows in values.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# HELP streamflow_{name} {_HELP.get(name, name)}", f"# TYPE streamflow_{name} {kind}"]
            lines += [f"streamflow_{name}{labels} {value}" for labels, value in rows]
        return "\n".join(lines) + "\n"
