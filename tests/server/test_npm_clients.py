"""Clients from npm, unchanged: Vercel's `ai`, AG-UI's own, OpenAI's for Node."""

import pytest

from streamflow.testing import Answer, Cite, Stall, Text, ToolUse
from streamflow.testing.simulator import BEFORE_ERROR, CANNED, CLOSING
from tests.server.node_clients import run_node
from tests.server.serving import serving, until

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS = " ".join(f"{NUMBERS[number % 10]}{number}" for number in range(120))


@pytest.fixture
async def served():
    async with serving() as running:
        yield running


def parts(result, kind):
    return [part for part in result["messages"][-1]["parts"] if part["type"] == kind]


class TestVercel:
    async def test_text(self, served):
        result = await run_node("vercel.mjs", served.root, "chat-1", "send", "hello", "and again")
        assert (result["status"], result["error"], result["text"]) == ("ready", None, CANNED)
        assert [finish["finishReason"] for finish in result["finishes"]] == ["stop", "stop"]
        assert [message["role"] for message in result["messages"]] == ["user", "assistant"] * 2
        assert result["messages"][-1]["metadata"]["usage"]["output_tokens"] > 0
        assert {part["state"] for part in parts(result, "text")} == {"done"}
        sent = served.fake.requests[-1].body["messages"]
        assert [message["role"] for message in sent] == ["user", "assistant", "user"]

    async def test_thinking(self, served):
        result = await run_node("vercel.mjs", served.root, "chat-1", "send", "sim:think Let me see. | Yes.")
        assert [part["text"] for part in parts(result, "reasoning")] == ["Let me see."]
        assert result["text"] == "Yes."

    async def test_a_tool_of_the_client(self, served):
        result = await run_node("vercel.mjs", served.root, "chat-1", "tool", 'sim:tool weather {"city": "Rome"}')
        assert (result["status"], result["error"], result["text"]) == ("ready", None, CLOSING)
        (call,) = parts(result, "tool-weather")
        assert (call["state"], call["input"], call["output"]) == ("output-available", {"city": "Rome"}, {"sky": "blue"})
        assert [finish["finishReason"] for finish in result["finishes"]] == ["tool-calls", "stop"]

    async def test_a_broken_call_is_not_run(self):
        async with serving(Answer(ToolUse("weather", "{oops"))) as served:
            result = await run_node("vercel.mjs", served.root, "chat-1", "send", "hello")
            (call,) = parts(result, "tool-weather")
            assert call["state"] == "output-error"

    async def test_sources(self):
        answer = Answer(Text("So it is."), Cite("https://example.org/a", "A", "So it is."))
        async with serving(answer, provider="anthropic") as served:
            result = await run_node("vercel.mjs", served.root, "chat-1", "send", "hello")
            assert [part["url"] for part in parts(result, "source-url")] == ["https://example.org/a"]

    async def test_an_error_in_mid_answer(self, served):
        result = await run_node("vercel.mjs", served.root, "chat-1", "send", "sim:error-event")
        assert (result["status"], result["text"]) == ("error", BEFORE_ERROR)
        assert result["error"]
        assert result["finishes"][0]["isError"] is True

    async def test_a_refusal_of_the_provider(self, served):
        result = await run_node("vercel.mjs", served.root, "chat-1", "send", "sim:error 401")
        assert result["status"] == "error"
        assert "canary" not in str(result)

    async def test_stop(self):
        async with serving(Answer(Text("Hello "), Stall())) as served:
            result = await run_node("vercel.mjs", served.root, "chat-1", "stop", "go on")
            assert (result["status"], result["stopStatus"], result["text"]) == ("ready", 204, "Hello ")
            await until(lambda: served.fake.open_connections == 0)

    async def test_resume_in_mid_answer(self, served):
        result = await run_node("vercel.mjs", served.root, "chat-1", "resume", "sim:long 120 5")
        assert (result["status"], result["error"], result["text"]) == ("ready", None, WORDS)
        assert 20 < len(result["before"]) < len(WORDS)
        assert len(served.fake.requests) == 1

    async def test_nothing_to_resume(self, served):
        result = await run_node("vercel.mjs", served.root, "chat-1", "nothing")
        assert (result["status"], result["error"], result["messages"]) == ("ready", None, [])

    async def test_a_chat_belongs_to_its_owner(self):
        tokens = {"token-of-ada": "ada", "token-of-bob": "bob"}
        async with serving(Answer(Text("Hello "), Stall()), tokens=tokens) as served:
            body = {"id": "c", "messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]}
            ada, bob = ({"authorization": f"Bearer token-of-{name}"} for name in ("ada", "bob"))
            answer = await served.session.post(f"{served.root}/api/chat", json=body, headers=ada)
            assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
            async with served.session.get(f"{served.root}/api/chat/c/stream", headers=bob) as response:
                assert response.status == 204
            async with served.session.delete(f"{served.root}/api/chat/c", headers=bob) as response:
                assert response.status == 204
            async with served.session.get(f"{served.root}/api/chat/c/stream", headers=ada) as response:
                assert response.status == 200
            answer.close()


class TestAgUi:
    async def test_text(self, served):
        result = await run_node("agui.mjs", served.root, "text", "hello")
        assert result["error"] is None
        assert result["messages"][-1]["content"] == CANNED
        assert (result["types"][0], result["types"][-1]) == ("RUN_STARTED", "RUN_FINISHED")

    async def test_thinking(self, served):
        result = await run_node("agui.mjs", served.root, "text", "sim:think Let me see. | Yes.")
        assert result["error"] is None
        assert [(message["role"], message["content"]) for message in result["messages"][1:]] == [
            ("reasoning", "Let me see."),
            ("assistant", "Yes."),
        ]

    async def test_a_tool_call_and_its_result(self, served):
        result = await run_node("agui.mjs", served.root, "tool", 'sim:tool weather {"city": "Rome"}')
        assert result["error"] is None
        (call,) = [call for message in result["messages"] for call in message.get("toolCalls", ())]
        assert call["function"] == {"name": "weather", "arguments": '{"city":"Rome"}'}
        assert result["messages"][-1]["content"] == CLOSING

    @pytest.mark.parametrize("text", ["sim:error-event", "sim:error 429"])
    async def test_an_error(self, served, text):
        result = await run_node("agui.mjs", served.root, "text", text)
        assert result["types"][-1] == "RUN_ERROR"
        assert "RUN_FINISHED" not in result["types"]

    async def test_stop(self):
        async with serving(Answer(Text("Hello "), Stall())) as served:
            result = await run_node("agui.mjs", served.root, "stop", "go on")
            assert "RUN_FINISHED" not in result["types"]
            await until(lambda: served.fake.open_connections == 0)


class TestOpenAiOnNode:
    @pytest.mark.parametrize("scenario", ["text", "whole"])
    async def test_text(self, served, scenario):
        result = await run_node("openai.mjs", served.root, scenario, "hello")
        assert (result["error"], result["text"]) == (None, CANNED)
        assert result["completion"]["choices"][0]["message"]["content"] == CANNED
        assert result["completion"]["usage"]["completion_tokens"] > 0

    async def test_thinking(self, served):
        result = await run_node("openai.mjs", served.root, "text", "sim:think Let me see. | Yes.")
        assert (result["thinking"], result["text"]) == ("Let me see.", "Yes.")

    async def test_a_tool_call(self, served):
        result = await run_node("openai.mjs", served.root, "text", 'sim:tool weather {"city": "Rome"}')
        choice = result["completion"]["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["tool_calls"][0]["function"]["name"] == "weather"

    async def test_errors(self, served):
        result = await run_node("openai.mjs", served.root, "text", "sim:error 429")
        assert (result["error"], result["status"]) == ("RateLimitError", 429)
        result = await run_node("openai.mjs", served.root, "text", "sim:error-event")
        assert (result["error"], result["text"]) == ("APIError", BEFORE_ERROR)

    async def test_stop(self):
        async with serving(Answer(Text("Hello "), Stall())) as served:
            result = await run_node("openai.mjs", served.root, "stop", "go on")
            assert result["error"] == "APIUserAbortError"
            await until(lambda: served.fake.open_connections == 0)
