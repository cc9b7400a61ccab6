"""OpenTelemetry: one span and the metrics of an answer, by the names of the GenAI conventions.

The names are written out here: the conventions are still in development, and their Python package moves.
"""

import time
from collections.abc import Callable
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from streamflow.errors import StreamflowError, UsageError
from streamflow.events import Chunk, StreamCompleted, StreamFailed, StreamStart, Usage

_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]


def telemetry(
    *,
    request_model: str = "",
    operation: str = "chat",
    tracer: Any = None,
    meter: Any = None,
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[Observable[Any]], Observable[Any]]:
    """Watch a stream of events without changing it: a span from subscription to end, and four metrics.

    The span ends exactly once: when the stream completes, fails, or its subscriber leaves.

    >>> import reactivex as rx
    >>> rx.of(StreamStart("1", "m", "openai"), StreamCompleted("end_turn")).pipe(telemetry()).subscribe(
    ...     lambda event: print(type(event).__name__)) and None
    StreamStart
    StreamCompleted
    """
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        raise UsageError("telemetry() needs the extra: pip install 'streamflow-rx[otel]'") from None
    tracer = tracer or trace.get_tracer("streamflow")
    instruments = _Instruments(meter or metrics.get_meter("streamflow"))

    def watch(source: Observable[Any]) -> Observable[Any]:
        def subscribe(observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None) -> Any:
            # Made here and never made current: a stream outlives the code that starts it.
            span = tracer.start_span(f"{operation} {request_model}".strip(), kind=trace.SpanKind.CLIENT)
            call = _Call(span, instruments, operation, request_model, clock)
            return call.follow(source, observer, scheduler)

        return Observable(subscribe)

    return watch


class _Instruments:
    def __init__(self, meter: Any) -> None:
        def seconds(name: str, description: str) -> Any:
            return meter.create_histogram(
                name, unit="s", description=description, explicit_bucket_boundaries_advisory=_SECONDS
            )

        self.duration = seconds("gen_ai.client.operation.duration", "from request to end")
        self.first_chunk = seconds("gen_ai.client.operation.time_to_first_chunk", "from request to the first chunk")
        self.per_chunk = seconds("gen_ai.client.operation.time_per_output_chunk", "between two chunks")
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage", unit="{token}", description="tokens in and out"
        )


class _Call:
    """One subscription."""

    def __init__(
        self, span: Any, instruments: _Instruments, operation: str, model: str, clock: Callable[[], float]
    ) -> None:
        self._span = span
        self._instruments = instruments
        self._clock = clock
        self._begin = clock()
        self._last_chunk: float | None = None
        self._usage: Usage | None = None
        self._over = False
        self._attributes: dict[str, Any] = {"gen_ai.operation.name": operation}
        if model:
            self._attributes["gen_ai.request.model"] = model
        span.set_attributes({**self._attributes, "gen_ai.request.stream": True})

    def follow(
        self, source: Observable[Any], observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None
    ) -> abc.DisposableBase:
        def on_next(event: Any) -> None:
            self._saw(event)
            observer.on_next(event)

        def on_error(error: Exception) -> None:
            self._end(error)
            observer.on_error(error)

        def on_completed() -> None:
            self._end()
            observer.on_completed()

        subscription = source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

        def dispose() -> None:
            self._end(cancelled=True)
            subscription.dispose()

        return Disposable(dispose)

    def _saw(self, event: Any) -> None:
        kind = event.__class__
        if kind is Chunk:
            now = self._clock()
            if self._last_chunk is None:
                first = now - self._begin
                self._span.set_attribute("gen_ai.response.time_to_first_chunk", first)
                self._instruments.first_chunk.record(first, self._attributes)
            else:
                self._instruments.per_chunk.record(now - self._last_chunk, self._attributes)
            self._last_chunk = now
        elif kind is StreamStart:
            self._attributes["gen_ai.provider.name"] = event.provider
            self._attributes["gen_ai.response.model"] = event.model
            self._span.set_attributes({**self._attributes, "gen_ai.response.id": event.id})
        elif kind is Usage:
            self._usage = event
        elif kind is StreamCompleted:
            self._span.set_attribute("gen_ai.response.finish_reasons", [event.raw_stop_reason or event.stop_reason])
            if event.stop_reason == "cancelled":
                self._end(cancelled=True)
        elif kind is StreamFailed:
            self._span.set_attribute("error.type", event.error.type)

    def _end(self, error: BaseException | None = None, cancelled: bool = False) -> None:
        if self._over:
            return
        self._over = True
        from opentelemetry.trace import StatusCode

        attributes = dict(self._attributes)
        if error is not None:
            attributes["error.type"] = error.type if isinstance(error, StreamflowError) else type(error).__name__
            self._span.set_status(StatusCode.ERROR, str(error))
        elif cancelled:
            attributes["error.type"] = "cancelled"
        if "error.type" in attributes:
            self._span.set_attribute("error.type", attributes["error.type"])
        self._count(attributes)
        self._instruments.duration.record(self._clock() - self._begin, attributes)
        self._span.end()

    def _count(self, attributes: dict[str, Any]) -> None:
        usage = self._usage
        if usage is None:
            return
        for name, value in (
            ("gen_ai.usage.input_tokens", usage.input_tokens),
            ("gen_ai.usage.output_tokens", usage.output_tokens),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens),
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens),
        ):
            if value is not None:
                self._span.set_attribute(name, value)
        for kind, value in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if value is not None:
                self._instruments.tokens.record(value, {**attributes, "gen_ai.token.type": kind})
