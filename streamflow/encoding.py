"""The JSON form of events: an object with ``"type"`` = the class name, and the fields."""

from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from streamflow.errors import StreamflowError, error_from_info
from streamflow.events import ErrorInfo, Event, Stamped
from streamflow.views import Field, PartialArguments

_Written = Event | Field | PartialArguments


def _as_data(value: Any) -> Any:
    if isinstance(value, StreamflowError):
        return value.info()
    raise TypeError(f"{type(value).__name__} has no JSON form")


_encoder = msgspec.json.Encoder(enc_hook=_as_data)
_EVENT_NAMES = frozenset(kind.__name__ for kind in get_args(_Written))
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Written | Stamped)


def to_json(event: Any) -> bytes:
    """One event, response or plain value as JSON.

    >>> from streamflow.events import Notice
    >>> to_json(Notice("gap", "2 missing"))
    b'{"type":"Notice","code":"gap","message":"2 missing","raw":null}'
    """
    return _encoder.encode(event)


def from_json(data: bytes | str) -> Any:
    """The event that `to_json` wrote.

    >>> from_json('{"type":"Notice","code":"gap"}')
    Notice(code='gap', message='', raw=None)
    """
    try:
        return _with_live_errors(_decoder.decode(data))
    except RecursionError:
        raise msgspec.DecodeError("the JSON is nested too deeply") from None


def _with_live_errors(event: Any) -> Any:
    # In a response the error is an exception, as it was before it was written.
    if isinstance(event, Stamped):
        inner = event.event
        if isinstance(inner, dict) and inner.get("type") in _EVENT_NAMES:
            inner = msgspec.convert(inner, _Written)
        return replace(event, event=_with_live_errors(inner))
    for field in ("partial", "response"):
        response = getattr(event, field, None)
        if response is not None and isinstance(response.error, dict):
            error = error_from_info(msgspec.convert(response.error, ErrorInfo), None)
            event = replace(event, **{field: replace(response, error=error)})
    return event
