"""The loop as a whole, against a real server on the loopback."""

import asyncio
import threading
import time
from typing import Any

import pytest

import streamflow as sf
from streamflow.events import BlockComplete, BlockStart, StreamCompleted, ToolCallsReady
from streamflow.requests.blocks import Base64Source, ImageBlock, TextBlock
from streamflow.testing import Answer, FakeProvider, Text, Thinking, ToolUse, assert_grammar
from streamflow.tools import Tool, ToolContext, tool_loop
from tests.requests.validators import VALIDATORS

PROVIDERS = ["openai", "anthropic", "gemini", "openai-responses", "cohere", "ollama", "bedrock"]


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


async def now() -> str:
    """The time."""
    return "noon"


TWO_ROUNDS = (
    Answer(Thinking("Hm", "c2ln"), Text("Let me see."), ToolUse("weather", {"city": "Rome"}), ToolUse("now", {})),
    Answer(Text("And there?"), ToolUse("weather", {"city": "Oslo"})),
    Answer("Both are fine."),
)


def connect(provider: str, fake: FakeProvider) -> sf.Client:
    return sf.connect(provider, model="m", api_key="k", base_url=fake.base_url(provider), environ={})


async def looped(*script: Any, tools: Any = (weather, now), provider: str = "openai", **options: Any) -> Any:
    async with FakeProvider(*script) as fake, connect(provider, fake) as llm:
        loop = tool_loop(llm, "How is it?", list(tools), **options)
        events = [event async for event in loop]
        return events, loop, [request.body for request in fake.requests]


def results(events: list[Any]) -> dict[str, tuple[str, bool]]:
    return {
        event.tool_name: (event.content, event.error is not None)
        for event in events
        if isinstance(event, BlockComplete) and event.kind == "tool_result"
    }


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_two_rounds_of_tools_with_every_provider(provider: str) -> None:
    events, loop, bodies = await looped(*TWO_ROUNDS, provider=provider)
    assert_grammar(events)
    assert len(bodies) == 3
    for body in bodies:
        body.pop("modelId", None)
        VALIDATORS[provider](body)
    response = events[-1].response
    assert response.text == "Let me see.And there?Both are fine."
    assert response.complete
    assert events[-1].stop_reason == "end_turn"
    assert [event.content for event in events if isinstance(event, BlockComplete) and event.kind == "tool_result"] in (
        ["sunny in Rome", "noon", "sunny in Oslo"],
        ["noon", "sunny in Rome", "sunny in Oslo"],
    )
    starts = [event.index for event in events if isinstance(event, BlockStart)]
    assert starts == sorted(set(starts))
    roles = [message.role for message in loop.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    VALIDATORS[provider](sf.build_request(provider, [*loop.messages, "thanks"], model="m").json)


async def test_text_offsets_go_on_over_the_turns() -> None:
    events, _, _ = await looped(*TWO_ROUNDS)
    text = events[-1].response.text
    for event in events:
        if isinstance(event, sf.events.Chunk) and event.kind == "text":
            assert text[event.start : event.start + len(event.text)] == event.text


async def test_without_calls_it_is_one_turn() -> None:
    events, loop, bodies = await looped(Answer("Hello."))
    assert [type(event).__name__ for event in events][-1] == "StreamCompleted"
    assert loop.response.text == "Hello."
    assert len(bodies) == 1


async def test_the_loop_is_an_observable() -> None:
    async with FakeProvider(*TWO_ROUNDS) as fake, connect("anthropic", fake) as llm:
        seen: list[Any] = []
        done = asyncio.Event()
        loop = tool_loop(llm, "How is it?", [weather, now])
        loop.subscribe(seen.append, on_completed=done.set)
        await done.wait()
        assert_grammar(seen)
        assert seen[-1].response.text.endswith("Both are fine.")


async def test_operators_behind_the_loop() -> None:
    from streamflow.operators import sentence_segment, visible_filter

    async with FakeProvider(*TWO_ROUNDS) as fake, connect("openai", fake) as llm:
        chunks = [c.text async for c in tool_loop(llm, "?", [weather, now]).pipe(visible_filter())]
        assert "".join(chunks) == "Let me see.And there?Both are fine."
        sentences = [s async for s in tool_loop(llm, "?", [weather, now]).pipe(sentence_segment())]
        assert [s.text for s in sentences if isinstance(s, sf.Sentence)]


async def test_the_round_limit_ends_the_loop_and_says_what_was_not_run() -> None:
    again = Answer(ToolUse("weather", {"city": "Rome"}))
    events, loop, bodies = await looped(again, max_rounds=3)
    assert events[-1].stop_reason == "round_limit"
    assert len(bodies) == 4
    assert "not run" in loop.messages[-1].tool_results[0].text
    VALIDATORS["openai"](sf.build_request("openai", [*loop.messages, "go on"], model="m").json)


async def test_max_rounds_zero_runs_nothing() -> None:
    events, _, bodies = await looped(Answer(ToolUse("weather", {"city": "Rome"})), max_rounds=0)
    assert events[-1].stop_reason == "round_limit"
    assert len(bodies) == 1


async def test_usage_adds_up_over_the_turns() -> None:
    from streamflow.testing import Tokens

    events, _, _ = await looped(
        Answer(ToolUse("now", {}), usage=Tokens(10, 5)), Answer("Done.", usage=Tokens(20, 7)), provider="anthropic"
    )
    assert (events[-1].response.usage.input_tokens, events[-1].response.usage.output_tokens) == (30, 12)


# -- context, hooks, approval


async def test_a_tool_may_know_what_was_said() -> None:
    seen: list[ToolContext] = []

    def weather(city: str, context: ToolContext) -> str:
        seen.append(context)
        return f"sunny in {city}"

    await looped(*TWO_ROUNDS, tools=(weather, now))
    first, second = seen
    assert (first.preamble, first.raw_text, first.depth) == ("Let me see.", "Let me see.", 0)
    assert first.previous_results == ()
    assert (second.preamble, second.depth, second.accumulated) == ("And there?", 1, "Let me see.And there?")
    assert {result.text for result in second.previous_results} == {"sunny in Rome", "noon"}
    assert second.call.arguments == {"city": "Oslo"}


async def test_the_model_is_not_told_about_the_context() -> None:
    def f(city: str, context: ToolContext) -> str:
        return city

    _, _, bodies = await looped(Answer("x"), tools=(f,))
    assert list(bodies[0]["tools"][0]["function"]["parameters"]["properties"]) == ["city"]


async def test_what_was_said_before_the_calls_is_shown_before_they_run() -> None:
    order: list[str] = []

    async def hook(text: str) -> None:
        order.append(text)

    def weather(city: str) -> str:
        order.append(city)
        return city

    await looped(*TWO_ROUNDS, tools=(weather, now), on_pre_tool_content=hook)
    assert order == ["Let me see.", "Rome", "And there?", "Oslo"]


async def test_blank_text_is_not_shown() -> None:
    seen: list[str] = []
    await looped(Answer(Text("  "), ToolUse("now", {})), Answer("x"), on_pre_tool_content=seen.append)
    assert seen == []


@pytest.mark.parametrize(("answer", "words"), [(False, "not approved"), ("too far", "too far")])
async def test_a_call_can_be_refused(answer: Any, words: str) -> None:
    async def approve(call: sf.ToolCall) -> Any:
        return answer if call.name == "weather" else True

    events, _, _ = await looped(*TWO_ROUNDS, approve=approve)
    content, is_error = results(events)["weather"]
    assert is_error
    assert words in content
    assert results(events)["now"] == ("noon", False)


# -- early execution


async def test_a_tool_can_start_while_the_model_still_speaks() -> None:
    started = asyncio.Event()
    order: list[str] = []

    async def slow() -> str:
        order.append("run")
        started.set()
        return "ok"

    async def wait(_: float) -> None:
        await asyncio.wait_for(started.wait(), 5)

    from streamflow.testing import Pause

    script = (Answer(ToolUse("slow", {}), Pause(1), ToolUse("now", {})), Answer("Done."))
    async with FakeProvider(*script, sleep=wait) as fake, connect("anthropic", fake) as llm:
        async for event in tool_loop(llm, "?", [slow, now], execute="on_complete_args"):
            if isinstance(event, ToolCallsReady):
                order.append("ready")
    assert order == ["run", "ready"]


async def test_b8_a_cut_call_is_never_run() -> None:
    from streamflow.testing import Cut

    ran: list[str] = []

    def weather(city: str) -> str:
        ran.append(city)
        return city

    for execute in ("on_finish", "on_complete_args"):
        script = Answer(ToolUse("weather", '{"city": "Ro', complete=False), Cut())
        async with FakeProvider(script) as fake, connect("anthropic", fake) as llm:
            loop = tool_loop(llm, "?", [weather], execute=execute)
            with pytest.raises(sf.StreamTruncated) as caught:
                async for _ in loop:
                    pass
            assert caught.value.partial is not None
            assert not caught.value.partial.complete
            assert [message.role for message in loop.messages] == ["user"]
    assert ran == []


# -- by hand


async def test_the_pausing_variant_yields_calls_and_takes_results() -> None:
    async with FakeProvider(*TWO_ROUNDS) as fake, connect("anthropic", fake) as llm:
        loop = tool_loop(llm, "?", [weather, now], execute="manual")
        events = []
        async for event in loop:
            events.append(event)
            if isinstance(event, ToolCallsReady):
                given = {call.id: f"by hand {call.name}" for call in event.calls}
                loop.provide(given, ["Please hurry."] if len(given) == 2 else ())
        assert_grammar(events)
        assert results(events)["weather"] == ("by hand weather", False)
        roles = [message.role for message in loop.messages]
        assert roles == ["user", "assistant", "tool", "user", "assistant", "tool", "assistant"]
        VALIDATORS["anthropic"](fake.requests[2].body)


async def test_results_by_hand_must_fit_the_calls() -> None:
    async with FakeProvider(*TWO_ROUNDS) as fake, connect("openai", fake) as llm:
        loop = tool_loop(llm, "?", [weather, now], execute="manual")
        with pytest.raises(sf.UsageError, match="has not begun"):
            loop.provide({})
        async for event in loop:
            if isinstance(event, ToolCallsReady) and len(event.calls) == 2:
                with pytest.raises(sf.UsageError, match="no open call 'zzz'"):
                    loop.provide({"zzz": 1})
                with pytest.raises(sf.UsageError, match="2 calls wait"):
                    loop.provide(["one"])
                loop.provide(["one", "two"])
            elif isinstance(event, ToolCallsReady):
                loop.provide({})
        assert loop.messages[2].tool_results[1].text == "two"
        assert loop.messages[4].tool_results[0].text == "no result was given"


# -- cancelling


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
async def test_the_history_is_valid_when_cancelled_after_any_event(provider: str) -> None:
    async with FakeProvider(*TWO_ROUNDS) as fake, connect(provider, fake) as llm:
        whole = [event async for event in tool_loop(llm, "?", [weather, now])]
    for cut in range(1, len(whole)):
        async with FakeProvider(*TWO_ROUNDS) as fake, connect(provider, fake) as llm:
            loop = tool_loop(llm, "?", [weather, now])
            events: list[Any] = []
            async for event in loop:
                events.append(event)
                if len(events) == cut:
                    loop.cancel()
            assert_grammar(events)
            assert events[-1].stop_reason in ("cancelled", "end_turn")
            if events[-1].stop_reason == "cancelled":
                assert not any(call.runnable for call in events[-1].response.tool_calls)
            VALIDATORS[provider](sf.build_request(provider, [*loop.messages, "go on"], model="m").json)


async def test_b7_cancelling_inside_a_tool_ends_the_tool() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hangs() -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with FakeProvider(Answer(ToolUse("hangs", {})), Answer("x")) as fake, connect("openai", fake) as llm:
        loop = tool_loop(llm, "?", [hangs], tool_timeout_s=None)
        task = asyncio.create_task(_all(loop))
        await began.wait()
        loop.cancel()
        events = await asyncio.wait_for(task, 5)
        assert events[-1].stop_reason == "cancelled"
        await asyncio.wait_for(ended.wait(), 5)
        assert "may have run" in loop.messages[-1].tool_results[0].text


async def _all(loop: Any) -> list[Any]:
    return [event async for event in loop]


async def test_leaving_the_loop_ends_its_tools() -> None:
    ended = asyncio.Event()
    began = asyncio.Event()

    async def hangs() -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with FakeProvider(Answer(ToolUse("hangs", {})), Answer("x")) as fake, connect("openai", fake) as llm:
        task = asyncio.create_task(_all(tool_loop(llm, "?", [hangs], tool_timeout_s=None)))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ended.wait(), 5)


# -- tools that misbehave


def raises() -> str:
    raise ValueError("no such city, key sk-abcdefghijklmnop")


async def hangs() -> str:
    await asyncio.Event().wait()
    return "never"


def huge() -> str:
    return "x" * 100_000_000


def wrong_type() -> Any:
    return object()


def returns_bytes() -> bytes:
    return b"\xff\xfe\x00"


async def cancels() -> str:
    raise asyncio.CancelledError


def exits() -> str:
    raise SystemExit(3)


async def stops() -> str:
    raise StopIteration


def number(n: int) -> int:
    return n * 2


MISBEHAVING: list[tuple[Any, ToolUse, str]] = [
    (raises, ToolUse("raises", {}), "ValueError: no such city"),
    (hangs, ToolUse("hangs", {}), "no result within"),
    (huge, ToolUse("huge", {}), "100000000 bytes"),
    (wrong_type, ToolUse("wrong_type", {}), "neither text nor JSON"),
    (returns_bytes, ToolUse("returns_bytes", {}), "neither text nor JSON"),
    (cancels, ToolUse("cancels", {}), "cancelled"),
    (exits, ToolUse("exits", {}), "SystemExit"),
    (stops, ToolUse("stops", {}), "StopIteration"),
    (number, ToolUse("unknown", {}), "there is no tool 'unknown'; known: number"),
    (number, ToolUse("number", {"n": "many"}), "the arguments do not fit: n:"),
    (number, ToolUse("number", {"n": 1, "m": 2}), "m: Extra inputs are not permitted"),
    (number, ToolUse("number", {}), "n: Field required"),
    (number, ToolUse("number", '{"n": '), "the call was not run"),
    (number, ToolUse("number", "[1]"), "do not fit"),
]


@pytest.mark.parametrize(("tool", "use", "words"), MISBEHAVING, ids=[words for _, _, words in MISBEHAVING])
async def test_b7_whatever_a_tool_does_the_stream_goes_on(tool: Any, use: ToolUse, words: str) -> None:
    script = (Answer(use, ToolUse("now", {})), Answer("I see."))
    events, _, bodies = await looped(*script, tools=(tool, now), tool_timeout_s=0.2 if tool is hangs else 60)
    assert_grammar(events)
    assert events[-1].stop_reason == "end_turn"
    assert events[-1].response.text == "I see."
    content, is_error = results(events)[use.name]
    assert is_error
    assert words in content
    assert "sk-abcdefghijklmnop" not in content
    assert results(events)["now"] == ("noon", False)
    VALIDATORS["openai"](bodies[1])


async def test_a_tool_may_use_the_loop_itself() -> None:
    async with FakeProvider(
        Answer(ToolUse("ask", {"question": "deep?"})), Answer(ToolUse("now", {})), Answer("Noon."), Answer("Done.")
    ) as fake, connect("openai", fake) as llm:

        async def ask(question: str) -> str:
            return (await tool_loop(llm, question, [now]).collect()).text

        response = await tool_loop(llm, "?", [ask]).collect()
        assert response.text == "Done."
        assert [block.content for block in response.blocks if block.kind == "tool_result"] == ["Noon."]


async def test_tools_run_side_by_side_up_to_the_limit() -> None:
    running, most = 0, 0

    async def slow(n: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return n

    uses = [ToolUse("slow", {"n": n}) for n in range(6)]
    for limit in (1, 3, 6):
        most = 0
        await looped(Answer(*uses), Answer("x"), tools=(slow,), concurrency=limit)
        assert most == limit


async def test_a_sync_tool_never_blocks_the_event_loop() -> None:
    release = threading.Event()

    def blocks() -> str:
        assert release.wait(10)
        return "free"

    async with FakeProvider(Answer(ToolUse("blocks", {})), Answer("Done.")) as fake, connect("openai", fake) as llm:
        task = asyncio.create_task(_all(tool_loop(llm, "?", [blocks])))
        gaps: list[float] = []
        while len(fake.requests) < 1 or len(gaps) < 50:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            gaps.append(time.perf_counter() - before)
        release.set()
        events = await asyncio.wait_for(task, 10)
    assert results(events)["blocks"] == ("free", False)
    assert sorted(gaps)[len(gaps) // 2] < 0.05


async def test_other_streams_are_read_to_their_end_while_sync_tools_block() -> None:
    began, release = threading.Barrier(9), threading.Event()

    def blocks() -> str:
        began.wait(30)
        assert release.wait(60)
        return "free"

    script = (Answer(*[ToolUse("blocks", {}) for _ in range(8)]), Answer("Done."))
    async with (
        FakeProvider(*script) as fake,
        FakeProvider(*[Answer("one two three")] * 20) as other,
        connect("openai", fake) as llm,
        connect("anthropic", other) as second,
    ):
        task = asyncio.create_task(_all(tool_loop(llm, "?", [blocks])))
        await asyncio.to_thread(began.wait, 30)  # all eight are in their threads
        responses = await asyncio.gather(*(second.collect("hi") for _ in range(20)))
        assert not task.done()
        release.set()
        events = await asyncio.wait_for(task, 60)
    assert [response.text for response in responses] == ["one two three"] * 20
    assert len([event for event in events if isinstance(event, BlockComplete) and event.content == "free"]) == 8


async def test_many_hanging_threads_do_not_keep_others_from_running() -> None:
    release = threading.Event()

    def blocks() -> str:
        release.wait(20)
        return "late"

    def quick() -> str:
        return "quick"

    uses = [ToolUse("blocks", {}) for _ in range(40)]
    events, _, _ = await looped(
        Answer(*uses, ToolUse("quick", {})),
        Answer("x"),
        tools=(blocks, quick),
        tool_timeout_s=0.3,
        concurrency=50,
    )
    release.set()
    assert results(events)["quick"] == ("quick", False)
    assert results(events)["blocks"][1]


async def test_a_tool_may_return_pictures() -> None:
    def draw() -> Any:
        return [TextBlock(text="a cat"), ImageBlock(source=Base64Source(media_type="image/png", data="aGk="))]

    script = (Answer(ToolUse("draw", {})), Answer("Nice."))
    events, _, bodies = await looped(*script, tools=(draw,), provider="anthropic")
    assert results(events)["draw"] == ("a cat", False)
    assert bodies[1]["messages"][2]["content"][0]["content"][1]["source"]["data"] == "aGk="


async def test_models_and_schemas_are_tools_too() -> None:
    from pydantic import BaseModel

    class Add(BaseModel):
        """Add two numbers."""

        a: int
        b: int

        def run(self) -> int:
            return self.a + self.b

    parameters = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    mul = Tool({"name": "mul", "parameters": parameters}, lambda a, b=3: a * b)
    uses = (ToolUse("Add", {"a": 1, "b": 2}), ToolUse("mul", {"a": 2}), ToolUse("mul", {"a": "x"}, id="bad"))
    events, _, _ = await looped(Answer(*uses), Answer("x"), tools=(Add, mul))
    outcome = [(e.tool_name, e.content) for e in events if isinstance(e, BlockComplete) and e.kind == "tool_result"]
    assert ("Add", "3") in outcome
    assert ("mul", "6") in outcome
    assert ("mul", "the arguments do not fit: arguments.a is str; expected integer") in outcome


# -- wrong use


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"execute": "now"}, "on_finish, on_complete_args or manual"),
        ({"tool_timeout_s": 0}, "tool_timeout_s"),
        ({"concurrency": 0}, "concurrency"),
        ({"tools": [{"name": "f", "parameters": {"type": "object"}}]}, "nothing to run"),
        ({"tools": [now, now]}, "given twice"),
        ({"tools": "now"}, "must be a list"),
    ],
)
def test_wrong_use_is_said_when_the_loop_is_made(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.UsageError, match=words):
        tool_loop(None, "?", options.pop("tools", [now]), **options)


async def test_an_end_without_an_end_is_a_cut() -> None:
    class Odd:
        def stream(self, messages: Any, **options: Any) -> Any:
            return self

        def pipe(self, *operators: Any) -> Any:
            return self

        async def __aiter__(self) -> Any:
            yield BlockComplete(0, "text", "half")

    with pytest.raises(sf.StreamTruncated):
        await _all(tool_loop(Odd(), "?", [now]))


def test_the_end_is_one_event() -> None:
    assert StreamCompleted("round_limit").stop_reason == "round_limit"
