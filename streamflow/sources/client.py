"""The client: a provider, a model, a key, and streams of events."""

import asyncio
import os
import random as random_module
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NoReturn

import msgspec
import orjson

from streamflow.blobs import BlobStore
from streamflow.conversation import prefill_operators
from streamflow.errors import UsageError
from streamflow.events import Response
from streamflow.operators import normalize_provider
from streamflow.recordings import RecordingWriter
from streamflow.requests import build_request, resolve_blobs
from streamflow.requests.endpoints import Endpoint, endpoint
from streamflow.requests.messages import as_messages
from streamflow.requests.request import Request
from streamflow.sources.clocks import Clock, Timeouts
from streamflow.sources.context import StreamContext
from streamflow.sources.credentials import find_base_url, find_key, find_places
from streamflow.sources.externalize import check_store, externalized
from streamflow.sources.http import Http
from streamflow.sources.live import LiveStream
from streamflow.sources.logs import configure_logging
from streamflow.sources.resume import continued, resumed
from streamflow.sources.retry import RetryPolicy, check_max_retries
from streamflow.sources.run import Run, Settings
from streamflow.sources.signing import AwsSigner
from streamflow.stage import Operator
from streamflow.wire.intake import MAX_EVENT_BYTES, check_limit

MAX_STREAM_BYTES = 256 * 1024 * 1024
MAX_EVENTS = 4_000_000
_DECODING = ("choice", "on_bad_frame", "raw")
_STREAMED_ONLY = frozenset(("openai_assistants",))  # without streaming a run answers with a receipt, and no text
_TAKEN_OVER = ("stream", "stream_options", "model")  # what a raw body gets from the built one when it has none


class Client:
    """Streams of one provider over one keep-alive session; made by `connect`. Use it with ``async with``."""

    def __init__(
        self,
        row: Endpoint,
        settings: Settings,
        *,
        model: str | None,
        base_url: str | None,
        defaults: dict[str, Any],
        signer: AwsSigner | None,
        blob_store: BlobStore | None = None,
        externalize_images: bool = False,
    ) -> None:
        self._row = row
        self._settings = settings
        self._model = model
        self._base_url = base_url
        self._defaults = defaults
        self._signer = signer
        self._blob_store = blob_store
        self._externalize_images = externalize_images
        self._runs: set[Run] = set()
        self._closed = False

    def stream(
        self,
        messages: Any = None,
        *,
        model: str | None = None,
        body: Mapping[str, Any] | None = None,
        mode: str = "messages",
        tools: Sequence[Any] = (),
        stream: bool = True,
        context: StreamContext | None = None,
        record: str | os.PathLike[str] | None = None,
        externalize_images: bool | None = None,
        **options: Any,
    ) -> LiveStream:
        """A live stream of events: subscribe to it, or ``async for event in ...``. Nothing is sent before that.

        ``messages`` is a string, a list of messages, or a raw provider body (also as ``body=``); ``options`` go into
        the request. ``stream=False`` asks for the whole answer at once and gives the same events. ``record`` is a file
        for the bytes of the answer and their times. ``mode="prefill"`` continues a log of participants; its
        end-of-turn token and its tags are read out of the answer. ``externalize_images`` is for this request what it
        is for the client.
        """
        if self._closed:
            raise UsageError("this client is closed; make a new one with sf.connect(...)", provider=self._row.name)
        if body is None and isinstance(messages, Mapping) and "role" not in messages:
            body, messages = messages, None
        if messages is None and body is None:
            raise UsageError("nothing to send: pass messages, for example llm.stream('Hello')", provider=self._row.name)
        if stream and not self._row.supports_streaming:
            raise UsageError(f"{self._row.name} cannot stream; pass stream=False", provider=self._row.name)
        if not stream and self._row.dialect in _STREAMED_ONLY:
            raise UsageError(f"{self._row.name} answers in a stream only; pass stream=True", provider=self._row.name)
        merged = {**self._defaults, **options}
        decoding = {name: merged.pop(name) for name in _DECODING if name in merged}
        normalize_provider(self._row.name, **decoding)  # wrong options fail here, not when the answer comes
        decoding["whole"] = not stream
        stores_images = self._externalize_images if externalize_images is None else externalize_images
        if stores_images:
            check_store(self._blob_store, self._row.name)
        context = context or StreamContext()

        def ask(said: Any, options: dict[str, Any], operators: Sequence[Operator[Any, Any]] = ()) -> LiveStream:
            make_request = self._make_request(said, body, model, mode, tools, stream, options)

            def start(operators: Sequence[Operator[Any, Any]], context: StreamContext) -> Run:
                return self._begin(make_request, operators, context, decoding, record if said is messages else None)

            return LiveStream(start, context, operators)

        if mode == "prefill" and body is None:
            live = self._resumable(ask, messages, tools, merged, context)
        else:
            live = ask(messages, merged)
        return externalized(live, self._blob_store) if stores_images and self._blob_store is not None else live

    def _resumable(
        self, ask: Callable[..., LiveStream], messages: Any, tools: Sequence[Any], options: dict[str, Any], context: Any
    ) -> LiveStream:
        """The answer to a log of participants: its end-of-turn token goes, its tags become blocks."""
        chosen = {name: options[name] for name in ("eot_token", "open_thinking") if name in options}
        *ends, blocks = prefill_operators(self._row.name, tools=list(tools) or None, **chosen)
        opened = bool(options.get("open_thinking"))
        first = ask(messages, options, ends)  # a wrong request fails here, not when somebody subscribes

        def go_on(text: str) -> LiveStream:
            if not text:
                return first
            said = continued(as_messages(messages), ("\n<thinking>" if opened else "") + text)
            return ask(said, {**options, "open_thinking": False}, ends)

        return resumed(go_on, blocks, context, opened=opened)

    def _make_request(
        self, messages: Any, body: Mapping[str, Any] | None, *how: Any
    ) -> Callable[[], Request | Awaitable[Request]]:
        store = self._blob_store
        if store is not None and body is None:
            return lambda: self._with_blobs(store, messages, *how)
        # Built at once: a wrong request fails here, not when somebody subscribes.
        request = self._request(messages, body, *how)
        return lambda: self._signed(request)

    @property
    def provider(self) -> str:
        """The name of the provider."""
        return self._row.name

    def _signed(self, request: Request) -> Request:
        return request if self._signer is None else self._signer.sign(request)

    async def _with_blobs(self, store: BlobStore, messages: Any, *request: Any) -> Request:
        """Pictures and documents are read when the request is sent, not while it waits."""
        model, mode, tools, stream, options = request
        resolved = await resolve_blobs(messages, store)
        return self._signed(self._request(resolved, None, model, mode, tools, stream, options))

    async def collect(self, messages: Any = None, **options: Any) -> Response:
        """The whole response; takes what `stream` takes. A failure is raised, with ``.partial``."""
        return await self.stream(messages, **options).collect()

    def _request(
        self,
        messages: Any,
        body: Mapping[str, Any] | None,
        model: str | None,
        mode: str,
        tools: Sequence[Any],
        stream: bool,
        options: dict[str, Any],
    ) -> Request:
        row = self._row
        named = model or self._model or (str(body["model"]) if body and body.get("model") else None)
        if named is None:
            raise UsageError(
                f"which model? pass model= to sf.connect({row.name!r}, model=...) or to stream()", provider=row.name
            )
        built = build_request(
            row.name,
            "-" if body is not None else messages,
            mode=mode,
            tools=tools,
            model=named,
            api_key=self._settings.secret.reveal(),
            base_url=self._base_url,
            stream=stream,
            **options,
        )
        if body is None:
            return built
        taken_over = {name: value for name, value in built.json.items() if name in _TAKEN_OVER}
        return msgspec.structs.replace(built, body=orjson.dumps({**taken_over, **body}))

    def _begin(
        self,
        make_request: Callable[[], Request | Awaitable[Request]],
        operators: Sequence[Operator[Any, Any]],
        context: StreamContext,
        decoding: dict[str, Any],
        record: str | os.PathLike[str] | None,
    ) -> Run:
        if self._closed:
            raise UsageError("this client is closed; make a new one with sf.connect(...)", provider=self._row.name)
        tape = None
        if record is not None:
            secret = self._settings.secret.reveal()
            tape = RecordingWriter(record, provider=self._row.name, secrets=[secret] if secret else [])
        run = Run(self._settings, make_request, operators, context, decoding, tape)
        self._runs.add(run)
        run.when_over(lambda: self._runs.discard(run))
        return run

    async def close(self) -> None:
        """Close every connection. Streams that still run end with an error; the client cannot be used again."""
        self._closed = True
        pumps = [run.pumped_by for run in self._runs if run.pumped_by is not None]
        for run in list(self._runs):
            run.fail(UsageError("the client was closed while this stream was running", provider=self._row.name))
        if pumps:
            await asyncio.wait(pumps)
        await self._settings.http.close()

    def __enter__(self) -> NoReturn:
        raise UsageError("write `async with sf.connect(...) as llm:` (it is closed by await)", provider=self._row.name)

    def __exit__(self, *exc: object) -> None:
        """Never reached; without it Python would not even ask `__enter__`."""

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        place = self._base_url or self._row.base_url
        return f"Client({self._row.name!r}, model={self._model!r}, base_url={place!r})"


def connect(
    provider: str,
    *,
    model: str | None = None,
    api_key: Any = None,
    base_url: str | None = None,
    max_retries: int = 2,
    first_event_timeout_s: float | None = 300.0,
    idle_timeout_s: float | None = 120.0,
    no_progress_timeout_s: float | None = 300.0,
    total_timeout_s: float | None = None,
    connect_timeout_s: float | None = 10.0,
    pings_keep_alive: bool = True,
    max_event_bytes: int = MAX_EVENT_BYTES,
    max_stream_bytes: int = MAX_STREAM_BYTES,
    max_events: int | None = MAX_EVENTS,
    clock: Clock | None = None,
    random: Callable[[], float] | None = None,
    environ: Mapping[str, str] | None = None,
    blob_store: BlobStore | None = None,
    externalize_images: bool = False,
    **defaults: Any,
) -> Client:
    """A client for a provider: ``async with sf.connect("anthropic", model="...") as llm: ...``.

    The key comes from ``api_key`` or from the vendor's usual environment variable. ``base_url`` means what it means in
    the vendor's own SDK. Further keywords (``temperature=``, ``headers=``, ``region=`` ...) are defaults for every
    request. ``blob_store`` holds the media that messages name by blob id; they are loaded when a request is sent.
    With ``externalize_images=True`` generated pictures go into that store, and events carry their ids instead of data.
    ``clock`` and ``random`` replace time and chance in tests.

    >>> connect("openai", model="gpt-x", environ={})
    Traceback (most recent call last):
    streamflow.errors.UsageError: no API key for openai: pass api_key, or set OPENAI_API_KEY
    >>> connect("openai", model="gpt-x", api_key="sk-secret", environ={})
    Client('openai', model='gpt-x', base_url='https://api.openai.com/v1')
    """
    found = os.environ if environ is None else environ
    if externalize_images:
        check_store(blob_store, provider)
    configure_logging(found)
    row = endpoint(provider)
    timeouts = Timeouts(
        first_event_timeout_s=first_event_timeout_s,
        idle_timeout_s=idle_timeout_s,
        no_progress_timeout_s=no_progress_timeout_s,
        total_timeout_s=total_timeout_s,
        connect_timeout_s=connect_timeout_s,
        pings_keep_alive=pings_keep_alive,
    ).checked()
    for name, limit in (("max_stream_bytes", max_stream_bytes), ("max_events", max_events)):
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise UsageError(f"{name} must be a positive whole number, not {limit!r}", provider=provider)
    secret = find_key(row, api_key, found)
    places = {**find_places(row, found), **{name: value for name, value in defaults.items() if value is not None}}
    signs = row.auth == "aws" and secret.reveal() is None
    region = str(places.get("region") or row.places.get("region", ""))
    settings = Settings(
        provider=provider,
        http=Http(provider, connect_timeout_s=connect_timeout_s, max_stream_bytes=max_stream_bytes),
        secret=secret,
        timeouts=timeouts,
        policy=RetryPolicy(max_retries=check_max_retries(max_retries)),
        max_event_bytes=check_limit(max_event_bytes),
        max_events=max_events,
        clock=clock,
        draw=random or random_module.random,
    )
    return Client(
        row,
        settings,
        model=model,
        base_url=find_base_url(row, base_url, found),
        defaults=places,
        signer=AwsSigner(region) if signs else None,
        blob_store=blob_store,
        externalize_images=externalize_images,
    )
