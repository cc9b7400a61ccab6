"""The inspector of a server: flows listed live, looked into while they run, and only by their owner."""

import asyncio

import pytest

from streamflow.recordings import load_recording
from tests.inspector.opening import came, linked, watch
from tests.server.serving import serving, until
from tests.support.chromium import chromium

READY = "body[data-ready]"


async def get(served, path, status=200, **headers):
    async with served.session.get(f"{served.root}/{path}", headers={**served.headers, **headers}) as response:
        assert response.status == status, await response.text()
        return await response.json() if "json" in response.content_type else await response.text()


async def test_flows_are_listed_with_their_figures():
    async with serving() as served:
        short = await served.begin("sim:text Hello there.")
        long = await served.begin("sim:long 4000 5")
        await served.text(short)
        reader = asyncio.create_task(served.events(long))
        await until(lambda: served.service.store.rows("local")[0].events > 10)
        rows = {row["id"]: row for row in (await get(served, "inspector/flows"))["flows"]}
        assert list(rows) == [long, short]
        assert (rows[short]["ended"], rows[long]["ended"]) == (True, False)
        assert (rows[short]["provider"], rows[short]["tail"]) == ("openai", "Hello there.")
        assert rows[long]["readers"] == 1
        assert rows[long]["seconds"] > 0
        reader.cancel()


async def test_a_flow_is_looked_into_while_it_runs_and_when_it_is_over(tmp_path):
    async with serving(record=tmp_path / "tapes") as served:
        flow_id = await served.begin("sim:long 4000 5")
        reader = asyncio.create_task(served.events(flow_id))
        await until(lambda: served.service.store.rows("local")[0].events > 20)
        entry = await get(served, f"inspector/flows/{flow_id}")
        assert entry["live"]
        assert [finding["level"] for finding in entry["verdict"]] == ["ok"] * len(entry["verdict"])
        assert len(entry["frames"]) >= len(entry["events"]) - 2 > 10
        assert {event["type"] for event in entry["events"]} == {"StreamStart", "BlockStart", "Chunk"}
        async with served.session.delete(f"{served.root}/flows/{flow_id}") as response:
            assert response.status == 204
        await reader
        entry = await get(served, f"inspector/flows/{flow_id}")
        assert not entry["live"]
        whole = await served.begin("sim:text It is over. Really.")
        await served.text(whole)
        entry = await get(served, f"inspector/flows/{whole}")
        assert [sentence["text"] for sentence in entry["sentences"]] == ["It is over. ", "Really."]
        tapes = [load_recording(path) for path in (tmp_path / "tapes").glob("*.jsonl")]
        assert sorted(tape.data.endswith(b"data: [DONE]\n\n") for tape in tapes) == [False, True]
        assert "sk-canary" not in "".join(path.read_text() for path in (tmp_path / "tapes").iterdir())


async def test_without_a_recording_the_events_are_shown():
    async with serving() as served:
        flow_id = await served.begin("sim:text Only events.")
        await served.text(flow_id)
        entry = await get(served, f"inspector/flows/{flow_id}")
        assert (entry["frames"], entry["wire"]) == ([], {"text": ""})
        assert entry["events"][-1]["type"] == "StreamCompleted"
        assert [sentence["text"] for sentence in entry["sentences"]] == ["Only events."]


async def test_nobody_sees_the_flows_of_another_owner():
    async with serving(tokens={"anna-token": "anna", "bert-token": "bert"}) as served:
        served.headers = {"authorization": "Bearer anna-token"}
        flow_id = await served.begin("sim:text Mine alone.")
        await served.text(flow_id)
        assert len((await get(served, "inspector/flows"))["flows"]) == 1
        other = {"authorization": "Bearer bert-token"}
        assert (await get(served, "inspector/flows", **other))["flows"] == []
        await get(served, f"inspector/flows/{flow_id}", 404, **other)
        served.headers = {}
        await get(served, "inspector/flows", 401)
        await get(served, f"inspector/flows/{flow_id}", 401)
        assert "flows" in await get(served, "inspector")


@pytest.mark.parametrize("name", ["nothing.js", "page.py", "live.txt", "..%2fpage.py"])
async def test_only_files_of_the_page_are_served(name):
    async with serving() as served:
        await get(served, f"inspector/{name}", 404)


async def test_the_page_lists_flows_follows_one_and_compares_two(tmp_path):
    async with serving(record=tmp_path) as served, chromium(width=1440) as page:
        watch(page)
        await page.goto(f"{served.root}/inspector")
        await page.wait_for_selector("text=No flow yet")
        first = await served.begin("sim:text One answer. And more of it.")
        await served.text(first)
        second = await served.begin("sim:long 20000 5")
        reader = asyncio.create_task(served.events(second))
        await page.wait_for_selector(f"[data-flow='{second}']")
        assert await page.locator(".flow-list li").count() == 2
        await page.wait_for_selector("text=1 live of 2")
        # One that runs: it grows while it is looked at, and what was chosen stays chosen.
        await page.click(f"[data-flow='{second}']")
        await page.wait_for_selector(READY)
        await page.wait_for_selector(".verdict-badge.live")
        await page.wait_for_selector(".column.frames .row")
        await page.evaluate("inspector.panes[0].columns.reveal('events', 3)")
        before = await came(page)
        await page.evaluate(
            "async (count) => { while (inspector.traces[0].events.length <= count)"
            " await new Promise((resolve) => setTimeout(resolve, 20)); }",
            before["events"],
        )
        now = await came(page)
        assert now["events"] > before["events"]
        assert now["raw"] > before["raw"]
        assert (await linked(page))["events"] == [3]
        # When it is stopped, it is over in the page too.
        async with served.session.delete(f"{served.root}/flows/{second}"):
            await reader
        await page.wait_for_selector("text=0 live of 2")
        await page.wait_for_selector(".verdict-badge:not(.live)")
        # Two of them.
        await page.click(f"[data-flow='{first}']", modifiers=["Shift"])
        await page.wait_for_selector(".comparison")
        assert await page.locator(".pane").count() == 2
        assert page.complaints == []
        assert all(url.startswith((served.root, "blob:")) for url in page.asked)


async def test_the_page_asks_for_the_token(tmp_path):
    async with serving(tokens=["a-long-token"]) as served, chromium() as page:
        await page.goto(f"{served.root}/inspector")
        await page.fill("#token", "a-long-token")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=No flow yet")
