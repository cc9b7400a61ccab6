"""Flows over WebSocket."""

import asyncio
import base64

import aiohttp
import pytest

from streamflow.server import Limits
from streamflow.testing import Answer, Stall, Text
from streamflow.testing.simulator import CANNED
from tests.server.serving import serving, text_of, until


async def read(served, flow_id, *, limit=None, say=(), headers=None, **query):
    items = []
    url = f"{served.root}/flows/{flow_id}/ws"
    async with served.session.ws_connect(url, params=query, headers=headers) as socket:
        for message in say:
            await socket.send_json(message)
        async for message in socket:
            item = message.json()
            items.append((item.get("id"), item))
            if len(items) == limit:
                break
        else:
            return items, socket.close_code
    return items, None


@pytest.mark.parametrize("branch", ["", "ui", "sentences"])
async def test_the_same_items_with_the_same_ids(branch):
    async with serving() as served:
        flow_id = await served.begin("hello")
        query = {"branch": branch} if branch else {}
        items, code = await read(served, flow_id, **query)
        expected = await served.events(flow_id, branch=branch)
        assert code == 1000
        assert [id for id, _ in items] == [id for id, _ in expected]
        assert [item["type"] for _, item in items] == [item["type"] for _, item in expected]
        if branch != "sentences":
            assert text_of(items) == CANNED
        for place in range(len(items)):
            rest, _ = await read(served, flow_id, after=items[place][0], **query)
            assert rest == items[place + 1 :]


async def test_an_id_of_the_events_own_is_kept():
    async with serving() as served:
        items, _ = await read(served, await served.begin("hello"))
        start = items[0][1]
        assert start["type"] == "StreamStart"
        assert start["own_id"].startswith("chatcmpl")


@pytest.mark.parametrize("after", ["x", "1-0", "0-0 ", "9" * 30])
async def test_a_wrong_place_is_refused_before_the_upgrade(after):
    async with serving() as served:
        flow_id = await served.begin("hello")
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await read(served, flow_id, after=after)
        assert refused.value.status == 409


async def test_stop_from_the_client():
    async with serving(Answer(Text("Hello "), Stall())) as served:
        flow_id = await served.begin("go on")
        items, code = await read(served, flow_id, say=[{"type": "stop"}, {"type": "stop"}])
        assert code == 1000
        assert items[-1][1]["stop_reason"] == "cancelled"
        await until(lambda: served.fake.open_connections == 0)


async def test_interrupt_without_a_voice_stops():
    async with serving(Answer(Text("Hello "), Stall())) as served:
        flow_id = await served.begin("go on")
        items, _ = await read(served, flow_id, say=[{"type": "interrupt", "played_s": 1.5}])
        assert {"type": "Heard", "played_s": 1.5, "text": None} in [item for _, item in items]
        assert [item["stop_reason"] for _, item in items if item["type"] == "StreamCompleted"] == ["cancelled"]


@pytest.mark.parametrize(
    "message", [{"type": "dance"}, {}, [], "stop", {"type": "interrupt", "played_s": "x"}, {"type": ["stop"]}]
)
async def test_a_message_that_means_nothing_does_nothing(message):
    async with serving(Answer(Text("Hello "), Stall())) as served:
        flow_id = await served.begin("go on")
        async with served.session.ws_connect(f"{served.root}/flows/{flow_id}/ws") as socket:
            await socket.send_json(message)
            async for said in socket:
                if said.json()["type"] == "Notice":
                    break
        state = await served.service.store.get(flow_id)
        assert not state.ended


async def test_a_message_may_have_a_size_and_not_a_byte_more():
    limits = Limits(drain_s=0.0, message_bytes=1000)
    async with serving(Answer(Text("Hello "), Stall()), limits=limits) as served:
        flow_id = await served.begin("go on")
        for size, code in ((1000, None), (1001, 1009)):
            async with served.session.ws_connect(f"{served.root}/flows/{flow_id}/ws") as socket:
                await socket.send_str("x" * size)
                async for said in socket:
                    if said.json()["type"] == "Notice":
                        break
                assert socket.close_code == code


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
async def test_pages_of_others_are_refused(origin):
    async with serving() as served:
        flow_id = await served.begin("hello")
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await read(served, flow_id, headers={"origin": origin})
        assert refused.value.status == 403


async def test_the_own_page_and_allowed_origins_are_served():
    async with serving(origins=["https://app.example"]) as served:
        flow_id = await served.begin("hello")
        for origin in (served.root, "https://app.example"):
            assert text_of((await read(served, flow_id, headers={"origin": origin}))[0]) == CANNED


async def test_a_browser_shows_its_token_as_a_subprotocol():
    async with serving(tokens={"right-token-1": "ada"}) as served:
        served.headers = {"authorization": "Bearer right-token-1"}
        flow_id = await served.begin("hello")
        written = base64.urlsafe_b64encode(b"right-token-1").decode().rstrip("=")
        url = f"{served.root}/flows/{flow_id}/ws"
        async with served.session.ws_connect(url, protocols=["streamflow", "streamflow.bearer." + written]) as socket:
            assert socket.protocol == "streamflow"
            assert (await socket.receive()).json()["type"] == "StreamStart"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await served.session.ws_connect(url, protocols=["streamflow"])
        assert refused.value.status == 401


async def test_readers_that_stay_for_the_whole_answer_share_it():
    async with serving() as served:
        flow_id = await served.begin("sim:long 50 2")
        results = await asyncio.gather(*(read(served, flow_id) for _ in range(5)), served.events(flow_id))
        texts = {text_of(items) for items, _ in results[:-1]} | {text_of(results[-1])}
        assert len(texts) == 1
        assert len(served.fake.requests) == 1
