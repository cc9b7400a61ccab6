"""The page in Chromium: links, moments, cuts, comparison, export, keys, and no network at all."""

import re

import pytest

from streamflow.events import Chunk
from streamflow.inspector import pytest_of, trace_of, verdict_of
from streamflow.recordings import from_capture
from streamflow.testing import Answer
from tests.inspector.opening import came, linked, opened, row
from tests.inspector.recorded import SAID, cut, good, long, recording, wire
from tests.inspector.test_export import pytest_run

GOOD = trace_of(good(), "good.jsonl")


def frames_of_sentence(trace, number):
    return sorted({frame for event in trace.sentences[number].events for frame in trace.causes[event]})


def pieces_of(trace, frames):
    """Which pieces have bytes of these frames, found the slow way."""
    spans, at = [], 0
    for piece in trace.recording.pieces:
        spans.append((at, at := at + len(piece.item)))
    return [
        number
        for number, (start, end) in enumerate(spans)
        if any(trace.frames[frame].start < end and trace.frames[frame].end > start for frame in frames)
    ]


async def test_pointing_at_a_sentence_lights_what_it_was_made_of(tmp_path):
    async with opened(tmp_path, GOOD) as page:
        await page.hover(row("sentences", 1))
        frames = frames_of_sentence(GOOD, 1)
        lit = await linked(page)
        assert (lit["sentences"], lit["frames"]) == ([1], frames)
        assert lit["events"] == GOOD.sentences[1].events
        assert lit["raw"] == pieces_of(GOOD, frames)
        shown = await page.evaluate("inspector.traces[0].visible")
        assert [shown[number] for number in lit["visible"]] == lit["events"]
        await page.hover("h1")
        assert not any((await linked(page)).values())
        # The other way round: from a frame to the sentence that it went into.
        await page.hover(row("frames", 1))
        assert (await linked(page))["sentences"] == []
        await page.hover("h1")
        await page.evaluate(f"inspector.panes[0].columns.reveal('frames', {frames[3]})")
        assert (await linked(page))["sentences"] == [1]


async def test_a_click_keeps_a_row_brings_its_links_into_sight_and_tells_the_bytes(tmp_path):
    async with opened(tmp_path, GOOD) as page:
        await page.click(row("sentences", 1))
        await page.hover("h1")
        frames = frames_of_sentence(GOOD, 1)
        assert (await linked(page))["frames"] == frames
        for column in ("raw", "frames", "events", "visible"):
            first = (await linked(page))[column][0]
            assert await page.is_visible(row(column, first) + ".linked")
        start, end = GOOD.frames[frames[0]].start, GOOD.frames[frames[-1]].end
        assert f"bytes {start:,} to {end:,}" in await page.inner_text(".detail .chain")
        assert GOOD.sentences[1].text in await page.inner_text(".detail .whole")
        assert re.search(rf"^ +{start}  65 76 65 6e 74", await page.inner_text(".detail .bytes"), re.M)
        await page.click(row("sentences", 1))
        await page.hover("h1")
        assert not any((await linked(page)).values())


async def test_scrubbing_shows_what_had_come_at_a_moment(tmp_path):
    async with opened(tmp_path, GOOD) as page:
        counts = await came(page)
        assert counts == {"raw": len(GOOD.recording.pieces), "frames": len(GOOD.frames), "events": len(GOOD.events),
                          "visible": 30, "sentences": 2}  # fmt: skip
        for number in (3, 12, 20):
            moment = GOOD.recording.pieces[number].t
            await page.evaluate(f"inspector.clock.set({moment} + 1e-6)")
            at = sum(len(piece.item) for piece in GOOD.recording.pieces[: number + 1])
            frames = sum(frame.end <= at for frame in GOOD.frames)
            now = await came(page)
            assert (now["raw"], now["frames"]) == (number + 1, frames)
            assert now["events"] == sum(0 <= born < frames for born in GOOD.born)
            assert now["sentences"] == sum(0 <= sentence.born < frames for sentence in GOOD.sentences)
            said = "".join(
                event.text
                for event, born in zip(GOOD.events, GOOD.born, strict=True)
                if isinstance(event, Chunk) and event.visible and 0 <= born < frames
            )
            assert (await page.inner_text(".detail .answer")).count(said) or not said
        # The same by hand: the slider, and a click into the timeline.
        await page.locator(".scrub").fill("0")
        assert (await came(page))["raw"] == 0
        assert await page.locator(".row.later").count() > 10
        box = await page.locator("canvas.timeline").bounding_box()
        await page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 20)
        middle = GOOD.recording.end_t / 2
        assert (await came(page))["raw"] == sum(piece.t <= middle for piece in GOOD.recording.pieces)
        figures = await page.text_content(".graph svg")
        assert f"{(await came(page))['frames']} out" in figures


async def test_it_plays_at_the_chosen_speed(tmp_path):
    async with opened(tmp_path, GOOD) as page:
        await page.select_option("select[aria-label=speed]", "16")
        await page.locator(".scrub").fill("0")
        await page.click(".play")
        ended = "!inspector.clock.running && inspector.clock.now === inspector.clock.duration"
        await page.evaluate(f"async () => {{ while (!({ended})) await new Promise(requestAnimationFrame); }}")
        assert (await came(page))["sentences"] == 2
        await page.select_option("select[aria-label=speed]", "Infinity")
        await page.click(".play")
        assert await page.evaluate("inspector.clock.now === inspector.clock.duration")


async def test_another_cutting_changes_the_pieces_and_nothing_else(tmp_path):
    async with opened(tmp_path, GOOD) as page:
        counts = await came(page)
        await page.locator("input.cut").fill("1")
        assert await page.inner_text(".cut-label") == "1 B"
        now = await came(page)
        assert now == {**counts, "raw": len(GOOD.recording.data)}
        await page.evaluate("inspector.panes[0].columns.reveal('sentences', 1)")
        frames = frames_of_sentence(GOOD, 1)
        lit = await linked(page)
        assert lit["frames"] == frames
        assert len(lit["raw"]) == sum(GOOD.frames[frame].end - GOOD.frames[frame].start for frame in frames)
        await page.click("text=random")
        assert (await came(page))["raw"] == await page.evaluate("inspector.traces[0].ends.length")
        assert await page.evaluate("inspector.traces[0].ends.at(-1)") == len(GOOD.recording.data)
        await page.locator("input.cut").fill("0")
        assert await came(page) == counts


async def test_two_recordings_side_by_side(tmp_path):
    other = wire("openai").replace(b"sunny", b"rainy")
    traces = GOOD, trace_of(recording(other, "openai"), "other.jsonl")
    async with opened(tmp_path, *traces) as page:
        assert await page.locator(".pane").count() == 2
        figures = await page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('.comparison tbody tr')]"
            ".map((line) => [...line.children].map((cell) => cell.textContent)).map(([name, a, b]) => [name, [a, b]]))"
        )
        assert figures["bytes"] == [f"{len(trace.recording.data):,}" for trace in traces]
        assert figures["sentences"] == ["2", "2"]
        assert figures["end"] == ["tool_use", "tool_use"]
        place = SAID.index("sunny")
        assert f"part at character {place}" in await page.inner_text(".texts")
        # One clock for both.
        await page.evaluate("inspector.clock.set(1.0)")
        for number, trace in enumerate(traces):
            assert (await came(page, number))["raw"] == sum(piece.t <= 1.0 for piece in trace.recording.pieces)


async def test_the_exported_test_fails_for_the_fault_that_the_verdict_names(tmp_path):
    trace = trace_of(cut(), "cut.jsonl")
    async with opened(tmp_path, trace) as page:
        assert "2 faults" in await page.inner_text(".verdict-badge")
        await page.click(".verdict li.fail >> nth=0")
        assert (await linked(page))["events"] == [len(trace.events) - 1]
        await page.click(".export-button")
        text = await page.input_value("dialog.export textarea")
        assert text == pytest_of(trace, verdict_of(trace))
        async with page.expect_download() as saving:
            await page.click("dialog.export >> text=Save")
        await (await saving.value).save_as(tmp_path / "test_saved.py")
        await page.keyboard.press("Escape")
        # As it is cut now, byte by byte.
        await page.evaluate("inspector.recut({ size: 1 })")
        await page.keyboard.press("e")
        recut = await page.input_value("dialog.export textarea")
        assert recut.count('\n    b"') == len(trace.recording.data)
    done = pytest_run(tmp_path / "test_saved.py")
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert re.search(r"test_the_stream_ends_properly.*StreamTruncated", done.stdout)
    namespace = {}
    exec(recut, namespace)
    with pytest.raises(AssertionError, match="StreamTruncated"):
        namespace["test_the_stream_ends_properly"]()


async def test_the_keyboard_is_enough(tmp_path):
    async with opened(tmp_path, GOOD) as page:
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.className") == "play"
        assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        await page.focus(".column.sentences .list")
        await page.keyboard.press("End")
        assert (await linked(page))["frames"] == frames_of_sentence(GOOD, 1)
        await page.keyboard.press("Enter")
        assert await page.is_visible(row("sentences", 1) + ".picked")
        await page.keyboard.press("ArrowLeft")
        assert await page.evaluate("document.activeElement.closest('.column').dataset.column") == "visible"
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Home")
        assert (await linked(page))["visible"] == [0]
        for _ in range(2):
            await page.keyboard.press(",")
        assert (await came(page))["raw"] == len(GOOD.recording.pieces) - 2
        await page.keyboard.press(".")
        assert (await came(page))["raw"] == len(GOOD.recording.pieces) - 1
        await page.keyboard.press("]")
        assert await page.inner_text(".cut-label") == "1 B"
        await page.keyboard.press("[")
        assert await page.inner_text(".cut-label") == "as recorded"
        await page.keyboard.press("1")
        assert not await page.is_visible(".column.raw")
        await page.keyboard.press("?")
        assert "export as pytest" in await page.inner_text("dialog.help")
        await page.keyboard.press("Escape")
        before = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.keyboard.press("t")
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") != before


async def test_what_a_model_says_is_only_ever_text(tmp_path):
    evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script>&lt;b&gt; <!-- "
    trace = trace_of(recording(wire("openai", Answer(evil)), "openai"), evil, blocks="none")
    async with opened(tmp_path, trace) as page:
        assert evil.strip() in await page.inner_text(".detail .answer")
        await page.click(row("events", 2))
        assert await page.locator("#app img, #app script").count() == 0
        # Even a script that found its way in could not send anything away.
        sent = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"
        assert await page.evaluate(sent) == "refused"
        assert any("Content Security Policy" in told for told in page.complaints)
        page.complaints.clear()
        page.asked.clear()


async def test_twenty_thousand_events_open_soon_and_scroll(tmp_path, record_property):
    trace = trace_of(long(20_000), "long.jsonl")
    assert len(trace.events) >= 20_000
    async with opened(tmp_path, trace) as page:
        took = await page.evaluate("performance.getEntriesByName('ready')[0].startTime")
        record_property("opened_ms", took)
        assert took < 3000 * SLOW
        assert await page.locator(".row").count() < 400
        for share in (0.5, 1.0):
            await page.evaluate(
                "(share) => { const list = inspector.panes[0].columns.lists.events.box;"
                " list.scrollTop = share * list.scrollHeight; }",
                share,
            )
            wanted = round(share * (len(trace.events) - 1))
            await page.wait_for_selector(row("events", wanted))
        # Sixty steps of scrolling, each drawn.
        drawn = await page.evaluate(
            """async () => {
                const list = inspector.panes[0].columns.lists.events.box;
                const begin = performance.now();
                for (let step = 0; step < 60; step += 1) {
                    list.scrollTop = step * 8000;
                    await new Promise(requestAnimationFrame);
                }
                return (performance.now() - begin) / 60;
            }"""
        )
        record_property("scroll_step_ms", drawn)
        assert drawn < 50 * SLOW
        await page.evaluate(f"inspector.panes[0].columns.reveal('sentences', {len(trace.sentences) - 1})")
        assert (await linked(page))["events"][-1] > 19_000


SLOW = 4  # a loaded machine may take so many times longer than one at rest


async def test_a_binary_stream_and_one_without_times(tmp_path):
    bedrock = trace_of(from_capture(wire("bedrock"), provider="bedrock"), "capture.bin")
    async with opened(tmp_path, bedrock) as page:
        assert "no times recorded" in await page.inner_text(".facts")
        assert await page.evaluate("inspector.traces[0].bytes.length") == len(wire("bedrock"))
        await page.hover(row("sentences", 0))
        assert (await linked(page))["frames"] == frames_of_sentence(bedrock, 0)
