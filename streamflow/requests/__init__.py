"""Messages to requests, pure: what goes to a provider, for every dialect."""

from streamflow.requests.build import build_request
from streamflow.requests.endpoints import ENDPOINTS, Endpoint, endpoint
from streamflow.requests.history import History, answer_open_calls, blocks_of, history_of, message_of
from streamflow.requests.media import externalize_images, resolve_blobs
from streamflow.requests.messages import Message, as_messages
from streamflow.requests.participants import NameContext, Suppression, participant_stops
from streamflow.requests.request import Request

__all__ = [
    "ENDPOINTS",
    "Endpoint",
    "History",
    "Message",
    "NameContext",
    "Request",
    "Suppression",
    "answer_open_calls",
    "as_messages",
    "blocks_of",
    "build_request",
    "endpoint",
    "externalize_images",
    "history_of",
    "message_of",
    "participant_stops",
    "resolve_blobs",
]
