"""Who may ask: tokens, origins, hosts, and the headers that keep a browser from being used against its owner."""

import base64
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

from streamflow.errors import UsageError
from streamflow.server.refusals import Refused

LOCAL_OWNER = "local"
# Where a request keeps its owner; older releases of aiohttp have only strings as keys.
OWNER: Any = web.RequestKey("streamflow_owner", str) if hasattr(web, "RequestKey") else "streamflow_owner"
Authenticate = Callable[[web.Request], Awaitable[str | None]]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
WS_TOKEN = "streamflow.bearer."  # a WebSocket of a browser has no headers, but it has subprotocols
_MIN_TOKEN = 8
_HOST = re.compile(r":[0-9]*\Z")
_CHANGES = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


def is_loopback(host: str | None) -> bool:
    """True for names and addresses of this machine itself.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if not host:
        return False
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def check_bind(host: str, tokens: Iterable[str]) -> None:
    """Listening beyond this machine needs a token.

    >>> check_bind("0.0.0.0", [])
    Traceback (most recent call last):
    streamflow.errors.UsageError: 0.0.0.0 can be reached from other machines: give a --token, or listen on 127.0.0.1
    """
    if not is_loopback(host) and not list(tokens):
        raise UsageError(f"{host} can be reached from other machines: give a --token, or listen on 127.0.0.1")


class Access:
    """Decides about each request. Without tokens only programs of this machine are served, as one owner."""

    def __init__(
        self,
        tokens: Iterable[str] | Mapping[str, str] = (),
        origins: Iterable[str] = (),
        authenticate: Authenticate | None = None,
    ) -> None:
        if isinstance(tokens, str):
            tokens = (tokens,)
        owners = dict(tokens) if isinstance(tokens, Mapping) else {token: _owner(token) for token in tokens}
        for token in owners:
            if len(token) < _MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
                raise UsageError(f"a token has at least {_MIN_TOKEN} printable ASCII characters and no space")
        self._owners = [(hashlib.sha256(token.encode()).digest(), owner) for token, owner in owners.items()]
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._authenticate = authenticate

    @property
    def needs_token(self) -> bool:
        """True when clients have to show who they are."""
        return bool(self._owners) or self._authenticate is not None

    async def owner(self, request: web.Request) -> str:
        """Whose request this is; refused where nobody's."""
        self.check_origin(request)
        if self._authenticate is not None:
            owner = await self._authenticate(request)
            if owner is None:
                raise _unauthorized("this request is not authenticated")
            return owner
        if self._owners:
            return self._owner_of(_token(request))
        if not _is_local(request):
            raise Refused(403, "forbidden", "without a token only programs of this machine are served")
        return LOCAL_OWNER

    def check_origin(self, request: web.Request) -> None:
        """Pages of other sites may neither change anything nor open a WebSocket here."""
        origin = request.headers.get("origin")
        if origin is None or self.allows(request, origin):
            return
        upgrades = request.headers.get("upgrade", "").lower() == "websocket"
        if upgrades or request.method in _CHANGES:
            raise Refused(403, "forbidden_origin", "this origin is not allowed here")

    def allows(self, request: web.Request, origin: str) -> bool:
        """True for the page's own origin, and for those that were allowed by name."""
        if origin.lower() in self._origins:
            return True
        # Behind a proxy the scheme is not known here; the host, which a page cannot choose, is what counts.
        scheme, _, host = origin.lower().partition("://")
        return scheme in ("http", "https") and host == request.host.lower()

    def _owner_of(self, token: str) -> str:
        shown = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found: str | None = None
        for known, owner in self._owners:
            # All are compared, in constant time, so that the time says nothing about any of them.
            if hmac.compare_digest(known, shown):
                found = owner
        if found is None:
            raise _unauthorized("a valid bearer token is needed")
        return found

    def cors(self, request: web.Request) -> dict[str, str]:
        """The headers that let a page of an allowed origin read the answer."""
        origin = request.headers.get("origin", "")
        if origin.lower() not in self._origins:
            return {}
        return {
            "access-control-allow-origin": origin,
            "access-control-allow-headers": "authorization, content-type, last-event-id",
            "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
            "access-control-max-age": "600",
            "vary": "origin",
        }


def _owner(token: str) -> str:
    return "token-" + hashlib.sha256(token.encode()).hexdigest()[:16]


def _token(request: web.Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    if key := request.headers.get("x-api-key"):
        return key
    for protocol in request.headers.get("sec-websocket-protocol", "").split(","):
        name = protocol.strip()
        if name.startswith(WS_TOKEN):
            written = name.removeprefix(WS_TOKEN)
            try:
                return base64.urlsafe_b64decode(written + "=" * (-len(written) % 4)).decode("utf-8", "replace")
            except ValueError:
                return ""
    return ""


def _is_local(request: web.Request) -> bool:
    """From this machine, not handed on by a proxy, and under a name of this machine (not one that was bent to it)."""
    transport = request.transport
    peer = transport.get_extra_info("peername") if transport is not None else None
    if isinstance(peer, tuple) and not is_loopback(peer[0]):  # anything else is a socket file
        return False
    if any(name in request.headers for name in _FORWARDED):
        return False
    return is_loopback(_HOST.sub("", request.host))


def _unauthorized(message: str) -> Refused:
    return Refused(401, "unauthorized", message, {"www-authenticate": "Bearer"})
