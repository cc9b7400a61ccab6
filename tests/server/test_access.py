"""Who may do what: owners, origins, hosts, limits."""

import socket
import zlib

import pytest

from streamflow.errors import UsageError
from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart
from streamflow.server import Limits
from streamflow.server.access import Access, check_bind, is_loopback
from streamflow.server.app import app
from streamflow.testing import Answer, Stall, Text
from tests.server.serving import serving, text_of, until

ADA, BOB = {"authorization": "Bearer token-of-ada"}, {"authorization": "Bearer token-of-bob"}
TOKENS = {"token-of-ada": "ada", "token-of-bob": "bob"}
NOBODY = [
    {},
    {"authorization": "Bearer wrong-token"},
    {"authorization": "Bearer token-of-ad"},
    {"authorization": "Bearer token-of-adaa"},
    {"authorization": "Basic dG9rZW4tb2YtYWRh"},
    {"authorization": "token-of-ada"},
    {"authorization": "Bearer"},
    {"x-api-key": "token-of-eve"},
    {"cookie": "token=token-of-ada"},
]
ROUTES = [
    ("GET", "/flows/{id}"),
    ("GET", "/flows/{id}/events"),
    ("GET", "/flows/{id}/events?branch=ui"),
    ("GET", "/flows/{id}/ws"),
    ("DELETE", "/flows/{id}"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_flow_belongs_to_its_owner(method, path):
    async with serving(Answer(Text("Hello "), Stall()), tokens=TOKENS) as served:
        served.headers = ADA
        flow_id = await served.begin("go on")
        url = served.root + path.format(id=flow_id)
        async with served.session.request(method, url, headers=BOB) as response:
            assert response.status == 404  # the same as for a flow that never was
        for headers in NOBODY:
            async with served.session.request(method, url, headers=headers) as response:
                assert response.status == 401
        state = await served.service.store.get(flow_id)
        assert not state.ended
        assert len(await served.events(flow_id, limit=2)) == 2


@pytest.mark.parametrize("headers", NOBODY)
async def test_nobody_begins_nothing(headers):
    async with serving(tokens=TOKENS) as served:
        async with served.session.post(f"{served.root}/flows", json={"messages": ["hi"]}, headers=headers) as response:
            assert response.status == 401
            assert response.headers["www-authenticate"] == "Bearer"
        async with served.session.get(f"{served.root}/metrics", headers=headers) as response:
            assert response.status == 401
        async with served.session.get(f"{served.root}/flows?token=token-of-ada", headers=headers) as response:
            assert response.status in (401, 405)
        assert not served.fake.requests
        for path in ("/healthz", "/readyz"):
            async with served.session.get(served.root + path, headers=headers) as response:
                assert response.status == 200


async def test_an_id_of_one_owner_does_not_help_another():
    async with serving(tokens=TOKENS) as served:
        served.headers = ADA
        flow_of_ada = await served.begin("hello")
        id_of_ada = (await served.events(flow_of_ada))[0][0]
        served.headers = BOB
        flow_of_bob = await served.begin("hello")
        await served.events(flow_of_bob)
        headers = {**BOB, "last-event-id": id_of_ada}
        async with served.session.get(f"{served.root}/flows/{flow_of_bob}/events", headers=headers) as response:
            assert response.status == 409


async def test_authentication_of_ones_own():
    async def by_name(request):
        return request.headers.get("x-user")

    async with serving(authenticate=by_name) as served:
        served.headers = {"x-user": "ada"}
        flow_id = await served.begin("hello")
        for user, status in (("ada", 200), ("bob", 404), (None, 401)):
            headers = {"x-user": user} if user else {}
            async with served.session.get(f"{served.root}/flows/{flow_id}", headers=headers) as response:
                assert response.status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"host": "localhost:99"}, 201),
        ({"host": "[::1]:99"}, 201),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost.evil.example:80"}, 403),
        ({"x-forwarded-for": "203.0.113.9"}, 403),
        ({"forwarded": "for=203.0.113.9"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[", "content-type": "text/plain"}, 403),
    ],
)
async def test_without_tokens_only_this_machine_is_served(headers, status):
    async with serving() as served:
        body = b'{"messages": ["hello"]}'
        async with served.session.post(f"{served.root}/flows", data=body, headers=headers) as response:
            assert response.status == status


async def test_origins_that_are_allowed_may_read():
    async with serving(origins=["https://app.example"]) as served:
        for origin, allowed in (("https://app.example", True), ("https://evil.example", False)):
            headers = {"origin": origin, "access-control-request-method": "POST"}
            async with served.session.options(f"{served.root}/flows", headers=headers) as response:
                assert (response.status == 204) is allowed
                assert (response.headers.get("access-control-allow-origin") == origin) is allowed
            async with served.session.get(f"{served.root}/healthz", headers={"origin": origin}) as response:
                assert ("access-control-allow-origin" in response.headers) is allowed


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_listening_beyond_this_machine_needs_a_token(host):
    with pytest.raises(UsageError):
        check_bind(host, [])
    check_bind(host, ["long-enough"])


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("::ffff:127.0.0.1", True), ("LOCALHOST.", True), ("::ffff:192.0.2.1", False), ("10.0.0.1", False), (None, False)],
)  # fmt: skip
def test_what_this_machine_is(host, loopback):
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("token", ["", "short", "with space inside", "with\nnewline", "ümlaut-token"])
def test_tokens_that_are_none(token):
    with pytest.raises(UsageError):
        Access([token])


def test_limits_that_make_no_sense():
    for wrong in ({"request_bytes": 0}, {"linger_s": -1}, {"flows_per_owner": True}):
        with pytest.raises(UsageError):
            app(lambda ask: [], limits=Limits(**wrong))


async def test_a_request_may_have_a_size_and_not_a_byte_more():
    limits = Limits(drain_s=0.0, request_bytes=2000)
    head, tail = b'{"messages": ["', b'"]}'
    async with serving(limits=limits) as served:
        for size, status in ((2000, 201), (2001, 413)):
            body = head + b"x" * (size - len(head) - len(tail)) + tail
            for chunked in (False, True):
                data = _pieces(body) if chunked else body
                async with served.session.post(f"{served.root}/flows", data=data) as response:
                    assert response.status == status


async def _pieces(body):
    for at in range(0, len(body), 700):
        yield body[at : at + 700]


async def test_a_compressed_request_is_measured_as_it_is():
    limits = Limits(drain_s=0.0, request_bytes=100_000)
    body = zlib.compress(b'{"messages": ["' + b"x" * 50_000_000 + b'"]}')
    async with serving(limits=limits) as served:
        headers = {"content-encoding": "deflate"}
        async with served.session.post(f"{served.root}/flows", data=body, headers=headers) as response:
            assert response.status in (400, 413)


async def test_an_owner_may_run_so_many_flows_and_not_one_more():
    limits = Limits(drain_s=0.0, flows_per_owner=3)
    async with serving(Answer(Text("Hello "), Stall()), limits=limits, tokens=TOKENS) as served:
        served.headers = ADA
        flows = [await served.begin("go on") for _ in range(3)]
        async with served.session.post(f"{served.root}/flows", json={"messages": ["hi"]}, headers=ADA) as response:
            assert response.status == 429
            assert "retry-after" in response.headers
        served.headers = BOB
        await served.begin("go on")
        async with served.session.delete(f"{served.root}/flows/{flows[0]}", headers=ADA):
            pass
        served.headers = ADA
        await served.begin("go on")


async def test_a_flow_may_have_so_many_readers_and_not_one_more():
    limits = Limits(drain_s=0.0, subscribers_per_flow=3)
    async with serving(Answer(Text("Hello "), Stall()), limits=limits) as served:
        flow_id = await served.begin("go on")
        url = f"{served.root}/flows/{flow_id}/events"
        readers = [await served.session.get(url) for _ in range(2)]
        socket = await served.session.ws_connect(f"{served.root}/flows/{flow_id}/ws")
        async with served.session.get(url) as response:
            assert response.status == 429
        await socket.close()
        await until(lambda: served.service.readers == 2)
        async with served.session.get(url) as response:
            assert response.status == 200
        for reader in readers:
            reader.close()


async def test_flows_that_ended_are_kept_up_to_a_number():
    limits = Limits(drain_s=0.0, kept_per_owner=2)
    async with serving(limits=limits) as served:
        flows = []
        for _ in range(4):
            flows.append(await served.begin("hello"))
            await served.events(flows[-1])
        found = [await served.service.store.get(flow_id) is not None for flow_id in flows]
        assert found == [False, False, True, True]


async def test_a_client_that_never_reads_is_cut_off_and_can_come_back():
    limits = Limits(drain_s=0.0, stalled_s=0.5)
    pieces = [f"{number} " + "word " * 4000 for number in range(400)]
    events = [
        StreamStart(),
        BlockStart(0, "text"),
        *(Chunk(0, "text", piece) for piece in pieces),
        BlockComplete(0, "text", "".join(pieces)),
        StreamCompleted(),
    ]
    async with serving(limits=limits, source=lambda ask: events) as served:
        flow_id = await served.begin("hello")
        lazy = socket.create_connection(("127.0.0.1", int(served.root.rpartition(":")[2])))
        lazy.sendall(f"GET /flows/{flow_id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        items = await served.events(flow_id)
        assert text_of(items) == "".join(pieces)
        await until(lambda: served.service.metrics.get("cut_off_total") == 1)
        assert served.service.readers == 0
        lazy.close()
        middle = len(items) // 2
        assert await served.events(flow_id, after=items[middle][0]) == items[middle + 1 :]
