"""Every recorded stream of the shared corpus gives the known answer; skipped where the corpus is not at hand."""

import json
import random
from typing import Any

import pytest

import streamflow as sf
from tests.support import corpus

STREAMS = corpus.streams()
pytestmark = pytest.mark.skipif(not STREAMS, reason="the shared corpus is not beside the project")


def says(response: sf.Response) -> dict[str, Any]:
    return {
        "text": response.text,
        "reasoning": response.thinking,
        "refusal": response.refusal,
        "tool_calls": [
            {
                "id": call.id or None,
                "name": call.name,
                "arguments": call.raw if call.kind == "custom" else call.arguments,
            }
            for call in response.tool_calls
        ],
        "server_tools": [(tool.type, tool.id) for tool in response.server_tools if tool.type != "search_result"],
        "finish_reason": response.raw_stop_reason,
        "input_tokens": response.usage.input_tokens if response.usage else None,
        "output_tokens": response.usage.output_tokens if response.usage else None,
        "citations": len(response.citations),
        "images": len(response.images),
        "failed": response.error is not None,
    }


def _text(value: Any) -> str | None:
    # Groq numbers its tools; ids are text here. Its results come in the same object and are counted once there.
    return None if value is None else str(value)


def should_say(answer: dict[str, Any]) -> dict[str, Any]:
    finish = answer["finish_reason"]
    if finish == "incomplete" and answer.get("incomplete_reason"):
        finish = answer["incomplete_reason"]
    return {
        "text": answer["text"],
        "reasoning": answer["reasoning"],
        "refusal": answer["refusal"],
        "tool_calls": [
            {
                "id": call["id"],
                "name": call["name"],
                "arguments": call.get("arguments", call.get("arguments_raw", call.get("input"))),
            }
            for call in answer["tool_calls"]
        ],
        "server_tools": [(tool["type"], _text(tool["id"])) for tool in answer["server_tools"]],
        "finish_reason": finish,
        "input_tokens": answer["usage"]["input_tokens"],
        "output_tokens": answer["usage"]["output_tokens"],
        "citations": answer["citations"],
        "images": answer["images"],
        "failed": answer["error"] is not None,
    }


@pytest.mark.parametrize("row", STREAMS, ids=lambda row: row["key"])
def test_recorded_stream_gives_the_known_answer(row):
    response = sf.read(corpus.provider_name(row), corpus.wire(row))
    got, want = says(response), should_say(corpus.expected(row))
    if row["protocol"] == "openai_assistants":
        got["server_tools"] = []  # the corpus does not list the code interpreter of assistants
    assert got == want


@pytest.mark.parametrize("row", STREAMS, ids=lambda row: row["key"])
def test_cut_bytes_give_the_same_answer(row):
    wire = corpus.wire(row)
    rng = random.Random(row["key"])
    places = sorted(rng.randrange(len(wire)) for _ in range(40))
    pieces = [wire[start:end] for start, end in zip([0, *places], [*places, len(wire)], strict=True)]
    name = corpus.provider_name(row)
    assert sf.read(name, pieces) == sf.read(name, wire)


def test_error_of_a_recording_is_typed():
    rows = [row for row in STREAMS if corpus.expected(row)["error"]]
    assert rows
    for row in rows:
        error = sf.read(corpus.provider_name(row), corpus.wire(row)).error
        told = corpus.expected(row)["error"]
        assert isinstance(error, sf.ProviderError)
        assert told["message"] in error.message
        assert error.status == told["status_code"]
        json.dumps(error.message)
