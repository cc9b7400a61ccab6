"""What a fake provider says: the parts of an answer, the faults between them, and the other kinds of reply."""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from streamflow.errors import UsageError

_WORD = re.compile(r"\s*\S+|\s+")


# -- content


class Text(msgspec.Struct, frozen=True):
    """Words of the answer. Neighbouring texts are one block of the wire.

    >>> Text("Hello").text
    'Hello'
    """

    text: str


class Thinking(msgspec.Struct, frozen=True):
    """Thought, with the signature that has to be sent back; ``redacted`` is the hidden kind, where a service has it.

    >>> Thinking("Let me see.", signature="c2ln").signature
    'c2ln'
    """

    text: str = ""
    signature: str = ""
    redacted: str = ""


class Refusal(msgspec.Struct, frozen=True):
    """The model's own words of refusal; plain text where a service has no field for them.

    >>> Refusal("I cannot help with that.").text
    'I cannot help with that.'
    """

    text: str


class ToolUse(msgspec.Struct, frozen=True):
    """A call of a client's tool. ``arguments`` given as text is sent as it is, also when it is not JSON.

    The id is made up when there is none. ``complete=False`` leaves the call open, as a cut stream does.

    >>> ToolUse("weather", {"city": "Rome"}).json
    '{"city":"Rome"}'
    """

    name: str
    arguments: Any = {}
    id: str = ""
    complete: bool = True

    @property
    def json(self) -> str:
        """The arguments as the text that is streamed."""
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()

    @property
    def value(self) -> Any:
        """The arguments as a value, for services that send them whole; text that is no JSON stays text."""
        if not isinstance(self.arguments, str):
            return self.arguments
        try:
            return msgspec.json.decode(self.arguments)
        except msgspec.DecodeError:
            return self.arguments


class Cite(msgspec.Struct, frozen=True):
    """A source of the text before it; ``text`` are the words of the source or of the answer, as the service does it.

    >>> Cite("https://example.org", "Example").title
    'Example'
    """

    url: str
    title: str = ""
    text: str = ""
    start: int = 0
    end: int = 0


class Picture(msgspec.Struct, frozen=True):
    """A picture that the model made, its bytes in base64.

    >>> Picture("aGk=").media_type
    'image/png'
    """

    data: str
    media_type: str = "image/png"


class Ping(msgspec.Struct, frozen=True):
    """A sign of life without content, in the words of the service (a comment where it has none).

    >>> Ping()
    Ping()
    """


class ErrorEvent(msgspec.Struct, frozen=True):
    """An error inside the stream, after which it ends. ``kind`` is the service's own word where it is given.

    >>> ErrorEvent(status=529).message
    'The service is overloaded.'
    """

    message: str = "The service is overloaded."
    kind: str = ""
    status: int = 529


class Bytes(msgspec.Struct, frozen=True):
    """Bytes that go out as they are: broken JSON, broken UTF-8, an event of a megabyte.

    >>> Bytes(b"data: {oops\\n\\n").data
    b'data: {oops\\n\\n'
    """

    data: bytes


Content = Text | Thinking | Refusal | ToolUse | Cite | Picture | Ping | ErrorEvent | Bytes


# -- what happens between the bytes


class Pause(msgspec.Struct, frozen=True):
    """Nothing for some seconds.

    >>> Pause(0.5).seconds
    0.5
    """

    seconds: float


class Stall(msgspec.Struct, frozen=True):
    """Nothing any more, with the connection open until the client leaves.

    >>> Stall()
    Stall()
    """


class Cut(msgspec.Struct, frozen=True):
    """The body ends here in good order, without the service's own end marker.

    >>> Cut()
    Cut()
    """


class Drop(msgspec.Struct, frozen=True):
    """The connection closes in the middle of the chunked body.

    >>> Drop()
    Drop()
    """


class Reset(msgspec.Struct, frozen=True):
    """The connection is reset (RST).

    >>> Reset()
    Reset()
    """


class Endless(msgspec.Struct, frozen=True):
    """A part again and again, until the client leaves.

    >>> Endless(Ping(), every_s=0.01).part
    Ping()
    """

    part: Text | Thinking | Ping | Bytes
    every_s: float = 0.0


Fault = Stall | Cut | Drop | Reset
Event = Pause | Fault
Part = Content | Event | Endless

FAULTS = (Stall, Cut, Drop, Reset)
EVENTS = (Pause, *FAULTS)


class Tokens(msgspec.Struct, frozen=True):
    """Token counts.

    >>> Tokens(3, 5, cached=2).cached
    2
    """

    input: int = 11
    output: int = 7
    cached: int = 0
    reasoning: int = 0


_SOME_TOKENS = Tokens()
_DROP = Drop()


# -- replies


@dataclass(frozen=True, init=False)
class Answer:
    """An answer of the model, in the order of its parts. A plain string is a `Text`.

    - ``stop`` is one of the stop reasons of the events (``end_turn``, ``max_tokens``, ``refusal``, ...); by default
      ``tool_use`` after a call, ``end_turn`` otherwise. ``raw_stop`` is sent instead, as it is.
    - ``usage=None`` sends no counts.
    - ``delta`` is the number of characters in one event; by default one word. ``delay_s`` lies before each event.
    - ``cut`` is the number of bytes in one write; with ``seed`` the sizes are random, up to ``cut``.
    - ``break_at`` is the byte of the body at which ``break_with`` happens.
    - ``before`` happens before the headers, ``after`` behind the end marker (a slow close).

    >>> answer = Answer("Let me look.", ToolUse("weather", {"city": "Rome"}), cut=7)
    >>> answer.parts[0], answer.stop_reason
    (Text(text='Let me look.'), 'tool_use')
    """

    parts: tuple[Part, ...]
    stop: str
    raw_stop: str
    usage: Tokens | None
    id: str
    model: str
    delta: int
    delay_s: float
    cut: int
    seed: int | None
    break_at: int | None
    break_with: Event
    before: tuple[Event, ...]
    after: tuple[Event, ...]
    status: int
    headers: Mapping[str, str]

    def __init__(
        self,
        *parts: Part | str,
        stop: str = "",
        raw_stop: str = "",
        usage: Tokens | None = _SOME_TOKENS,
        id: str = "1",
        model: str = "",
        delta: int = 0,
        delay_s: float = 0.0,
        cut: int = 0,
        seed: int | None = None,
        break_at: int | None = None,
        break_with: Event = _DROP,
        before: Event | tuple[Event, ...] = (),
        after: Event | tuple[Event, ...] = (),
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        for part in parts:
            if not isinstance(part, str | Part):
                names = ", ".join(kind.__name__ for kind in Part.__args__)
                raise UsageError(f"{part!r} is no part of an answer; parts are texts and {names}")
        for name, value in {
            "parts": tuple(Text(part) if isinstance(part, str) else part for part in parts),
            "stop": stop,
            "raw_stop": raw_stop,
            "usage": usage,
            "id": id,
            "model": model,
            "delta": delta,
            "delay_s": delay_s,
            "cut": cut,
            "seed": seed,
            "break_at": break_at,
            "break_with": break_with,
            "before": before if isinstance(before, tuple) else (before,),
            "after": after if isinstance(after, tuple) else (after,),
            "status": status,
            "headers": dict(headers or {}),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def stop_reason(self) -> str:
        """Why the model stops, in the vocabulary of the events."""
        called = any(isinstance(part, ToolUse) for part in self.parts)
        return self.stop or ("tool_use" if called else "end_turn")

    def deltas(self, text: str) -> Iterator[str]:
        """A text in the pieces in which it is streamed.

        >>> list(Answer().deltas("Hello big world")), list(Answer(delta=4).deltas("Hello"))
        (['Hello', ' big', ' world'], ['Hell', 'o'])
        """
        if not self.delta:
            return (match[0] for match in _WORD.finditer(text))
        return (text[at : at + self.delta] for at in range(0, len(text), self.delta))


class HttpError(msgspec.Struct, frozen=True):
    """A refused request: the status, the headers, and a body as the service writes its errors.

    >>> HttpError(429, headers={"retry-after": "1"}).status
    429
    """

    status: int
    message: str = ""
    kind: str = ""
    headers: dict[str, str] = {}
    before: tuple[Event, ...] = ()


class Page(msgspec.Struct, frozen=True):
    """Any body under any status: a web page of a proxy, a redirect, something compressed.

    >>> Page("<html>Sign in</html>").content_type
    'text/html'
    """

    body: str | bytes = ""
    status: int = 200
    content_type: str = "text/html"
    headers: dict[str, str] = {}


class RawHttp(msgspec.Struct, frozen=True):
    """Bytes instead of a whole response, status line included; then the connection closes.

    >>> RawHttp(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab").then
    Drop()
    """

    data: bytes
    then: Event = Drop()


Reply = Answer | HttpError | Page | RawHttp
Script = Reply | Callable[[Any], Reply]


def redirect(location: str, status: int = 307) -> Page:
    """A redirect to another address.

    >>> redirect("http://127.0.0.1:9/").headers
    {'location': 'http://127.0.0.1:9/'}
    """
    return Page(status=status, headers={"location": location})


def gzip_bomb(size: int, content_type: str = "text/event-stream") -> Page:
    """A small compressed body that is large when it is unpacked: one comment line of ``size`` bytes.

    >>> len(gzip_bomb(10_000_000).body) < 20_000
    True
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    step = b" " * 65536
    pieces = [packer.compress(b":")]
    pieces += [packer.compress(step[: min(65536, size - at)]) for at in range(0, size, 65536)]
    pieces.append(packer.flush())
    return Page(b"".join(pieces), content_type=content_type, headers={"content-encoding": "gzip"})
