"""S2: no address that came from a model, a message or a provider makes us ask a machine of our own network."""

import contextlib

import pytest

import streamflow as sf
from streamflow.requests.blocks import ImageBlock, UrlSource
from streamflow.sources.media import fetch_media
from streamflow.testing import Answer, FakeProvider, Text, ToolUse, redirect
from streamflow.tools import tool_loop
from tests.sources.test_media import LITERALS, ODD_HOSTS, REFUSED_ADDRESSES, REFUSED_URLS, Names, picture

ADDRESSES = [address for address in REFUSED_ADDRESSES if address not in ("", "not an address")]
NUMBERS = [host for host in ODD_HOSTS if not host.startswith("localhost")]
HOSTS = [*(f"[{address}]" if ":" in address else address for address in ADDRESSES), *LITERALS, *NUMBERS]
TABLE = sorted({*REFUSED_URLS, *(f"https://{host}/x" for host in HOSTS)})
SECRET_PLACES = ["http://169.254.169.254/latest/meta-data", "http://localhost:1/admin", "file:///etc/passwd"]


class NoNames(Names):
    """A resolver that must not be asked."""

    async def resolve(self, host, port=0, family=0):
        raise AssertionError(f"{host} was looked up")


@pytest.mark.parametrize("url", TABLE)
async def test_s02_an_address_inside_is_refused_before_anything_is_looked_up(url):
    with pytest.raises(sf.UsageError, match="media URL refused"):
        await fetch_media(picture(url), resolver=NoNames())


@pytest.mark.parametrize("host", ["localhost", "localhost.", "innocent.example", "xn--nxasmq6b.example"])
@pytest.mark.parametrize("address", ["127.0.0.1", "8.8.8.8 10.0.0.1"])
async def test_s02_a_name_is_judged_by_what_it_leads_to(host, address):
    names = Names(**{host.partition(".")[0]: [address]})
    with pytest.raises(sf.UsageError, match="not public"):
        await fetch_media(picture(f"https://{host}/x"), resolver=names)


def test_s02_the_table_is_long():
    assert len(TABLE) >= 40


@pytest.mark.parametrize("provider", sf.providers())
@pytest.mark.parametrize("url", SECRET_PLACES)
def test_s02_building_a_request_fetches_nothing(provider, url, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("somebody connects"))
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: pytest.fail("somebody resolves"))
    places = {"region": "r", "project": "p", "location": "l", "account": "a", "resource": "x"}
    options = {name: value for name, value in places.items() if provider in ("vertex", "bedrock", "snowflake", "azure")}
    # A provider that takes no addresses says so; the others get the address as it is, to fetch it themselves.
    with contextlib.suppress(sf.UsageError):
        assert url in sf.build_request(provider, picture(url), model="m", **options).body.decode()


@pytest.mark.parametrize("url", SECRET_PLACES)
async def test_s02_addresses_in_answers_and_tool_results_are_not_followed(url):
    def look(where: str) -> list:
        """A picture of somewhere."""
        return [ImageBlock(source=UrlSource(url=where))]

    script = (Answer(Text(f"![x]({url})"), ToolUse("look", {"where": url})), Answer("Seen."))
    async with FakeProvider(*script) as fake:
        llm = sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai"), environ={})
        async with llm:
            events = [event async for event in tool_loop(llm, "look", [look])]
        # Everything that was ever asked went to the provider.
        assert len(fake.requests) == 2
        assert events[-1].response.complete


async def test_s02_a_provider_cannot_send_us_elsewhere():
    async with FakeProvider(Answer("secret")) as inside, FakeProvider(redirect(inside.root + "/steal")) as fake:
        llm = sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai"), max_retries=0)
        async with llm:
            with pytest.raises(sf.StreamflowError):
                await llm.collect("hi")
        assert all("authorization" not in {k.lower() for k in request.headers} for request in inside.requests)
