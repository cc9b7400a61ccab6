"""The examination behind ``streamflow doctor``. Keys are looked for and never shown."""

import asyncio
import os
import platform
import shutil
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from streamflow.cli.output import print_json
from streamflow.requests.endpoints import ENDPOINTS, Endpoint, endpoint

DISTRIBUTION = "streamflow-rx"
CORE = ("reactivex", "aiohttp", "pydantic", "orjson", "msgspec")
# What each optional part needs, and the extra that brings it.
OPTIONAL = {
    "typer": "cli",
    "rich": "cli",
    "botocore": "bedrock",
    "redis": "redis",
    "anywidget": "notebook",
    "opentelemetry-api": "otel",
    "ag-ui-protocol": "agui",
    "uvloop": "fast",
}
PROGRAMS = {"espeak-ng": "the simulator's voice", "redis-server": "journals in Redis, for tests"}
_PORTS = {"http": 80, "https": 443}


class Service(msgspec.Struct, frozen=True):
    """A provider as the environment knows it."""

    name: str
    key_variable: str
    address: str

    @property
    def has_key(self) -> bool:
        """True when a variable with its key is set."""
        return bool(self.key_variable)


def service_of(row: Endpoint, environ: Mapping[str, str]) -> Service:
    """What the environment says about a provider; of the key only the name of its variable.

    >>> service_of(endpoint("openai"), {"OPENAI_API_KEY": "k"})
    Service(name='openai', key_variable='OPENAI_API_KEY', address='https://api.openai.com/v1')
    """
    key = next((name for name in row.key_env if environ.get(name)), "")
    address = next((environ[name] for name in row.base_url_env if environ.get(name)), row.base_url or "")
    return Service(row.name, key, _shown(address) if address else "")


def _shown(address: str) -> str:
    """An address without what may be secret in it: user, password and query."""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def installed(name: str) -> str:
    """The version of a distribution, empty when it is not there.

    >>> installed("no-such-distribution")
    ''
    """
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


async def reach(address: str, timeout_s: float) -> str:
    """Why an address cannot be reached, empty when it can. Nothing is sent; behind a proxy, the proxy is tried.

    >>> asyncio.run(reach("http://{account}.example", 1.0))
    'the address has a place that is not filled in'
    """
    if "{" in address:
        return "the address has a place that is not filled in"
    try:
        parts = urlsplit(address)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return "this is no address"
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.hostname or ""):
        fault = await _connect(urlsplit(proxy).hostname, urlsplit(proxy).port or _PORTS["http"], False, timeout_s)
        return f"the proxy: {fault}" if fault else ""
    return await _connect(parts.hostname, port, parts.scheme == "https", timeout_s)


async def _connect(host: str | None, port: int, ssl: bool, timeout_s: float) -> str:
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(host, port, ssl=ssl or None)
    except TimeoutError:
        return f"no connection within {timeout_s:g} s"
    except OSError as error:
        # asyncio puts the whole call into the words; the number alone says what happened.
        number = error.errno or 0
        return os.strerror(number) if number > 0 else error.strerror or str(error)
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        return ""  # it was there, and was in a hurry to leave
    return ""


def examine(
    provider: str,
    environ: Mapping[str, str],
    offline: bool,
    timeout_s: float,
    *,
    quiet: bool = False,
    json: bool = False,
) -> bool:
    """Print what was found; false when a service whose key is set cannot be reached."""
    services = [service_of(endpoint(provider), environ)] if provider else _known(environ)
    tried = [each for each in services if (each.has_key or provider) and each.address and not offline]
    faults = asyncio.run(_reach_all(tried, timeout_s))
    rows: list[tuple[str, ...]] = [("provider", "key", "reached", "address")]
    for service in services:
        key = f"{service.key_variable} is set" if service.has_key else _missing_key(endpoint(service.name))
        rows.append((service.name, key, _verdict(service, faults), service.address or "none"))
    if json:
        for name, version in [] if provider else _versions():
            print_json({"part": name, "version": version})
        for row in rows[1:]:
            print_json(dict(zip(rows[0], row, strict=True)))
    elif not quiet:
        if not provider:
            _print_columns(_versions())
            print()
        _print_columns(rows)
    return not any(faults.values())


def _print_columns(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _known(environ: Mapping[str, str]) -> list[Service]:
    return sorted((service_of(row, environ) for row in ENDPOINTS.values()), key=lambda each: not each.has_key)


def _missing_key(row: Endpoint) -> str:
    names = " or ".join(row.key_env)
    return f"not set ({names})" if row.key_required else f"not needed ({names})"


def _verdict(service: Service, faults: dict[str, str]) -> str:
    if service.name not in faults:
        return "not tried"
    return f"no: {faults[service.name]}" if faults[service.name] else "yes"


async def _reach_all(services: Iterable[Service], timeout_s: float) -> dict[str, str]:
    services = list(services)
    found = await asyncio.gather(*(reach(service.address, timeout_s) for service in services))
    return {service.name: fault for service, fault in zip(services, found, strict=True)}


def _versions() -> list[tuple[str, ...]]:
    missing = "not installed: pip install 'streamflow-rx[{}]'"
    return [
        ("streamflow", installed(DISTRIBUTION) or "from a checkout"),
        ("Python", f"{platform.python_version()} on {platform.system()}"),
        *((name, installed(name) or "MISSING: reinstall streamflow-rx") for name in CORE),
        *((name, installed(name) or missing.format(extra)) for name, extra in OPTIONAL.items()),
        *((name, "found" if shutil.which(name) else f"not found ({purpose})") for name, purpose in PROGRAMS.items()),
    ]
