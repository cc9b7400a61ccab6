"""Which addresses may be fetched for somebody else: public ones, and nothing behind them."""

import ipaddress
import re
from urllib.parse import urlsplit

from streamflow.errors import UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # the way from networks without IPv4 to hosts that have only that
# A host whose last label is a number is an IPv4 address for browsers and resolvers (WHATWG URL, "ends in a number"),
# also in forms that hide it: 127.1, 2130706433, 0x7f000001, 0177.0.0.1.
_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$")
# Shared address space of carriers, and what some clouds use for their metadata inside it.
_ALSO_PRIVATE = (ipaddress.IPv4Network("100.64.0.0/10"), ipaddress.IPv4Network("192.0.0.0/24"))


def is_public_address(text: str) -> bool:
    """True for an address on the public internet; false for anything that leads to a machine or network of ours.

    >>> is_public_address("8.8.8.8"), is_public_address("169.254.169.254"), is_public_address("::ffff:10.0.0.1")
    (True, False, False)
    """
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if address in _NAT64:
        address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return _is_public(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        hidden = any(address in network for network in _ALSO_PRIVATE)
    else:
        # Other forms that carry an IPv4 address are not used on the public internet any more, except to hide one.
        carried = (address.ipv4_mapped, address.sixtofour, address.teredo)
        hidden = any(inner is not None for inner in carried) or int(address) >> 32 == 0
    special = address.is_multicast or address.is_unspecified or address.is_reserved or address.is_loopback
    return address.is_global and not (hidden or special or address.is_link_local or address.is_private)


def _is_ipv4(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


def check_url(url: str, schemes: tuple[str, ...] = ("https",)) -> None:
    """Raise `UsageError` for an address that must not be fetched, as far as its text tells.

    >>> check_url("http://example.org/a.png")
    Traceback (most recent call last):
    streamflow.errors.UsageError: media URL refused: only https is allowed, not 'http'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"media URL refused: {error}") from None
    if parts.scheme.lower() not in schemes:
        raise UsageError(f"media URL refused: only {' and '.join(schemes)} is allowed, not {parts.scheme!r}")
    if not host:
        raise UsageError("media URL refused: it names no host")
    if ":" not in host and _NUMBER.search(host) and not _is_ipv4(host):
        raise UsageError(f"media URL refused: {host} is another way to write an address")
    if "@" in parts.netloc:
        raise UsageError("media URL refused: it holds a user name")
    if any(ord(letter) < 33 for letter in url) or "\\" in parts.netloc:
        raise UsageError("media URL refused: it holds characters that no address has")
    if "https" in schemes and parts.scheme.lower() == "https" and port not in (None, 443):
        raise UsageError(f"media URL refused: only the usual port is allowed, not {port}")
