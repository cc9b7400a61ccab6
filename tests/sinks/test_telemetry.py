"""Spans and metrics, seen by the SDK's own in-memory exporters."""

import itertools

import pytest
import reactivex as rx
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from reactivex.subject import Subject

import streamflow as sf
from streamflow.events import Chunk, StreamCompleted, StreamStart, Usage
from streamflow.sinks.telemetry import telemetry

START = StreamStart("id1", "model-1", "openai")
EVENTS = [
    START,
    Chunk(0, "text", "a"),
    Chunk(0, "text", "b"),
    Usage(3, 5, reasoning_tokens=2),
    StreamCompleted("end_turn", "stop"),
]


class Seen:
    """The providers of one test."""

    def __init__(self):
        self.spans = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.meters = MeterProvider([self.reader])
        ticks = itertools.count()
        self.operator = telemetry(
            request_model="model-1",
            tracer=tracers.get_tracer("test"),
            meter=self.meters.get_meter("test"),
            clock=lambda: next(ticks) * 1.0,
        )

    @property
    def span(self):
        (span,) = self.spans.get_finished_spans()
        return span

    def metrics(self):
        data = self.reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: metric.data.data_points
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def test_a_complete_answer():
    seen = Seen()
    out = []
    rx.from_iterable(EVENTS).pipe(seen.operator).subscribe(out.append)
    assert out == EVENTS
    attributes = seen.span.attributes
    assert seen.span.name == "chat model-1"
    assert attributes["gen_ai.provider.name"] == "openai"
    assert attributes["gen_ai.request.stream"] is True
    assert attributes["gen_ai.response.time_to_first_chunk"] == 1.0
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert (attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"]) == (3, 5)
    assert attributes["gen_ai.usage.reasoning.output_tokens"] == 2
    assert "error.type" not in attributes
    metrics = seen.metrics()
    assert set(metrics) == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.operation.time_per_output_chunk",
        "gen_ai.client.token.usage",
    }
    assert metrics["gen_ai.client.operation.duration"][0].sum == 3.0
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in metrics["gen_ai.client.token.usage"]} == {
        "input": 3,
        "output": 5,
    }


def test_an_error_ends_the_span_once_with_its_type():
    seen = Seen()
    errors = []
    source = rx.concat(rx.from_iterable(EVENTS[:2]), rx.throw(sf.StreamTruncated("cut")))
    subscription = source.pipe(seen.operator).subscribe(lambda event: None, errors.append)
    subscription.dispose()
    assert seen.span.attributes["error.type"] == "StreamTruncated"
    assert not seen.span.status.is_ok
    assert errors[0].type == "StreamTruncated"


@pytest.mark.parametrize("cancel", ["dispose", "stop"])
def test_leaving_and_stopping_end_the_span_once(cancel):
    seen = Seen()
    source = Subject()
    flow = sf.Flow(source)
    subscription = flow.events.pipe(seen.operator).subscribe(lambda event: None)
    source.on_next(START)
    flow.stop() if cancel == "stop" else subscription.dispose()
    subscription.dispose()
    assert seen.span.attributes["error.type"] == "cancelled"
    assert len(seen.spans.get_finished_spans()) == 1


def test_many_streams_have_a_span_each():
    seen = Seen()
    watched = rx.from_iterable(EVENTS).pipe(seen.operator)
    for _ in range(3):
        watched.subscribe(lambda event: None)
    assert len(seen.spans.get_finished_spans()) == 3
