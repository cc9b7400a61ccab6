"""Reading one frame's JSON, also where orjson is stricter than providers are."""

import json
from typing import Any

import orjson

from streamflow.errors import ProtocolError, redact_secrets
from streamflow.events import Frame

_SHOWN = 200


def excerpt(frame: Frame) -> str:
    """The first characters of a frame, on one line, without secrets.

    >>> excerpt(Frame(data="not\\njson"))
    "'not\\\\njson'"
    """
    return repr(redact_secrets(frame.data[:_SHOWN]))


def load_torn(frame: Frame, provider: str) -> Any:
    """Read JSON that orjson refused: a lone surrogate is half of a pair torn over two deltas, all else is an error."""
    data = frame.data
    if "\\ud" in data or "\\uD" in data:
        try:
            return json.loads(data, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            pass  # the error of the strict reader below says more
    try:
        return orjson.loads(data)
    except ValueError as error:
        raise ProtocolError(
            f"{provider}: the frame at byte {frame.start} is not JSON ({error}); it begins {excerpt(frame)}. "
            "Is this the right provider and framing? on_bad_frame='skip' goes on without it.",
            provider=provider,
            position=frame.start,
            kind="not_json",
        ) from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def wrong_shape(frame: Frame, provider: str, why: object) -> ProtocolError:
    """The error for JSON that is not of the dialect's shape.

    >>> wrong_shape(Frame(data="[]", start=7), "openai", "not an object").position
    7
    """
    return ProtocolError(
        f"{provider}: the frame at byte {frame.start} has not the shape of this provider's stream ({why}); "
        f"it begins {excerpt(frame)}. Check the provider's name; on_bad_frame='skip' goes on without it.",
        provider=provider,
        position=frame.start,
        kind="wrong_shape",
    )
