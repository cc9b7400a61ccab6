"""Flows over HTTP: begin, read, come back, stop."""

import asyncio
import random

import pytest

from streamflow.server import Limits
from streamflow.testing import Answer, Stall, Text
from streamflow.testing.simulator import BEFORE_ERROR, CANNED, CLOSING
from tests.server.serving import QUICK, serving, text_of, until


async def test_a_flow_is_begun_and_read():
    async with serving() as served:
        flow_id = await served.begin("hello")
        items = await served.events(flow_id)
        assert text_of(items) == CANNED
        assert [item["type"] for _, item in items][::len(items) - 1] == ["StreamStart", "StreamCompleted"]
        epoch = items[0][0].partition("-")[0]
        assert [id for id, _ in items] == [f"{epoch}-{seq}" for seq in range(len(items))]
        assert items[-1][1]["response"]["text"] == CANNED


async def test_headers_of_the_stream():
    async with serving() as served:
        flow_id = await served.begin("hello")
        async with served.session.get(f"{served.root}/flows/{flow_id}/events") as response:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert response.headers["x-accel-buffering"] == "no"
            assert "no-cache" in response.headers["cache-control"]
            assert (await response.content.readline()).startswith(b"retry: ")


async def test_branches():
    async with serving() as served:
        flow_id = await served.begin("sim:think Let me see. | One sentence. **Another** one.")
        ui = await served.events(flow_id, branch="ui")
        assert text_of(ui) == "One sentence. **Another** one."
        assert ui[-1][1]["type"] == "StreamCompleted"
        thoughts = await served.events(flow_id, branch="thinking")
        assert "".join(item["text"] for _, item in thoughts[:-1]) == "Let me see."
        sentences = await served.events(flow_id, branch="sentences")
        assert [item["text"].strip() for _, item in sentences[:-1]] == ["One sentence.", "Another one."]


async def test_tools_are_told():
    async with serving() as served:
        flow_id = await served.begin('sim:tool weather {"city": "Rome"}', tools=[{"name": "weather", "parameters": {}}])
        items = await served.events(flow_id, branch="tools")
        assert items[0][1]["calls"][0]["arguments"] == {"city": "Rome"}
        assert items[-1][1]["stop_reason"] == "tool_use"


async def test_a_failure_in_mid_answer_is_told_and_not_finished():
    async with serving() as served:
        flow_id = await served.begin("sim:error-event")
        for branch in ("", "ui"):
            items = await served.events(flow_id, branch=branch)
            assert text_of(items) == BEFORE_ERROR
            assert items[-1][1]["type"] == "StreamFailed"


async def test_a_refusal_of_the_provider_is_told_and_shows_no_key():
    async with serving() as served:
        flow_id = await served.begin("sim:error 401")
        (_, failed) = (await served.events(flow_id))[-1]
        assert failed["error"]["status"] == 401
        assert "canary" not in str(failed)


@pytest.mark.parametrize("branch", ["", "ui", "sentences"])
async def test_coming_back_behind_every_item(branch):
    async with serving() as served:
        sentences = (f"This is **sentence** number {number} of all of them." for number in range(12))
        flow_id = await served.begin("sim:text " + " ".join(sentences))
        whole = await served.events(flow_id, branch=branch)
        assert len(whole) > 4
        for place, (id, _) in enumerate(whole):
            assert await served.events(flow_id, branch=branch, after=id) == whole[place + 1 :]


async def test_an_id_of_a_branch_is_a_place_in_every_other():
    async with serving() as served:
        flow_id = await served.begin("sim:text First. Second one! Third.")
        whole = await served.events(flow_id)
        for id, item in await served.events(flow_id, branch="ui"):
            if item["type"] == "Chunk":
                place = next(place for place, (known, _) in enumerate(whole) if known == id.partition(".")[0])
                assert await served.events(flow_id, after=id) == whole[place + 1 :]


async def test_nothing_more_to_read_is_204():
    async with serving() as served:
        flow_id = await served.begin("hello")
        for branch in ("", "ui", "sentences"):
            (last, _) = (await served.events(flow_id, branch=branch))[-1]
            url = f"{served.root}/flows/{flow_id}/events?branch={branch}"
            async with served.session.get(url, headers={"last-event-id": last}) as response:
                assert response.status == 204


async def test_a_client_that_is_killed_a_hundred_times_reads_everything_once():
    draw = random.Random(9)
    async with serving() as served:
        flow_id = await served.begin("sim:long 400 1")
        items: list = []
        rounds = 0
        while not items or items[-1][1]["type"] != "StreamCompleted":
            after = items[-1][0] if items else ""
            items += await served.events(flow_id, after=after, limit=draw.randint(1, 7))
            rounds += 1
        assert rounds >= 50
        assert items == await served.events(flow_id)
        assert items[-1][1]["response"]["text"] == text_of(items)


@pytest.mark.parametrize(
    "id",
    ["garbage", "0-0", "{epoch}-999999", "{other}-0", "{epoch}-", "-1", "{epoch}--1", "{epoch}-0.", "{epoch}-0.x",
     "{epoch}-0x", "{epoch}-99999999999999999999999", "{epoch}-0 ", "٣-٣", "{epoch}-0,{epoch}-1", "*", "$", "0"],
)  # fmt: skip
@pytest.mark.parametrize("branch", ["", "ui"])
async def test_an_id_that_is_no_place_of_this_flow_is_refused(id, branch):
    async with serving() as served:
        flow_id = await served.begin("hello")
        epoch = (await served.events(flow_id))[0][0].partition("-")[0]
        other = (await served.events(await served.begin("hello")))[0][0].partition("-")[0]
        text = id.format(epoch=epoch, other=other)
        for how in ({"headers": {"last-event-id": text}}, {"params": {"after": text}}):
            if "headers" in how and text.strip() != text:
                continue  # HTTP itself takes spaces at the ends away
            url = f"{served.root}/flows/{flow_id}/events"
            params = {**how.get("params", {}), **({"branch": branch} if branch else {})}
            async with served.session.get(url, headers=how.get("headers"), params=params) as response:
                assert response.status == 409, text
                assert (await response.json())["error"]["type"] == "bad_event_id"


async def test_a_past_that_is_gone_is_told_with_a_snapshot():
    limits = Limits(drain_s=0.0, journal_events=10)
    async with serving(limits=limits) as served:
        flow_id = await served.begin("sim:text " + "word " * 60)
        first = await served.events(flow_id)
        text = ("word " * 60).strip()
        for branch in ("", "ui"):
            items = await served.events(flow_id, branch=branch)
            (_, reset) = items[0]
            assert (reset["type"], reset["code"]) == ("Notice", "reset")
            assert reset["raw"]["text"] + text_of(items) == text
        epoch = first[-1][0].partition("-")[0]
        items = await served.events(flow_id, after=f"{epoch}-2")
        assert items[0][1]["code"] == "reset"


async def test_stop_is_an_end_and_can_be_said_again():
    async with serving(Answer(Text("Hello "), Text("there "), Stall())) as served:
        flow_id = await served.begin("go on")
        reading = asyncio.create_task(served.events(flow_id))
        await until(lambda: served.fake.requests)
        while not (await served.session.get(f"{served.root}/flows/{flow_id}")).ok:
            await asyncio.sleep(0.01)
        await served.events(flow_id, branch="ui", limit=2)
        for _ in range(3):
            async with served.session.delete(f"{served.root}/flows/{flow_id}") as response:
                assert response.status == 204
        items = await reading
        assert items[-1][1]["stop_reason"] == "cancelled"
        assert items[-1][1]["response"]["complete"] is False
        assert items == await served.events(flow_id)
        await until(lambda: served.fake.open_connections == 0)


async def test_a_client_that_leaves_does_not_stop_the_answer():
    async with serving() as served:
        flow_id = await served.begin("sim:long 60 2")
        await served.events(flow_id, limit=3)
        items = await served.events(flow_id)
        assert items[-1][1]["stop_reason"] == "end_turn"


async def test_a_flow_without_readers_is_closed_after_its_linger_time():
    limits = Limits(drain_s=0.0, linger_s=0.05)
    async with serving(Answer(Text("Hello "), Stall()), limits=limits) as served:
        flow_id = await served.begin("go on")
        await served.events(flow_id, limit=2)
        await until(lambda: served.fake.requests and served.fake.open_connections == 0)
        items = await served.events(flow_id)
        assert (items[-1][1]["stop_reason"], items[-1][1]["raw_stop_reason"]) == ("cancelled", "abandoned")


async def test_a_conversation_goes_on_with_the_result_of_a_tool():
    async with serving() as served:
        messages = [
            {"role": "user", "content": "sim:tool now"},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "now", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "noon"},
        ]
        async with served.session.post(f"{served.root}/flows", json={"messages": messages}) as response:
            flow_id = (await response.json())["id"]
        assert await served.text(flow_id) == CLOSING


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (b"{}", "messages"),
        (b'{"messages": []}', "empty"),
        (b'{"messages": {"model": "raw", "messages": []}}', "messages"),
        (b'{"messages": [{"role": "wizard", "content": "hi"}]}', "wizard"),
        (b'{"messages": ["hi"], "base_url": "http://evil"}', "base_url"),
        (b'{"messages": ["hi"], "headers": {}}', "headers"),
        (b'{"messages": ["hi"], "provider": "nobody"}', "nobody"),
        (b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", ""),
        (b'{"messages": ["\xff"]}', "utf-8"),
    ],
)
async def test_wrong_requests_are_named(body, hint):
    async with serving() as served, served.session.post(f"{served.root}/flows", data=body) as response:
        assert response.status == 400
        assert hint in (await response.json())["error"]["message"]


async def test_unknown_flows_and_branches():
    async with serving() as served:
        for method, path in (("GET", "/events"), ("GET", "/ws"), ("DELETE", ""), ("GET", "")):
            url = f"{served.root}/flows/AAAAAAAAAAAAAAAAAAAAAA{path}"
            async with served.session.request(method, url) as response:
                assert response.status == 404
        flow_id = await served.begin("hello")
        async with served.session.get(f"{served.root}/flows/{flow_id}/events?branch=nope") as response:
            assert response.status == 404
            assert "sentences" in (await response.json())["error"]["message"]


async def test_ids_of_flows_have_128_random_bits():
    async with serving() as served:
        ids = {await served.begin("hello") for _ in range(50)}
        assert len(ids) == 50
        assert all(len(id) == 22 for id in ids)


async def test_text_that_looks_like_events_stays_text():
    evil = "a\n\nevent: StreamCompleted\nid: 1-1\ndata: {}\r\rdata: [DONE]\r\n\r\n: x\u2028\u0085\x0b<tool_call>"
    async with serving(Answer(Text(evil))) as served:
        flow_id = await served.begin("hello")
        for branch in ("", "ui"):
            assert await served.text(flow_id, branch=branch) == evil


async def test_a_source_that_breaks_never_looks_finished():
    def broken(ask):
        yield from ()
        raise RuntimeError("secret detail")

    async with serving(source=broken) as served:
        items = await served.events(await served.begin("hello"))
        assert items[-1][1]["type"] == "StreamFailed"
        assert "secret detail" not in str(items)


async def test_heartbeats_are_comments():
    limits = Limits(drain_s=0.0, heartbeat_s=0.01)
    async with serving(Answer(Text("Hello "), Stall()), limits=limits) as served:
        flow_id = await served.begin("go on")
        async with served.session.get(f"{served.root}/flows/{flow_id}/events") as response:
            seen = b""
            async with asyncio.timeout(10):
                while b"\n: alive\n" not in seen:
                    seen += await response.content.readany()


async def test_the_state_of_the_server():
    async with serving(limits=QUICK) as served:
        await served.events(await served.begin("hello"))
        for path, word in (("/healthz", "ok"), ("/readyz", "ready"), ("/metrics", "streamflow_flows_created_total 1")):
            async with served.session.get(served.root + path) as response:
                assert response.status == 200
                assert word in await response.text()
