"""The peers, each as a function from reads to text. Heavy ones are imported when they are asked for."""

import asyncio
import importlib.util
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import httpx2
import httpx_sse

Reads = list[bytes]
Contender = Callable[[Reads], str]
_HEADERS = {"content-type": "text/event-stream"}
_MESSAGES: Any = [{"role": "user", "content": "hi"}]


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reads)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read


class _Body2(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reads)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read


def _answer2(reads: Reads) -> httpx2.MockTransport:
    return httpx2.MockTransport(lambda request: httpx2.Response(200, headers=_HEADERS, stream=_Body2(reads)))


def _answer(reads: Reads) -> httpx.MockTransport:
    return httpx.MockTransport(lambda request: httpx.Response(200, headers=_HEADERS, stream=_Body(reads)))


def httpx_sse_decode(reads: Reads) -> str:
    """Framing only."""
    response = httpx.Response(200, headers=_HEADERS, stream=_Body(reads))
    for event in httpx_sse.EventSource(response).iter_sse():
        assert event.data
    return ""


# -- openai's wire


def openai_sdk(reads: Reads) -> str:
    """The raw stream of the SDK."""
    import openai

    client = openai.OpenAI(api_key="bench", http_client=httpx2.Client(transport=_answer2(reads)), max_retries=0)
    stream = client.chat.completions.create(model="bench", messages=_MESSAGES, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def openai_sdk_stream(reads: Reads) -> str:
    """The SDK's helper that adds up a snapshot."""
    import openai

    client = openai.OpenAI(api_key="bench", http_client=httpx2.Client(transport=_answer2(reads)), max_retries=0)
    with client.chat.completions.stream(model="bench", messages=_MESSAGES) as stream:
        return "".join(event.delta for event in stream if event.type == "content.delta")


def langchain_openai(reads: Reads) -> str:
    """The chat model of langchain."""
    from langchain_openai import ChatOpenAI

    client = httpx2.Client(transport=_answer2(reads))
    model = ChatOpenAI(model="bench", api_key="bench", http_client=client, max_retries=0, use_responses_api=False)
    return "".join(str(chunk.content) for chunk in model.stream("hi"))


def litellm_openai(reads: Reads) -> str:
    """One interface to many providers."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise the import asks the network
    import litellm
    import openai

    client = openai.OpenAI(api_key="bench", http_client=httpx2.Client(transport=_answer2(reads)), max_retries=0)
    stream = litellm.completion(model="openai/bench", messages=_MESSAGES, stream=True, client=client)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def pydantic_ai_openai(reads: Reads) -> str:
    """An agent's model, asked for a stream."""
    import openai
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def run() -> str:
        async with httpx2.AsyncClient(transport=_answer2(reads)) as http:
            client = openai.AsyncOpenAI(api_key="bench", http_client=http, max_retries=0)
            return await _pydantic_ai_text(OpenAIChatModel("bench", provider=OpenAIProvider(openai_client=client)))

    return asyncio.run(run())


# -- anthropic's wire


def anthropic_sdk(reads: Reads) -> str:
    """The raw stream of the SDK."""
    import anthropic

    client = anthropic.Anthropic(api_key="bench", http_client=httpx2.Client(transport=_answer2(reads)), max_retries=0)
    stream = client.messages.create(model="bench", messages=_MESSAGES, max_tokens=1, stream=True)
    return "".join(event.delta.text for event in stream if event.type == "content_block_delta")


def anthropic_sdk_stream(reads: Reads) -> str:
    """The SDK's helper that adds up a snapshot."""
    import anthropic

    client = anthropic.Anthropic(api_key="bench", http_client=httpx2.Client(transport=_answer2(reads)), max_retries=0)
    with client.messages.stream(model="bench", messages=_MESSAGES, max_tokens=1) as stream:
        return "".join(event.text for event in stream if event.type == "text")


def pydantic_ai_anthropic(reads: Reads) -> str:
    """An agent's model, asked for a stream."""
    import anthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    async def run() -> str:
        async with httpx2.AsyncClient(transport=_answer2(reads)) as http:
            client = anthropic.AsyncAnthropic(api_key="bench", http_client=http, max_retries=0)
            provider = AnthropicProvider(anthropic_client=client)
            return await _pydantic_ai_text(AnthropicModel("bench", provider=provider))

    return asyncio.run(run())


async def _pydantic_ai_text(model: Any) -> str:
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest, PartDeltaEvent, PartStartEvent

    text = []
    async with model_request_stream(model, [ModelRequest.user_text_prompt("hi")]) as stream:
        async for event in stream:
            if isinstance(event, PartStartEvent):
                text.append(event.part.content)
            elif isinstance(event, PartDeltaEvent):
                text.append(event.delta.content_delta)
    return "".join(text)


# -- gemini's wire


def google_genai(reads: Reads) -> str:
    """The vendor's SDK."""
    from google import genai
    from google.genai import types

    transport = _answer(reads)
    options = types.HttpOptions(httpx_client=httpx.Client(transport=transport))
    client = genai.Client(api_key="bench", http_options=options)
    stream = client.models.generate_content_stream(model="bench", contents="hi")
    return "".join(chunk.text or "" for chunk in stream)


# The wire that each peer reads, and the module that it needs.
PEERS: dict[str, dict[str, tuple[str, Contender]]] = {
    "openai": {
        "openai SDK raw": ("openai", openai_sdk),
        "openai SDK .stream()": ("openai", openai_sdk_stream),
        "pydantic-ai": ("pydantic_ai", pydantic_ai_openai),
        "langchain-openai": ("langchain_openai", langchain_openai),
        "litellm": ("litellm", litellm_openai),
    },
    "anthropic": {
        "anthropic SDK raw": ("anthropic", anthropic_sdk),
        "anthropic SDK .stream()": ("anthropic", anthropic_sdk_stream),
        "pydantic-ai": ("pydantic_ai", pydantic_ai_anthropic),
    },
    "gemini": {"google-genai": ("google.genai", google_genai)},
}


def installed(wire: str) -> dict[str, Contender]:
    """The peers of a wire that are there."""
    return {name: run for name, (module, run) in PEERS[wire].items() if _is_there(module)}


def missing() -> list[str]:
    """The peers that are not there."""
    return sorted({name for peers in PEERS.values() for name, (module, _) in peers.items() if not _is_there(module)})


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
