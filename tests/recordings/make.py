"""Writes the recordings of this folder: one or more streams for every dialect, made up from the documented formats.

``python -m tests.recordings.make`` writes ``*.wire`` (the bytes) and ``*.events.jsonl`` (the golden events: look at the
difference before you commit it). The answers in `RECORDINGS` are written by hand.
"""

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent


class Recording(NamedTuple):
    """A stream: who speaks, the bytes, and by hand what they say."""

    name: str
    provider: str
    wire: bytes
    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    stop_reason: str | None = "end_turn"
    raw_stop_reason: str | None = None
    tokens: tuple[int | None, int | None] | None = None
    citations: int = 0
    images: int = 0
    server_tools: int = 0
    refusal: str = ""
    error: str | None = None
    whole: bool = False  # one JSON answer that was not streamed


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def sse(*payloads: Any, done: bool = False, newline: str = "\n") -> bytes:
    """Payloads as ``data:`` events, ``[DONE]`` after them where wanted."""
    lines = [f"data: {payload if isinstance(payload, str) else compact(payload)}" for payload in payloads]
    if done:
        lines.append("data: [DONE]")
    return "".join(line + newline * 2 for line in lines).encode()


def named(*payloads: dict[str, Any]) -> bytes:
    """Payloads as events whose name is the payload's type."""
    return "".join(f"event: {payload['type']}\ndata: {compact(payload)}\n\n" for payload in payloads).encode()


def lines(*payloads: Any) -> bytes:
    """Payloads as JSON lines."""
    return "".join(compact(payload) + "\n" for payload in payloads).encode()


def message(headers: dict[str, str], payload: bytes) -> bytes:
    """One message of the AWS event stream, with both checksums."""
    head = b"".join(
        struct.pack("!B", len(name)) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(head) + len(payload), len(head))
    body = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
    return body + struct.pack("!I", zlib.crc32(body))


def aws(*events: tuple[str, Any]) -> bytes:
    """Events of Bedrock: name and payload."""
    return b"".join(
        message(
            {":event-type": name, ":content-type": "application/json", ":message-type": "event"},
            compact(payload).encode(),
        )
        for name, payload in events
    )


def chat(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One chunk of the chat dialect."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "chat_1", "object": "chat.completion.chunk", "model": "demo", "choices": choices, **more}


CHAT = (
    Recording(
        "openai_text",
        "openai",
        sse(
            chat({"role": "assistant", "content": ""}),
            chat({"content": "Hello"}),
            chat({"content": ", wörld \u2028 \U0001f600"}),
            chat({}, "stop"),
            chat(usage={"prompt_tokens": 9, "completion_tokens": 4}),
            done=True,
        ),
        text="Hello, wörld \u2028 \U0001f600",
        raw_stop_reason="stop",
        tokens=(9, 4),
    ),
    Recording(
        "openai_crlf_comments",
        "openai",
        b": hello\r\n\r\n" + sse(chat({"content": "a"}), chat({"content": "b"}, "length"), done=True, newline="\r\n"),
        text="ab",
        stop_reason="max_tokens",
        raw_stop_reason="length",
    ),
    Recording(
        "openai_two_calls",
        "openai",
        sse(
            chat({"role": "assistant", "content": "Let me see."}),
            chat({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "weather"}}]}),
            chat({"tool_calls": [{"index": 1, "id": "call_b", "function": {"name": "time", "arguments": ""}}]}),
            chat({"tool_calls": [{"index": 0, "function": {"arguments": '{"city": "Ro'}}]}),
            chat({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}),
            chat({"tool_calls": [{"index": 0, "function": {"arguments": 'me"}'}}]}),
            chat({}, "tool_calls"),
            done=True,
        ),
        text="Let me see.",
        calls=(("weather", {"city": "Rome"}), ("time", {})),
        stop_reason="tool_use",
        raw_stop_reason="tool_calls",
    ),
    Recording(
        "openai_torn_surrogates",
        "openai",
        sse(
            '{"choices":[{"index":0,"delta":{"content":"smile \\ud83d"}}]}',
            '{"choices":[{"index":0,"delta":{"content":"\\ude00!"},"finish_reason":"stop"}]}',
            done=True,
        ),
        text="smile \U0001f600!",
        raw_stop_reason="stop",
    ),
    Recording(
        "openai_refusal",
        "openai",
        sse(chat({"refusal": "I cannot "}), chat({"refusal": "do that."}), chat({}, "stop"), done=True),
        refusal="I cannot do that.",
        stop_reason="refusal",
        raw_stop_reason="stop",
    ),
    Recording(
        "openai_whole",
        "openai",
        compact(
            {
                "id": "chat_2",
                "object": "chat.completion",
                "model": "demo",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "tool_calls",
                        "message": {
                            "role": "assistant",
                            "content": "Looking.",
                            "tool_calls": [
                                {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": '{"n":1}'}}
                            ],
                        },
                    }
                ],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2},
            }
        ).encode(),
        text="Looking.",
        calls=(("f", {"n": 1}),),
        stop_reason="tool_use",
        raw_stop_reason="tool_calls",
        tokens=(3, 2),
        whole=True,
    ),
    Recording(
        "completions_text",
        "openai-completions",
        sse(
            {"id": "cmpl_1", "choices": [{"index": 0, "text": "one ", "finish_reason": None}]},
            {"id": "cmpl_1", "choices": [{"index": 0, "text": "two", "finish_reason": "stop"}]},
            done=True,
        ),
        text="one two",
        raw_stop_reason="stop",
    ),
    Recording(
        "deepseek_reasoning",
        "deepseek",
        sse(
            chat({"reasoning_content": "Count: "}),
            chat({"reasoning_content": "2+2."}),
            chat({"content": "Four."}),
            chat({}, "stop", usage={"prompt_tokens": 5, "completion_tokens": 8}),
            done=True,
        ),
        text="Four.",
        thinking="Count: 2+2.",
        raw_stop_reason="stop",
        tokens=(5, 8),
    ),
    Recording(
        "mistral_thinking_list",
        "mistral",
        sse(
            chat({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
            chat({"content": [{"type": "text", "text": "Yes."}]}),
            chat({"content": ""}, "stop"),
            done=True,
        ),
        text="Yes.",
        thinking="hm",
        raw_stop_reason="stop",
    ),
    Recording(
        "groq_usage_and_error",
        "groq",
        sse(
            chat({"content": "So far"}),
            {"error": {"message": "over capacity", "type": "server_error", "status_code": 503}},
        ),
        text="So far",
        stop_reason=None,
        error="ProviderError",
    ),
    Recording(
        "openrouter_annotations",
        "openrouter",
        b": OPENROUTER PROCESSING\n\n"
        + sse(
            chat({"content": "See this."}),
            chat(
                {
                    "annotations": [
                        {"type": "url_citation", "url_citation": {"url": "https://example.org/a", "title": "A"}}
                    ]
                }
            ),
            chat({"reasoning_details": [{"type": "reasoning.text", "text": "why", "signature": "c2ln"}]}),
            chat({}, "stop"),
            done=True,
        ),
        text="See this.",
        thinking="why",
        citations=1,
        raw_stop_reason="stop",
    ),
    Recording(
        "perplexity_citations",
        "perplexity",
        sse(
            chat({"content": "a"}, citations=["https://example.org/1", "https://example.org/2"]),
            chat({"content": "b"}, "stop", citations=["https://example.org/1", "https://example.org/2"]),
            done=True,
        ),
        text="ab",
        citations=2,
        raw_stop_reason="stop",
    ),
    Recording(
        "openrouter_image",
        "openrouter",
        sse(
            chat({"content": "Here."}),
            chat({"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}),
            chat({}, "stop"),
            done=True,
        ),
        text="Here.",
        images=1,
        raw_stop_reason="stop",
    ),
    Recording(
        "writer_usage_end",
        "writer",
        sse(chat({"content": "done"}), chat({}, "stop"), chat(usage={"prompt_tokens": 1, "completion_tokens": 1})),
        text="done",
        raw_stop_reason="stop",
        tokens=(1, 1),
    ),
    Recording(
        "snowflake_done_only",
        "snowflake",
        sse(chat({"content": "cold "}), chat({"content": "snow"}), done=True),
        text="cold snow",
    ),
    Recording(
        "compatible_finish_only",
        "openai-compatible",
        sse(chat({"content": "local"}), chat({}, "stop")),
        text="local",
        raw_stop_reason="stop",
    ),
)


def anthropic(*inner: dict[str, Any], stop: str = "end_turn") -> bytes:
    """A message around its blocks."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "demo", "content": []}
    return named(
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 7, "output_tokens": 1}}},
        {"type": "ping"},
        *inner,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    )


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one of Anthropic's blocks."""
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


ANTHROPIC = (
    Recording(
        "anthropic_thinking_tool",
        "anthropic",
        anthropic(
            *block(
                0,
                {"type": "thinking", "thinking": ""},
                {"type": "thinking_delta", "thinking": "I need "},
                {"type": "thinking_delta", "thinking": "the tool."},
                {"type": "signature_delta", "signature": "c2lnbmF0dXJl"},
            ),
            *block(1, {"type": "redacted_thinking", "data": "aGlkZGVu"}),
            *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "One moment."}),
            *block(
                3,
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
                {"type": "input_json_delta", "partial_json": ""},
                {"type": "input_json_delta", "partial_json": '{"city": "Ro'},
                {"type": "input_json_delta", "partial_json": 'me"}'},
            ),
            stop="tool_use",
        ),
        text="One moment.",
        thinking="I need the tool.",
        calls=(("weather", {"city": "Rome"}),),
        stop_reason="tool_use",
        raw_stop_reason="tool_use",
        tokens=(7, 12),
    ),
    Recording(
        "anthropic_web_search",
        "anthropic",
        anthropic(
            *block(
                0,
                {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"query": "rain"}'},
            ),
            *block(
                1,
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srv_1",
                    "content": [{"type": "web_search_result", "url": "https://example.org", "title": "Rain"}],
                },
            ),
            *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "It "}),
            *block(
                3,
                {"type": "text", "text": "", "citations": []},
                {"type": "text_delta", "text": "rains"},
                {
                    "type": "citations_delta",
                    "citation": {"type": "web_search_result_location", "url": "https://example.org", "title": "Rain"},
                },
            ),
            *block(4, {"type": "text", "text": ""}, {"type": "text_delta", "text": "."}),
        ),
        text="It rains.",
        citations=1,
        server_tools=2,  # the call and its result
        raw_stop_reason="end_turn",
        tokens=(7, 12),
    ),
    Recording(
        "anthropic_error",
        "anthropic",
        named(
            {"type": "message_start", "message": {"id": "msg_2", "model": "demo", "content": [], "usage": {}}},
            *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Before"})[:2],
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        text="Before",
        stop_reason=None,
        error="ProviderError",
    ),
    Recording(
        "anthropic_whole",
        "anthropic",
        compact(
            {
                "id": "msg_3",
                "type": "message",
                "role": "assistant",
                "model": "demo",
                "content": [
                    {"type": "thinking", "thinking": "short", "signature": "cw=="},
                    {"type": "text", "text": "Answer."},
                    {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"n": 1}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 2, "output_tokens": 3},
            }
        ).encode(),
        text="Answer.",
        thinking="short",
        calls=(("f", {"n": 1}),),
        stop_reason="tool_use",
        raw_stop_reason="tool_use",
        tokens=(2, 3),
        whole=True,
    ),
)


def item_events(index: int, item: dict[str, Any], *inner: dict[str, Any], **final: Any) -> list[dict[str, Any]]:
    """The events of one output item of the Responses API."""
    place = {"output_index": index, "item_id": item["id"]}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": item},
        *({**place, **event} for event in inner),
        {"type": "response.output_item.done", "output_index": index, "item": {**item, **final}},
    ]


def responses(*inner: dict[str, Any], last: str = "response.completed", **facts: Any) -> bytes:
    """A response around its items."""
    response = {"id": "resp_1", "object": "response", "model": "demo", "status": "in_progress", "output": []}
    return named(
        {"type": "response.created", "response": response},
        *inner,
        {"type": last, "response": {**response, "usage": {"input_tokens": 4, "output_tokens": 6}, **facts}},
    )


TEXT_ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
RESPONSES = (
    Recording(
        "responses_reasoning_call",
        "openai-responses",
        responses(
            *item_events(
                0,
                {"id": "rs_1", "type": "reasoning", "summary": []},
                {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": "Think "},
                {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": "first."},
                summary=[{"type": "summary_text", "text": "Think first."}],
                encrypted_content="ZW5j",
            ),
            *item_events(
                1,
                TEXT_ITEM,
                {"type": "response.output_text.delta", "content_index": 0, "delta": "I will "},
                {"type": "response.output_text.delta", "content_index": 0, "delta": "look."},
                {"type": "response.output_text.done", "content_index": 0, "text": "I will look."},
                content=[{"type": "output_text", "text": "I will look.", "annotations": []}],
            ),
            *item_events(
                2,
                {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "weather", "arguments": ""},
                {"type": "response.function_call_arguments.delta", "delta": '{"city":'},
                {"type": "response.function_call_arguments.delta", "delta": '"Rome"}'},
                {"type": "response.function_call_arguments.done", "arguments": '{"city":"Rome"}'},
                arguments='{"city":"Rome"}',
            ),
            status="completed",
        ),
        text="I will look.",
        thinking="Think first.",
        calls=(("weather", {"city": "Rome"}),),
        stop_reason="tool_use",
        raw_stop_reason="completed",
        tokens=(4, 6),
    ),
    Recording(
        "responses_incomplete",
        "openai-responses",
        responses(
            *item_events(
                0,
                TEXT_ITEM,
                {"type": "response.output_text.delta", "content_index": 0, "delta": "Too long"},
                content=[{"type": "output_text", "text": "Too long", "annotations": []}],
            ),
            last="response.incomplete",
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        text="Too long",
        stop_reason="max_tokens",
        raw_stop_reason="max_output_tokens",
        tokens=(4, 6),
    ),
    Recording(
        "responses_failed",
        "openai-responses",
        responses(
            {"type": "response.output_item.added", "output_index": 0, "item": TEXT_ITEM},
            {"type": "response.output_text.delta", "item_id": "msg_1", "content_index": 0, "delta": "Oh"},
            last="response.failed",
            status="failed",
            error={"code": "server_error", "message": "broken"},
        ),
        text="Oh",
        stop_reason=None,
        tokens=(4, 6),
        error="ProviderError",
    ),
)

ASSISTANTS = (
    Recording(
        "assistants_text",
        "openai-assistants",
        b"".join(
            f"event: {name}\ndata: {data if isinstance(data, str) else compact(data)}\n\n".encode()
            for name, data in (
                ("thread.run.created", {"id": "run_1", "object": "thread.run", "model": "demo", "status": "queued"}),
                ("thread.message.created", {"id": "msg_1", "object": "thread.message", "content": []}),
                (
                    "thread.message.delta",
                    {"id": "msg_1", "delta": {"content": [{"index": 0, "type": "text", "text": {"value": "Good "}}]}},
                ),
                (
                    "thread.message.delta",
                    {"id": "msg_1", "delta": {"content": [{"index": 0, "type": "text", "text": {"value": "day."}}]}},
                ),
                ("thread.message.completed", {"id": "msg_1", "object": "thread.message", "content": []}),
                (
                    "thread.run.completed",
                    {
                        "id": "run_1",
                        "object": "thread.run",
                        "status": "completed",
                        "usage": {"prompt_tokens": 11, "completion_tokens": 3},
                    },
                ),
                ("done", "[DONE]"),
            )
        ),
        text="Good day.",
        raw_stop_reason="completed",
        tokens=(11, 3),
    ),
)


def gemini(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One answer object of Gemini."""
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "demo", "responseId": "r1", **more}


GEMINI_ANSWERS = (
    gemini({"text": "Let me think.", "thought": True}),
    gemini({"text": "Rome "}),
    gemini({"text": "is sunny."}),
    gemini(
        {"functionCall": {"name": "weather", "args": {"city": "Rome"}}, "thoughtSignature": "c2ln"},
        finish="STOP",
        usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 9, "thoughtsTokenCount": 2},
    ),
)
GEMINI_SAYS: dict[str, Any] = {
    "text": "Rome is sunny.",
    "thinking": "Let me think.",
    "calls": (("weather", {"city": "Rome"}),),
    "stop_reason": "tool_use",
    "raw_stop_reason": "STOP",
    "tokens": (5, 9),
}
GOOGLE = (
    Recording("gemini_sse", "gemini", sse(*GEMINI_ANSWERS, newline="\r\n"), **GEMINI_SAYS),
    Recording("gemini_array", "gemini", json.dumps(GEMINI_ANSWERS, indent=2).encode(), **GEMINI_SAYS),
    Recording(
        "vertex_grounding",
        "vertex",
        sse(
            gemini({"text": "It rains."}),
            {
                "candidates": [
                    {
                        "content": {"parts": [{"text": ""}], "role": "model"},
                        "finishReason": "STOP",
                        "groundingMetadata": {
                            "groundingChunks": [{"web": {"uri": "https://example.org", "title": "Rain"}}],
                            "groundingSupports": [
                                {"segment": {"startIndex": 0, "endIndex": 9}, "groundingChunkIndices": [0]}
                            ],
                        },
                    }
                ],
                "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 3},
            },
        ),
        text="It rains.",
        citations=1,
        raw_stop_reason="STOP",
        tokens=(2, 3),
    ),
)



def interaction(*events: dict[str, Any]) -> bytes:
    """Events of Google's Interactions, each under its name."""
    return "".join(f"event: {event['event_type']}\ndata: {compact(event)}\n\n" for event in events).encode()


GOOGLE += (
    Recording(
        "interactions_steps",
        "google-interactions",
        interaction(
            {"event_type": "interaction.created", "interaction": {"id": "i1", "model": "demo"}},
            {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
            {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_signature", "signature": "c2ln"}},
            {"event_type": "step.stop", "index": 0},
            {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
            {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "Step "}},
            {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "by step."}},
            {"event_type": "step.stop", "index": 1},
            {
                "event_type": "interaction.completed",
                "interaction": {
                    "id": "i1",
                    "model": "demo",
                    "status": "completed",
                    "usage": {"total_input_tokens": 8, "total_output_tokens": 3},
                },
            },
        ),
        text="Step by step.",
        raw_stop_reason="completed",
        tokens=(8, 3),
    ),
)

BEDROCK = (
    Recording(
        "bedrock_converse",
        "bedrock",
        aws(
            ("messageStart", {"role": "assistant"}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm."}}}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}}),
            ("contentBlockStop", {"contentBlockIndex": 0}),
            ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "Hel"}}),
            ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "lo"}}),
            ("contentBlockStop", {"contentBlockIndex": 1}),
            (
                "contentBlockStart",
                {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "weather"}}},
            ),
            ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"city":"Ro'}}}),
            ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": 'me"}'}}}),
            ("contentBlockStop", {"contentBlockIndex": 2}),
            ("messageStop", {"stopReason": "tool_use"}),
            ("metadata", {"usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}}),
        ),
        text="Hello",
        thinking="Hm.",
        calls=(("weather", {"city": "Rome"}),),
        stop_reason="tool_use",
        raw_stop_reason="tool_use",
        tokens=(3, 5),
    ),
    Recording(
        "bedrock_invoke",
        "bedrock",
        b"".join(
            aws(("chunk", {"bytes": base64.b64encode(compact(payload).encode()).decode(), "p": "abc"}))
            for payload in (
                {"type": "message_start", "message": {"id": "msg_1", "model": "demo", "content": [], "usage": {}}},
                *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Inside"}),
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
                {"type": "message_stop"},
            )
        ),
        text="Inside",
        raw_stop_reason="end_turn",
        tokens=(None, 2),
    ),
    Recording(
        "bedrock_exception",
        "bedrock",
        aws(
            ("messageStart", {"role": "assistant"}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Part"}}),
        )
        + message(
            {":exception-type": "throttlingException", ":message-type": "exception"},
            b'{"message":"Too many requests"}',
        ),
        text="Part",
        stop_reason=None,
        error="ProviderError",
    ),
)

OTHERS = (
    Recording(
        "cohere_tool_plan",
        "cohere",
        named(
            {"type": "message-start", "id": "m1", "delta": {"message": {"role": "assistant"}}},
            {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will look."}}},
            {
                "type": "tool-call-start",
                "index": 0,
                "delta": {
                    "message": {
                        "tool_calls": {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": ""}}
                    }
                },
            },
            {
                "type": "tool-call-delta",
                "index": 0,
                "delta": {"message": {"tool_calls": {"function": {"arguments": '{"city":"Rome"}'}}}},
            },
            {"type": "tool-call-end", "index": 0},
            {
                "type": "message-end",
                "delta": {
                    "finish_reason": "TOOL_CALL",
                    "usage": {"tokens": {"input_tokens": 10, "output_tokens": 4}},
                },
            },
        ),
        thinking="I will look.",
        calls=(("weather", {"city": "Rome"}),),
        stop_reason="tool_use",
        raw_stop_reason="TOOL_CALL",
        tokens=(10, 4),
    ),
    Recording(
        "ollama_thinking",
        "ollama",
        lines(
            {"model": "demo", "message": {"role": "assistant", "content": "", "thinking": "Well"}, "done": False},
            {"model": "demo", "message": {"role": "assistant", "content": "Hi "}, "done": False},
            {"model": "demo", "message": {"role": "assistant", "content": "you"}, "done": False},
            {
                "model": "demo",
                "message": {"role": "assistant", "content": ""},
                "done": True,
                "done_reason": "stop",
                "prompt_eval_count": 6,
                "eval_count": 2,
            },
        ),
        text="Hi you",
        thinking="Well",
        raw_stop_reason="stop",
        tokens=(6, 2),
    ),
    Recording(
        "watsonx_text",
        "watsonx",
        sse(
            {"results": [{"generated_text": "one ", "input_token_count": 3, "stop_reason": "NOT_FINISHED"}]},
            {"results": [{"generated_text": "two", "generated_token_count": 2, "stop_reason": "eos_token"}]},
        ),
        text="one two",
        raw_stop_reason="eos_token",
        tokens=(3, 2),
    ),
)

RECORDINGS: tuple[Recording, ...] = (*CHAT, *ANTHROPIC, *RESPONSES, *ASSISTANTS, *GOOGLE, *BEDROCK, *OTHERS)


def write() -> None:
    """Write all files of this folder."""
    import streamflow as sf

    for old in (*HERE.glob("*.wire"), *HERE.glob("*.events.jsonl")):
        old.unlink()
    for recording in RECORDINGS:
        (HERE / f"{recording.name}.wire").write_bytes(recording.wire)
        events = sf.decode(recording.provider, recording.wire)
        (HERE / f"{recording.name}.events.jsonl").write_bytes(b"".join(sf.to_json(event) + b"\n" for event in events))


if __name__ == "__main__":
    write()
