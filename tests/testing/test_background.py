"""FakeProvider for programs that are not asynchronous; botocore and the synchronous SDKs as judges."""

import json
import threading

import anthropic
import botocore.config
import botocore.session
import openai
import pytest
from botocore.exceptions import ClientError, EventStreamError

from streamflow.testing import Answer, FakeProvider, Thinking, ToolUse
from streamflow.testing.simulator import CANNED


@pytest.fixture
def fake():
    threads = threading.active_count()
    with FakeProvider() as running:
        yield running
    assert threading.active_count() == threads


def test_synchronous_sdks(fake):
    with openai.OpenAI(api_key="none", base_url=fake.root + "/v1") as client:
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "sim:text Hi"}])
        assert answer.choices[0].message.content == "Hi"
    with anthropic.Anthropic(api_key="none", base_url=fake.root) as client:
        asked = [{"role": "user", "content": "hello"}]
        with client.messages.stream(model="m", max_tokens=9, messages=asked) as stream:
            assert "".join(stream.text_stream) == CANNED


def test_a_taken_port_leaves_no_thread(fake):
    threads = threading.active_count()
    with pytest.raises(OSError, match="in use"), FakeProvider(port=int(fake.root.rpartition(":")[2])):
        pass
    assert threading.active_count() == threads


@pytest.fixture
def bedrock(fake):
    client = botocore.session.get_session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=fake.root,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=botocore.config.Config(retries={"total_max_attempts": 2, "mode": "standard"}),
    )
    yield client
    client.close()


def _asked(text):
    return {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": text}]}]}


def _events(client, text):
    stream = client.converse_stream(**_asked(text))["stream"]
    try:
        return list(stream)
    finally:
        stream.close()


def _deltas(events):
    return [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]


def test_botocore_reads_text(bedrock):
    events = _events(bedrock, "sim:think Hm, so | Grüß Gott")
    deltas = _deltas(events)
    assert "".join(delta.get("text", "") for delta in deltas) == "Grüß Gott"
    thoughts = [delta["reasoningContent"] for delta in deltas if "reasoningContent" in delta]
    assert "".join(thought.get("text", "") for thought in thoughts) == "Hm, so"
    assert thoughts[-1]["signature"]
    assert [*events[-2], *events[-1]] == ["messageStop", "metadata"]
    assert events[-1]["metadata"]["usage"]["totalTokens"] > 0


def test_botocore_reads_a_tool_call_and_a_whole_answer(bedrock):
    events = _events(bedrock, 'sim:tool weather {"city": "Köln"}')
    assert "".join(delta["toolUse"]["input"] for delta in _deltas(events)) == '{"city":"Köln"}'
    start = next(event["contentBlockStart"]["start"]["toolUse"] for event in events if "contentBlockStart" in event)
    assert start["name"] == "weather"
    answer = bedrock.converse(**_asked('sim:tool weather {"city": "Köln"}'))
    (block,) = answer["output"]["message"]["content"]
    assert (block["toolUse"]["input"], answer["stopReason"]) == ({"city": "Köln"}, "tool_use")


def test_botocore_invokes_a_model(bedrock):
    asked = {"messages": [{"role": "user", "content": "sim:text Hi there"}], "max_tokens": 9}
    model = {"modelId": "anthropic.claude", "body": json.dumps(asked)}
    chunks = [
        json.loads(event["chunk"]["bytes"]) for event in bedrock.invoke_model_with_response_stream(**model)["body"]
    ]
    assert "".join(chunk["delta"].get("text", "") for chunk in chunks if "delta" in chunk) == "Hi there"
    assert chunks[-1]["amazon-bedrock-invocationMetrics"]["outputTokenCount"] == 2
    whole = json.loads(bedrock.invoke_model(**model)["body"].read())
    assert whole["content"] == [{"type": "text", "text": "Hi there"}]


def test_botocore_reads_errors(bedrock):
    with pytest.raises(ClientError) as caught:
        bedrock.converse(**_asked("sim:error 400"))
    assert caught.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(EventStreamError, match="serviceUnavailableException"):
        _events(bedrock, "sim:error-event")


def test_parts_of_every_kind_through_botocore():
    answer = Answer(Thinking("x", redacted="aGk="), "a", ToolUse("f", {}), ToolUse("g", {"b": 1}))
    with FakeProvider(answer) as fake:
        client = botocore.session.get_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=fake.root,
            aws_access_key_id="none",
            aws_secret_access_key="none",
        )
        events = _events(client, "hi")
        client.close()
    assert [event["contentBlockStop"]["contentBlockIndex"] for event in events if "contentBlockStop" in event] == [
        0,
        1,
        2,
        3,
    ]
    redacted = [
        delta["reasoningContent"].get("redactedContent") for delta in _deltas(events) if "reasoningContent" in delta
    ]
    assert redacted == [None, b"hi"]
