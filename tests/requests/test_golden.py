"""The whole body of one conversation for every provider, as it was read and found right.

After a change that is meant: ``python -m tests.requests.test_golden`` writes the file anew; read the difference.
"""

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import streamflow as sf
from streamflow.requests import ENDPOINTS, Request
from streamflow.testing import FakeProvider

GOLDEN = Path(__file__).with_name("golden.json")
PLACES = {"region": "eu-west-1", "project": "p", "location": "us-central1", "account": "acme"}


WEATHER = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def request(provider: str) -> dict[str, Any]:
    row = ENDPOINTS[provider]
    made = build(provider, None if row.base_url else "https://example.org/v1")
    return {"url": made.url, "headers": made.headers, "body": made.json}


def build(provider: str, base_url: str | None) -> Request:
    row = ENDPOINTS[provider]
    has_calls = row.tools and provider != "openai-assistants"
    picture = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]
    called = {"type": "tool_call", "id": "D681PevKs", "name": "weather", "input": {"city": "Rome"}}
    messages = [
        sf.Message.system("Be brief."),
        sf.Message.user(["How is it here?", *(picture if row.images else [])], participant="Ada"),
        sf.Message.assistant(["Let me see.", *([called] if has_calls else [])], provider=provider),
        *([sf.Message.tool_result("D681PevKs", "sunny")] if has_calls else []),
        "And tomorrow?",
    ]
    return sf.build_request(
        provider,
        messages,
        model="m",
        tools=[WEATHER] if row.tools else (),
        base_url=base_url,
        max_tokens=100,
        temperature=0.5,
        **{name: value for name, value in PLACES.items() if name in row.place_env},
    )


@pytest.mark.parametrize("provider", ENDPOINTS)
def test_the_body_is_the_golden_one(provider: str) -> None:
    assert request(provider) == json.loads(GOLDEN.read_text())[provider]


def test_there_is_one_for_every_provider() -> None:
    assert list(json.loads(GOLDEN.read_text())) == list(ENDPOINTS)


@pytest.mark.parametrize("provider", ENDPOINTS)
async def test_the_simulator_accepts_it(provider: str) -> None:
    async with FakeProvider() as fake, aiohttp.ClientSession() as session:
        made = build(provider, fake.base_url(provider))
        async with session.post(made.url, data=made.body, headers=made.headers) as answer:
            wire = await answer.read()
    assert answer.status == 200, wire
    assert sf.read(provider, wire).complete


if __name__ == "__main__":
    golden = {provider: request(provider) for provider in ENDPOINTS}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(made)}" for name, made in golden.items())
    GOLDEN.write_text("{\n" + lines + "\n}\n")
