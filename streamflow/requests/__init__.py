"""Messages to requests, pure: what goes to a provider, for every dialect."""

from streamflow.requests.build import build_request
from streamflow.requests.endpoints import ENDPOINTS, Endpoint, endpoint
from streamflow.requests.messages import Message, as_messages
from streamflow.requests.request import Request

__all__ = ["ENDPOINTS", "Endpoint", "Message", "Request", "as_messages", "build_request", "endpoint"]
